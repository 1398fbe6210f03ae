//! The process that starts the meter and stores its output.

use super::control::{Line, Listening};
use super::error::SpoolError;
use super::ledger;
use super::problem::SpoolProblem;
use super::start::Terms;
use super::store::Store;
use crate::journal::{journal_directory, restore};
use crate::kernel::signals;
use archive::message::{Loss, LossKind, Message, Problem, Severity};
use archive::settings::RunSettings;
use load::free_bytes;
use protocol::relay::{Piece, Renumbering, Splitter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const READ_BYTES: usize = 64 << 10;
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
/// A host that has been silent for this long counts as away.
const AWAY_AFTER: Duration = Duration::from_secs(5);
const LIMIT_BYTES_MAX: u64 = 256 << 20;
const LIMIT_BYTES_MIN: u64 = 1 << 20;
const WORDS: usize = 20;
const WORD_BYTES: u64 = 1000;

/// Runs the meter and keeps its stream until the host has all of it or the time limit expires.
///
/// # Errors
/// [`SpoolError`], which is also sent to the process that started it.
pub fn keep(place: &Path, terms: &Terms) -> Result<(), SpoolError> {
    // The session that started this process ends soon, and would take the process with it.
    let _ = rustix::process::setsid();
    // Relative paths would fail at the final removal.
    let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
    let mut spooler = match Spooler::start(&place, terms) {
        Ok(spooler) => spooler,
        Err(why) => {
            println!("{why}");
            return Err(why);
        }
    };
    println!("started");
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null").map_err(SpoolError::Null)?;
    // From here on no process reads the output, and an open pipe would keep the host's session open.
    let _ = rustix::stdio::dup2_stdin(&null).and_then(|()| rustix::stdio::dup2_stdout(&null));
    spooler.follow();
    Ok(())
}

struct Spooler {
    place: PathBuf,
    spool: PathBuf,
    terms: Terms,
    /// The run has no end.
    endless: bool,
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    errors: Option<BufReader<ChildStderr>>,
    control: Listening,
    signals: OwnedFd,
    store: Store,
    splitter: Splitter,
    numbers: Renumbering,
    last_heard: Instant,
    /// Time of the last line from the host other than [`Line::Behind`].
    looked: Instant,
    /// Files for which a stretch had no room.
    left_out: BTreeSet<u32>,
    messages_lost: u64,
    stopped_alone: bool,
    words: VecDeque<String>,
}

impl Spooler {
    fn start(place: &Path, terms: &Terms) -> Result<Self, SpoolError> {
        let mut settings = Vec::new();
        io::stdin().read_to_end(&mut settings).map_err(SpoolError::ReadSettings)?;
        let spool = ledger::directory(place);
        let fail = |error| SpoolError::MakeSpool { spool: spool.clone(), error };
        let limit_bytes = match terms.limit_bytes {
            0 => (free_bytes(&spool).map_err(fail)? / 4).min(LIMIT_BYTES_MAX),
            asked => asked,
        };
        let store = Store::create(&spool, limit_bytes.max(LIMIT_BYTES_MIN)).map_err(fail)?;
        let control = Listening::begin(&spool).map_err(fail)?;
        ledger::write_owner(&spool, &terms.run).map_err(fail)?;
        let signals = signals::block_and_receive().map_err(SpoolError::Signals)?;
        let mut child = Command::new("/proc/self/exe")
            .arg("measure")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SpoolError::StartMeter)?;
        let mut input = child.stdin.take();
        if let Some(input) = &mut input {
            // A meter that does not read its input reports why.
            let _ = input.write_all(&settings);
        }
        let output = child.stdout.take().ok_or(SpoolError::NoOutput)?;
        let errors = child.stderr.take().map(BufReader::new);
        let endless = serde_json::from_slice::<RunSettings>(&settings)
            .is_ok_and(|settings| settings.duration_ns.is_none() && settings.cycles.is_none());
        Ok(Self {
            place: place.into(),
            spool,
            terms: terms.clone(),
            endless,
            child,
            input,
            output,
            errors,
            control,
            signals,
            store,
            splitter: Splitter::default(),
            numbers: Renumbering::default(),
            last_heard: Instant::now(),
            looked: Instant::now(),
            left_out: BTreeSet::new(),
            messages_lost: 0,
            stopped_alone: false,
            words: VecDeque::new(),
        })
    }

    fn follow(&mut self) {
        while self.relay() {}
        self.end();
        self.last_heard = Instant::now();
        // The host removes the spool once it has everything.
        while self.spool.is_dir() {
            if self.last_heard.elapsed() >= self.terms.keep {
                return self.give_up();
            }
            let mut watched =
                [PollFd::new(&self.control.pipe, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            let _ = poll(&mut watched, Some(&LOOK_EVERY));
            if !watched[1].revents().is_empty() {
                return;
            }
            for line in self.control.lines() {
                self.last_heard = Instant::now();
                if let Line::Have(offset) = line {
                    self.store.forget_before(offset);
                }
            }
        }
    }

    /// No host has fetched the results: removes everything.
    fn give_up(&self) {
        let _ = fs::remove_dir_all(&self.spool);
        let journals = fs::read_dir(self.place.join("journal"));
        if journals.is_ok_and(|mut journals| journals.next().is_some()) || self.place.join("lock").is_symlink() {
            return;
        }
        let _ = fs::remove_dir_all(&self.place);
    }

    /// Relays all pending input from all sources; false once the meter has ended.
    fn relay(&mut self) -> bool {
        let (said, complained, lines_came, signalled) = {
            let mut watched = vec![
                PollFd::new(&self.output, PollFlags::IN),
                PollFd::new(&self.control.pipe, PollFlags::IN),
                PollFd::new(&self.signals, PollFlags::IN),
            ];
            watched.extend(self.errors.as_ref().map(|errors| PollFd::new(errors.get_ref(), PollFlags::IN)));
            let _ = poll(&mut watched, Some(&LOOK_EVERY));
            let ready = |at: usize| watched.get(at).is_some_and(|found| !found.revents().is_empty());
            (ready(0), ready(3), ready(1), ready(2))
        };
        if complained {
            self.listen_to_complaints();
        }
        if lines_came {
            for line in self.control.lines() {
                self.execute(line);
            }
        }
        if signalled && signals::taken(&self.signals).is_some() {
            self.stop();
        }
        if self.endless && !self.stopped_alone && self.last_heard.elapsed() > self.terms.alone {
            self.stopped_alone = true;
            let seconds = self.terms.alone.as_secs();
            self.report(Severity::Notice, &SpoolProblem::Alone { seconds });
            self.stop();
        }
        if !said {
            return true;
        }
        let mut bytes = vec![0; READ_BYTES];
        match self.output.read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                for piece in self.splitter.push(&bytes[..count]) {
                    self.put(piece);
                }
                true
            }
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        }
    }

    fn put(&mut self, piece: Piece) {
        match piece {
            // No host reads it, and nothing is lost: the totals are sent separately.
            Piece::Message { for_showing_only: true, .. } if self.looked.elapsed() > AWAY_AFTER => {}
            Piece::Message { frame, for_showing_only } => {
                if !self.pass(frame, !for_showing_only) && !for_showing_only {
                    self.messages_lost += 1;
                }
            }
            Piece::Chunk { file, .. } if self.left_out.contains(&file) => {}
            Piece::Chunk { file, frame } => {
                if !self.pass(frame, false) {
                    self.leave_out(file);
                }
            }
            Piece::Noise(bytes) => drop(self.store.append(&bytes, false)),
        }
    }

    /// A frame that is left out gets no number: it is counted as left out, not as a gap in the stream.
    fn pass(&mut self, frame: Vec<u8>, urgent: bool) -> bool {
        let mut numbers = self.numbers.clone();
        let stored = self.store.append(&numbers.pass(frame), urgent);
        if stored {
            self.numbers = numbers;
        }
        stored
    }

    /// From here on leaves out a file without room; its missing bytes are counted at its end.
    fn leave_out(&mut self, file: u32) {
        if self.left_out.is_empty() {
            self.report(Severity::Degraded, &SpoolProblem::Full);
        }
        self.left_out.insert(file);
    }

    fn report(&mut self, severity: Severity, problem: &SpoolProblem) {
        let message = Message::Problem(Problem::new(severity, problem));
        let frame = self.numbers.message(&message);
        self.store.append(&frame, true);
    }

    fn execute(&mut self, line: Line) {
        self.last_heard = Instant::now();
        if line != Line::Behind {
            self.looked = self.last_heard;
        }
        match line {
            Line::Here | Line::Behind => {}
            Line::Have(offset) => self.store.forget_before(offset),
            Line::Stop => self.stop(),
            Line::Kill => {
                // It may have ended by itself in the meantime, which is fine.
                let _ = self.child.kill();
            }
        }
    }

    fn stop(&mut self) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(b"stop\n").and_then(|()| input.flush());
        }
    }

    fn listen_to_complaints(&mut self) {
        let mut line = Vec::new();
        let read = self.errors.as_mut().map(|errors| errors.take(WORD_BYTES).read_until(b'\n', &mut line));
        if !matches!(read, Some(Ok(count)) if count > 0) {
            self.errors = None;
            return;
        }
        if self.words.len() == WORDS {
            self.words.pop_front();
        }
        self.words.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
    }

    fn end(&mut self) {
        let rest = std::mem::take(&mut self.splitter).rest();
        self.store.append(&rest, false);
        if self.messages_lost > 0 {
            let detail = "because there was no room for them on the board".into();
            let loss = Message::Loss(Loss { kind: LossKind::Messages, count: self.messages_lost, detail });
            let frame = self.numbers.message(&loss);
            self.store.append(&frame, true);
        }
        self.input = None;
        let how = match self.child.wait() {
            Ok(status) => match status.code() {
                Some(code) => format!("code {code}"),
                None => format!("signal {}", status.signal().unwrap_or(0)),
            },
            Err(_) => "gone".into(),
        };
        // Output at its very end, and pipes that a grandchild holds open, do not delay the end.
        while self.errors.as_ref().is_some_and(|errors| has_bytes(errors.get_ref()) || !errors.buffer().is_empty()) {
            self.listen_to_complaints();
        }
        // A killed meter has left its changes, and there may be no later process to restore them.
        restore::restore_all(&journal_directory(), &journal_directory(), restore::Leftovers::Keep);
        let words: Vec<String> = self.words.iter().cloned().collect();
        // On a completely full disk: the host treats an ended spooler as the end.
        let _ = ledger::write_end(&self.spool, &how, self.store.end(), &words);
    }
}

fn has_bytes(errors: &ChildStderr) -> bool {
    let mut watched = [PollFd::new(errors, PollFlags::IN)];
    let ready = poll(&mut watched, Some(&Timespec::default()));
    matches!(ready, Ok(count) if count > 0) && watched[0].revents().contains(PollFlags::IN)
}
