//! The meter as the first and only program of a virtual machine: boots the guest, executes requests of the host, powers
//! off.
//!
//! The initial file system contains this program, also as `/init`, and the modules for the ports to the host.
//! [`protocol::guest`] defines the messages on the ports.

mod command;
mod error;
mod files;
mod input;
mod modules;
mod mounts;
mod ports;
mod programs;

use crate::kernel::clock;
use crate::virtual_time;
use error::GuestError;
use input::Input;
use protocol::guest::{DATA_PORT, GuestCommand, GuestWord, HostLine, HostWord, WORDS_PORT};
use rustix::system::{RebootCommand, reboot};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Longest line from the host.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Whether this process is the first of a machine, not of a container: only the kernel calls it `/init`.
pub fn is_first_process() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == "/init")
}

/// Boots, executes the host's requests, and powers the machine off.
pub fn run() -> ! {
    if let Err(why) = serve() {
        eprintln!("tardy-meter: {why}");
    }
    rustix::fs::sync();
    let refused = reboot(RebootCommand::PowerOff);
    // The first process must not return: the kernel would panic, which is appropriate only if the machine cannot be
    // powered off.
    panic!("the machine cannot be powered off: {refused:?}");
}

fn serve() -> Result<(), GuestError> {
    mounts::mount_all()?;
    modules::load_all()?;
    if let Some(plan) = virtual_time::plan()? {
        return Ok(virtual_time::run(&plan)?);
    }
    let words = ports::open(WORDS_PORT)?;
    let data = ports::open(DATA_PORT)?;
    let host = listen(shared(&words)?);
    let kernel_release = rustix::system::uname().release().to_string_lossy().into_owned();
    programs::start_all()?;
    say(&words, &GuestWord::Booted { kernel_release, uptime_ns: clock::monotonic_ns() });
    let mut desk = Desk { input: Input::new(shared(&data)?), data, words, haunted: false };
    // If the host disconnected, there is nothing more to do.
    while let Ok(line) = host.recv() {
        let line: HostLine = serde_json::from_str(&line).map_err(GuestError::HostLine)?;
        if line.word == HostWord::Bye {
            break;
        }
        desk.answer(&line);
    }
    Ok(())
}

fn shared(port: &File) -> Result<File, GuestError> {
    port.try_clone().map_err(GuestError::SharePort)
}

/// Executes the host's requests.
struct Desk {
    input: Input,
    data: File,
    words: File,
    /// Whether a remaining process of an earlier command may still write.
    haunted: bool,
}

impl Desk {
    fn answer(&mut self, line: &HostLine) {
        let (word, bytes) = match self.meet(line) {
            Ok(met) => met,
            Err(error) => (GuestWord::Refused { why: error.to_string() }, Vec::new()),
        };
        say(&self.words, &word);
        let _ = self.data.write_all(&bytes);
    }

    /// The answer to a request, and the bytes that follow.
    fn meet(&mut self, line: &HostLine) -> Result<(GuestWord, Vec<u8>), GuestError> {
        if self.haunted {
            return Err(GuestError::LeftBehind);
        }
        match &line.word {
            HostWord::Run(command) => {
                name_machine(command);
                set_clock(command);
                if command.report_clock {
                    say(&self.words, &clock_now(0));
                }
                match command::run(command, line.data_before, &self.input, shared(&self.data)?, &self.words) {
                    Ok(ended) => {
                        self.haunted = ended.haunted;
                        Ok((ended.word, Vec::new()))
                    }
                    Err(error) => Ok((GuestWord::Failed { why: error.to_string() }, Vec::new())),
                }
            }
            HostWord::Put { path, executable, bytes } => {
                files::put(path, *executable, *bytes, line.data_before, &self.input)?;
                Ok((GuestWord::Stored, Vec::new()))
            }
            HostWord::Get { path, bytes_max } => {
                let bytes = files::get(path, *bytes_max)?;
                Ok((GuestWord::Fetched { bytes: bytes.len() as u64 }, bytes))
            }
            HostWord::Clock { .. } | HostWord::Bye => Err(GuestError::NotARequest),
        }
    }
}

/// The host name is part of the fingerprint; a machine without one is acceptable.
fn name_machine(command: &GuestCommand) {
    let _ = std::fs::write("/proc/sys/kernel/hostname", &command.hostname);
}

/// The first process may set the clock; a failure would only give the run a wrong date.
fn set_clock(command: &GuestCommand) {
    if let Some(now_ns) = command.realtime_ns {
        let _ = clock::set_realtime_ns(now_ns);
    }
}

fn clock_now(asked_ns: i64) -> GuestWord {
    GuestWord::Clock { asked_ns, monotonic_ns: clock::monotonic_ns() }
}

/// The answer to a line that only asks for the clock: it must not wait for the end of a command.
fn answer_at_once(line: &str) -> Option<GuestWord> {
    match serde_json::from_str::<HostLine>(line).ok()?.word {
        HostWord::Clock { asked_ns } => Some(clock_now(asked_ns)),
        _ => None,
    }
}

/// Lines from the host, except those answered at once; the channel closes when the host is gone.
fn listen(words: File) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(words);
        loop {
            let mut line = String::new();
            match io::Read::take(&mut reader, LINE_BYTES_MAX).read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => match answer_at_once(&line) {
                    Some(answer) => say(reader.get_ref(), &answer),
                    None if sender.send(line.trim_end().to_owned()).is_err() => return,
                    None => {}
                },
            }
        }
    });
    lines
}

/// A host that no longer reads is detected elsewhere.
fn say(mut words: &File, word: &GuestWord) {
    let mut line = serde_json::to_string(word).expect("a word has only string keys");
    line.push('\n');
    let _ = words.write_all(line.as_bytes());
}
