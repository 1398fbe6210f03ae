//! QEMU's monitor, as far as saving and loading a state need it: QMP, one JSON object per line.
//!
//! <https://www.qemu.org/docs/master/interop/qmp-spec.html>

use super::error::MonitorError;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const ANSWER_LIMIT: Duration = Duration::from_secs(30);
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Most events between a command and its answer.
const EVENTS_MAX: usize = 1000;

/// A monitor ready for commands.
#[derive(Debug)]
pub struct Monitor {
    lines: BufReader<UnixStream>,
}

impl Monitor {
    /// Negotiates capabilities.
    ///
    /// # Errors
    /// If it does not answer as specified.
    pub fn new(line: UnixStream) -> Result<Self, MonitorError> {
        let limit = Some(ANSWER_LIMIT);
        line.set_read_timeout(limit).and_then(|()| line.set_write_timeout(limit))?;
        let mut monitor = Self { lines: BufReader::new(line) };
        let greeting = monitor.line()?;
        if greeting.get("QMP").is_none() {
            return Err(MonitorError::NoGreeting);
        }
        monitor.execute("qmp_capabilities", json!({}))?;
        Ok(monitor)
    }

    /// Executes a command, and returns its result.
    ///
    /// # Errors
    /// The error of QEMU, or a missing answer.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, MonitorError> {
        let mut text = json!({ "execute": command, "arguments": arguments }).to_string();
        text.push('\n');
        let returned = self.answer(&text);
        returned.map_err(|source| MonitorError::Command { command: command.into(), source: Box::new(source) })
    }

    fn answer(&mut self, command: &str) -> Result<Value, MonitorError> {
        self.lines.get_mut().write_all(command.as_bytes())?;
        for _ in 0..EVENTS_MAX {
            let mut answer = self.line()?;
            if let Some(refusal) = answer.get("error") {
                return Err(MonitorError::Refused(refusal["desc"].as_str().map(str::to_owned)));
            }
            if let Some(returned) = answer.get_mut("return") {
                return Ok(returned.take());
            }
        }
        Err(MonitorError::NoAnswer)
    }

    fn line(&mut self) -> Result<Value, MonitorError> {
        let mut line = String::new();
        if (&mut self.lines).take(LINE_BYTES_MAX).read_line(&mut line)? == 0 {
            return Err(MonitorError::Closed);
        }
        Ok(serde_json::from_str(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Answers each received line with the next of these texts.
    fn monitor(answers: &'static [&'static str]) -> Result<Monitor, MonitorError> {
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
    fn answers_are_distinguished_from_events_and_refusals() {
        let mut monitor = monitor(&[
            "{\"QMP\": {}}\n",
            "{\"return\": {}}\n",
            "{\"event\": \"STOP\"}\n{\"return\": {\"status\": \"paused\"}}\n",
            "{\"error\": {\"class\": \"GenericError\", \"desc\": \"it is blocked\"}}\n",
            "nonsense\n",
        ])
        .unwrap();
        assert_eq!(monitor.execute("stop", json!({})).unwrap()["status"], "paused");
        let refused = monitor.execute("migrate", json!({})).unwrap_err();
        let MonitorError::Command { command, source } = refused else { panic!("{refused}") };
        assert!(command == "migrate" && matches!(&*source, MonitorError::Refused(Some(why)) if why == "it is blocked"));
        let failed = |monitor: &mut Monitor| match monitor.execute("cont", json!({})) {
            Err(MonitorError::Command { source, .. }) => *source,
            other => panic!("{other:?}"),
        };
        assert!(matches!(failed(&mut monitor), MonitorError::NoJson(_)));
        assert!(matches!(failed(&mut monitor), MonitorError::Closed), "the other end is gone");
    }

    #[test]
    fn another_program_is_not_taken_for_a_monitor() {
        assert!(matches!(monitor(&["{\"hello\": 1}\n"]), Err(MonitorError::NoGreeting)));
        assert!(monitor(&[]).is_err());
    }
}
