//! The stream of a spool through a clean pipe: bytes from an offset on, until the end or until the pipe is closed.

use super::control::{Line, say};
use super::error::SpoolError;
use super::ledger;
use super::stretch::{self, Stretch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const PIECE_BYTES: usize = 64 << 10;
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const HERE_EVERY: Duration = Duration::from_secs(1);

/// Writes the stream to standard output and forwards lines from standard input. At the end of the stream, its last line
/// on standard error is `end`, the meter's exit, and the number of bytes.
///
/// # Errors
/// [`SpoolError`], also if the host is gone.
pub fn attach(place: &Path, mut offset: u64) -> Result<(), SpoolError> {
    let spool = ledger::directory(place);
    let (mut input, mut output) = (io::stdin(), io::stdout());
    let mut unread = String::new();
    let mut here_at = Instant::now();
    say(&spool, Line::Here);
    loop {
        let Stretch { bytes, end, .. } = stretch::read(place, offset, PIECE_BYTES)?;
        if !bytes.is_empty() {
            let written = output.write_all(&bytes).and_then(|()| output.flush());
            written.map_err(SpoolError::WriteToHost)?;
            offset += bytes.len() as u64;
        } else if let Some(end) = end.filter(|end| offset >= end.bytes) {
            end.words.iter().for_each(|word| eprintln!("{word}"));
            eprintln!("end {} bytes {}", end.how, end.bytes);
            return Ok(());
        }
        if here_at.elapsed() >= HERE_EVERY {
            here_at = Instant::now();
            say(&spool, Line::Here);
        }
        let patience = if bytes.len() == PIECE_BYTES { Timespec::default() } else { LOOK_EVERY };
        let readable = poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], Some(&patience));
        if matches!(readable, Ok(count) if count > 0) {
            let mut words = [0; 256];
            match input.read(&mut words) {
                Ok(0) | Err(_) => return Err(SpoolError::HostGone),
                Ok(count) => unread.push_str(&String::from_utf8_lossy(&words[..count])),
            }
            while let Some((line, rest)) = unread.split_once('\n') {
                if let Some(line) = Line::parse(line) {
                    say(&spool, line);
                }
                unread = rest.to_owned();
            }
        }
    }
}
