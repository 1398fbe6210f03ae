//! A command that was started to be watched: held back until everything is armed, and not left behind.

use super::reading;
use anyhow::Context;
use runner::run::CountedOutput;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time to end by itself once the measurement has ended and it was asked to.
const LAST_CHANCE: Duration = Duration::from_secs(5);
/// Time for what it printed last to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The command under way. Its terminal and its files are ours.
pub struct Started {
    child: Child,
    /// How it ended before anything asked it to.
    by_itself: Option<ExitStatus>,
    /// Those that read what it prints.
    readers: Vec<JoinHandle<()>>,
}

/// How it ended.
pub struct Ended(Option<ExitStatus>);

impl Ended {
    pub fn is_success(&self) -> bool {
        self.0.is_some_and(|status| status.success())
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => out.write_str("could not be waited for"),
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => write!(out, "ended with exit status {code}"),
                (None, Some(signal)) => write!(out, "was ended by signal {signal}"),
                (None, None) => write!(out, "ended: {status}"),
            },
        }
    }
}

impl Started {
    /// Starts it, held back; the meter lets it go on. With `aside` what it prints goes to standard error. Where lines of it
    /// are to be counted it prints into pipes, which are read and passed on at once.
    ///
    /// # Errors
    /// When the meter cannot be started.
    pub fn waiting(meter: &Path, words: &[String], aside: bool, counted: &CountedOutput) -> anyhow::Result<Self> {
        let mut command = Command::new(meter);
        command.arg("start").args(words);
        if !counted.is_idle() {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        } else if aside {
            let elsewhere = io::stderr().as_fd().try_clone_to_owned().context("failed to share standard error")?;
            command.stdout(Stdio::from(elsewhere));
        }
        let mut child = command.spawn().with_context(|| format!("failed to start {}", meter.display()))?;
        let output = child.stdout.take().map(|pipe| match aside {
            true => reading::pass_on(pipe, io::stderr(), counted.clone()),
            false => reading::pass_on(pipe, io::stdout(), counted.clone()),
        });
        let errors = child.stderr.take().map(|pipe| reading::pass_on(pipe, io::stderr(), counted.clone()));
        Ok(Self { child, by_itself: None, readers: output.into_iter().chain(errors).collect() })
    }

    /// Number of its process, which stays the same when the command begins.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Sees whether it has ended by itself; called when the measurement is over, and before it is asked to end.
    pub fn notice_end(&mut self) {
        self.by_itself = self.by_itself.or_else(|| self.child.try_wait().ok().flatten());
        if self.by_itself.is_some() {
            self.await_readers();
        }
    }

    /// Gives what it printed at last time to arrive. A process that it left behind may hold the pipes for ever.
    fn await_readers(&self) {
        let begun = Instant::now();
        while !self.readers.iter().all(JoinHandle::is_finished) && begun.elapsed() < LAST_WORDS {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The exit code that it failed with by itself, as a shell gives it: a signal is 128 and its number.
    pub fn own_failure(&self) -> Option<u8> {
        let status = self.by_itself.filter(|status| !status.success())?;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal))?;
        Some(u8::try_from(code).unwrap_or(u8::MAX))
    }

    /// Waits for its end, which the meter has asked it for; after a while it is killed.
    pub fn end(&mut self) -> Ended {
        let begun = Instant::now();
        while begun.elapsed() < LAST_CHANCE {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.await_readers();
                    return Ended(Some(status));
                }
                Ok(None) => thread::sleep(LOOK_EVERY),
                Err(_) => break,
            }
        }
        let _ = self.child.kill();
        Ended(self.child.wait().ok())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // One that was never let go on would wait for ever.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
