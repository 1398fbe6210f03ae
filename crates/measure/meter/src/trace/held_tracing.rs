//! Whether the instances of a run still record as they were set up: another program may switch them or their events off, resize
//! their buffers, or remove them.

use crate::gaps::Gaps;
use archive::problem::Problem;
use ftrace::tracefs::Instance;
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;

const RESETS: &str = "find the program that resets all traces, as `trace-cmd reset` does, and measure again without it";
/// Events that a sentence names.
const NAMED_MAX: usize = 4;

/// An interference of another program with the trace of a run.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum Taken {
    /// It is on again.
    #[error(
        "another program switched the trace of this run off; it is on again, and spikes in between are not explained"
    )]
    #[problem(
        code = "meter.tracing-switched-off",
        meaning = "Another program wrote 0 into `tracing_on` of the run's instance; the meter switched it on again.",
        fix = RESETS
    )]
    SwitchedOff,
    /// As `system:name`. They are enabled again.
    #[error(
        "another program disabled events of this run's trace ({}); they are enabled again, and the trace lacks those in between",
        named(.0)
    )]
    #[problem(
        code = "meter.trace-events-disabled",
        meaning = "Another program wrote 0 into `enable` of events of the run's instance; the meter enabled them again.",
        fix = RESETS
    )]
    EventsDisabled(Vec<String>),
    /// Of each CPU; `None` if the CPUs have different sizes.
    #[error(
        "another program resized the trace buffers of this run from {} to {}; they hold less or more of the time before a spike",
        size(*.before_kb), size(*.now_kb)
    )]
    #[problem(
        code = "meter.trace-buffers-resized",
        meaning = "Another program wrote into `buffer_size_kb` of the run's instance, which empties the buffers. The meter leaves \
                   the new size as it is: the program may need the memory.",
        fix = "find the program that resizes trace buffers, and measure again without it"
    )]
    Resized { before_kb: Option<u32>, now_kb: Option<u32> },
    #[error("another program removed the trace of this run; later spikes are not explained")]
    #[problem(
        code = "meter.tracing-removed",
        meaning = "Another program removed the run's trace instance, or unmounted the tracing file system.",
        fix = "find the program that removes trace instances, and measure again without it"
    )]
    Removed,
}

fn named(events: &[String]) -> String {
    let named = events.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match events.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn size(kb: Option<u32>) -> String {
    kb.map_or_else(|| "a different size on each CPU".into(), |kb| format!("{kb} kB per CPU"))
}

/// The instances of a run, of which one records at any time.
#[derive(Debug)]
pub struct HeldTracing {
    instances: Vec<HeldInstance>,
    /// The one that was on last.
    last_on: usize,
    reported: Vec<Taken>,
}

#[derive(Debug)]
struct HeldInstance {
    path: PathBuf,
    /// As `system:name`.
    events: Vec<String>,
    buffer_kb: Option<u32>,
}

/// The instance, or a file of it, is not there.
struct Gone;

impl HeldTracing {
    /// Holds what the instances record now: all of the events.
    pub fn of(instances: &[Instance], events: &[String]) -> Self {
        Self::at(instances.iter().map(Instance::path), events)
    }

    /// Holds what the instances record now of these events: the run itself switched some on or off.
    pub fn hold_again(&mut self, events: &[String]) {
        for instance in &mut self.instances {
            instance.events = recorded(&instance.path, events);
        }
    }

    fn at<'a>(instances: impl Iterator<Item = &'a Path>, events: &[String]) -> Self {
        let instances = instances.map(|path| HeldInstance {
            path: path.to_owned(),
            events: recorded(path, events),
            buffer_kb: buffer_kb(path).ok().flatten(),
        });
        Self { instances: instances.collect(), last_on: 0, reported: Vec::new() }
    }

    /// The interferences since the last look; each kind is reported once. Switches on again what was switched off. Works in these
    /// gaps.
    pub fn look(&mut self, gaps: &Gaps) -> Vec<Taken> {
        let taken = self.taken(gaps).unwrap_or_else(|Gone| vec![Taken::Removed]);
        let reported = &mut self.reported;
        let is_new = |taken: &Taken| {
            let is_new = !reported.iter().any(|known| std::mem::discriminant(known) == std::mem::discriminant(taken));
            if is_new {
                reported.push(taken.clone());
            }
            is_new
        };
        taken.into_iter().filter(is_new).collect()
    }

    fn taken(&mut self, gaps: &Gaps) -> Result<Vec<Taken>, Gone> {
        let mut taken = Vec::new();
        // Between two looks at two switches, recording may go from the second to the first.
        if !self.is_on()? && !self.is_on()? {
            // The next look shows whether it had an effect.
            if let Some(instance) = self.instances.get(self.last_on) {
                let _ = fs::write(instance.path.join("tracing_on"), "1");
            }
            taken.push(Taken::SwitchedOff);
        }
        let mut disabled = Vec::new();
        for instance in &self.instances {
            for event in gaps.paced(instance.events.iter()) {
                if !is_enabled(&instance.path, event)? {
                    let _ = fs::write(enable(&instance.path, event), "1");
                    disabled.push(event.clone());
                }
            }
            let now_kb = buffer_kb(&instance.path)?;
            if now_kb != instance.buffer_kb {
                taken.push(Taken::Resized { before_kb: instance.buffer_kb, now_kb });
            }
        }
        if !disabled.is_empty() {
            disabled.sort();
            disabled.dedup();
            taken.push(Taken::EventsDisabled(disabled));
        }
        Ok(taken)
    }

    fn is_on(&mut self) -> Result<bool, Gone> {
        for (index, instance) in self.instances.iter().enumerate() {
            if read(&instance.path.join("tracing_on"))?.trim() != "0" {
                self.last_on = index;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is_enabled(instance: &Path, event: &str) -> Result<bool, Gone> {
    // A `*` follows where a trigger holds it.
    Ok(read(&enable(instance, event))?.starts_with('1'))
}

/// The events that an instance records.
fn recorded(instance: &Path, events: &[String]) -> Vec<String> {
    events.iter().filter(|event| is_enabled(instance, event).unwrap_or(false)).cloned().collect()
}

fn enable(instance: &Path, event: &str) -> PathBuf {
    instance.join("events").join(event.replace(':', "/")).join("enable")
}

/// `X` stands for different sizes.
fn buffer_kb(instance: &Path) -> Result<Option<u32>, Gone> {
    Ok(read(&instance.join("buffer_size_kb"))?.trim().parse().ok())
}

fn read(path: &Path) -> Result<String, Gone> {
    fs::read_to_string(path).map_err(|_| Gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const SWITCH: &str = "sched:sched_switch";
    const WAKING: &str = "sched:sched_waking";

    struct Instances(TempDir);

    impl Instances {
        fn new() -> Self {
            let instances = Self(tempfile::tempdir().unwrap());
            for name in ["first", "second"] {
                for event in [SWITCH, WAKING] {
                    let enable = enable(&instances.of(name), event);
                    fs::create_dir_all(enable.parent().unwrap()).unwrap();
                    fs::write(enable, "1\n").unwrap();
                }
                fs::write(instances.of(name).join("buffer_size_kb"), "1408\n").unwrap();
                fs::write(instances.of(name).join("tracing_on"), "0\n").unwrap();
            }
            fs::write(instances.of("second").join("tracing_on"), "1\n").unwrap();
            instances
        }

        fn of(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn held(&self) -> HeldTracing {
            let paths = [self.of("first"), self.of("second")];
            let events = [SWITCH, WAKING, "sched:none"].map(str::to_owned);
            HeldTracing::at(paths.iter().map(PathBuf::as_path), &events)
        }
    }

    fn look(held: &mut HeldTracing) -> Vec<Taken> {
        held.look(&Gaps::default())
    }

    #[test]
    fn a_trace_that_is_switched_off_is_put_back_and_one_that_is_removed_is_reported_once() {
        let instances = Instances::new();
        let switch = |name| instances.of(name).join("tracing_on");
        let mut held = instances.held();
        assert_eq!(look(&mut held), [], "one of two records");
        for expected in [vec![Taken::SwitchedOff], vec![]] {
            fs::write(switch("second"), "0\n").unwrap();
            assert_eq!(look(&mut held), expected);
            assert_eq!(fs::read_to_string(switch("second")).unwrap(), "1");
            assert_eq!(fs::read_to_string(switch("first")).unwrap(), "0\n");
        }
        fs::remove_dir_all(instances.of("second")).unwrap();
        assert_eq!((look(&mut held), look(&mut held)), (vec![Taken::Removed], vec![]));
    }

    #[test]
    fn events_that_are_disabled_are_named_once_and_enabled_each_time() {
        let instances = Instances::new();
        let mut held = instances.held();
        for expected in [vec![Taken::EventsDisabled(vec![SWITCH.into()])], vec![]] {
            let enable = enable(&instances.of("first"), SWITCH);
            fs::write(&enable, "0\n").unwrap();
            assert_eq!(look(&mut held), expected);
            assert_eq!(fs::read_to_string(&enable).unwrap(), "1");
        }
    }

    #[test]
    fn a_buffer_of_another_size_is_reported_and_left_alone() {
        let instances = Instances::new();
        let mut held = instances.held();
        let size = instances.of("second").join("buffer_size_kb");
        fs::write(&size, "64\n").unwrap();
        assert_eq!(look(&mut held), [Taken::Resized { before_kb: Some(1408), now_kb: Some(64) }]);
        fs::write(&size, "X\n").unwrap();
        assert_eq!(look(&mut held), [], "it was reported");
        assert_eq!(fs::read_to_string(&size).unwrap(), "X\n");
    }
}
