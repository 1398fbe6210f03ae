//! Whether the instances of a run still record: another program may switch them off, or remove them.

use ftrace::tracefs::Instance;
use std::fs;
use std::path::PathBuf;

/// An interference of another program with the trace of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It was switched off, and is on again.
    SwitchedOff,
    Removed,
}

/// The switches of the instances of a run, of which one is on at any time.
#[derive(Debug)]
pub struct HeldTracing {
    switches: Vec<PathBuf>,
    /// The one that was on last.
    last_on: usize,
    said: Vec<Taken>,
}

impl HeldTracing {
    pub fn of(instances: &[Instance]) -> Self {
        let switches = instances.iter().map(|instance| instance.path().join("tracing_on")).collect();
        Self { switches, last_on: 0, said: Vec::new() }
    }

    /// The interferences since the last look; each kind is reported once. Switches the trace on again.
    pub fn look(&mut self) -> Option<Taken> {
        // Between two looks at two switches, recording may go from the second to the first.
        let taken = self.taken().and_then(|_| self.taken())?;
        if taken == Taken::SwitchedOff {
            // The next look shows whether it had an effect.
            let _ = fs::write(self.switches.get(self.last_on)?, "1");
        }
        let is_new = !self.said.contains(&taken);
        is_new.then(|| {
            self.said.push(taken);
            taken
        })
    }

    fn taken(&mut self) -> Option<Taken> {
        for (index, switch) in self.switches.iter().enumerate() {
            match fs::read_to_string(switch) {
                Ok(text) if text.trim() == "0" => {}
                Ok(_) => {
                    self.last_on = index;
                    return None;
                }
                Err(_) => return Some(Taken::Removed),
            }
        }
        Some(Taken::SwitchedOff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_is_switched_off_is_put_back_and_one_that_is_removed_is_reported_once() {
        let root = tempfile::tempdir().unwrap();
        let switch = |name: &str| root.path().join(name);
        fs::write(switch("first"), "0\n").unwrap();
        fs::write(switch("second"), "1\n").unwrap();
        let switches = vec![switch("first"), switch("second")];
        let mut held = HeldTracing { switches, last_on: 0, said: Vec::new() };
        assert_eq!(held.look(), None, "one of two records");
        for expected in [Some(Taken::SwitchedOff), None] {
            fs::write(switch("second"), "0\n").unwrap();
            assert_eq!(held.look(), expected);
            assert_eq!(fs::read_to_string(switch("second")).unwrap(), "1");
            assert_eq!(fs::read_to_string(switch("first")).unwrap(), "0\n");
        }
        fs::write(switch("second"), "0\n").unwrap();
        fs::remove_file(switch("second")).unwrap();
        assert_eq!((held.look(), held.look()), (Some(Taken::Removed), None));
    }
}
