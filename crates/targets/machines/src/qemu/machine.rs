//! One boot of a virtual machine: the QEMU process, its three connections, and the supervision of its boot.

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
/// Chunks to read ahead of the consumer; a faster guest has to wait.
const PIECES_AHEAD: usize = 64;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time limit for the guest's answer to a request that is not a command, and for receiving bytes.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for a guest to switch itself off.
const POWER_OFF_LIMIT: Duration = Duration::from_secs(5);
/// Time limit for the last output of a machine that went down.
const LAST_OUTPUT: Duration = Duration::from_millis(300);
/// Time limit for reading that output.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(5);

/// Socket for the transfer of a state.
const STATE_SOCKET: &str = "state";
/// File of the guest with the release of its kernel.
const RELEASE_FILE: &str = "/proc/sys/kernel/osrelease";
const RELEASE_BYTES_MAX: u64 = 1 << 10;

/// A program to start, and its time limit.
#[derive(Debug, Clone)]
pub struct Boot {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Whether the arguments include a monitor, which saves or loads a state.
    pub monitored: bool,
    /// Private directory for the sockets.
    pub scratch: PathBuf,
    pub limit: Duration,
}

/// A booted machine. QEMU ends when it is dropped.
#[derive(Debug)]
pub struct Machine {
    process: Process,
    console: Arc<Mutex<Console>>,
    /// Ends when the console is closed.
    console_reader: JoinHandle<()>,
    data: UnixStream,
    words: UnixStream,
    pub output: Receiver<Vec<u8>>,
    reports: Arc<Mutex<GuestReports>>,
    received: Arc<AtomicU64>,
    /// Bytes sent, and bytes received before the current or last command.
    sent: u64,
    received_before: u64,
    hung_up: bool,
    monitor: Option<Monitor>,
    pub kernel_release: String,
    /// Time from starting QEMU to the guest's first message.
    pub boot_time: Duration,
}

/// How a machine starts.
enum Start<'a> {
    Boot,
    Load(&'a mut File),
}

impl Machine {
    /// Boots; gives up at the time limit, when QEMU ends, and when the user stops the run.
    ///
    /// # Errors
    /// Why there is no machine, with the end of its console. `console` has all of it.
    pub fn boot(boot: &Boot, console: &Arc<Mutex<Console>>, stop: &StopRequests) -> Result<Self, BootError> {
        Self::start(boot, console, stop, Start::Boot)
    }

    /// Restores a state. The arguments are those it was saved with, and `-incoming defer`.
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
        let (lines, kept) = (words.try_clone().map_err(BootError::Line)?, Arc::clone(&reports));
        thread::spawn(move || guest_reports::listen(&lines, &kept, |release| drop(booted_sender.send(release))));
        let kernel_release = match start {
            Start::Boot => watch.first_word(&booted, &reports)?,
            Start::Load(state) => {
                let monitor = monitor.as_mut().ok_or(StateError::NoMonitor)?;
                let loaded = transfer::load(monitor, &fresh(&boot.scratch.join(STATE_SOCKET)), state);
                // The exit of QEMU is a better explanation than a cut connection.
                loaded.map_err(|why| {
                    thread::sleep(LAST_OUTPUT);
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
        // A restored machine sent its first message before it was saved; any answer will do.
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
    /// [`StateError`]; the machine continues unless the error states otherwise.
    pub fn save(&mut self, scratch: &Path, state: &mut File) -> Result<(), StateError> {
        let monitor = self.monitor.as_mut().ok_or(StateError::NoMonitor)?;
        transfer::save(monitor, &fresh(&scratch.join(STATE_SOCKET)), state)
    }

    /// Runs a command in the guest.
    ///
    /// # Errors
    /// If the guest is gone.
    pub fn run(&mut self, command: &GuestCommand) -> io::Result<()> {
        *self.reports() = GuestReports::default();
        self.received_before = self.received.load(Ordering::SeqCst);
        self.say(HostWord::Run(command.clone()))
    }

    /// Watches the execution of its `cpus` processors for the lifetime of the returned value.
    ///
    /// # Errors
    /// [`WatchError`].
    pub fn watch_processors(&self, cpus: u32) -> Result<AbsenceWatch, WatchError> {
        let words = self.words.try_clone().map_err(WatchError::Line)?;
        AbsenceWatch::start(self.process.id(), cpus, words, Arc::clone(&self.reports))
    }

    /// Whether it can run another command after a successful one.
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

    /// Makes the guest switch itself off, and waits briefly for that.
    pub fn farewell(&mut self) {
        // A machine that is gone needs no farewell.
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

    /// Closes the command's input; in a virtual machine this closes its output, too.
    pub fn hang_up(&mut self) {
        self.hung_up = true;
        // A closed connection needs no closing.
        let _ = self.data.shutdown(Shutdown::Both);
    }

    pub fn reports(&self) -> MutexGuard<'_, GuestReports> {
        lock(&self.reports)
    }

    /// Whether the command ended and all its output has been received.
    pub fn is_drained(&self) -> bool {
        let received = self.received.load(Ordering::SeqCst) - self.received_before;
        self.reports().ended.is_some_and(|ended| received >= ended.bytes)
    }

    /// Exit status of QEMU, if it has ended.
    pub fn exit(&mut self) -> Option<ExitStatus> {
        self.process.exit()
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Why the machine went down before its command had ended, the best reason last. On a busy host the connection of
    /// the command may be seen to close before the kernel's last output was read.
    pub fn last_output(&mut self) -> Vec<String> {
        let asked = Instant::now();
        while !self.console_reader.is_finished() && asked.elapsed() < LAST_WORDS_LIMIT {
            thread::sleep(LOOK_EVERY);
        }
        let mut lines = self.process.complaints();
        if let Some(why) = &self.reports().failed {
            lines.push(why.clone());
        }
        lines.extend(lock(&self.console).last_output());
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

/// A socket's path, after removing an earlier machine's socket.
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

    /// The release of the guest's kernel, which is its first message.
    fn first_word(&mut self, booted: &Receiver<String>, reports: &Mutex<GuestReports>) -> Result<String, BootError> {
        loop {
            match booted.recv_timeout(LOOK_EVERY) {
                Ok(release) => return Ok(release),
                Err(RecvTimeoutError::Timeout) => {}
                // The connection is closed; QEMU is about to end.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK_EVERY),
            }
            if let Some(why) = &lock(reports).failed {
                return Err(BootError::Guest(why.clone()));
            }
            self.go_on()?;
        }
    }

    /// Whether waiting can continue.
    fn go_on(&mut self) -> Result<(), BootError> {
        if let Some(status) = self.process.exit() {
            thread::sleep(LAST_OUTPUT);
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
        Quote(lock(self.console).last_output())
    }
}

fn follow_console(mut line: UnixStream, console: &Mutex<Console>) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = line.read(&mut buffer) {
        lock(console).push(&buffer[..count]);
    }
}
