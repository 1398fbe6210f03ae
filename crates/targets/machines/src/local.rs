//! This machine as a target.

use super::{Command, Exit, Output, RunningCommand, Target, TargetError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{self, Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Name of this machine as a target.
pub use archive::manifest::LOCAL as NAME;
const READ_BYTES: usize = 64 << 10;
/// Chunks to read ahead. If the disk is slower, the meter's pipe fills and the meter counts what it drops.
const PIECES_AHEAD: usize = 64;
const DIAGNOSTIC_LINES: usize = 20;
const DIAGNOSTIC_LINE_BYTES: u64 = 4096;
const EXIT_POLL: Duration = Duration::from_millis(5);
/// Interval at which an empty pipe is noted: rarely, because the machine is being measured.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// This machine.
#[derive(Debug, Default)]
pub struct LocalTarget;

impl Target for LocalTarget {
    fn name(&self) -> &str {
        NAME
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        copy(from, to)
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        let mut prepared = process::Command::new(&command.program);
        prepared.args(&command.arguments);
        prepared.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A separate process group: Ctrl-C reaches only the host, which asks the meter to stop and keeps its last
        // output.
        prepared.process_group(0);
        let mut child = prepared.spawn().map_err(|source| TargetError::Start {
            target: NAME.into(),
            program: command.program.clone(),
            source,
        })?;
        let (sender, output) = sync_channel(PIECES_AHEAD);
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let found_empty = Arc::new(AtomicU64::new(0));
        if let Some(stdout) = child.stdout.take() {
            let noted = Arc::clone(&found_empty);
            thread::spawn(move || forward(stdout, &sender, &noted));
        }
        let reader = child.stderr.take().map(|stderr| {
            let kept = Arc::clone(&lines);
            thread::spawn(move || keep_lines(stderr, &kept))
        });
        let input = child.stdin.take();
        let (started, empty_at_end) = (Instant::now(), None);
        Ok(Box::new(LocalCommand { child, input, output, found_empty, lines, reader, started, empty_at_end }))
    }

    fn is_this_machine(&self) -> bool {
        true
    }

    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        copy(from, to)
    }

    fn close(&mut self) -> Result<(), TargetError> {
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), TargetError> {
    fs::copy(from, to).map(drop).map_err(|source| TargetError::Copy {
        target: NAME.into(),
        from: from.to_owned(),
        to: to.to_owned(),
        source,
    })
}

/// Forwards the command's output; counts in `found_empty` how often the pipe was empty and everything before was
/// forwarded.
fn forward(mut stdout: ChildStdout, sender: &SyncSender<Vec<u8>>, found_empty: &AtomicU64) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        // If the wait is interrupted or fails, reading shows the state.
        if poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&LOOK_EVERY)) == Ok(0) {
            found_empty.fetch_add(1, Ordering::SeqCst);
            continue;
        }
        match stdout.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn keep_lines(stderr: ChildStderr, lines: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        // The limit splits endless lines instead of collecting them in memory.
        match (&mut reader).take(DIAGNOSTIC_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                let mut kept = lines.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == DIAGNOSTIC_LINES {
                    kept.pop_front();
                }
                kept.push_back(text);
            }
        }
    }
}

/// Time limit for the last lines of standard error after the end; grandchildren can keep it open for ever.
const LAST_LINES: Duration = Duration::from_millis(200);

struct LocalCommand {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    found_empty: Arc<AtomicU64>,
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: Option<thread::JoinHandle<()>>,
    started: Instant,
    /// Value of `found_empty` when the child was first seen to have ended.
    empty_at_end: Option<u64>,
}

impl LocalCommand {
    fn await_last_lines(&self) {
        let begun = Instant::now();
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) && begun.elapsed() < LAST_LINES {
            thread::sleep(EXIT_POLL);
        }
    }
}

impl RunningCommand for LocalCommand {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(bytes)?;
        input.flush()
    }

    fn read(&mut self, wait: Duration) -> Output {
        match self.output.recv_timeout(wait) {
            Ok(bytes) => Output::Bytes(bytes),
            // Grandchildren may keep the output open after the child has ended. Its last output has arrived once the
            // pipe was found empty afterwards, however busy this machine is.
            Err(RecvTimeoutError::Timeout) => {
                let empty = self.found_empty.load(Ordering::SeqCst);
                match self.empty_at_end {
                    Some(at_end) if empty > at_end => self.output.try_recv().map_or(Output::Closed, Output::Bytes),
                    Some(_) => Output::Quiet,
                    None => {
                        self.empty_at_end = matches!(self.child.try_wait(), Ok(Some(_))).then_some(empty);
                        Output::Quiet
                    }
                }
            }
            Err(RecvTimeoutError::Disconnected) => Output::Closed,
        }
    }

    fn diagnostics(&mut self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn kill(&mut self) {
        // It may have ended by itself in the meantime, which is just as good.
        let _ = self.child.kill();
    }

    fn wait(&mut self, limit: Duration) -> Option<Exit> {
        self.input = None;
        let begun = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.await_last_lines();
                return Some(match status.code() {
                    Some(code) => Exit::Code(code),
                    None => Exit::Signal(status.signal().unwrap_or(0)),
                });
            }
            if begun.elapsed() >= limit {
                return None;
            }
            thread::sleep(EXIT_POLL);
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for LocalCommand {
    fn drop(&mut self) {
        // Closing the input shows a meter that its host is gone; a child that has ended is reaped here.
        self.input = None;
        let _ = self.child.try_wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Box<dyn RunningCommand> {
        let command = Command { program: "/bin/sh".into(), arguments: vec!["-c".into(), line.into()] };
        LocalTarget.start(&command).unwrap()
    }

    fn everything(command: &mut dyn RunningCommand) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match command.read(Duration::from_secs(30)) {
                Output::Bytes(bytes) => all.extend(bytes),
                Output::Quiet => panic!("nothing for half a minute"),
                Output::Closed => return all,
            }
        }
    }

    #[test]
    fn bytes_go_in_and_out_and_the_code_comes_back() {
        let mut command = shell("read line; printf 'got %s' \"$line\"; echo bad >&2; exit 7");
        command.write(b"this\n").unwrap();
        assert_eq!(everything(command.as_mut()), b"got this");
        assert_eq!(command.wait(Duration::from_secs(30)), Some(Exit::Code(7)));
        assert_eq!(command.diagnostics(), ["bad"]);
    }

    #[test]
    fn a_killed_command_says_so() {
        let mut command = shell("exec sleep 1000");
        assert_eq!(command.wait(Duration::from_millis(1)), None);
        command.kill();
        assert_eq!(everything(command.as_mut()), b"");
        assert_eq!(command.wait(Duration::from_secs(30)), Some(Exit::Signal(9)));
    }

    #[test]
    fn only_the_last_lines_of_standard_error_are_kept() {
        let mut command = shell("i=0; while [ $i -lt 100 ]; do echo $i >&2; i=$((i+1)); done");
        assert_eq!(command.wait(Duration::from_secs(30)), Some(Exit::Code(0)));
        let lines = command.diagnostics();
        assert_eq!(lines.len(), DIAGNOSTIC_LINES);
        assert_eq!(lines.last().map(String::as_str), Some("99"));
    }

    #[test]
    fn output_held_open_by_a_grandchild_ends_with_the_child() {
        let mut command = shell("sleep 1000 & echo $!");
        let mut output = Vec::new();
        loop {
            match command.read(Duration::from_millis(50)) {
                Output::Bytes(bytes) => output.extend(bytes),
                Output::Quiet => {}
                Output::Closed => break,
            }
        }
        let grandchild = String::from_utf8(output).unwrap();
        let killed = process::Command::new("kill").arg(grandchild.trim()).status().unwrap();
        assert!(killed.success(), "the grandchild outlived the child");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let command = Command { program: "/nowhere/meter".into(), arguments: vec![] };
        let error = LocalTarget.start(&command).err().unwrap().to_string();
        assert!(error.contains("/nowhere/meter"), "{error}");
    }
}
