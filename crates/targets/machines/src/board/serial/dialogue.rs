//! Dialogue with the session on a console: every line of the session comes twice, with a number.

use super::error::{PortError, SerialError};
use super::reader::{ConsoleReader, without_kernel};
use super::session_message::SessionMessage;
use crate::stop::StopRequests;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(100);
/// After this time the session is asked to repeat everything.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(2);
const PREFIX: &str = "tardy#";
const LINES_MAX: usize = 1000;

/// The confirmed lines of the session. A line is confirmed once it has come twice with the same text: kernel messages do
/// not damage two lines in the same way.
#[derive(Debug, Default)]
pub struct Sure {
    once: BTreeSet<(u32, String)>,
    twice: BTreeMap<u32, String>,
    /// Number of the last line that was handed out.
    taken: u32,
}

impl Sure {
    /// Processes a received line; returns whether it is the session's.
    pub fn take(&mut self, line: &str) -> bool {
        let Some((_, rest)) = line.split_once(PREFIX) else { return false };
        let Some((number, words)) = rest.split_once(' ') else { return false };
        let Ok(number) = number.parse::<u32>() else { return false };
        let spoken = (number, words.trim_end().to_owned());
        if self.once.contains(&spoken) {
            self.twice.entry(number).or_insert(spoken.1);
        } else if self.once.len() < LINES_MAX {
            self.once.insert(spoken);
        }
        true
    }

    /// The next line in order, once it is confirmed.
    pub fn next(&mut self) -> Option<String> {
        let words = self.twice.remove(&(self.taken + 1))?;
        self.taken += 1;
        Some(words)
    }
}

/// Whether a line comes from a session.
pub fn is_keepers(line: &str) -> bool {
    line.contains(PREFIX)
}

/// The connection to a session.
pub struct Dialogue {
    pub reader: ConsoleReader,
    sure: Sure,
}

impl Dialogue {
    pub fn new(reader: ConsoleReader) -> Self {
        Self { reader, sure: Sure::default() }
    }

    /// Forgets received lines: another session starts with line 1.
    pub fn start_over(&mut self) {
        self.sure = Sure::default();
    }

    /// Keeps a line that came while waiting for something else.
    pub fn overhear(&mut self, line: &str) {
        if !self.sure.take(line) {
            self.reader.overhear(line);
        }
    }

    /// The next confirmed line of the session.
    pub fn next_line(&mut self) -> Option<String> {
        self.sure.next()
    }

    /// Sends a line to the session.
    ///
    /// # Errors
    /// The line is dead.
    pub fn say(&self, words: &str) -> Result<(), PortError> {
        self.reader.port.write(format!("{words}\n").as_bytes())
    }

    /// Receives the session's lines until `each` returns an answer.
    ///
    /// # Errors
    /// The line is dead, the session is silent for too long, or the user stops the run.
    pub fn listen<T>(
        &mut self,
        limit: Duration,
        stop: &StopRequests,
        mut each: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, SerialError> {
        let (begun, mut asked) = (Instant::now(), Instant::now());
        loop {
            while let Some(words) = self.sure.next() {
                if let Some(found) = each(&words) {
                    return Ok(found);
                }
            }
            if stop.count() > 0 {
                return Err(SerialError::Stopped);
            }
            if begun.elapsed() > limit {
                return Err(SerialError::ShellSilent(limit));
            }
            if asked.elapsed() > ASK_AGAIN_AFTER {
                asked = Instant::now();
                self.say("again")?;
            }
            for line in self.reader.lines(POLL)? {
                self.overhear(&line);
            }
        }
    }

    /// Number of blocks of a file that the session has after this attempt, once it reports it; `None` if it does not.
    /// Any other message ends the transfer.
    ///
    /// # Errors
    /// The line is dead, or the session gave up.
    pub fn acknowledged(&mut self, attempt: u32, wait: Duration) -> Result<Option<u32>, SerialError> {
        let begun = Instant::now();
        let mut text = String::new();
        while begun.elapsed() < wait {
            for line in self.reader.lines(wait.saturating_sub(begun.elapsed()))? {
                if !self.sure.take(&line) {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
            if let Some(words) = self.sure.next() {
                return Err(match SessionMessage::parse(&words) {
                    SessionMessage::Broken(broken) => broken.into(),
                    _ => SerialError::Session { message: words, last_output: String::new() },
                });
            }
            let whole = without_kernel(&text);
            let got = format!("tardy got {attempt} ");
            let count = |line: &str| line.strip_prefix(&got)?.parse().ok();
            if let Some(count) = whole.lines().filter_map(count).next_back() {
                return Ok(Some(count));
            }
        }
        Ok(None)
    }

    /// Waits for a line that contains `words`, whatever surrounds them; false after the time limit.
    ///
    /// # Errors
    /// The line is dead.
    pub fn await_words(&mut self, words: &str, limit: Duration) -> Result<bool, PortError> {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            let lines = self.reader.lines(POLL)?;
            let found = lines.iter().any(|line| line.contains(words));
            lines.iter().for_each(|line| self.overhear(line));
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sure(text: &str) -> Vec<String> {
        let mut sure = Sure::default();
        for line in text.lines() {
            sure.take(line);
        }
        std::iter::from_fn(|| sure.next()).collect()
    }

    #[test]
    fn lines_that_came_twice_keep_their_order() {
        assert_eq!(sure("tardy#2 b\ntardy#1 a\ntardy#2 b\n# tardy#1 a\r\ntardy#3 c"), ["a", "b"]);
        let damaged = "tardy#1 place /t[    1.0] mp\ntardy#1 place /tmp\nmp\ntardy#1 place /tmp";
        assert_eq!(sure(damaged), ["place /tmp"]);
    }

    proptest! {
        #[test]
        fn any_words_are_heard(text in ".{0,300}", number in any::<u32>()) {
            sure(&text);
            sure(&format!("tardy#{number} {text}\ntardy#{number} {text}"));
        }
    }
}
