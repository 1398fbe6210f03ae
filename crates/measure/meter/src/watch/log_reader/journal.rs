//! Entries of a unit in the journal, by journalctl: the journal has stamped each when it received it.

use super::Lines;
use archive::counted::counting::LineInstant;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde::Deserialize;
use std::io::{self, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

/// One entry as journalctl prints it.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "MESSAGE", default)]
    message: Text,
    /// CLOCK_MONOTONIC when the journal received it, in µs.
    #[serde(rename = "__MONOTONIC_TIMESTAMP")]
    monotonic_us: String,
}

/// A message; journalctl prints one that is not UTF-8 as its bytes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Letters(String),
    Bytes(Vec<u8>),
    Absent(()),
}

impl Default for Text {
    fn default() -> Self {
        Self::Absent(())
    }
}

impl Text {
    fn line(self) -> Option<String> {
        match self {
            Self::Letters(text) => Some(text),
            Self::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Self::Absent(()) => None,
        }
    }
}

/// journalctl, which follows the journal. It ends when its output is closed.
pub struct JournalFollower {
    child: Child,
    output: ChildStdout,
    begun: Vec<u8>,
}

impl JournalFollower {
    /// # Errors
    /// journalctl cannot be started.
    pub fn start(unit: &str) -> io::Result<Self> {
        let unit = if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") };
        // A plus is an or: units of the system, and of users.
        let (system, user) = (format!("_SYSTEMD_UNIT={unit}"), format!("_SYSTEMD_USER_UNIT={unit}"));
        let mut command = Command::new("journalctl");
        command.args(["--follow", "--lines=0", "--output=json", &system, "+", &user]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
        Ok(Self { child, output, begun: Vec::new() })
    }

    fn fill(&mut self) -> io::Result<()> {
        match self.output.read_to_end(&mut self.begun) {
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Lines for JournalFollower {
    fn read(&mut self, _now_ns: i64, each: &mut dyn FnMut(&str, LineInstant)) -> io::Result<()> {
        let filled = self.fill();
        let complete = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for printed in self.begun[..complete].split(|byte| *byte == b'\n') {
            if let Some((line, instant)) = entry(printed) {
                each(&line, instant);
            }
        }
        self.begun.drain(..complete);
        filled
    }
}

impl Drop for JournalFollower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The message of an entry, and when the journal received it: how long before it was written is unknown.
fn entry(printed: &[u8]) -> Option<(String, LineInstant)> {
    let entry: Entry = serde_json::from_slice(printed).ok()?;
    let monotonic_ns = entry.monotonic_us.parse::<i64>().ok()?.checked_mul(1000)?;
    Some((entry.message.line()?, LineInstant { monotonic_ns: Some(monotonic_ns), uncertain_ns: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(printed: &str) -> Option<(String, Option<i64>)> {
        entry(printed.as_bytes()).map(|(line, instant)| (line, instant.monotonic_ns))
    }

    #[test]
    fn an_entry_has_the_instant_of_the_journal() {
        let printed = r#"{"__CURSOR":"s=1","__MONOTONIC_TIMESTAMP":"1234567","MESSAGE":"XRun","PRIORITY":"6"}"#;
        assert_eq!(at(printed), Some(("XRun".into(), Some(1_234_567_000))));
        let bytes = r#"{"__MONOTONIC_TIMESTAMP":"1","MESSAGE":[88,255,10]}"#;
        assert_eq!(at(bytes), Some(("X\u{fffd}\n".into(), Some(1000))));
        assert_eq!(at(r#"{"__MONOTONIC_TIMESTAMP":"1","MESSAGE":null}"#), None, "too long to be printed");
        assert_eq!(at("-- No entries --"), None);
    }
}
