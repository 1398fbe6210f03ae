//! One boot of a virtual machine: QEMU as a process, its three lines to us, and the watch over its boot.

use super::absences::AbsenceWatch;
use super::arguments::{CONSOLE_SOCKET, DATA_SOCKET, MONITOR_SOCKET, WORDS_SOCKET};
use super::error::{BootError, Quote, WatchError};
use super::guest_reports::{self, Answer, GuestReports, lock};
use super::process::Process;
use super::saved_state::error::StateError;
use super::saved_state::{monitor::Monitor, transfer};
use crate::console::Console;
use crate::stop::StopRequests;
use protocol::guest::{GuestCommand, HostLine, HostWord};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const READ_BYTES: usize = 64 << 10;
/// Pieces read ahead of whoever stores them; the guest waits when it is faster than that.
const PIECES_AHEAD: usize = 64;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the guest may take to meet a wish that is no command, and to take bytes that it was sent.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// How long a guest may take to switch itself off.
const POWER_OFF_LIMIT: Duration = Duration::from_secs(5);
/// How long a machine that went down may take to bring its last words.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long they may take to be read.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(5);

/// Socket through which a state goes.
const STATE_SOCKET: &str = "state";
/// File of a guest with the release of its kernel.
const RELEASE_FILE: &str = "/proc/sys/kernel/osrelease";
const RELEASE_BYTES_MAX: u64 = 1 << 10;

/// What to start and how long it may take.
#[derive(Debug, Clone)]
pub struct Boot {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Whether the arguments ask for a monitor, through which a state is saved or loaded.
    pub monitored: bool,
    /// Directory for the sockets; ours alone.
    pub scratch: PathBuf,
    pub limit: Duration,
}

/// A machine that has booted. QEMU ends with it.
#[derive(Debug)]
pub struct Machine {
    process: Process,
    console: Arc<Mutex<Console>>,
    /// Ends when the machine has said its last word.
    console_reader: JoinHandle<()>,
    data: UnixStream,
    words: UnixStream,
    pub output: Receiver<Vec<u8>>,
    reports: Arc<Mutex<GuestReports>>,
    received: Arc<AtomicU64>,
    /// Bytes sent, and bytes received before the command that runs or ran.
    sent: u64,
    received_before: u64,
    hung_up: bool,
    monitor: Option<Monitor>,
    pub kernel_release: String,
    /// From starting QEMU to the guest's first word.
    pub boot_time: Duration,
}

/// How a machine comes up.
enum Start<'a> {
    Boot,
    Load(&'a mut File),
}

impl Machine {
    /// Boots; gives up when the limit is reached, when QEMU ends, and when a person wants to stop.
    ///
    /// # Errors
    /// Why there is no machine, with the end of its console. `console` has all of it.
    pub fn boot(boot: &Boot, console: &Arc<Mutex<Console>>, stop: &StopRequests) -> Result<Self, BootError> {
        Self::start(boot, console, stop, Start::Boot)
    }

    /// Goes on from a state. The arguments are those it was saved with, and `-incoming defer`.
    ///
    /// # Errors
    /// Why there is no machine.
    pub fn load(
        boot: &Boot,
        console: &Arc<Mutex<Console>>,
        stop: &StopRequests,
        state: &mut File,
    ) -> Result<Self, BootError> {
        Self::start(boot, console, stop, Start::Load(state))
    }

    fn start(
        boot: &Boot,
        console: &Arc<Mutex<Console>>,
        stop: &StopRequests,
        start: Start<'_>,
    ) -> Result<Self, BootError> {
        let listeners = [CONSOLE_SOCKET, DATA_SOCKET, WORDS_SOCKET].map(|name| listen(&boot.scratch.join(name)));
        let [console_line, data, words] = listeners;
        let (console_line, data, words) = (console_line?, data?, words?);
        let monitor = boot.monitored.then(|| listen(&boot.scratch.join(MONITOR_SOCKET))).transpose()?;
        let mut watch = BootWatch {
            process: Process::start(&boot.program, &boot.arguments, |_| Ok(()))?,
            console,
            stop,
            limit: boot.limit,
            begun: Instant::now(),
        };
        let console_line = watch.accept(&console_line)?;
        let kept = Arc::clone(console);
        let console_reader = thread::spawn(move || follow_console(console_line, &kept));
        let (data, words) = (watch.accept(&data)?, watch.accept(&words)?);
        let monitor = monitor.map(|monitor| watch.accept(&monitor)).transpose()?;
        let mut monitor = monitor.map(Monitor::new).transpose().map_err(StateError::from)?;
        data.set_write_timeout(Some(ANSWER_LIMIT)).map_err(BootError::Line)?;

        let (sender, output) = sync_channel(PIECES_AHEAD);
        let received = Arc::new(AtomicU64::new(0));
        let (copy, counted) = (data.try_clone().map_err(BootError::Line)?, Arc::clone(&received));
        thread::spawn(move || guest_reports::forward(copy, &sender, &counted));
        let reports = Arc::new(Mutex::new(GuestReports::default()));
        let (booted_sender, booted) = channel();
        let (said, kept) = (words.try_clone().map_err(BootError::Line)?, Arc::clone(&reports));
        thread::spawn(move || guest_reports::listen(&said, &kept, |release| drop(booted_sender.send(release))));
        let kernel_release = match start {
            Start::Boot => watch.first_word(&booted, &reports)?,
            Start::Load(state) => {
                let monitor = monitor.as_mut().ok_or(StateError::NoMonitor)?;
                let loaded = transfer::load(monitor, &fresh(&boot.scratch.join(STATE_SOCKET)), state);
                // A QEMU that ended says why better than a line that was cut.
                loaded.map_err(|why| {
                    thread::sleep(LAST_WORDS);
                    watch.go_on().err().unwrap_or(why.into())
                })?;
                String::new()
            }
        };
        let begun = watch.begun;
        let mut machine = Self {
            process: watch.process,
            console: Arc::clone(console),
            console_reader,
            data,
            words,
            output,
            reports,
            received,
            sent: 0,
            received_before: 0,
            hung_up: false,
            monitor,
            kernel_release,
            boot_time: Duration::ZERO,
        };
        // One that goes on has said its first word long ago; that it answers is as good.
        if machine.kernel_release.is_empty() {
            let release = machine.get(RELEASE_FILE, RELEASE_BYTES_MAX);
            let release = release.map_err(BootError::NoAnswer)?;
            machine.kernel_release = String::from_utf8_lossy(&release).trim().to_owned();
        }
        machine.boot_time = begun.elapsed();
        Ok(machine)
    }

    /// Writes the state of the machine, before its first command, to a file.
    ///
    /// # Errors
    /// [`StateError`]; the machine goes on all the same unless it says so.
    pub fn save(&mut self, scratch: &Path, state: &mut File) -> Result<(), StateError> {
        let monitor = self.monitor.as_mut().ok_or(StateError::NoMonitor)?;
        transfer::save(monitor, &fresh(&scratch.join(STATE_SOCKET)), state)
    }

    /// Has the guest run a command.
    ///
    /// # Errors
    /// When it is gone.
    pub fn run(&mut self, command: &GuestCommand) -> io::Result<()> {
        *self.reports() = GuestReports::default();
        self.received_before = self.received.load(Ordering::SeqCst);
        self.say(HostWord::Run(command.clone()))
    }

    /// Watches when the host executes its processors, so many, for as long as what comes back lives.
    ///
    /// # Errors
    /// [`WatchError`].
    pub fn watch_processors(&self, cpus: u32) -> Result<AbsenceWatch, WatchError> {
        let words = self.words.try_clone().map_err(WatchError::Line)?;
        AbsenceWatch::start(self.process.id(), cpus, words, Arc::clone(&self.reports))
    }

    /// Whether it can run another command after one that ended well.
    pub fn is_ready(&mut self) -> bool {
        let ended = self.reports().ended.is_some_and(|ended| ended.code == Some(0));
        ended && !self.hung_up && self.is_drained() && self.exit().is_none()
    }

    /// Writes a file in the guest.
    ///
    /// # Errors
    /// When it cannot be written there.
    pub fn put(&mut self, path: &str, executable: bool, data: &[u8]) -> io::Result<()> {
        self.ask(HostWord::Put { path: path.into(), executable, bytes: data.len() as u64 })?;
        self.write(data)?;
        match self.answer()? {
            Answer::Stored => Ok(()),
            other => Err(refused(other)),
        }
    }

    /// Reads a file of the guest.
    ///
    /// # Errors
    /// When it cannot be read there, or is longer than `bytes_max`.
    pub fn get(&mut self, path: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.ask(HostWord::Get { path: path.into(), bytes_max })?;
        let bytes = match self.answer()? {
            Answer::Fetched { bytes } if bytes <= bytes_max => bytes,
            other => return Err(refused(other)),
        };
        let mut contents = Vec::new();
        while (contents.len() as u64) < bytes {
            let piece = self.output.recv_timeout(ANSWER_LIMIT);
            contents.extend(piece.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?);
        }
        Ok(contents)
    }

    /// Has the guest switch itself off, and waits a moment for that.
    pub fn farewell(&mut self) {
        // One that is gone already needs no farewell.
        if self.say(HostWord::Bye).is_err() {
            return;
        }
        let begun = Instant::now();
        while self.exit().is_none() && begun.elapsed() < POWER_OFF_LIMIT {
            thread::sleep(LOOK_EVERY);
        }
    }

    fn ask(&mut self, word: HostWord) -> io::Result<()> {
        self.reports().answer = None;
        self.say(word)
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let begun = Instant::now();
        loop {
            if let Some(answer) = self.reports().answer.take() {
                return Ok(answer);
            }
            if self.exit().is_some() || begun.elapsed() >= ANSWER_LIMIT {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the guest does not answer"));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn say(&mut self, word: HostWord) -> io::Result<()> {
        let mut line = serde_json::to_string(&HostLine { data_before: self.sent, word })?;
        line.push('\n');
        self.words.write_all(line.as_bytes())
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent += bytes.len() as u64;
        self.data.write_all(bytes)
    }

    /// Closes the command's input; with a virtual machine its output goes with it.
    pub fn hang_up(&mut self) {
        self.hung_up = true;
        // A line that is closed already needs no closing.
        let _ = self.data.shutdown(Shutdown::Both);
    }

    pub fn reports(&self) -> MutexGuard<'_, GuestReports> {
        lock(&self.reports)
    }

    /// Whether the command ended and every byte it wrote has arrived here.
    pub fn is_drained(&self) -> bool {
        let received = self.received.load(Ordering::SeqCst) - self.received_before;
        self.reports().ended.is_some_and(|ended| received >= ended.bytes)
    }

    /// How QEMU ended, if it has.
    pub fn exit(&mut self) -> Option<ExitStatus> {
        self.process.exit()
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Why the machine went down before its command had ended, best reason last. On a busy host the line of the command may
    /// be seen to close before what the kernel said was read.
    pub fn last_words(&mut self) -> Vec<String> {
        let asked = Instant::now();
        while !self.console_reader.is_finished() && asked.elapsed() < LAST_WORDS_LIMIT {
            thread::sleep(LOOK_EVERY);
        }
        let mut lines = self.process.complaints();
        if let Some(why) = &self.reports().failed {
            lines.push(why.clone());
        }
        lines.extend(lock(&self.console).last_words());
        lines
    }

    /// Whether the guest's kernel panicked.
    pub fn has_panicked(&self) -> bool {
        lock(&self.console).panic().is_some()
    }
}

fn refused(answer: Answer) -> io::Error {
    io::Error::other(match answer {
        Answer::Refused { why } => why,
        Answer::Stored | Answer::Fetched { .. } => "the guest answered something else".into(),
    })
}

fn listen(path: &Path) -> Result<UnixListener, BootError> {
    let fail = |source| BootError::NoSocket { path: path.to_owned(), source };
    let listener = UnixListener::bind(fresh(path)).map_err(fail)?;
    listener.set_nonblocking(true).map_err(fail)?;
    Ok(listener)
}

/// A socket's path without what an earlier machine left there.
fn fresh(path: &Path) -> PathBuf {
    let _ = fs::remove_file(path);
    path.to_owned()
}

/// Waits for the steps of a boot.
struct BootWatch<'a> {
    process: Process,
    console: &'a Mutex<Console>,
    stop: &'a StopRequests,
    limit: Duration,
    begun: Instant,
}

impl BootWatch<'_> {
    fn accept(&mut self, listener: &UnixListener) -> Result<UnixStream, BootError> {
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    return stream.set_nonblocking(false).map(|()| stream).map_err(BootError::Line);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(BootError::Line(error)),
            }
            self.go_on()?;
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The release of the guest's kernel, which is its first word.
    fn first_word(&mut self, booted: &Receiver<String>, reports: &Mutex<GuestReports>) -> Result<String, BootError> {
        loop {
            match booted.recv_timeout(LOOK_EVERY) {
                Ok(release) => return Ok(release),
                Err(RecvTimeoutError::Timeout) => {}
                // The line is closed; QEMU is about to end.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK_EVERY),
            }
            if let Some(why) = &lock(reports).failed {
                return Err(BootError::Guest(why.clone()));
            }
            self.go_on()?;
        }
    }

    /// Whether there is still something to wait for.
    fn go_on(&mut self) -> Result<(), BootError> {
        if let Some(status) = self.process.exit() {
            thread::sleep(LAST_WORDS);
            return Err(BootError::Ended { status, lines: self.process.complaints(), console: self.quote() });
        }
        if self.stop.count() > 0 {
            return Err(BootError::Stopped);
        }
        if self.begun.elapsed() >= self.limit {
            return Err(BootError::TooLong { limit: self.limit, console: self.quote() });
        }
        Ok(())
    }

    fn quote(&self) -> Quote {
        Quote(lock(self.console).last_words())
    }
}

fn follow_console(mut line: UnixStream, console: &Mutex<Console>) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = line.read(&mut buffer) {
        lock(console).push(&buffer[..count]);
    }
}
