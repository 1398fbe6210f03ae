//! QEMU's monitor, as far as saving and loading a state need it: QMP, a JSON object a line.
//!
//! <https://www.qemu.org/docs/master/interop/qmp-spec.html>

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const ANSWER_LIMIT: Duration = Duration::from_secs(30);
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Events that may come between a command and its answer.
const EVENTS_MAX: usize = 1000;

/// A monitor that takes commands.
#[derive(Debug)]
pub struct Monitor {
    lines: BufReader<UnixStream>,
}

impl Monitor {
    /// Greets.
    ///
    /// # Errors
    /// A sentence, when it does not answer as it should.
    pub fn new(line: UnixStream) -> Result<Self, String> {
        let limit = Some(ANSWER_LIMIT);
        line.set_read_timeout(limit).and_then(|()| line.set_write_timeout(limit)).map_err(|error| error.to_string())?;
        let mut monitor = Self { lines: BufReader::new(line) };
        let greeting = monitor.line()?;
        if greeting.get("QMP").is_none() {
            return Err("QEMU's monitor does not greet".into());
        }
        monitor.execute("qmp_capabilities", json!({}))?;
        Ok(monitor)
    }

    /// Has a command executed, and answers what it returns.
    ///
    /// # Errors
    /// What QEMU has against it, or that it does not answer.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, String> {
        let mut text = json!({ "execute": command, "arguments": arguments }).to_string();
        text.push('\n');
        let failed = |why: String| format!("QEMU did not {command}: {why}");
        self.lines.get_mut().write_all(text.as_bytes()).map_err(|error| failed(error.to_string()))?;
        for _ in 0..EVENTS_MAX {
            let mut answer = self.line().map_err(failed)?;
            if let Some(refusal) = answer.get("error") {
                return Err(failed(refusal["desc"].as_str().unwrap_or("it does not say why").to_owned()));
            }
            if let Some(returned) = answer.get_mut("return") {
                return Ok(returned.take());
            }
        }
        Err(failed("it says something else".into()))
    }

    fn line(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        let count = (&mut self.lines).take(LINE_BYTES_MAX).read_line(&mut line).map_err(|error| error.to_string())?;
        if count == 0 {
            return Err("its monitor is closed".into());
        }
        serde_json::from_str(&line).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Answers each line that comes with the next of these texts.
    fn monitor(answers: &'static [&'static str]) -> Result<Monitor, String> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let mut asked = BufReader::new(theirs.try_clone().unwrap()).lines();
            for answer in answers {
                theirs.write_all(answer.as_bytes()).unwrap();
                asked.next();
            }
        });
        Monitor::new(ours)
    }

    #[test]
    fn answers_are_told_from_events_and_refusals() {
        let mut monitor = monitor(&[
            "{\"QMP\": {}}\n",
            "{\"return\": {}}\n",
            "{\"event\": \"STOP\"}\n{\"return\": {\"status\": \"paused\"}}\n",
            "{\"error\": {\"class\": \"GenericError\", \"desc\": \"it is blocked\"}}\n",
            "nonsense\n",
        ])
        .unwrap();
        assert_eq!(monitor.execute("stop", json!({})).unwrap()["status"], "paused");
        assert_eq!(monitor.execute("migrate", json!({})).unwrap_err(), "QEMU did not migrate: it is blocked");
        assert!(monitor.execute("cont", json!({})).unwrap_err().starts_with("QEMU did not cont"));
        assert!(monitor.execute("cont", json!({})).unwrap_err().contains("closed"), "the other end is gone");
    }

    #[test]
    fn what_is_no_monitor_is_not_taken_for_one() {
        assert!(monitor(&["{\"hello\": 1}\n"]).unwrap_err().contains("does not greet"));
        assert!(monitor(&[]).is_err());
    }
}
