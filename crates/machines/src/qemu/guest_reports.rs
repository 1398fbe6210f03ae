//! What a guest says, and the bytes it sends, each kept until somebody asks.

use super::absences::monotonic_ns;
use protocol::guest::GuestWord;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const READ_BYTES: usize = 64 << 10;
const COMPLAINT_LINES: usize = 20;
/// Lines kept for whoever takes them several times a second.
const UNTAKEN_LINES_MAX: usize = 10_000;
const LINE_BYTES_MAX: u64 = 1 << 16;

/// What the guest said of the end of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub bytes: u64,
}

/// What the guest said of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockTold {
    /// The question it answers.
    pub asked_ns: i64,
    pub monotonic_ns: i64,
    /// The host's clock.
    pub heard_ns: i64,
}

/// How the guest met a wish that is no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Stored,
    Fetched { bytes: u64 },
    Refused { why: String },
}

/// What the guest said since its command was started.
#[derive(Debug, Default)]
pub struct GuestReports {
    pub lines: VecDeque<String>,
    /// Lines that nobody has taken yet, and how many there were beyond those.
    untaken: Vec<String>,
    untaken_lost: u64,
    pub ended: Option<Ended>,
    pub answer: Option<Answer>,
    /// Until somebody takes it.
    pub clock: Option<ClockTold>,
    pub failed: Option<String>,
}

impl GuestReports {
    fn said(&mut self, line: String) {
        if self.untaken.len() < UNTAKEN_LINES_MAX {
            self.untaken.push(line.clone());
        } else {
            self.untaken_lost += 1;
        }
        push_line(&mut self.lines, line);
    }

    /// The lines since the last call.
    pub fn take_said(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.untaken);
        let lost = std::mem::take(&mut self.untaken_lost);
        if lost > 0 {
            lines.push(format!("({lost} lines came too fast and were not kept)"));
        }
        lines
    }
}

/// Hears what the guest says, for as long as it says something; its first word is told.
pub fn listen(words: &UnixStream, heard: &Arc<Mutex<GuestReports>>, mut booted: impl FnMut(String)) {
    read_lines(words, |line| {
        let heard_ns = monotonic_ns();
        let Ok(word) = serde_json::from_str(&line) else {
            // A newer guest may say more than is understood here.
            return;
        };
        let mut heard = lock(heard);
        match word {
            GuestWord::Booted { kernel_release, .. } => booted(kernel_release),
            GuestWord::Said { line } => heard.said(line),
            GuestWord::Failed { why } => heard.failed = Some(why),
            GuestWord::Ended { code, signal, bytes } => heard.ended = Some(Ended { code, signal, bytes }),
            GuestWord::Stored => heard.answer = Some(Answer::Stored),
            GuestWord::Fetched { bytes } => heard.answer = Some(Answer::Fetched { bytes }),
            GuestWord::Clock { asked_ns, monotonic_ns } => {
                heard.clock = Some(ClockTold { asked_ns, monotonic_ns, heard_ns });
            }
            GuestWord::Refused { why } => heard.answer = Some(Answer::Refused { why }),
        }
    });
}

/// Passes bytes on and counts them.
pub fn forward(mut data: UnixStream, sender: &SyncSender<Vec<u8>>, received: &AtomicU64) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = data.read(&mut buffer) {
        if sender.send(buffer[..count].to_vec()).is_err() {
            return;
        }
        received.fetch_add(count as u64, Ordering::SeqCst);
    }
}

pub fn push_line(lines: &mut VecDeque<String>, line: String) {
    if lines.len() == COMPLAINT_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
}

pub fn read_lines(from: impl Read, mut each: impl FnMut(String)) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => each(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_once_and_those_that_were_too_many_are_counted() {
        let mut heard = GuestReports::default();
        (0..UNTAKEN_LINES_MAX + 2).for_each(|number| heard.said(number.to_string()));
        let taken = heard.take_said();
        assert_eq!((taken.len(), taken[0].as_str()), (UNTAKEN_LINES_MAX + 1, "0"));
        assert!(taken.last().is_some_and(|line| line.starts_with("(2 lines")));
        assert!(heard.take_said().is_empty());
        assert_eq!(heard.lines.len(), COMPLAINT_LINES);
    }
}
