//! Messages and bytes from a guest, each kept until it is taken.

use protocol::guest::GuestWord;
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const READ_BYTES: usize = 64 << 10;
const COMPLAINT_LINES: usize = 20;
/// Most lines kept between calls, which come several times a second.
const UNTAKEN_LINES_MAX: usize = 10_000;
const LINE_BYTES_MAX: u64 = 1 << 16;

/// How the guest reported the end of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub bytes: u64,
}

/// The guest's reading of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// The question that it answers.
    pub asked_ns: i64,
    pub monotonic_ns: i64,
    /// The host's clock.
    pub received_ns: i64,
}

/// The guest's answer to a request that is not a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Stored,
    Fetched { bytes: u64 },
    Refused { why: String },
}

/// Reports of the guest since its command was started.
#[derive(Debug, Default)]
pub struct GuestReports {
    pub lines: VecDeque<String>,
    /// Lines not taken yet, and the number of lines dropped.
    untaken: Vec<String>,
    untaken_lost: u64,
    pub ended: Option<Ended>,
    pub answer: Option<Answer>,
    /// Until it is taken.
    pub clock: Option<ClockReading>,
    pub failed: Option<String>,
}

impl GuestReports {
    fn add_line(&mut self, line: String) {
        if self.untaken.len() < UNTAKEN_LINES_MAX {
            self.untaken.push(line.clone());
        } else {
            self.untaken_lost += 1;
        }
        push_line(&mut self.lines, line);
    }

    /// The lines since the last call.
    pub fn take_lines(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.untaken);
        let lost = std::mem::take(&mut self.untaken_lost);
        if lost > 0 {
            lines.push(format!("({lost} lines came too fast and were not kept)"));
        }
        lines
    }
}

/// Receives the guest's messages until the connection ends; passes its first message to `booted`.
pub fn listen(words: &UnixStream, reports: &Arc<Mutex<GuestReports>>, mut booted: impl FnMut(String)) {
    read_lines(words, |line| {
        let received_ns = monotonic_ns();
        let Ok(word) = serde_json::from_str(&line) else {
            // A newer guest may send unknown messages.
            return;
        };
        let mut reports = lock(reports);
        match word {
            GuestWord::Booted { kernel_release, .. } => booted(kernel_release),
            GuestWord::Said { line } => reports.add_line(line),
            GuestWord::Failed { why } => reports.failed = Some(why),
            GuestWord::Ended { code, signal, bytes } => reports.ended = Some(Ended { code, signal, bytes }),
            GuestWord::Stored => reports.answer = Some(Answer::Stored),
            GuestWord::Fetched { bytes } => reports.answer = Some(Answer::Fetched { bytes }),
            GuestWord::Clock { asked_ns, monotonic_ns } => {
                reports.clock = Some(ClockReading { asked_ns, monotonic_ns, received_ns });
            }
            GuestWord::Refused { why } => reports.answer = Some(Answer::Refused { why }),
        }
    });
}

/// Forwards bytes and counts them.
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

/// The host's CLOCK_MONOTONIC.
pub fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_once_and_those_that_were_too_many_are_counted() {
        let mut reports = GuestReports::default();
        (0..UNTAKEN_LINES_MAX + 2).for_each(|number| reports.add_line(number.to_string()));
        let taken = reports.take_lines();
        assert_eq!((taken.len(), taken[0].as_str()), (UNTAKEN_LINES_MAX + 1, "0"));
        assert!(taken.last().is_some_and(|line| line.starts_with("(2 lines")));
        assert!(reports.take_lines().is_empty());
        assert_eq!(reports.lines.len(), COMPLAINT_LINES);
    }
}
