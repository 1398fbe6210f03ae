//! One boot of a virtual machine: QEMU as a process, its three lines to us, and the watch over its boot.

use super::arguments::{CONSOLE_SOCKET, DATA_SOCKET, WORDS_SOCKET};
use super::console::Console;
use super::lifeline;
use crate::stop::StopRequests;
use archive::guest::{FAREWELL, GuestCommand, GuestWord};
use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const READ_BYTES: usize = 64 << 10;
/// Pieces read ahead of whoever stores them; the guest waits when it is faster than that.
const PIECES_AHEAD: usize = 64;
const COMPLAINT_LINES: usize = 20;
const LINE_BYTES_MAX: u64 = 1 << 16;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the last bytes may take after the guest said how many there are.
const LAST_BYTES: Duration = Duration::from_secs(30);
/// How long a machine that went down may take to bring its last words.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long a killed QEMU is waited for.
const LAST_BREATH: Duration = Duration::from_secs(5);

/// What to start and how long it may take.
#[derive(Debug, Clone)]
pub struct Boot {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Directory for the sockets; ours alone.
    pub scratch: PathBuf,
    pub limit: Duration,
}

/// What the guest said of the end of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub bytes: u64,
}

/// A machine that has booted. QEMU ends with it.
#[derive(Debug)]
pub struct Machine {
    process: Process,
    console: Arc<Mutex<Console>>,
    data: UnixStream,
    words: UnixStream,
    pub output: Receiver<Vec<u8>>,
    heard: Arc<Mutex<Heard>>,
    received: Arc<AtomicU64>,
    pub kernel_release: String,
    /// From starting QEMU to the guest's first word.
    pub boot_time: Duration,
}

/// What the guest said since it booted.
#[derive(Debug, Default)]
pub struct Heard {
    pub lines: VecDeque<String>,
    pub ended: Option<Ended>,
    pub failed: Option<String>,
}

impl Machine {
    /// Boots; gives up when the limit is reached, when QEMU ends, and when a person wants to stop.
    ///
    /// # Errors
    /// Why there is no machine, with the end of its console. `console` has all of it.
    pub fn boot(boot: &Boot, console: &Arc<Mutex<Console>>, stop: &StopRequests) -> Result<Self, String> {
        let listeners = [CONSOLE_SOCKET, DATA_SOCKET, WORDS_SOCKET].map(|name| listen(&boot.scratch.join(name)));
        let [console_line, data, words] = listeners;
        let (console_line, data, words) = (console_line?, data?, words?);
        let mut watch =
            BootWatch { process: Process::start(boot)?, console, stop, limit: boot.limit, begun: Instant::now() };
        let console_line = watch.accept(&console_line)?;
        let kept = Arc::clone(console);
        thread::spawn(move || follow_console(console_line, &kept));
        let (data, words) = (watch.accept(&data)?, watch.accept(&words)?);

        let (sender, output) = sync_channel(PIECES_AHEAD);
        let received = Arc::new(AtomicU64::new(0));
        let (copy, counted) = (shared(&data)?, Arc::clone(&received));
        thread::spawn(move || forward(copy, &sender, &counted));
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (booted_sender, booted) = channel();
        let listener = Listener { words: shared(&words)?, heard: Arc::clone(&heard), received: Arc::clone(&received) };
        thread::spawn(move || listener.run(|release| drop(booted_sender.send(release))));
        let kernel_release = watch.first_word(&booted, &heard)?;
        let boot_time = watch.begun.elapsed();
        Ok(Self {
            process: watch.process,
            console: Arc::clone(console),
            data,
            words,
            output,
            heard,
            received,
            kernel_release,
            boot_time,
        })
    }

    /// Has the guest run its command.
    ///
    /// # Errors
    /// When it is gone.
    pub fn run(&mut self, command: &GuestCommand) -> io::Result<()> {
        let mut line = serde_json::to_string(command)?;
        line.push('\n');
        self.words.write_all(line.as_bytes())
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.data.write_all(bytes)
    }

    /// Closes the command's input; with a virtual machine its output goes with it.
    pub fn hang_up(&self) {
        // A line that is closed already needs no closing.
        let _ = self.data.shutdown(Shutdown::Both);
    }

    pub fn heard(&self) -> MutexGuard<'_, Heard> {
        lock(&self.heard)
    }

    /// Whether the command ended and every byte it wrote has arrived here.
    pub fn is_drained(&self) -> bool {
        self.heard().ended.is_some_and(|ended| self.received.load(Ordering::SeqCst) >= ended.bytes)
    }

    /// How QEMU ended, if it has.
    pub fn exit(&mut self) -> Option<ExitStatus> {
        self.process.exit()
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Why the machine went down before its command had ended, best reason last.
    pub fn last_words(&mut self) -> Vec<String> {
        let mut lines = self.process.complaints();
        if let Some(why) = &self.heard().failed {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(path: &Path) -> Result<UnixListener, String> {
    let fail = |error: io::Error| format!("failed to listen at {}: {error}; a shorter TMPDIR may help", path.display());
    // Left by an earlier boot.
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path).map_err(fail)?;
    listener.set_nonblocking(true).map_err(fail)?;
    Ok(listener)
}

fn shared(stream: &UnixStream) -> Result<UnixStream, String> {
    stream.try_clone().map_err(|error| format!("failed to share a line to the machine: {error}"))
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
    fn accept(&mut self, listener: &UnixListener) -> Result<UnixStream, String> {
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    let set = stream.set_nonblocking(false);
                    return set.map(|()| stream).map_err(|error| format!("failed to use a line: {error}"));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(format!("failed to accept a line of QEMU: {error}")),
            }
            self.go_on()?;
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The release of the guest's kernel, which is its first word.
    fn first_word(&mut self, booted: &Receiver<String>, heard: &Mutex<Heard>) -> Result<String, String> {
        loop {
            match booted.recv_timeout(LOOK_EVERY) {
                Ok(release) => return Ok(release),
                Err(RecvTimeoutError::Timeout) => {}
                // The line is closed; QEMU is about to end.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK_EVERY),
            }
            if let Some(why) = &lock(heard).failed {
                return Err(why.clone());
            }
            self.go_on()?;
        }
    }

    /// Whether there is still something to wait for.
    fn go_on(&mut self) -> Result<(), String> {
        if let Some(status) = self.process.exit() {
            thread::sleep(LAST_WORDS);
            let said = self.process.complaints();
            let why = if said.is_empty() { "before the guest had booted".into() } else { said.join(" | ") };
            return Err(self.quoting(format!("QEMU ended ({status}): {why}")));
        }
        if self.stop.count() > 0 {
            return Err("stopped on request while it booted".into());
        }
        if self.begun.elapsed() >= self.limit {
            let why = format!("it did not boot within {} s", self.limit.as_secs());
            return Err(self.quoting(why));
        }
        Ok(())
    }

    fn quoting(&self, why: String) -> String {
        let words = lock(self.console).last_words();
        if words.is_empty() { why } else { format!("{why}; the end of its console: {}", words.join(" | ")) }
    }
}

/// QEMU. It does not outlive this.
#[derive(Debug)]
struct Process {
    child: Child,
    complaints: Arc<Mutex<VecDeque<String>>>,
}

impl Process {
    fn start(boot: &Boot) -> Result<Self, String> {
        let mut command = Command::new(&boot.program);
        command.args(&boot.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C reaches the host alone, which asks the meter to stop.
        command.process_group(0);
        lifeline::bind(&mut command);
        let mut child =
            command.spawn().map_err(|error| format!("failed to start {}: {error}", boot.program.display()))?;
        let complaints = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stderr) = child.stderr.take() {
            let kept = Arc::clone(&complaints);
            thread::spawn(move || read_lines(stderr, |line| push_line(&mut lock(&kept), line)));
        }
        Ok(Self { child, complaints })
    }

    fn exit(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    fn kill(&mut self) {
        // It may have ended by itself in the meantime, which is just as good.
        let _ = self.child.kill();
    }

    fn complaints(&self) -> Vec<String> {
        lock(&self.complaints).iter().cloned().collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        // A broken /dev/kvm can hold a killed process in the kernel. It must not hold us as well.
        let begun = Instant::now();
        while self.exit().is_none() && begun.elapsed() < LAST_BREATH {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn push_line(lines: &mut VecDeque<String>, line: String) {
    if lines.len() == COMPLAINT_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
}

fn follow_console(mut line: UnixStream, console: &Mutex<Console>) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = line.read(&mut buffer) {
        lock(console).push(&buffer[..count]);
    }
}

fn forward(mut data: UnixStream, sender: &SyncSender<Vec<u8>>, received: &AtomicU64) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = data.read(&mut buffer) {
        if sender.send(buffer[..count].to_vec()).is_err() {
            return;
        }
        received.fetch_add(count as u64, Ordering::SeqCst);
    }
}

fn read_lines(from: impl Read, mut each: impl FnMut(String)) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => each(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }
}

/// Hears what the guest says, for as long as it says something.
struct Listener {
    words: UnixStream,
    heard: Arc<Mutex<Heard>>,
    received: Arc<AtomicU64>,
}

impl Listener {
    fn run(&self, mut booted: impl FnMut(String)) {
        read_lines(&self.words, |line| match serde_json::from_str(&line) {
            Ok(GuestWord::Booted { kernel_release, .. }) => booted(kernel_release),
            Ok(GuestWord::Said { line }) => push_line(&mut lock(&self.heard).lines, line),
            Ok(GuestWord::Failed { why }) => lock(&self.heard).failed = Some(why),
            Ok(GuestWord::Ended { code, signal, bytes }) => {
                lock(&self.heard).ended = Some(Ended { code, signal, bytes });
                self.take_leave(bytes);
            }
            // A newer guest may say more than is understood here.
            Err(_) => {}
        });
    }

    /// Lets the guest power off once every byte is here: what is still on its way then would be lost.
    fn take_leave(&self, bytes: u64) {
        let begun = Instant::now();
        while self.received.load(Ordering::SeqCst) < bytes && begun.elapsed() < LAST_BYTES {
            thread::sleep(Duration::from_millis(2));
        }
        let _ = (&self.words).write_all(format!("{FAREWELL}\n").as_bytes());
    }
}
