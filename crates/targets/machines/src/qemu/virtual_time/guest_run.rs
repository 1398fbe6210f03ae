//! The single measurement of a guest in virtual time. The host can only pass settings before it boots, and receive
//! data.

use super::super::guest_reports::lock;
use super::super::process::Process;
use super::arguments::CONSOLE_FILE;
use super::boot::Boot;
use super::error::VirtualTimeError;
use super::processor_thread::ProcessorThread;
use super::shared_memory::{STREAM_FILE, SharedFile};
use crate::console::Console;
use crate::{Exit, Output, RunningCommand};
use archive::settings::RunSettings;
use std::fs;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A guest that waits for its settings, and runs once it has them.
pub struct GuestRun {
    boot: Boot,
    line: Vec<u8>,
    process: Option<Process>,
    processor: Option<ProcessorThread>,
    /// Why there is no process although there should be one.
    failure: Option<VirtualTimeError>,
    stream: Option<SharedFile>,
    console: Arc<Mutex<Console>>,
    /// Whether it was stopped on request, or killed.
    ended_by_host: bool,
    started: Instant,
}

impl GuestRun {
    pub fn new(boot: Boot, console: Arc<Mutex<Console>>) -> Self {
        Self {
            boot,
            line: Vec::new(),
            process: None,
            processor: None,
            failure: None,
            stream: None,
            console,
            ended_by_host: false,
            started: Instant::now(),
        }
    }

    fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_none_or(|process| process.exit().is_some())
    }

    fn more(&mut self) -> io::Result<Vec<u8>> {
        if self.stream.is_none() && self.process.is_some() {
            self.stream = Some(SharedFile::open(&self.boot.scratch.join(STREAM_FILE))?);
        }
        self.stream.as_mut().map_or(Ok(Vec::new()), SharedFile::more)
    }

    fn attend(&mut self, spoke: bool) {
        if let Some(processor) = &mut self.processor {
            processor.attend(spoke);
        }
    }

    fn hear_console(&mut self) {
        let output = fs::read(self.boot.scratch.join(CONSOLE_FILE)).unwrap_or_default();
        let mut console = Console::default();
        console.push(&output);
        *lock(&self.console) = console;
    }
}

impl RunningCommand for GuestRun {
    /// Accepts the line of settings and boots; afterwards the guest receives nothing, and stopping means killing it.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.process.is_some() {
            self.ended_by_host = true;
            self.kill();
            return Ok(());
        }
        self.line.extend_from_slice(bytes);
        if self.line.ends_with(b"\n") {
            let settings: RunSettings = serde_json::from_slice(&self.line)?;
            let guest_is_idle = settings.loads.is_empty();
            match self.boot.start(settings) {
                Ok(process) => {
                    self.processor = Some(ProcessorThread::of(process.id(), guest_is_idle));
                    self.process = Some(process);
                }
                Err(why) => self.failure = Some(why),
            }
        }
        Ok(())
    }

    fn read(&mut self, wait: Duration) -> Output {
        let begun = Instant::now();
        loop {
            // Checked before reading: everything written until then is in the file.
            let ended = self.has_ended();
            let more = self.more();
            self.attend(more.as_ref().is_ok_and(|bytes| !bytes.is_empty()));
            match more {
                Ok(bytes) if !bytes.is_empty() => return Output::Bytes(bytes),
                Ok(_) if !ended && begun.elapsed() < wait => thread::sleep(LOOK_EVERY),
                Ok(_) if !ended => return Output::Quiet,
                _ => return Output::Closed,
            }
        }
    }

    fn diagnostics(&mut self) -> Vec<String> {
        self.hear_console();
        let mut lines: Vec<String> = self.failure.iter().map(ToString::to_string).collect();
        lines.extend(self.process.as_ref().map(Process::complaints).unwrap_or_default());
        lines.extend(lock(&self.console).last_output());
        lines
    }

    fn kill(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill();
        }
    }

    fn wait(&mut self, limit: Duration) -> Option<Exit> {
        let begun = Instant::now();
        while !self.has_ended() {
            self.attend(false);
            if begun.elapsed() >= limit {
                return None;
            }
            thread::sleep(LOOK_EVERY);
        }
        self.hear_console();
        let panicked = lock(&self.console).panic().is_some();
        let ended_well = self.process.as_mut().and_then(Process::exit).is_some_and(|status| status.success());
        Some(match (self.ended_by_host, ended_well && !panicked) {
            (true, _) => Exit::Ended,
            (false, true) => Exit::Code(0),
            (false, false) => Exit::MachineDown,
        })
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
