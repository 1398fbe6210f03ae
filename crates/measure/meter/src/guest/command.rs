//! Runs a command of the host, connected to the ports.

use super::error::GuestError;
use super::input::Input;
use super::say;
use protocol::guest::{GuestCommand, GuestWord, METER};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const RELAY_BYTES: usize = 32 << 10;
const LINE_BYTES_MAX: u64 = 4096;
/// How long output may continue after the end of the command: a load can hold the pipe open.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// A command that has ended.
pub struct Ended {
    pub word: GuestWord,
    /// Whether a remaining process may still write: its output could then not be distinguished from that of a later
    /// command.
    pub haunted: bool,
}

/// Runs the meter with the given arguments to its end. Its input are the bytes after `data_before`; its output is
/// forwarded through a pipe, because the host must know the number of bytes.
///
/// # Errors
/// [`GuestError`] if it could not be run.
pub fn run(
    command: &GuestCommand,
    data_before: u64,
    input: &Input,
    data: File,
    words: &File,
) -> Result<Ended, GuestError> {
    let said = words.try_clone().map_err(GuestError::SharePort)?;
    let mut child = Command::new(Path::new("/").join(METER))
        .args(&command.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(GuestError::StartMeter)?;
    if let Some(stdin) = child.stdin.take() {
        input.hand_to(data_before, OwnedFd::from(stdin).into());
    }
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let relays = [
        thread::spawn(move || stdout.map_or((), |stdout| relay(stdout, data, &counted))),
        thread::spawn(move || stderr.map_or((), |stderr| repeat_lines(stderr, &said))),
    ];
    let status = child.wait().map_err(GuestError::AwaitMeter)?;
    let ended = Instant::now();
    while relays.iter().any(|relay| !relay.is_finished()) && ended.elapsed() < LAST_OUTPUT {
        thread::sleep(Duration::from_millis(5));
    }
    input.release();
    let bytes = sent.load(Ordering::SeqCst);
    let haunted = relays.iter().any(|relay| !relay.is_finished());
    Ok(Ended { word: GuestWord::Ended { code: status.code(), signal: status.signal(), bytes }, haunted })
}

fn relay(mut from: impl Read, mut to: impl Write, sent: &AtomicU64) {
    let mut buffer = vec![0; RELAY_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) if to.write_all(&buffer[..count]).is_err() => return,
            Ok(count) => {
                sent.fetch_add(count as u64, Ordering::SeqCst);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn repeat_lines(from: impl Read, words: &File) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => say(words, &GuestWord::Said { line: String::from_utf8_lossy(&line).trim_end().to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relayed_byte_is_counted() {
        let sent = AtomicU64::new(0);
        let input = vec![7; 3 * RELAY_BYTES + 5];
        let mut output = Vec::new();
        relay(input.as_slice(), &mut output, &sent);
        assert_eq!((output.len() as u64, sent.load(Ordering::SeqCst)), (input.len() as u64, input.len() as u64));
        assert_eq!(output, input);
    }
}
