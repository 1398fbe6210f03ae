//! An instance whose only use is to wake the capturing thread: a marker written there is part of no trace.

use super::error::TraceError;
use super::wakeup;
use ftrace::tracefs::Instance;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::time::Duration;

const BUFFER_KB: u32 = 8;

/// The instance, and the pipe on which the capturing thread sleeps.
pub struct DoorbellInstance {
    instance: Instance,
    pipe: File,
}

impl DoorbellInstance {
    /// Takes a new instance.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn new(instance: Instance) -> Result<Self, TraceError> {
        instance.set_buffer_size_kb(BUFFER_KB)?;
        let percent = instance.path().join("buffer_percent");
        std::fs::write(&percent, "0").map_err(|source| TraceError::Write { path: percent, source })?;
        let pipe = instance.path().join("trace_pipe");
        let descriptor = rustix::fs::open(&pipe, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| TraceError::Open { path: pipe, source: error.into() })?;
        Ok(Self { instance, pipe: File::from(descriptor) })
    }

    /// A file for one thread; a write to it rings.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn marker(&self) -> Result<File, TraceError> {
        self.instance.open_marker().map_err(TraceError::from)
    }

    /// Sleeps until it rings, at most this long.
    pub fn wait(&mut self, timeout: Duration) {
        if wakeup::readable(&self.pipe, timeout) {
            let mut markers = [0; 4096];
            while matches!(self.pipe.read(&mut markers), Ok(count) if count > 0) {}
        }
    }
}
