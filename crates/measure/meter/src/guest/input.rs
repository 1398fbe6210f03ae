//! Distributes the bytes from the host.
//!
//! Messages and bytes come through two ports, so either may be first. Every message contains the number of bytes before
//! those that belong to it; bytes that are no longer wanted are skipped.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

const READ_BYTES: usize = 32 << 10;

/// The destination of bytes.
enum Sink {
    /// None yet: they wait.
    Waiting,
    /// A command, as long as it reads.
    Command(Arc<File>),
    /// A file, of which this number of bytes is missing.
    File { file: Arc<File>, missing: u64 },
    /// The file is complete, or has failed.
    Done(io::Result<()>),
}

struct State {
    sink: Sink,
    /// The host is gone.
    closed: bool,
    /// Bytes before this offset are discarded.
    from: u64,
}

/// The stream of bytes from the host.
#[derive(Clone)]
pub struct Input(Arc<(Mutex<State>, Condvar)>);

impl Input {
    /// Starts reading from the port.
    pub fn new(port: impl Read + Send + 'static) -> Self {
        let input = Self(Arc::new((Mutex::new(State { sink: Sink::Waiting, closed: false, from: 0 }), Condvar::new())));
        let reader = input.clone();
        thread::spawn(move || reader.follow(port));
        input
    }

    /// Passes the bytes after `from` to a command, until [`Input::release`].
    pub fn hand_to(&self, from: u64, command: File) {
        self.set(from, Sink::Command(Arc::new(command)));
    }

    /// Stops passing bytes to the command.
    pub fn release(&self) {
        let mut state = self.state();
        if matches!(state.sink, Sink::Command(_)) {
            state.sink = Sink::Waiting;
        }
    }

    /// Writes the `bytes` bytes after `from` to a file.
    ///
    /// # Errors
    /// If the file cannot be written, or the host disconnected.
    pub fn store(&self, from: u64, bytes: u64, file: File) -> io::Result<()> {
        let sink = match bytes {
            0 => Sink::Done(Ok(())),
            _ => Sink::File { file: Arc::new(file), missing: bytes },
        };
        self.set(from, sink);
        let mut state = self.state();
        loop {
            match std::mem::replace(&mut state.sink, Sink::Waiting) {
                Sink::Done(result) => return result,
                _ if state.closed => return Err(io::ErrorKind::UnexpectedEof.into()),
                other => state.sink = other,
            }
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, from: u64, sink: Sink) {
        let mut state = self.state();
        state.from = from;
        // A command whose input ends at once knows that the host is gone.
        state.sink = if state.closed && matches!(sink, Sink::Command(_)) { Sink::Waiting } else { sink };
        self.0.1.notify_all();
    }

    fn follow(&self, mut port: impl Read) {
        let mut buffer = vec![0; READ_BYTES];
        let mut read = 0;
        loop {
            match port.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    self.deliver(read, &buffer[..count]);
                    read += count as u64;
                }
            }
        }
        let mut state = self.state();
        state.closed = true;
        if matches!(state.sink, Sink::Command(_)) {
            state.sink = Sink::Waiting;
        }
        self.0.1.notify_all();
    }

    /// Delivers bytes, the first of which has offset `at`.
    fn deliver(&self, mut at: u64, mut bytes: &[u8]) {
        let mut state = self.state();
        while !bytes.is_empty() {
            let passed_over = state.from.saturating_sub(at).min(bytes.len() as u64);
            if passed_over > 0 {
                bytes = &bytes[passed_over as usize..];
                at += passed_over;
                continue;
            }
            // Writing can block, and other threads must be able to end it meanwhile.
            let written = match &state.sink {
                Sink::Command(command) => {
                    let command = Arc::clone(command);
                    drop(state);
                    // A command that has closed its input needs no more of it.
                    let _ = (&*command).write_all(bytes);
                    bytes.len() as u64
                }
                Sink::File { file, missing } => {
                    let (file, missing) = (Arc::clone(file), *missing);
                    drop(state);
                    let count = missing.min(bytes.len() as u64);
                    self.advance(count, missing, (&*file).write_all(&bytes[..count as usize]));
                    count
                }
                Sink::Waiting | Sink::Done(_) => {
                    state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            };
            bytes = &bytes[written as usize..];
            at += written;
            state = self.state();
        }
    }

    fn advance(&self, count: u64, missing: u64, result: io::Result<()>) {
        let mut state = self.state();
        match result {
            Ok(()) if count < missing => {
                if let Sink::File { missing, .. } = &mut state.sink {
                    *missing -= count;
                }
            }
            result => state.sink = Sink::Done(result),
        }
        self.0.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::fd::OwnedFd;
    use tempfile::TempDir;

    fn pipe() -> (File, File) {
        let (reader, writer) = std::io::pipe().unwrap();
        (File::from(OwnedFd::from(reader)), File::from(OwnedFd::from(writer)))
    }

    fn file(folder: &TempDir, name: &str) -> File {
        File::create(folder.path().join(name)).unwrap()
    }

    #[test]
    fn bytes_go_where_their_word_says_whichever_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let (port, mut host) = pipe();
        let input = Input::new(port);
        // A command that reads a part of its input and ends; the rest is discarded.
        let (mut command, stdin) = pipe();
        host.write_all(b"settings\n").unwrap();
        input.hand_to(0, stdin);
        let mut line = [0; 9];
        command.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"settings\n");
        input.release();
        drop(command);
        host.write_all(b"stop\nthe file").unwrap();
        input.store(14, 8, file(&folder, "a")).unwrap();
        input.store(22, 0, file(&folder, "empty")).unwrap();
        host.write_all(&[7; 3 * READ_BYTES]).unwrap();
        input.store(22, 3 * READ_BYTES as u64, file(&folder, "b")).unwrap();
        assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"the file");
        assert_eq!(fs::read(folder.path().join("b")).unwrap(), vec![7; 3 * READ_BYTES]);
    }

    #[test]
    fn a_host_that_goes_away_ends_the_input_of_the_command_and_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (port, mut host) = pipe();
        let input = Input::new(port);
        let (mut command, stdin) = pipe();
        input.hand_to(0, stdin);
        host.write_all(b"x").unwrap();
        drop(host);
        let mut all = Vec::new();
        command.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"x");
        assert!(input.store(1, 5, file(&folder, "a")).is_err());
    }
}
