//! Commands of the host for the spooler, through a named pipe.

use super::ledger;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A command of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// The connection to the host is up.
    Here,
    /// It is up, but too slow for messages that are only for display.
    Behind,
    /// The host has all bytes before this offset.
    Have(u64),
    /// End the measurement.
    Stop,
    /// End the meter at once and restore its changes.
    Kill,
}

impl Line {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.trim() {
            "here" => Self::Here,
            "behind" => Self::Behind,
            "stop" => Self::Stop,
            "kill" => Self::Kill,
            other => Self::Have(other.strip_prefix("have ")?.parse().ok()?),
        })
    }

    fn text(self) -> String {
        match self {
            Self::Here => "here\n".into(),
            Self::Behind => "behind\n".into(),
            Self::Stop => "stop\n".into(),
            Self::Kill => "kill\n".into(),
            Self::Have(offset) => format!("have {offset}\n"),
        }
    }
}

/// The spooler's end of the pipe.
#[derive(Debug)]
pub struct Listening {
    pub pipe: File,
    unread: Vec<u8>,
}

impl Listening {
    /// # Errors
    /// Errors of the file system.
    pub fn begin(spool: &Path) -> io::Result<Self> {
        let path = ledger::control(spool);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // Opened for both directions: without a writer it would always be at its end.
        let pipe = open(&path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { pipe: pipe.into(), unread: Vec::new() })
    }

    /// The received lines.
    pub fn lines(&mut self) -> Vec<Line> {
        let mut bytes = [0; 4096];
        while let Ok(count) = self.pipe.read(&mut bytes)
            && count > 0
        {
            self.unread.extend_from_slice(&bytes[..count]);
        }
        let whole = self.unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.unread.drain(..whole).collect();
        String::from_utf8_lossy(&lines).lines().filter_map(Line::parse).collect()
    }
}

/// Sends a line to the spooler. One that is gone does not need it.
pub fn say(spool: &Path, line: Line) {
    let pipe = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(ledger::control(spool));
    let _ = pipe.and_then(|mut pipe| pipe.write_all(line.text().as_bytes()));
}
