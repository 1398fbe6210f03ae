//! The process that holds a place: it acquires and releases it, even if this program dies.

use super::error::{ClientError, LabgridError, Refusal};
use super::place_file::LabgridPlace;
use crate::board::quoted;
use crate::local::LocalTarget;
use crate::stop::StopRequests;
use crate::{Command, Output, RunningCommand, Target};
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("acquire.sh");
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The client gives up on an unresponsive coordinator within a minute.
const ACQUIRE_LIMIT: Duration = Duration::from_secs(120);
const RELEASE_LIMIT: Duration = Duration::from_secs(120);

/// Result of acquiring a place.
pub enum Acquired {
    Now(Acquisition),
    /// The same user already had it, on this host: manually, or for several runs.
    Before,
    /// Another user has it, in words.
    Held(String),
}

/// A line of the script's output.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Report {
    Acquired,
    Refused(String),
    Released,
    /// The board could not be switched off.
    On(String),
    /// The place could not be released.
    Kept(String),
    Other,
}

impl Report {
    fn parse(line: &str) -> Self {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("acquired", "") => Self::Acquired,
            ("released", "") => Self::Released,
            ("refused", message) => Self::Refused(message.to_owned()),
            ("on", why) => Self::On(why.to_owned()),
            ("kept", why) => Self::Kept(why.to_owned()),
            _ => Self::Other,
        }
    }
}

/// Holds a place until it is released or dropped.
pub struct Acquisition {
    process: Box<dyn RunningCommand>,
    unread: Vec<u8>,
    /// The command that releases the place manually.
    by_hand: String,
}

impl Acquisition {
    /// Tries once to acquire the place.
    ///
    /// # Errors
    /// Why it cannot be acquired, with the fix.
    pub fn acquire(place: &LabgridPlace, stop: &StopRequests) -> Result<Acquired, LabgridError> {
        let script = format!(
            "client={}; coordinator={}; place={}; off={}\n{SCRIPT}",
            quoted(&place.client),
            quoted(place.coordinator.as_deref().unwrap_or_default()),
            quoted(&place.place),
            if place.power_off { "1" } else { "" },
        );
        let command = Command { program: "/bin/sh".into(), arguments: vec!["-c".into(), script] };
        let process = LocalTarget.start(&command).map_err(|error| ClientError::NotStarted(error.to_string()))?;
        let mut acquisition = Self { process, unread: Vec::new(), by_hand: place.command("release") };
        let begun = Instant::now();
        loop {
            match acquisition.line().map(|line| Report::parse(&line)) {
                Some(Report::Acquired) => return Ok(Acquired::Now(acquisition)),
                Some(Report::Refused(message)) => return judged(&message, place),
                Some(_) => {}
                None if acquisition.process.elapsed() > ACQUIRE_LIMIT || stop.count() > 0 => {
                    // Closing its input makes it release the place if it still acquires it.
                    let waited = begun.elapsed().as_secs();
                    return Err(match stop.count() {
                        0 => LabgridError::NoAnswer { command: place.command("acquire"), seconds: waited },
                        _ => LabgridError::Stopped,
                    });
                }
                None => {}
            }
        }
    }

    /// Releases the place.
    ///
    /// # Errors
    /// If it is still acquired, or switched on although it should be off.
    pub fn release(mut self) -> Result<(), LabgridError> {
        let ended = self.process.wait(RELEASE_LIMIT).is_some();
        let mut still_on = None;
        while let Some(line) = self.line() {
            match Report::parse(&line) {
                Report::Released => {
                    return still_on.map_or(Ok(()), |why| Err(LabgridError::StillOn { why }));
                }
                Report::On(why) => still_on = Some(why),
                Report::Kept(why) => return Err(self.still_acquired(&why)),
                Report::Acquired | Report::Refused(_) | Report::Other => {}
            }
        }
        Err(self.still_acquired(if ended {
            "labgrid-client printed nothing"
        } else {
            "labgrid-client does not answer"
        }))
    }

    fn still_acquired(&self, why: &str) -> LabgridError {
        LabgridError::StillAcquired { why: why.trim().to_owned(), by_hand: self.by_hand.clone() }
    }

    /// The next line, if there is one yet.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            match self.process.read(LOOK_EVERY) {
                Output::Bytes(bytes) => self.unread.extend(bytes),
                Output::Quiet => return None,
                Output::Closed if self.unread.is_empty() => return None,
                Output::Closed => self.unread.push(b'\n'),
            }
        }
    }
}

/// The meaning of an error of `labgrid-client` for this place.
fn judged(message: &str, place: &LabgridPlace) -> Result<Acquired, LabgridError> {
    Err(match Refusal::parse(message) {
        Refusal::AcquiredBefore => return Ok(Acquired::Before),
        Refusal::Held(by) => return Ok(Acquired::Held(by)),
        Refusal::NoClient => LabgridError::NoClient,
        Refusal::NoCoordinator => LabgridError::NoCoordinator {
            coordinator: place
                .coordinator
                .clone()
                .unwrap_or_else(|| std::env::var("LG_COORDINATOR").unwrap_or_else(|_| "127.0.0.1:20408".into())),
        },
        Refusal::UnknownPlace => LabgridError::UnknownPlace { place: place.place.clone() },
        Refusal::SeveralPlaces(message) => LabgridError::SeveralPlaces { message },
        Refusal::NoResource(message) => LabgridError::NoResource { message },
        Refusal::NoPowerSwitch(message) | Refusal::Other(message) => LabgridError::Refused { message },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_holder_or_the_fix() {
        let place = LabgridPlace::new("board1");
        let held = "labgrid-client: Error: Place board1 is already acquired by vm/bob. To work simultaneously, bob can \
                    execute 'labgrid-client -p board1 allow vm/alice' on vm.";
        assert!(
            matches!(judged(held, &place), Ok(Acquired::Held(who)) if who.starts_with("Place board1 ") && who.ends_with(" vm/bob"))
        );
        let own = "labgrid-client: Error: You have already acquired place board1.";
        assert!(matches!(judged(own, &place), Ok(Acquired::Before)));
        let elsewhere =
            "labgrid-client: Error: You have already acquired place board1 on desk. To work simultaneously, x";
        assert!(matches!(judged(elsewhere, &place), Ok(Acquired::Held(who)) if who.ends_with("on desk")));
        let refused = |message: &str| judged(message, &place).err().unwrap();
        assert!(matches!(refused("/bin/sh: 1: labgrid-client: not found"), LabgridError::NoClient));
        let no_coordinator = refused("Server error: Error: Could not connect to coordinator");
        assert!(matches!(no_coordinator, LabgridError::NoCoordinator { .. }));
        let unknown = refused("labgrid-client: Error: place pattern board1 matches nothing");
        assert!(matches!(unknown, LabgridError::UnknownPlace { place } if place == "board1"));
        let other = refused("labgrid-client: Error: something new");
        assert!(matches!(other, LabgridError::Refused { message } if message == "something new"));
    }
}
