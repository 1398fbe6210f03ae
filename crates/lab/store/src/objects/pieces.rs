//! Bytes between a thread that reads or writes them and a task that sends or receives them, with few of them in memory.

use std::io::{self, Read, Write};
use tokio::sync::mpsc::{Receiver, Sender};

/// Length of a part; S3 takes parts from 5 MiB.
pub const PART_BYTES: usize = 8 << 20;

/// Received bytes as a source of a thread.
pub struct Source {
    pieces: Receiver<io::Result<Vec<u8>>>,
    current: Vec<u8>,
    read: usize,
}

impl Source {
    pub fn of(pieces: Receiver<io::Result<Vec<u8>>>) -> Self {
        Self { pieces, current: Vec::new(), read: 0 }
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.current.len() {
            let Some(piece) = self.pieces.blocking_recv() else { return Ok(0) };
            (self.current, self.read) = (piece?, 0);
        }
        let count = into.len().min(self.current.len() - self.read);
        into[..count].copy_from_slice(&self.current[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

/// Output of a thread, in parts to send. The last part is sent by [`Sink::end`] alone, so that what a failed thread
/// wrote is never taken for the whole.
pub struct Sink {
    parts: Sender<Part>,
    current: Vec<u8>,
}

/// A part to send.
pub struct Part {
    pub bytes: Vec<u8>,
    pub is_last: bool,
}

impl Sink {
    pub fn of(parts: Sender<Part>) -> Self {
        Self { parts, current: Vec::new() }
    }

    pub fn end(mut self) -> io::Result<()> {
        self.send(true)
    }

    fn send(&mut self, is_last: bool) -> io::Result<()> {
        let part = Part { bytes: std::mem::take(&mut self.current), is_last };
        self.parts.blocking_send(part).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.current.len() == PART_BYTES {
            self.send(false)?;
        }
        let count = bytes.len().min(PART_BYTES - self.current.len());
        self.current.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
