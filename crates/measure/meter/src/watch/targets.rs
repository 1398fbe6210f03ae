//! Threads and processes of this machine, from /proc.

use crate::compact;
use crate::kernel::scheduling;
use archive::watched::PageFaults;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A thread to be watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadFound {
    pub tid: i32,
    pub pid: i32,
    pub name: String,
}

/// Threads of a process and of all its descendants, as long as their parents live; without this process, even if a
/// descendant started it.
pub fn threads_below(pid: i32) -> Vec<ThreadFound> {
    let parents: BTreeMap<i32, i32> =
        compact::inserted(processes().into_iter().filter_map(|pid| Some((pid, parent_of(pid)?))));
    family(pid, &parents, std::process::id() as i32).into_iter().flat_map(threads_of).collect()
}

/// A process and its descendants, except the tool: `own`, its parent, and above them what has no other child, as a `sudo`.
fn family(pid: i32, parents: &BTreeMap<i32, i32>, own: i32) -> BTreeSet<i32> {
    let mut excluded: BTreeSet<i32> = BTreeSet::new();
    let host = parents.get(&own).copied();
    let is_tool = |process: i32, child: i32| {
        process == own
            || Some(process) == host
            || parents.iter().all(|(other, parent)| *parent != process || *other == child)
    };
    let (mut child, mut ancestor) = (own, Some(own));
    while let Some(tool) = ancestor.filter(|tool| *tool != pid && is_tool(*tool, child) && excluded.insert(*tool)) {
        (child, ancestor) = (tool, parents.get(&tool).copied());
    }
    let mut relatives: BTreeSet<i32> = compact::inserted([pid]);
    loop {
        let known = relatives.len();
        let children = parents.iter().filter(|(child, parent)| relatives.contains(parent) && !excluded.contains(child));
        relatives.extend(children.map(|(child, _)| *child).collect::<Vec<_>>());
        if relatives.len() == known {
            return relatives;
        }
    }
}

/// Threads of a process with a real-time or deadline policy.
pub fn real_time_threads_of(pid: i32) -> Vec<ThreadFound> {
    threads_that(pid, |tid| scheduling::policy_of(tid).is_ok_and(|(policy, _)| policy.is_real_time()))
}

/// Every process except this one and its parent.
pub fn processes_of_others(except: i32) -> impl Iterator<Item = i32> {
    let host = parent_of(except);
    processes().into_iter().filter(move |pid| *pid != except && Some(*pid) != host)
}

/// Every thread of a process.
pub fn threads_of(pid: i32) -> Vec<ThreadFound> {
    threads_that(pid, |_| true)
}

fn threads_that(pid: i32, is_it: impl Fn(i32) -> bool) -> Vec<ThreadFound> {
    let folder = format!("/proc/{pid}/task");
    let name = |tid: i32| fs::read_to_string(format!("{folder}/{tid}/comm")).ok();
    let tids = numbers(Path::new(&folder)).into_iter().filter(|tid| is_it(*tid));
    tids.filter_map(|tid| Some(ThreadFound { tid, pid, name: name(tid)?.trim_end().to_owned() })).collect()
}

/// How many threads a process has; 0 if it is gone.
pub fn thread_count(pid: i32) -> u64 {
    /// Links of a folder to itself and from its parent.
    const OWN_LINKS: u64 = 2;
    fs::metadata(format!("/proc/{pid}/task")).map_or(0, |folder| folder.nlink().saturating_sub(OWN_LINKS))
}

/// The process a thread belongs to.
pub fn process_of(tid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

/// Page faults of one thread since its start.
pub fn page_faults(pid: i32, tid: i32) -> Option<PageFaults> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let field = |at: usize| behind_name(&stat)?.split_whitespace().nth(at)?.parse().ok();
    Some(PageFaults { minor: field(7)?, major: field(9)? })
}

/// The letter of a process's state; `None` if it is gone. Zombies count as gone, too.
pub fn state_of(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    behind_name(&stat)?.trim_start().chars().next().filter(|state| !matches!(state, 'Z' | 'X'))
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    behind_name(&stat)?.split_whitespace().nth(1)?.parse().ok()
}

/// The fields after the name, which may contain anything, including parentheses.
fn behind_name(stat: &str) -> Option<&str> {
    stat.rsplit_once(')').map(|(_, rest)| rest)
}

fn processes() -> Vec<i32> {
    numbers(Path::new("/proc"))
}

fn numbers(folder: &Path) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_in_every_way() {
        let pid = std::process::id() as i32;
        let threads = threads_below(pid);
        assert!(threads.iter().any(|found| found.tid == pid && found.pid == pid), "{threads:?}");
        assert_eq!(process_of(pid), Some(pid));
        assert!(state_of(pid).is_some());
        assert!(page_faults(pid, pid).is_some_and(|faults| faults.minor > 0));
        assert!(thread_count(pid) >= 1);
        assert_eq!(thread_count(i32::MAX), 0);
        assert!(processes_of_others(0).any(|other| other == pid));
        assert!(processes_of_others(pid).all(|other| other != pid));
    }

    #[test]
    fn a_thread_of_an_ordinary_policy_is_not_one_of_real_time() {
        let own = std::process::id() as i32;
        assert!(threads_of(own).iter().any(|found| found.tid == own));
        assert!(real_time_threads_of(own).iter().all(|found| found.tid != own));
    }

    #[test]
    fn a_shell_is_watched_without_the_tool_that_it_started() {
        // 10 is a shell; 20 started the tool, 21 is its host and 22 its meter; 30 and its child 31 are the user's.
        let parents = BTreeMap::from([(10, 1), (20, 10), (21, 20), (22, 21), (23, 22), (30, 10), (31, 30), (40, 1)]);
        assert_eq!(family(10, &parents, 22), BTreeSet::from([10, 30, 31]));
        assert_eq!(family(1, &parents, 22), BTreeSet::from([1, 10, 30, 31, 40]));
        assert_eq!(family(30, &parents, 22), BTreeSet::from([30, 31]));
        assert_eq!(family(22, &parents, 22), BTreeSet::from([22, 23]), "the tool itself, if it is asked for");
        assert_eq!(family(30, &BTreeMap::from([(22, 22), (31, 30)]), 22), BTreeSet::from([30, 31]));
    }

    #[test]
    fn a_process_that_is_gone_has_no_threads() {
        assert_eq!(state_of(i32::MAX), None);
        assert_eq!(threads_of(i32::MAX), []);
        assert_eq!(page_faults(i32::MAX, i32::MAX), None);
    }
}
