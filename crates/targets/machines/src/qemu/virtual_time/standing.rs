//! A machine that has executed a run up to an instant and is stopped there, for inspection.

use super::super::file_error::FileError;
use super::super::process::Process;
use super::super::{Scratch, guest_reports};
use super::VirtualTimeTarget;
use super::debugger::{self, Registers};
use super::error::{DebuggerError, VirtualTimeError};
use super::extras::{Extras, Standing};
use super::shared_memory::{STREAM_FILE, contents};
use crate::stop::StopRequests;
use archive::frame::{Decoder, Item};
use archive::message::{FileKind, Message};
use archive::settings::RunSettings;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// File name of the debugger's socket in the scratch directory.
const SOCKET_FILE: &str = "gdb";
const PREFIX: &str = "at";
/// Longest path of a socket: unix(7).
const SOCKET_BYTES_MAX: usize = 107;

/// The machine. It ends when this is dropped.
pub struct StandingMachine {
    standing: Standing,
    // Dropped before its directory is removed.
    process: Process,
    scratch: Scratch,
}

impl VirtualTimeTarget {
    /// Repeats the run with these settings up to this number of executed blocks of code.
    ///
    /// # Errors
    /// [`VirtualTimeError`].
    pub fn stand_at(
        &mut self,
        settings: &RunSettings,
        plugin: &Path,
        blocks: u64,
        stop: &StopRequests,
    ) -> Result<StandingMachine, VirtualTimeError> {
        if self.boot.is_none() {
            self.prepared()?;
        }
        let (mut boot, scratch) = self.boot.take().zip(self.scratch.take()).ok_or(VirtualTimeError::NotPrepared)?;
        let (socket, prefix) = (scratch.0.join(SOCKET_FILE), scratch.0.join(PREFIX));
        check_length(&socket)?;
        let standing = Standing { plugin: plugin.to_owned(), socket, prefix, blocks };
        boot.extras = Extras { standing: Some(standing.clone()), ..Extras::default() };
        let mut process = boot.start(settings.clone())?;
        let stopped = standing.stopped();
        while !stopped.exists() {
            if stop.count() > 0 {
                return Err(VirtualTimeError::Stopped);
            }
            if process.exit().is_some() {
                let console = guest_reports::lock(&self.console).last_output();
                let lines = process.complaints().into_iter().chain(console).collect();
                return Err(VirtualTimeError::EndedBefore { lines });
            }
            thread::sleep(LOOK_EVERY);
        }
        debugger::step_as_it_happened(&standing.socket)?;
        Ok(StandingMachine { standing, process, scratch })
    }
}

/// Checked before a run of minutes.
fn check_length(socket: &Path) -> Result<(), VirtualTimeError> {
    if socket.as_os_str().len() <= SOCKET_BYTES_MAX {
        return Ok(());
    }
    Err(VirtualTimeError::SocketName { socket: socket.to_owned(), bytes_max: SOCKET_BYTES_MAX })
}

impl StandingMachine {
    /// The socket for a debugger, accessible to this user only.
    pub fn socket(&self) -> &Path {
        &self.standing.socket
    }

    /// A directory for related files, removed with the machine.
    pub fn directory(&self) -> PathBuf {
        self.scratch.0.clone()
    }

    pub fn has_ended(&mut self) -> bool {
        self.process.exit().is_some()
    }

    /// The registers of its processor. The machine stays stopped.
    ///
    /// # Errors
    /// [`DebuggerError`].
    pub fn registers(&self) -> Result<Registers, DebuggerError> {
        debugger::registers(self.socket())
    }

    /// The samples that the guest has written so far, in the format of an archive's file of samples.
    ///
    /// # Errors
    /// If the guest's samples cannot be read.
    pub fn samples(&self) -> Result<Vec<u8>, FileError> {
        let path = self.scratch.0.join(STREAM_FILE);
        let stream = contents(&path).map_err(FileError::reading(path))?;
        Ok(samples_of(&stream))
    }
}

fn samples_of(stream: &[u8]) -> Vec<u8> {
    let (mut files, mut samples) = (HashSet::new(), Vec::new());
    for item in Decoder::default().push(stream) {
        match item {
            Item::Message(Message::FileBegin { file, kind: FileKind::Samples { .. } }) => _ = files.insert(file),
            Item::Chunk { file, data, .. } if files.contains(&file) => samples.extend(data),
            _ => {}
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::frame::Encoder;

    #[test]
    fn samples_are_found_among_other_messages() {
        let mut encoder = Encoder::default();
        let begin = |file, kind| Message::FileBegin { file, kind };
        let stream = [
            encoder.message(&begin(1, FileKind::SpikeTrace { spike: 1 })),
            encoder.message(&begin(2, FileKind::Samples { thread: 0 })),
            encoder.chunk(1, 0, b"trace"),
            encoder.chunk(2, 0, b"first "),
            encoder.chunk(2, 6, b"second"),
        ];
        let mut stream = stream.concat();
        stream.extend(b"TD half of a fra");
        assert_eq!(samples_of(&stream), b"first second");
        assert_eq!(samples_of(b""), b"");
    }
}
