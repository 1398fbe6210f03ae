//! QEMU as a process.

use super::error::NotStarted;
use super::guest_reports::{lock, push_line, read_lines};
use super::lifeline;
use std::collections::VecDeque;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time to wait for a killed QEMU.
const LAST_BREATH: Duration = Duration::from_secs(5);
/// Time to wait for its last output after its exit. Only its own child could keep the stream open.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// QEMU. It ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    complaints: Arc<Mutex<VecDeque<String>>>,
    /// The thread that reads them, until QEMU has ended and all are read.
    reader: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts the program; `bind` may set its scheduling.
    pub fn start(
        program: &Path,
        arguments: &[String],
        bind: impl FnOnce(&mut Command) -> io::Result<()>,
    ) -> Result<Self, NotStarted> {
        let failed = |source| NotStarted { program: program.to_owned(), source };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A separate process group: Ctrl-C reaches only the host, which asks the meter to stop.
        command.process_group(0);
        lifeline::bind(&mut command);
        bind(&mut command).map_err(failed)?;
        let mut child = command.spawn().map_err(failed)?;
        let complaints = Arc::new(Mutex::new(VecDeque::new()));
        let reader = child.stderr.take().map(|stderr| {
            let kept = Arc::clone(&complaints);
            thread::spawn(move || read_lines(stderr, |line| push_line(&mut lock(&kept), line)))
        });
        Ok(Self { child, complaints, reader })
    }

    /// Its process ID on the host.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its exit status, once it has ended; [`Self::complaints`] then includes its last output.
    pub fn exit(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten()?;
        if let Some(reader) = self.reader.take() {
            let begun = Instant::now();
            while !reader.is_finished() && begun.elapsed() < LAST_OUTPUT {
                thread::sleep(LOOK_EVERY);
            }
        }
        Some(status)
    }

    pub fn kill(&mut self) {
        // It may have ended by itself in the meantime, which is just as good.
        let _ = self.child.kill();
    }

    pub fn complaints(&self) -> Vec<String> {
        lock(&self.complaints).iter().cloned().collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        // A broken /dev/kvm can block a killed process in the kernel. That must not block this program.
        let begun = Instant::now();
        while self.exit().is_none() && begun.elapsed() < LAST_BREATH {
            thread::sleep(LOOK_EVERY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_output_is_available_after_the_end() {
        for number in 0..20 {
            let words = ["-c".to_owned(), format!("echo {number} >&2; exit 3")];
            let mut process = Process::start(Path::new("sh"), &words, |_| Ok(())).unwrap();
            let status = loop {
                match process.exit() {
                    Some(status) => break status,
                    None => thread::yield_now(),
                }
            };
            assert_eq!((status.code(), process.complaints()), (Some(3), vec![number.to_string()]));
        }
    }
}
