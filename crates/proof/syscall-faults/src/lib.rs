//! Kills a program, or makes the kernel return errors, at any of its system calls that change something, and computes
//! what a power cut leaves of its files.
//!
//! Only calls that change something outside the process are counted ([`Call`]). Being killed at any other call leaves
//! the same state as being killed at the next counted one, so stepping through the counted calls covers all of them.
//! Threads of the program are followed, its child processes are not.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod call;
pub mod image;
pub mod power_cut;
mod ptrace;
mod record;

pub use record::{ACKNOWLEDGEMENTS, Operation, Recorded};

pub use call::Call;
use ptrace::{Stop, Tracee};
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// The effect on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL before the call has any effect.
    Kill,
    /// The kernel returns this errno(3).
    Refuse(i32),
    /// A write writes half of its bytes, and the next one fails with this errno. After that there is room again.
    CutShort(i32),
    /// A write writes half of its bytes, and every later write to this file system fails with this errno.
    Full(i32),
}

/// Result of a program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its process ID.
    pub pid: i32,
    /// Number of calls that change something, up to the end.
    pub calls: usize,
    /// Description of the call at which the fault occurred.
    pub met: Option<String>,
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
}

/// Runs a program to its end, with a fault at the call of this number, counted from 0.
///
/// # Errors
/// If it cannot be started or traced.
pub fn run(command: &mut Command, fault: Option<(usize, Fault)>) -> io::Result<Ended> {
    follow(command, &|_| true, fault, &mut |_, _, _| ())
}

/// The same, counting only some of the calls that change something.
///
/// # Errors
/// As [`run`].
pub fn run_counting(
    command: &mut Command,
    counted: &dyn Fn(&Call) -> bool,
    fault: Option<(usize, Fault)>,
) -> io::Result<Ended> {
    follow(command, counted, fault, &mut |_, _, _| ())
}

/// Runs a program to its end and records what its calls changed.
///
/// # Errors
/// As [`run`].
pub fn record(command: &mut Command) -> io::Result<(Ended, Recorded)> {
    let mut recorded = Recorded::default();
    let ended = follow(command, &|_| true, None, &mut |tid, call, result| recorded.add(tid, call, result))?;
    Ok((ended, recorded))
}

/// State of a thread between two stops.
#[derive(Debug, Default)]
struct Thread {
    call: Option<Call>,
    refuse: Option<i32>,
}

/// Writes that keep failing, and their file system.
#[derive(Debug, Default)]
struct Full {
    errno: i32,
    writes: usize,
    device: Option<u64>,
}

fn device(call: &Call) -> Option<u64> {
    Some(std::fs::metadata(call.path()).ok()?.dev())
}

fn follow(
    command: &mut Command,
    counted: &dyn Fn(&Call) -> bool,
    fault: Option<(usize, Fault)>,
    done: &mut dyn FnMut(i32, &Call, i64),
) -> io::Result<Ended> {
    let tracee = Tracee::start(command)?;
    let mut threads: HashMap<i32, Thread> = HashMap::new();
    let mut ended = Ended { pid: tracee.pid(), calls: 0, met: None, code: None };
    let mut full = Full::default();
    loop {
        let (tid, stop) = tracee.next_stop()?;
        match stop {
            Stop::Ended { code } if tid == tracee.pid() => return Ok(Ended { code, ..ended }),
            Stop::Ended { .. } => drop(threads.remove(&tid)),
            Stop::Entered(entered) => {
                let thread = threads.entry(tid).or_default();
                thread.call = call::changing(tid, &entered).filter(counted);
                let Some(call) = &thread.call else {
                    tracee.resume(tid, 0);
                    continue;
                };
                let met = fault.filter(|(at, _)| *at == ended.calls).map(|(_, fault)| fault);
                ended.calls += 1;
                if met.is_some() {
                    ended.met = Some(call.describe());
                }
                match met {
                    Some(Fault::Kill) => {
                        tracee.kill();
                        continue;
                    }
                    Some(Fault::Refuse(errno)) => thread.refuse = Some(errno),
                    Some(Fault::CutShort(errno) | Fault::Full(errno)) => {
                        let writes = if met == Some(Fault::Full(errno)) { usize::MAX } else { 1 };
                        full = Full { errno, writes, device: device(call) };
                        match call.bytes_to_write() {
                            Some(bytes) if bytes > 1 => tracee.set_third_argument(tid, bytes / 2)?,
                            _ => thread.refuse = Some(errno),
                        }
                    }
                    None if full.writes > 0 && call.bytes_to_write().is_some() && device(call) == full.device => {
                        full.writes -= 1;
                        thread.refuse = Some(full.errno);
                    }
                    None => {}
                }
                if thread.refuse.is_some() {
                    tracee.skip_call(tid)?;
                }
                tracee.resume(tid, 0);
            }
            Stop::Returned { result } => {
                let thread = threads.entry(tid).or_default();
                match (thread.call.take(), thread.refuse.take()) {
                    (_, Some(errno)) => tracee.set_result(tid, -i64::from(errno))?,
                    (Some(call), None) if result >= 0 => done(tid, &call, result),
                    _ => {}
                }
                tracee.resume(tid, 0);
            }
            Stop::Signal(signal) => {
                // A new thread starts with a stop caused by ptrace itself.
                let own = signal == libc::SIGSTOP && !threads.contains_key(&tid) && tid != tracee.pid();
                threads.entry(tid).or_default();
                tracee.resume(tid, if own { 0 } else { signal });
            }
            Stop::Other => tracee.resume(tid, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Writes two files, the second under a temporary name first.
    fn script(directory: &Path) -> Command {
        let mut command = Command::new("sh");
        let script = "echo first > one; echo second > two.partial; mv two.partial two";
        command.args(["-c", script]).current_dir(directory);
        command
    }

    #[test]
    fn a_program_killed_at_each_call_has_done_what_comes_before() {
        let whole = tempfile::tempdir().unwrap();
        let ended = run(&mut script(whole.path()), None).unwrap();
        assert_eq!((ended.code, ended.met), (Some(0), None));
        assert_eq!(fs::read_to_string(whole.path().join("two")).unwrap(), "second\n");
        let mut sizes = Vec::new();
        for at in 0..ended.calls {
            let directory = tempfile::tempdir().unwrap();
            let killed = run(&mut script(directory.path()), Some((at, Fault::Kill))).unwrap();
            assert_eq!((killed.code, killed.calls), (None, at + 1));
            assert!(killed.met.is_some());
            let one = fs::read_to_string(directory.path().join("one")).unwrap_or_default();
            sizes.push((one.len(), directory.path().join("two.partial").exists()));
        }
        assert_eq!(sizes.first(), Some(&(0, false)));
        assert!(sizes.is_sorted() && sizes.contains(&(6, false)) && sizes.contains(&(6, true)), "{sizes:?}");
    }

    #[test]
    fn a_refused_call_has_no_effect_and_the_program_sees_the_error() {
        let directory = tempfile::tempdir().unwrap();
        let refused = run(&mut script(directory.path()), Some((0, Fault::Refuse(libc::ENOSPC)))).unwrap();
        assert!(refused.met.is_some());
        assert!(!directory.path().join("one").exists());
        assert_eq!(fs::read_to_string(directory.path().join("two")).unwrap(), "second\n");
    }

    #[test]
    fn a_full_disk_takes_half_of_a_write_and_nothing_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let full = run(&mut script(directory.path()), Some((1, Fault::Full(libc::ENOSPC)))).unwrap();
        assert!(full.met.unwrap().starts_with("write"));
        assert_eq!(fs::read_to_string(directory.path().join("one")).unwrap(), "fir");
        assert_eq!(fs::read_to_string(directory.path().join("two")).unwrap(), "");
    }
}
