//! The state of an audited program in /proc, collected over several reads: a program that ends leaves nothing behind.

use super::ThreadList;
use super::listed::Listed;
use crate::kernel::scheduling;
use archive::audit::{AuditDescription, AuditedProcess, AuditedThread, InterruptThread, Mapping, OpenFile};
use archive::settings::Policy;
use load::task_stat::TaskStat;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most mappings, and most open files, of one process, and of all processes of a description together.
const LISTED_MAX: usize = 10_000;
const LISTED_OF_ALL_MAX: usize = 30_000;
/// Most threads and processes. A program may start thousands a second; those that run at the end are kept.
const THREADS_MAX: usize = 10_000;
const PROCESSES_MAX: usize = 500;

/// Threads and processes that were seen so far.
pub struct ProcScan {
    list: ThreadList,
    /// With the number of the last look that found each.
    threads: BTreeMap<i32, (AuditedThread, u32)>,
    processes: BTreeMap<i32, Seen>,
    /// Most that one look was over the limit.
    threads_left_out: usize,
    processes_left_out: usize,
    look: u32,
}

#[derive(Default)]
struct Seen {
    program: String,
    machine: Option<String>,
    locked_kb: u64,
    size_kb: u64,
    look: u32,
    mappings: Listed<Mapping>,
    mappings_left_out: u64,
    files: Listed<OpenFile>,
    files_left_out: u64,
}

impl ProcScan {
    pub fn new(list: ThreadList) -> Self {
        Self {
            list,
            threads: BTreeMap::new(),
            processes: BTreeMap::new(),
            threads_left_out: 0,
            processes_left_out: 0,
            look: 0,
        }
    }

    /// Reads /proc; returns the threads that were not known before.
    pub fn repeat(&mut self) -> Vec<i32> {
        self.look += 1;
        let look = self.look;
        let mut new = Vec::new();
        let mut pids = BTreeSet::new();
        for found in (self.list)() {
            let tid = found.tid;
            let (known, seen) = self.threads.entry(tid).or_insert_with(|| {
                new.push(tid);
                (AuditedThread { tid, pid: found.pid, ..AuditedThread::default() }, look)
            });
            *seen = look;
            known.name = found.name;
            see_thread(known);
            pids.insert(known.pid);
        }
        for pid in pids {
            let seen = self.processes.entry(pid).or_default();
            seen.look = look;
            see_process(pid, seen);
        }
        // Threads with a real-time policy are audited, and the others are not.
        let is_real_time = |thread: &AuditedThread| !matches!(thread.policy, Some(Policy::Other) | None);
        let threads = keep(&mut self.threads, THREADS_MAX, |(thread, look)| (is_real_time(thread), *look));
        let processes = keep(&mut self.processes, PROCESSES_MAX, |process| process.look);
        self.threads_left_out = self.threads_left_out.max(threads);
        self.processes_left_out = self.processes_left_out.max(processes);
        new
    }

    /// Adds all of it to the description.
    pub fn describe(mut self, description: &mut AuditDescription) {
        self.repeat();
        description.threads_left_out = self.threads_left_out as u64;
        description.processes_left_out = self.processes_left_out as u64;
        description.threads = self.threads.into_values().map(|(thread, _)| thread).collect();
        let of_each = (LISTED_OF_ALL_MAX / self.processes.len().max(1)).min(LISTED_MAX);
        description.processes = self
            .processes
            .into_iter()
            .map(|(pid, seen)| {
                let (open, mapped) = (seen.files.len(), seen.mappings.len());
                let mappings = seen.mappings.best(of_each, matters);
                let files = seen.files.best(of_each, |_| true);
                AuditedProcess {
                    pid,
                    program: seen.program,
                    machine: seen.machine,
                    locked_kb: seen.locked_kb,
                    size_kb: seen.size_kb,
                    mappings_left_out: seen.mappings_left_out.saturating_add((mapped - mappings.len()) as u64),
                    mappings,
                    files_left_out: seen.files_left_out.saturating_add((open - files.len()) as u64),
                    files,
                }
            })
            .collect();
        description.interrupt_threads = interrupt_threads();
    }
}

/// Keeps the most urgent policy: a thread may take it only for a while.
fn see_thread(thread: &mut AuditedThread) {
    let urgency = |policy: Option<Policy>, priority: u8| match policy {
        Some(Policy::Deadline) => 100,
        Some(Policy::Fifo | Policy::Rr) => priority,
        Some(Policy::Other) | None => 0,
    };
    if let Ok((policy, priority)) = scheduling::policy_of(thread.tid)
        && (thread.policy.is_none() || urgency(Some(policy), priority) > urgency(thread.policy, thread.priority))
    {
        (thread.policy, thread.priority) = (Some(policy), priority);
    }
    let slack = fs::read_to_string(format!("/proc/{}/timerslack_ns", thread.tid)).ok();
    thread.timer_slack_ns = slack.and_then(|text| text.trim().parse().ok()).or(thread.timer_slack_ns);
    let stat = fs::read(format!("/proc/{}/task/{}/stat", thread.pid, thread.tid)).ok();
    if let Some(faults) = stat.and_then(|line| faults(&line)) {
        thread.faults_first = thread.faults_first.or(Some(faults));
        thread.faults_last = Some(faults);
    }
}

/// Minor and major faults, the fields 10 and 12 of /proc/PID/stat.
fn faults(stat: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(stat);
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(field(7)? + field(9)?)
}

fn see_process(pid: i32, seen: &mut Seen) {
    if let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) {
        seen.program = program.to_string_lossy().into_owned();
        seen.machine = fs::File::open(format!("/proc/{pid}/exe")).ok().and_then(narrow_machine);
    }
    if let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) {
        let kb = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        seen.locked_kb = kb("VmLck:").unwrap_or(seen.locked_kb);
        seen.size_kb = kb("VmSize:").unwrap_or(seen.size_kb);
    }
    if let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) {
        seen.mappings.add(seen.look, maps.lines().filter_map(mapping));
        let left_out = seen.mappings.len().saturating_sub(LISTED_MAX) as u64;
        seen.mappings_left_out = seen.mappings_left_out.max(left_out);
        seen.mappings.keep(LISTED_MAX, matters);
    }
    see_files(&PathBuf::from(format!("/proc/{pid}/fd")), seen, LISTED_MAX);
}

/// Lists the open files of a process, at most `most`, and counts the others: reading where each link leads takes long.
fn see_files(directory: &Path, seen: &mut Seen, most: usize) {
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.by_ref().take(most).filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let target = fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        Some(OpenFile { number, target })
    });
    seen.files.add(seen.look, files);
    seen.files.keep(most, |_| true);
    seen.files_left_out = seen.files_left_out.max(entries.count() as u64);
}

/// Code has the places that a finding names; what a program maps and unmaps has no name.
fn matters(mapping: &Mapping) -> bool {
    !mapping.name.is_empty() || mapping.rights.contains('x')
}

/// Keeps the entries with the greatest worth.
fn keep<T, W: Ord>(entries: &mut BTreeMap<i32, T>, most: usize, worth: impl Fn(&T) -> W) -> usize {
    let left_out = entries.len().saturating_sub(most);
    if left_out == 0 {
        return 0;
    }
    let mut all: Vec<(i32, T)> = std::mem::take(entries).into_iter().collect();
    all.sort_by_cached_key(|(_, entry)| Reverse(worth(entry)));
    all.truncate(most);
    entries.extend(all);
    left_out
}

/// The machine of an ELF executable with 32-bit addresses, as the kernel of a 64-bit one runs it.
fn narrow_machine(mut executable: impl Read) -> Option<String> {
    let mut head = [0; 20];
    executable.read_exact(&mut head).ok()?;
    let (magic, class, machine) = (&head[..4], head[4], u16::from_le_bytes([head[18], head[19]]));
    let is_narrow = magic == b"\x7fELF" && class == 1 && cfg!(target_pointer_width = "64");
    match machine {
        3 if is_narrow => Some("i386".into()),
        40 if is_narrow => Some("arm".into()),
        _ => None,
    }
}

/// One line of /proc/PID/maps.
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let rights = words.next()?.to_owned();
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = hexadecimal(words.next()?)?;
    let name = words.nth(2).unwrap_or_default().trim_start().to_owned();
    Some(Mapping { start: hexadecimal(start)?, end: hexadecimal(end)?, offset, rights, name })
}

/// Threads of the kernel that handle interrupts, where it has them.
fn interrupt_threads() -> Vec<InterruptThread> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of = |tid: i32| {
        let stat = TaskStat::parse(&fs::read(format!("/proc/{tid}/stat")).ok()?)?;
        let (_, priority) = scheduling::policy_of(tid).ok()?;
        stat.name.starts_with("irq/").then_some(InterruptThread { tid, name: stat.name, priority })
    };
    numbers.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read_with_and_without_a_name() {
        let line = "7fb114010000-7fb114036000 r-xp 00001000 fe:00 1234                       /usr/lib/a b.so";
        let read = mapping(line).unwrap();
        assert_eq!((read.start, read.end, read.offset), (0x7fb114010000, 0x7fb114036000, 0x1000));
        assert_eq!((read.rights.as_str(), read.name.as_str()), ("r-xp", "/usr/lib/a b.so"));
        assert_eq!(mapping("10-20 rw-p 00000000 00:00 0 ").unwrap().name, "");
        assert_eq!(mapping("nonsense"), None);
    }

    #[test]
    fn only_a_program_with_32_bit_addresses_has_other_calls_than_the_machine() {
        let mut head = *b"\x7fELF\x01\x01\0\0\0\0\0\0\0\0\0\0\x02\0\x03\0";
        assert_eq!(narrow_machine(&head[..]).as_deref(), Some("i386"));
        head[18] = 40;
        assert_eq!(narrow_machine(&head[..]).as_deref(), Some("arm"));
        head[4] = 2;
        assert_eq!(narrow_machine(&head[..]), None);
        assert_eq!(narrow_machine(&head[..19]), None);
    }

    #[test]
    fn open_files_beyond_the_most_that_are_listed_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        (0..10).for_each(|number| std::os::unix::fs::symlink("/x", directory.path().join(number.to_string())).unwrap());
        let mut seen = Seen::default();
        see_files(directory.path(), &mut seen, 4);
        assert_eq!((seen.files.len(), seen.files_left_out), (4, 6));
    }

    #[test]
    fn this_process_is_seen_with_its_memory_and_files() {
        let pid = std::process::id() as i32;
        let list = move || vec![AuditedThread { tid: pid, pid, name: "me".into(), ..AuditedThread::default() }];
        let mut scan = ProcScan::new(Box::new(list));
        assert_eq!((scan.repeat(), scan.repeat()), (vec![pid], vec![]));
        let mut description = AuditDescription::default();
        scan.describe(&mut description);
        let process = &description.processes[0];
        assert!(process.mappings.iter().any(|mapping| mapping.name == "[stack]"), "{process:?}");
        assert!(process.files.iter().any(|file| file.number == 0) && process.size_kb > 0, "{process:?}");
        assert!(description.threads[0].faults_last > Some(0) && description.threads[0].policy.is_some());
    }
}
