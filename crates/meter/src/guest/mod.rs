//! The meter as the first and only program of a virtual machine: boots the guest, runs one command, powers off.
//!
//! The initial file system holds this program, also as `/init`, and the modules that the ports to the host need. What is said
//! on the ports is in [`archive::guest`].

mod command;
mod modules;
mod mounts;
mod ports;

use crate::kernel::clock;
use crate::virtual_time;
use archive::guest::{DATA_PORT, FAREWELL, GuestCommand, GuestWord, WORDS_PORT};
use rustix::system::{RebootCommand, reboot};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long the host may take to say that it has everything.
const FAREWELL_LIMIT: Duration = Duration::from_secs(60);
/// Longest command line of the host.
const COMMAND_BYTES_MAX: u64 = 1 << 20;

/// Whether this process is the first of a machine, not of a container: only the kernel calls it `/init`.
pub fn is_first_process() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == "/init")
}

/// Boots, runs what the host asks for, and powers the machine off.
pub fn run() -> ! {
    if let Err(why) = serve() {
        eprintln!("tardy-meter: {why}");
    }
    rustix::fs::sync();
    let refused = reboot(RebootCommand::PowerOff);
    // The first process must not return: the kernel would panic, and rightly so when it cannot be switched off.
    panic!("the machine cannot be powered off: {refused:?}");
}

fn serve() -> Result<(), String> {
    mounts::mount_all()?;
    modules::load_all()?;
    if let Some(plan) = virtual_time::plan()? {
        return virtual_time::run(&plan);
    }
    let words = ports::open(WORDS_PORT)?;
    let data = ports::open(DATA_PORT)?;
    let host = listen(words.try_clone().map_err(|error| format!("failed to share the port: {error}"))?);
    let kernel_release = rustix::system::uname().release().to_string_lossy().into_owned();
    say(&words, &GuestWord::Booted { kernel_release, uptime_ns: clock::monotonic_ns() });
    // Nothing to do when the host went away before it asked for anything.
    let Ok(line) = host.recv() else { return Ok(()) };
    let command: GuestCommand =
        serde_json::from_str(&line).map_err(|error| format!("failed to understand the command: {error}"))?;
    // The fingerprint names the machine; a machine without a name is as good.
    let _ = std::fs::write("/proc/sys/kernel/hostname", &command.hostname);
    let ended = command::run(&command, data, &words).unwrap_or_else(|why| GuestWord::Failed { why });
    say(&words, &ended);
    await_farewell(&host);
    Ok(())
}

/// Lines of the host; the channel closes when the host is gone.
fn listen(words: File) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(words);
        loop {
            let mut line = String::new();
            match io::Read::take(&mut reader, COMMAND_BYTES_MAX).read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if sender.send(line.trim_end().to_owned()).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    lines
}

fn await_farewell(host: &Receiver<String>) {
    loop {
        match host.recv_timeout(FAREWELL_LIMIT) {
            Ok(line) if line != FAREWELL => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => return,
        }
    }
}

/// A host that no longer listens is noticed elsewhere.
fn say(mut words: &File, word: &GuestWord) {
    let mut line = serde_json::to_string(word).expect("a word has only string keys");
    line.push('\n');
    let _ = words.write_all(line.as_bytes());
}
