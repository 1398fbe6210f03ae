//! The process that has a place: it acquires it and releases it, whatever becomes of this program.

use super::place_file::LabgridPlace;
use crate::board::quoted;
use crate::local::LocalTarget;
use crate::stop::StopRequests;
use crate::{Command, Output, RunningCommand, Target};
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("keeper.sh");
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A coordinator that does not answer is given up within a minute by its client.
const ACQUIRE_LIMIT: Duration = Duration::from_secs(120);
const RELEASE_LIMIT: Duration = Duration::from_secs(120);

/// What came of asking for a place.
pub enum Acquired {
    Now(Keeper),
    /// This very user had it before, on this host: by hand, or for more than one run.
    Before,
    /// Somebody else has it, in words.
    Held(String),
}

/// Has a place until it is released or dropped.
pub struct Keeper {
    process: Box<dyn RunningCommand>,
    unread: Vec<u8>,
    /// The command that releases the place by hand.
    by_hand: String,
}

impl Keeper {
    /// Asks once.
    ///
    /// # Errors
    /// Why the place cannot be had, with the fix.
    pub fn acquire(place: &LabgridPlace, stop: &StopRequests) -> Result<Acquired, String> {
        let script = format!(
            "client={}; coordinator={}; place={}; off={}\n{SCRIPT}",
            quoted(&place.client),
            quoted(place.coordinator.as_deref().unwrap_or_default()),
            quoted(&place.place),
            if place.power_off { "1" } else { "" },
        );
        let command = Command { program: "/bin/sh".into(), arguments: vec!["-c".into(), script] };
        let process = LocalTarget.start(&command).map_err(|error| error.to_string())?;
        let mut keeper = Self { process, unread: Vec::new(), by_hand: place.command("release") };
        let begun = Instant::now();
        loop {
            match keeper.line() {
                Some(line) if line == "acquired" => return Ok(Acquired::Now(keeper)),
                Some(line) => {
                    if let Some(said) = line.strip_prefix("refused ") {
                        return judged(said, place);
                    }
                }
                None if keeper.process.elapsed() > ACQUIRE_LIMIT || stop.count() > 0 => {
                    // Closing its input has it release what it may get yet.
                    let waited = begun.elapsed().as_secs();
                    return Err(match stop.count() {
                        0 => format!("`{}` did not answer within {waited} s", place.command("acquire")),
                        _ => "stopped on request".into(),
                    });
                }
                None => {}
            }
        }
    }

    /// Gives the place back.
    ///
    /// # Errors
    /// When it is still acquired, or switched on although it was to be off.
    pub fn release(mut self) -> Result<(), String> {
        let ended = self.process.wait(RELEASE_LIMIT).is_some();
        let mut still_on = None;
        while let Some(line) = self.line() {
            match line.split_once(' ') {
                _ if line == "released" => {
                    return still_on.map_or(Ok(()), |why| Err(format!("the board is still switched on: {why}")));
                }
                Some(("on", why)) => still_on = Some(why.to_owned()),
                Some(("kept", why)) => return Err(self.still_acquired(why)),
                _ => {}
            }
        }
        Err(self.still_acquired(if ended { "labgrid-client said nothing" } else { "labgrid-client does not answer" }))
    }

    fn still_acquired(&self, why: &str) -> String {
        format!("the place is still acquired: {}; release it with `{}`", why.trim(), self.by_hand)
    }

    /// The next line, if there is one by now.
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

/// What a refusal of `labgrid-client` means.
fn judged(said: &str, place: &LabgridPlace) -> Result<Acquired, String> {
    // Warnings of its libraries may come first.
    let said = said.rsplit_once("Error: ").map_or(said, |(_, said)| said).trim();
    if said.contains("You have already acquired") && !said.contains(" on ") {
        return Ok(Acquired::Before);
    }
    if said.contains("already acquired") || said.contains("was not reserved for") {
        let short = said.split(" To work simultaneously").next().unwrap_or(said).trim_end_matches('.');
        return Ok(Acquired::Held(short.to_owned()));
    }
    let mends = [
        (
            "not found",
            "labgrid-client is not there: `pip install labgrid` in an environment whose programs are in PATH, or name it \
             with `client` in the target file"
                .to_owned(),
        ),
        (
            "Could not connect to coordinator",
            format!(
                "no coordinator answers at {}; name it with --coordinator or LG_COORDINATOR",
                place.coordinator.clone().unwrap_or_else(|| {
                    std::env::var("LG_COORDINATOR").unwrap_or_else(|_| "127.0.0.1:20408".into())
                })
            ),
        ),
        ("matches nothing", format!("the coordinator knows no place {}; `labgrid-client places` lists them", place.place)),
        ("matches multiple places", format!("{said}; write the whole name of one")),
        ("has no matching remote resource", format!("{said}; does its exporter run?")),
    ];
    let fix = mends.into_iter().find(|(sign, _)| said.contains(sign)).map(|(_, fix)| fix);
    Err(fix.unwrap_or_else(|| format!("labgrid-client says: {said}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_who_has_the_place_or_what_to_mend() {
        let place = LabgridPlace::new("board1");
        let held = "labgrid-client: Error: Place board1 is already acquired by vm/bob. To work simultaneously, bob can \
                    execute 'labgrid-client -p board1 allow vm/alice' on vm.";
        assert!(
            matches!(judged(held, &place), Ok(Acquired::Held(who)) if who == "Place board1 is already acquired by vm/bob")
        );
        let own = "labgrid-client: Error: You have already acquired place board1.";
        assert!(matches!(judged(own, &place), Ok(Acquired::Before)));
        let elsewhere =
            "labgrid-client: Error: You have already acquired place board1 on desk. To work simultaneously, x";
        assert!(matches!(judged(elsewhere, &place), Ok(Acquired::Held(who)) if who.ends_with("on desk")));
        let fix = |said: &str| judged(said, &place).err().unwrap();
        assert!(fix("/bin/sh: 1: labgrid-client: not found").contains("pip install labgrid"));
        assert!(fix("Server error: Error: Could not connect to coordinator").contains("--coordinator"));
        assert!(fix("labgrid-client: Error: place pattern board1 matches nothing").contains("labgrid-client places"));
        assert_eq!(fix("labgrid-client: Error: something new"), "labgrid-client says: something new");
    }
}
