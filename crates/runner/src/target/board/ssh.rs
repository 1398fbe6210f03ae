//! A board behind OpenSSH: it needs a shell, and gets the meter for as long as it is used.
//!
//! One connection carries everything. Its first session is the keeper, which holds the board and tidies up.

use super::file::Board;
use super::keeper::{Errand, Greeting};
use super::lock::{BoardLock, LOOK_EVERY};
use super::openssh::{Share, command, diagnosis};
use super::shell::quoted;
use super::{AccessOptions, MeterCopy};
use crate::meter::MeterPlaces;
use crate::stop::StopRequests;
use crate::target::local::LocalTarget;
use crate::target::scratch::Scratch;
use crate::target::{Command, Exit, Output, RunningCommand, Target, TargetError};
use archive::message::{Problem, Severity};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// From the start of ssh until the board's shell has answered.
const CONNECT_LIMIT: Duration = Duration::from_secs(40);
/// A file must have arrived by then.
const SEND_LIMIT: Duration = Duration::from_secs(600);
/// A board that somebody else holds is asked again so often.
const ASK_EVERY: Duration = Duration::from_secs(5);
const TIDY_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(100);

/// A board that ssh reaches.
pub struct SshTarget {
    name: String,
    board: Board,
    meters: MeterPlaces,
    access: AccessOptions,
    stop: StopRequests,
    lock: Option<BoardLock>,
    link: Option<Link>,
    token: String,
    notices: Vec<Problem>,
}

/// The connection and what is known of the other side.
struct Link {
    keeper: Box<dyn RunningCommand>,
    greeting: Greeting,
    /// The meter's name there, once it is there.
    meter: String,
    scratch: Scratch,
}

impl Link {
    fn control(&self) -> PathBuf {
        control(&self.scratch)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.greeting.place)
    }
}

fn control(scratch: &Scratch) -> PathBuf {
    scratch.0.join("line")
}

impl SshTarget {
    pub fn new(name: &str, board: Board, meters: MeterPlaces, access: AccessOptions, stop: StopRequests) -> Self {
        let token = super::token();
        let (lock, link, notices) = (None, None, Vec::new());
        Self { name: name.into(), board, meters, access, stop, lock, link, token, notices }
    }

    fn prepared(&mut self) -> Result<(), String> {
        self.board.check()?;
        if self.link.is_some() {
            return Ok(());
        }
        let begun = Instant::now();
        if self.lock.is_none() {
            self.lock = Some(super::lock::take(&self.board.identity_of_board(), self.access.wait, &self.stop)?);
        }
        let (keeper, greeting, scratch) = loop {
            let scratch = Scratch::make("ssh").map_err(|error| format!("no directory for a socket: {error}"))?;
            let (keeper, greeting) = self.connect(&scratch)?;
            match &greeting.held {
                None => break (keeper, greeting, scratch),
                Some(_) if begun.elapsed() < self.access.wait && self.stop.count() == 0 => self.pause(ASK_EVERY),
                Some(who) => return Err(format!("{who}; --wait waits for it")),
            }
        };
        if let Some(why) = greeting.refused {
            return Err(format!("there is no place for the meter: {why}; `directory` in the target file names one"));
        }
        if greeting.user != Some(0) {
            self.notices.push(Problem {
                severity: Severity::Notice,
                text: format!("the login on board {} is not root", self.name),
                mend: "log in as root, or use --sudo with `tardy target add`".into(),
            });
        }
        let mut link = Link { keeper, greeting, meter: String::new(), scratch };
        let sent = self.send_meter(&link);
        link.meter = match sent {
            Ok(meter) => meter,
            Err(why) => {
                farewell(link);
                return Err(why);
            }
        };
        self.link = Some(link);
        Ok(())
    }

    fn pause(&self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time && self.stop.count() == 0 {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Opens the connection and has the keeper look around.
    fn connect(&self, scratch: &Scratch) -> Result<(Box<dyn RunningCommand>, Greeting), String> {
        let errand = Errand {
            directory: self.board.directory.clone(),
            who: self.access.who.clone(),
            token: self.token.clone(),
            keep_meter: self.board.keep_meter,
        };
        let master = command(&self.board, &control(scratch), Share::Master, &errand.script());
        let mut keeper = LocalTarget.start(&master).map_err(no_ssh)?;
        let mut greeting = Greeting::default();
        let mut unread = Vec::new();
        while !greeting.is_over() {
            match keeper.read(POLL) {
                Output::Bytes(bytes) => unread.extend(bytes),
                Output::Quiet if self.stop.count() > 0 => {
                    keeper.kill();
                    return Err("stopped on request".into());
                }
                Output::Quiet if keeper.elapsed() < CONNECT_LIMIT => {}
                Output::Quiet => {
                    keeper.kill();
                    let limit = CONNECT_LIMIT.as_secs();
                    return Err(format!(
                        "its shell did not answer within {limit} s; does `ssh {}` work?",
                        self.board.address
                    ));
                }
                Output::Closed => {
                    keeper.wait(POLL * 10);
                    return Err(diagnosis(&self.board, &keeper.diagnostics()));
                }
            }
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = unread.drain(..=end).collect();
                greeting.take(&String::from_utf8_lossy(&line));
            }
        }
        Ok((keeper, greeting))
    }

    /// Sends the meter that fits, if it is not there; answers its name there.
    fn send_meter(&self, link: &Link) -> Result<String, String> {
        let meter = MeterCopy::find(&self.meters, &link.greeting.machine)?;
        if !link.greeting.meters.contains(&meter.name) {
            let others = "rm -f meter-*";
            self.send(link, &meter.bytes, &link.path(&meter.name), true, others)
                .map_err(|error| format!("the meter could not be sent: {error}"))?;
        }
        Ok(meter.name)
    }

    /// Writes a file there: whole, or not at all.
    fn send(&self, link: &Link, bytes: &[u8], to: &str, executable: bool, before: &str) -> io::Result<()> {
        let (partial, to) = (quoted(&format!("{to}.partial")), quoted(to));
        let mode = if executable { "700" } else { "600" };
        let script = format!(
            "cd {} || exit 1; umask 077; {before}; \
             cat > {partial} && [ \"$(wc -c < {partial})\" -eq {} ] && chmod {mode} {partial} && mv {partial} {to} && exit 0; \
             rm -f {partial}; echo 'it did not arrive whole' >&2; exit 1",
            quoted(&link.greeting.place),
            bytes.len()
        );
        let ssh = command(&self.board, &link.control(), Share::Guest, &script);
        let mut running = LocalTarget.start(&ssh).map_err(|error| io::Error::other(error.to_string()))?;
        // A shell that has ended tells why.
        let written = running.write(bytes);
        let exit = running.wait(SEND_LIMIT);
        if exit == Some(Exit::Code(0)) {
            return written;
        }
        running.kill();
        let words = running.diagnostics().join(" | ");
        let mend = if words.contains("No space left") {
            "; free some, or name another place with `directory` in the target file"
        } else {
            ""
        };
        Err(io::Error::other(format!("{words}{mend}")))
    }

    fn linked(&self) -> io::Result<&Link> {
        self.link.as_ref().ok_or_else(|| io::Error::other("it has not been prepared"))
    }

    /// The command that runs the meter with these words there.
    fn meter_command(&self, link: &Link, words: &[String]) -> Command {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let place = quoted(&link.greeting.place);
        let script = format!("cd {place} && TARDY_STATE_DIR={place} exec ./{} {}", link.meter, words.join(" "));
        command(&self.board, &link.control(), Share::Guest, &script)
    }

    fn copy_failed(&self, from: &Path, to: &Path, source: io::Error) -> TargetError {
        TargetError::Copy { target: self.name.clone(), from: from.to_owned(), to: to.to_owned(), source }
    }

    fn receive(&self, from: &Path, to: &Path) -> io::Result<()> {
        let link = self.linked()?;
        let script = format!("exec cat {}", quoted(&from.display().to_string()));
        let ssh = command(&self.board, &link.control(), Share::Guest, &script);
        let mut running = LocalTarget.start(&ssh).map_err(|error| io::Error::other(error.to_string()))?;
        let mut bytes = Vec::new();
        while running.elapsed() < SEND_LIMIT {
            match running.read(POLL) {
                Output::Bytes(more) => bytes.extend(more),
                Output::Quiet => {}
                Output::Closed => break,
            }
        }
        match running.wait(POLL * 10) {
            Some(Exit::Code(0)) => fs::write(to, bytes),
            _ => Err(io::Error::other(running.diagnostics().join(" | "))),
        }
    }
}

fn no_ssh(error: TargetError) -> String {
    format!("{error}; on Debian ssh comes with `apt-get install openssh-client`")
}

/// Has the keeper tidy up, and closes the connection.
fn farewell(mut link: Link) {
    // A keeper that is gone has tidied up, or cannot be told.
    let _ = link.keeper.write(b"end\n");
    if link.keeper.wait(TIDY_LIMIT).is_none() {
        link.keeper.kill();
    }
}

impl Target for SshTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        self.prepared().map_err(|why| TargetError::Prepare { target: self.name.clone(), why })
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let send = || {
            let bytes = fs::read(from)?;
            let executable = super::is_executable(from)?;
            self.send(self.linked()?, &bytes, &to.display().to_string(), executable, ":")
        };
        send().map_err(|source| self.copy_failed(from, to, source))
    }

    /// Has the board run the meter, whatever name the command gives it.
    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        let link = self.linked().map_err(|source| TargetError::Start {
            target: self.name.clone(),
            program: command.program.clone(),
            source,
        })?;
        LocalTarget.start(&self.meter_command(link, &command.arguments))
    }

    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.receive(from, to).map_err(|source| self.copy_failed(from, to, source))
    }

    fn close(&mut self) -> Result<(), TargetError> {
        if let Some(link) = self.link.take() {
            farewell(link);
        }
        self.lock = None;
        Ok(())
    }

    fn notices(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.notices)
    }
}

impl Drop for SshTarget {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
