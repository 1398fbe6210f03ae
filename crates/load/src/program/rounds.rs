//! The rounds of a program: started, watched, interrupted when nobody wants the load any more, and their work added up.

use super::super::counters::Counters;
use super::super::crew::fork_worker;
use super::super::family::{self, Ended};
use super::super::supervisor::dismissed;
use super::words::Words;
use super::{CommandLine, Program, Setting, path_of};
use archive::settings::LoadWord;
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group, setpgid};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a program that was interrupted may take to tell what it did.
const LAST_WORDS: Duration = Duration::from_millis(1500);
/// How long a companion may take until it serves.
const COMPANION_PATIENCE: Duration = Duration::from_secs(3);
/// What of a round's output is looked at, at most.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// What a program's end says of its reason.
const QUOTE_LINES: usize = 3;

/// Runs rounds until the load is dismissed.
///
/// # Errors
/// A round that failed, or that did no work, with the program's last words.
pub fn run(program: &Program, words: &[LoadWord], place: &Path, life: &OwnedFd, counters: &Counters) -> io::Result<()> {
    let words = Words(words);
    let companion = (program.companion)(&words)?;
    if let Some(companion) = &companion {
        let output = File::from(memfd_create(c"load-companion", MemfdFlags::CLOEXEC)?);
        start(&companion.command, place, &words, &output)?;
        wait_until_taken(companion.port);
    }
    let setting = Setting { place, port: companion.map(|companion| companion.port) };
    let mut watch = Watch { life, counters, ticks_last: 0 };
    for number in 0.. {
        if let Ending::Dismissed = round(program, &words, &setting, number, &mut watch)? {
            return Ok(());
        }
    }
    Ok(())
}

enum Ending {
    Done,
    Dismissed,
}

struct Watch<'a> {
    life: &'a OwnedFd,
    counters: &'a Counters,
    ticks_last: u64,
}

fn round(program: &Program, words: &Words, setting: &Setting, number: u64, watch: &mut Watch) -> io::Result<Ending> {
    let output = File::from(memfd_create(c"load-output", MemfdFlags::CLOEXEC)?);
    // What programs write into it must not be written over by what others write.
    fcntl_setfl(&output, OFlags::APPEND)?;
    let before = watch.counters.worker(0).load(Ordering::Relaxed);
    let count = |watch: &Watch| {
        let work = (program.work)(&read(&output), setting.place);
        watch.counters.worker(0).store(before + work.unwrap_or(0), Ordering::Relaxed);
        work
    };
    for line in (program.round)(words, setting, number) {
        let pid = start(&line, setting.place, words, &output)?;
        watch.counters.group().store(pid.as_raw_pid(), Ordering::Relaxed);
        let failure = loop {
            if dismissed(watch.life)? {
                interrupt(pid);
                count(watch);
                return Ok(Ending::Dismissed);
            }
            watch.look();
            if program.tells_meanwhile {
                count(watch);
            }
            match ended(pid)? {
                Some(how) if how == "ended with exit status 0" => break None,
                Some(how) => break Some(how),
                None => {}
            }
        };
        if let Some(how) = failure {
            return Err(io::Error::other(format!("{}; {} {how}", last_lines(&read(&output)), line[0])));
        }
    }
    match count(watch) {
        Some(work) if work > 0 => Ok(Ending::Done),
        _ => {
            let said = last_lines(&read(&output));
            Err(io::Error::other(format!("{} did nothing in a round that could be counted: {said}", program.name)))
        }
    }
}

impl Watch<'_> {
    /// A program that tells its work at the end of a round is alive as long as it uses the CPU.
    fn look(&mut self) {
        let ticks = family::ticks_below_me();
        self.counters.pulse().fetch_add(ticks.saturating_sub(self.ticks_last), Ordering::Relaxed);
        self.ticks_last = ticks;
    }
}

/// Starts a program in a process group of its own, in the load's directory, on the CPUs it was given.
fn start(line: &CommandLine, place: &Path, words: &Words, output: &File) -> io::Result<Pid> {
    let program = path_of(&line[0]).unwrap_or_else(|| line[0].clone().into());
    let cpus = words.cpus();
    let (out, errors) = (output.try_clone()?, output.try_clone()?);
    let pid = fork_worker("load-program", move || {
        let _ = setpgid(None, None);
        if !cpus.is_empty() {
            let mut set = rustix::thread::CpuSet::new();
            let inside = cpus.iter().filter(|cpu| **cpu < rustix::thread::CpuSet::MAX_CPU as u32);
            inside.for_each(|cpu| set.set(*cpu as usize));
            if let Err(error) = rustix::thread::sched_setaffinity(None, &set) {
                eprintln!("these CPUs cannot be had: {error}");
                return 1;
            }
        }
        let mut command = std::process::Command::new(&program);
        command.args(&line[1..]).current_dir(place).env("LC_ALL", "C").stdout(out).stderr(errors);
        eprintln!("{}: {}", program.display(), command.exec());
        127
    })?;
    // Both sides set the group, so that it stands whoever runs first; the child may have started its program by now.
    let _ = setpgid(Some(pid), Some(pid));
    Ok(pid)
}

/// How this child ended, if it did; others are buried on the way.
fn ended(pid: Pid) -> io::Result<Option<String>> {
    while let Some(Ended { pid: other, how }) = family::next_ended()? {
        if other == pid {
            return Ok(Some(how));
        }
    }
    Ok(None)
}

/// Ends the program as Ctrl-C does and waits for its last words.
fn interrupt(pid: Pid) {
    let give_up = Instant::now() + LAST_WORDS;
    let _ = kill_process_group(pid, Signal::INT);
    while Instant::now() < give_up && matches!(ended(pid), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until somebody listens at the port, without knocking: a server takes every caller for a client.
fn wait_until_taken(port: u16) {
    let give_up = Instant::now() + COMPANION_PATIENCE;
    while Instant::now() < give_up && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn read(output: &File) -> Vec<u8> {
    let size = rustix::fs::fstat(output.as_fd()).map_or(0, |stat| stat.st_size as u64);
    let mut bytes = vec![0; size.min(OUTPUT_BYTES_MAX) as usize];
    let length = output.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(length);
    bytes
}

fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => "it said nothing".into(),
        false => lines[lines.len().saturating_sub(QUOTE_LINES)..].join("; "),
    }
}

/// Whatever is done to an output, reading it neither fails nor panics.
#[cfg(test)]
pub fn any_bytes(program: &Program, output: &str) {
    let bytes = output.as_bytes();
    for end in 0..bytes.len() {
        let _ = (program.work)(&bytes[..end], Path::new("/"));
    }
    let mut state = 1u64;
    for _ in 0..500 {
        let mut spoilt = bytes.to_vec();
        for _ in 0..8 {
            state = crate::draws::mixed(state.wrapping_add(1));
            let at = state as usize % spoilt.len();
            spoilt[at] = (state >> 32) as u8;
        }
        let _ = (program.work)(&spoilt, Path::new("/"));
    }
}
