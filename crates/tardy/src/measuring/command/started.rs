//! A command on this machine: held back until everything is armed, and ended with the measurement.

use super::reading;
use anyhow::Context;
use runner::run::CountedOutput;
use signal_hook::consts::SIGTERM;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time to exit after the measurement has ended and the command was asked to end.
const LAST_CHANCE: Duration = Duration::from_secs(5);
/// Time for its last output to arrive.
const LAST_WORDS: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Variables that a command gets beside those of this process.
pub type Environment = [(&'static str, OsString)];

/// The running command. It shares the terminal and the open files of this process.
pub struct Started {
    child: Child,
    /// Exit status, if it ended before it was asked to.
    by_itself: Option<ExitStatus>,
    /// Threads that read its output.
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
                (None, Some(signal)) => write!(out, "was killed by signal {signal}"),
                (None, None) => write!(out, "ended: {status}"),
            },
        }
    }
}

impl Started {
    /// Starts it, held back, with these variables; the meter releases it. With `aside`, its output goes to standard error. If lines of it are
    /// counted, it writes into pipes, which are read and passed on at once.
    ///
    /// # Errors
    /// If the meter cannot be started.
    pub fn waiting(
        meter: &Path,
        words: &[String],
        environment: &Environment,
        aside: bool,
        counted: &CountedOutput,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(meter);
        command.arg("start").args(words).envs(environment.iter().map(|(name, value)| (name, value)));
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

    /// Its process id, which stays the same when the command begins.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Checks whether it has ended by itself; called after the measurement, before it is asked to end.
    pub fn notice_end(&mut self) {
        self.by_itself = self.by_itself.or_else(|| self.child.try_wait().ok().flatten());
        if self.by_itself.is_some() {
            self.await_readers();
        }
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.notice_end();
        self.by_itself.is_some()
    }

    /// Waits for its last output to arrive. A process that it left behind may keep the pipes open for ever.
    fn await_readers(&self) {
        let begun = Instant::now();
        while !self.readers.iter().all(JoinHandle::is_finished) && begun.elapsed() < LAST_WORDS {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The exit code of a command that failed by itself, in the convention of shells: 128 plus the number of a signal.
    ///
    /// On a busy machine the host may notice the end of the measurement after the meter has asked the command to end. With
    /// `asked_to_end`, SIGTERM is that request and no failure.
    pub fn own_failure(&self, asked_to_end: bool) -> Option<u8> {
        let asked = |status: &ExitStatus| asked_to_end && status.signal() == Some(SIGTERM);
        let status = self.by_itself.filter(|status| !status.success() && !asked(status))?;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal))?;
        Some(u8::try_from(code).unwrap_or(u8::MAX))
    }

    /// Waits for its end, which the meter has requested; kills it after [`LAST_CHANCE`].
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
        // A command that was never released would wait for ever.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_to_end_that_is_noticed_late_is_no_failure() {
        let child = Command::new("sh").args(["-c", "kill $$; sleep 60"]).spawn().unwrap();
        let mut started = Started { child, by_itself: None, readers: Vec::new() };
        while started.by_itself.is_none() {
            started.notice_end();
        }
        assert_eq!(started.own_failure(true), None);
        assert_eq!(started.own_failure(false), Some(143));
    }
}
