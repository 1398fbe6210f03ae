//! A scripted target with its own clock: commands answer from a script and nothing waits.

use super::{Command, Exit, Output, Reason, RunningCommand, Target, TargetError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use thiserror::Error;

/// A step of a scripted command.
#[derive(Debug, Clone)]
pub enum Step {
    /// Writes these bytes to its output.
    Say(Vec<u8>),
    /// Writes a line to its standard error.
    Complain(String),
    /// Lets this time pass silently.
    Pass(Duration),
    /// Continues once its input contains this line; until then time passes.
    Await(String),
    /// The host stands still: all of this time passes between two reads.
    Suspend(Duration),
    /// Does nothing more, but stays alive.
    Hang,
    /// Something that it started writes noise for ever, also after a kill; a tenth of a second lies between two pieces.
    Flood,
}

/// A scripted command from start to end.
#[derive(Debug, Clone)]
pub struct Script {
    pub steps: Vec<Step>,
    pub exit: Exit,
}

/// The record of a fake target, for assertions after the run.
#[derive(Debug, Default)]
pub struct FakeLog {
    pub started: Vec<Command>,
    /// Everything written to the commands' input.
    pub input: Vec<u8>,
    pub sent: Vec<(PathBuf, PathBuf)>,
    pub fetched: Vec<(PathBuf, PathBuf)>,
    pub kills: usize,
    pub closed: bool,
}

/// A target whose commands follow scripts, one script per command, in order.
#[derive(Debug, Default)]
pub struct FakeTarget {
    pub scripts: VecDeque<Script>,
    /// [`Target::prepare`] fails with this.
    pub refusal: Option<String>,
    /// Output of its console.
    pub console: Vec<u8>,
    /// It runs on this machine.
    pub here: bool,
    pub log: Rc<RefCell<FakeLog>>,
}

impl FakeTarget {
    pub fn new(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self { scripts: scripts.into_iter().collect(), ..Self::default() }
    }
}

/// Why a fake target cannot be prepared.
#[derive(Debug, Error)]
#[error("{0}")]
struct Refusal(String);

impl Reason for Refusal {}

impl Target for FakeTarget {
    fn name(&self) -> &str {
        "fake"
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        match self.refusal.clone() {
            Some(why) => Err(TargetError::Prepare { target: "fake".into(), why: Refusal(why).into() }),
            None => Ok(()),
        }
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.log.borrow_mut().sent.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        self.log.borrow_mut().started.push(command.clone());
        let script = self.scripts.pop_front().ok_or_else(|| TargetError::Start {
            target: "fake".into(),
            program: command.program.clone(),
            source: io::Error::from(io::ErrorKind::NotFound),
        })?;
        Ok(Box::new(FakeCommand {
            steps: script.steps.into(),
            exit: script.exit,
            killed: false,
            unread: String::new(),
            lines: Vec::new(),
            clock: Cell::new(Duration::ZERO),
            log: Rc::clone(&self.log),
        }))
    }

    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.log.borrow_mut().fetched.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn console(&self) -> Vec<u8> {
        self.console.clone()
    }

    fn is_this_machine(&self) -> bool {
        self.here
    }

    fn close(&mut self) -> Result<(), TargetError> {
        self.log.borrow_mut().closed = true;
        Ok(())
    }
}

struct FakeCommand {
    steps: VecDeque<Step>,
    exit: Exit,
    killed: bool,
    unread: String,
    lines: Vec<String>,
    clock: Cell<Duration>,
    log: Rc<RefCell<FakeLog>>,
}

impl FakeCommand {
    fn pass(&self, time: Duration) {
        self.clock.set(self.clock.get() + time);
    }
}

impl RunningCommand for FakeCommand {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.killed || self.steps.is_empty() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.unread.push_str(&String::from_utf8_lossy(bytes));
        self.log.borrow_mut().input.extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, wait: Duration) -> Output {
        if matches!(self.steps.front(), Some(Step::Flood)) {
            self.pass(Duration::from_millis(100));
            return Output::Bytes(b"noise".to_vec());
        }
        if self.killed {
            return Output::Closed;
        }
        loop {
            match self.steps.front_mut() {
                None => return Output::Closed,
                Some(Step::Say(bytes)) => {
                    let output = std::mem::take(bytes);
                    self.steps.pop_front();
                    return Output::Bytes(output);
                }
                Some(Step::Complain(line)) => {
                    self.lines.push(std::mem::take(line));
                    self.steps.pop_front();
                }
                Some(Step::Pass(left)) if *left <= wait => {
                    let left = *left;
                    self.steps.pop_front();
                    self.pass(left);
                    return Output::Quiet;
                }
                Some(Step::Pass(left)) => {
                    *left -= wait;
                    self.pass(wait);
                    return Output::Quiet;
                }
                Some(Step::Suspend(time)) => {
                    let time = *time;
                    self.steps.pop_front();
                    self.pass(time);
                    return Output::Quiet;
                }
                Some(Step::Await(line)) => {
                    if self.unread.lines().any(|written| written == line) {
                        self.steps.pop_front();
                    } else {
                        self.pass(wait);
                        return Output::Quiet;
                    }
                }
                Some(Step::Hang | Step::Flood) => {
                    self.pass(wait);
                    return Output::Quiet;
                }
            }
        }
    }

    fn diagnostics(&mut self) -> Vec<String> {
        self.lines.clone()
    }

    fn kill(&mut self) {
        self.killed = true;
        self.log.borrow_mut().kills += 1;
    }

    fn wait(&mut self, limit: Duration) -> Option<Exit> {
        if self.killed {
            return Some(Exit::Signal(9));
        }
        if self.steps.is_empty() {
            return Some(self.exit);
        }
        self.pass(limit);
        None
    }

    fn elapsed(&self) -> Duration {
        self.clock.get()
    }
}
