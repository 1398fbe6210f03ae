//! The rounds of a program: starts, watches, and interrupts them, and adds up their work.

use super::options::Options;
use super::{CommandLine, Context, Program, path_of};
use crate::kernel::counters::Counters;
use crate::kernel::process::fork_worker;
use crate::process_tree::{self, Ended, Exit};
use crate::supervisor::stop_requested;
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

/// Time limit for an interrupted program to report its work.
const INTERRUPT_PATIENCE: Duration = Duration::from_millis(1500);
/// Time limit for a server to listen.
const SERVER_PATIENCE: Duration = Duration::from_secs(3);
/// Most bytes of a round's output to examine.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// Lines of output quoted as the reason of an exit.
const QUOTE_LINES: usize = 3;

/// Runs rounds until the load is stopped, when `control` closes.
///
/// # Errors
/// A round that failed, or that did no work, with the last lines of the program's output.
pub fn run(
    program: &Program,
    words: &[LoadWord],
    directory: &Path,
    control: &OwnedFd,
    counters: &Counters,
) -> io::Result<()> {
    let options = Options(words);
    let server = (program.server)(&options)?;
    if let Some(server) = &server {
        let output = File::from(memfd_create(c"load-server", MemfdFlags::CLOEXEC)?);
        start(&server.command, directory, &options, &output)?;
        wait_until_taken(server.port);
    }
    let context = Context { directory, server_port: server.map(|server| server.port) };
    let mut supervision = Supervision { control, counters, ticks_last: 0 };
    for number in 0.. {
        if let RoundEnd::Stopped = round(program, &options, &context, number, &mut supervision)? {
            return Ok(());
        }
    }
    Ok(())
}

enum RoundEnd {
    Done,
    Stopped,
}

struct Supervision<'a> {
    control: &'a OwnedFd,
    counters: &'a Counters,
    ticks_last: u64,
}

fn round(
    program: &Program,
    options: &Options,
    context: &Context,
    number: u64,
    supervision: &mut Supervision,
) -> io::Result<RoundEnd> {
    let output = File::from(memfd_create(c"load-output", MemfdFlags::CLOEXEC)?);
    // Programs that write to it must not overwrite each other's output.
    fcntl_setfl(&output, OFlags::APPEND)?;
    let before = supervision.counters.worker(0).load(Ordering::Relaxed);
    let count = |counters: &Counters| {
        let work = (program.work)(&read(&output), context.directory);
        counters.worker(0).store(before + work.unwrap_or(0), Ordering::Relaxed);
        work
    };
    for line in (program.round)(options, context, number) {
        let pid = start(&line, context.directory, options, &output)?;
        supervision.counters.group().store(pid.as_raw_pid(), Ordering::Relaxed);
        let exit = loop {
            if stop_requested(supervision.control)? {
                interrupt(pid);
                count(supervision.counters);
                return Ok(RoundEnd::Stopped);
            }
            supervision.count_cpu_time();
            if program.reports_progress {
                count(supervision.counters);
            }
            if let Some(exit) = exit_of(pid)? {
                break exit;
            }
        };
        if !exit.is_success() {
            return Err(io::Error::other(format!("{}; {} {exit}", reason(&read(&output), &line[0]), line[0])));
        }
    }
    match count(supervision.counters) {
        Some(work) if work > 0 => Ok(RoundEnd::Done),
        _ => {
            let output = reason(&read(&output), program.name);
            Err(io::Error::other(format!("{} did nothing in a round that could be counted: {output}", program.name)))
        }
    }
}

impl Supervision<'_> {
    /// A program that reports its work at the end of a round is alive as long as it uses the CPU.
    fn count_cpu_time(&mut self) {
        let ticks = process_tree::ticks_below_me();
        self.counters.heartbeat().fetch_add(ticks.saturating_sub(self.ticks_last), Ordering::Relaxed);
        self.ticks_last = ticks;
    }
}

/// Starts a program in its own process group, in the load's directory, on the selected CPUs.
fn start(line: &CommandLine, directory: &Path, options: &Options, output: &File) -> io::Result<Pid> {
    let program = path_of(&line[0]).unwrap_or_else(|| line[0].clone().into());
    let cpus = options.cpus();
    let (out, errors) = (output.try_clone()?, output.try_clone()?);
    let pid = fork_worker("load-program", move || {
        let _ = setpgid(None, None);
        if !cpus.is_empty() {
            let mut set = rustix::thread::CpuSet::new();
            let inside = cpus.iter().filter(|cpu| **cpu < rustix::thread::CpuSet::MAX_CPU as u32);
            inside.for_each(|cpu| set.set(*cpu as usize));
            if let Err(error) = rustix::thread::sched_setaffinity(None, &set) {
                eprintln!("these CPUs cannot be used: {error}");
                return 1;
            }
        }
        let mut command = std::process::Command::new(&program);
        command.args(&line[1..]).current_dir(directory).env("LC_ALL", "C").stdout(out).stderr(errors);
        eprintln!("{}: {}", program.display(), command.exec());
        127
    })?;
    // Parent and child both set the group, because either may run first; the child may already have started its
    // program.
    let _ = setpgid(Some(pid), Some(pid));
    Ok(pid)
}

/// The exit of this child, if it has ended; reaps other ended children.
fn exit_of(pid: Pid) -> io::Result<Option<Exit>> {
    while let Some(Ended { pid: other, exit }) = process_tree::next_ended()? {
        if other == pid {
            return Ok(Some(exit));
        }
    }
    Ok(None)
}

/// Interrupts the program as Ctrl-C does and waits for its report.
fn interrupt(pid: Pid) {
    let give_up = Instant::now() + INTERRUPT_PATIENCE;
    let _ = kill_process_group(pid, Signal::INT);
    while Instant::now() < give_up && matches!(exit_of(pid), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a server listens at the port, without connecting: the server takes every connection for a client.
fn wait_until_taken(port: u16) {
    let give_up = Instant::now() + SERVER_PATIENCE;
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

/// The last lines that a program began with its name, as its errors begin; without such lines the last ones. A list of the
/// words that the program takes may follow its error.
fn reason(output: &[u8], program: &str) -> String {
    let text = String::from_utf8_lossy(output);
    let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let by_name = |line: &&&str| line.strip_prefix(program).is_some_and(|rest| rest.starts_with(':'));
    let named: Vec<&str> = all.iter().filter(by_name).copied().collect();
    let lines = if named.is_empty() { all } else { named };
    match lines.is_empty() {
        true => "it printed nothing".into(),
        false => lines[lines.len().saturating_sub(QUOTE_LINES)..].join("; "),
    }
}

/// Parsing an arbitrarily damaged output neither fails nor panics.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_program_is_quoted_and_not_the_words_behind_it() {
        let fio = b"fio: bad rw=x\nvalid values: read Sequential read\n: write Sequential write\n: trim Trim\n: rw\n";
        assert_eq!(reason(fio, "fio"), "fio: bad rw=x");
        assert_eq!(reason(b"1\n2\n\n3\n4\n", "fio"), "2; 3; 4");
        assert!(!reason(b"", "fio").is_empty());
    }
}
