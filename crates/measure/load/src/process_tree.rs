//! The descendants of a supervisor in /proc: their CPU time, and how to end them.

use crate::task_stat::TaskStat;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use std::collections::HashSet;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// Every process on this machine.
fn processes() -> Vec<TaskStat> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = entries.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    numbered.filter_map(|entry| TaskStat::parse(&std::fs::read(entry.path().join("stat")).ok()?)).collect()
}

/// Children, grandchildren and so on of process `root`, without itself.
pub fn descendants(root: i32) -> Vec<TaskStat> {
    below(root, processes())
}

fn below(root: i32, mut others: Vec<TaskStat>) -> Vec<TaskStat> {
    let mut tree = HashSet::from([root]);
    let mut found = Vec::new();
    loop {
        let (children, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|task| tree.contains(&task.parent));
        if children.is_empty() {
            return found;
        }
        tree.extend(children.iter().map(|task| task.pid));
        found.extend(children);
        others = rest;
    }
}

/// CPU time of all descendants of this process, including reaped children, in clock ticks.
pub fn ticks_below_me() -> u64 {
    let own = getpid().as_raw_pid();
    let all = processes();
    let reaped = all.iter().find(|task| task.pid == own).map_or(0, |task| task.ticks_of_children);
    reaped + below(own, all).iter().map(|task| task.ticks + task.ticks_of_children).sum::<u64>()
}

/// A child of this process that ended.
pub struct Ended {
    pub pid: Pid,
    pub exit: Exit,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Status(i32),
    Signal(i32),
}

impl Exit {
    pub fn is_success(self) -> bool {
        self == Self::Status(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(out, "ended with exit status {status}"),
            Self::Signal(signal) => write!(out, "was killed by signal {signal}"),
        }
    }
}

/// The next child that has ended. `Ok(None)` if all are alive; an error if there is no child.
pub fn next_ended() -> io::Result<Option<Ended>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                let exit = match (status.exit_status(), status.terminating_signal()) {
                    (Some(status), _) => Exit::Status(status),
                    (None, Some(signal)) => Exit::Signal(signal),
                    (None, None) => continue,
                };
                return Ok(Some(Ended { pid, exit }));
            }
            Ok(None) => return Ok(None),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills all descendants of this process and waits until they are gone, at most `patience`.
///
/// Repeats because a process may fork between being found and being killed; as the subreaper this process inherits such
/// children.
pub fn end(patience: Duration) {
    let give_up = Instant::now() + patience;
    loop {
        for task in descendants(getpid().as_raw_pid()) {
            if let Some(pid) = Pid::from_raw(task.pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        loop {
            match next_ended() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        if Instant::now() >= give_up {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_followed_in_any_order() {
        let task = |pid, parent| TaskStat { pid, parent, ..TaskStat::default() };
        let all = vec![task(40, 30), task(1, 0), task(30, 20), task(20, 10), task(21, 1), task(10, 1)];
        let mut found: Vec<_> = below(10, all).iter().map(|task| task.pid).collect();
        found.sort();
        assert_eq!(found, [20, 30, 40]);
    }

    #[test]
    fn this_process_is_among_the_processes() {
        assert!(processes().iter().any(|task| task.pid == getpid().as_raw_pid()));
    }
}
