//! The cost of a guard: CPU time of its threads and of its meter's, and the events that the kernel records for it.
//!
//! The threads may run on any CPU, so their whole time counts against each; the events count where they were recorded. The
//! result is the CPU with the most.

use archive::watched::guard::INSTANCE_PREFIX;
use ftrace::tracefs::{Instance, Tracefs};
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// The cost of watching in a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub elapsed: Duration,
    pub threads_ns: u64,
    /// Events on the CPU that recorded most.
    pub events: u64,
}

impl Spent {
    /// Percent of a CPU; an event takes `event_ns`.
    pub fn percent(&self, event_ns: f64) -> f64 {
        let elapsed_ns = self.elapsed.as_nanos() as f64;
        if elapsed_ns == 0.0 {
            0.0
        } else {
            (self.threads_ns as f64 + self.events as f64 * event_ns) / elapsed_ns * 100.0
        }
    }

    /// The same with no more time of the threads than they need to read the events, by a stretch in which they did nothing else.
    pub fn reading_as_in(&self, reading: &Self) -> Self {
        let share = |of: u64, whole: u64| if whole == 0 { 1.0 } else { of as f64 / whole as f64 };
        let longer = share(self.elapsed.as_nanos() as u64, reading.elapsed.as_nanos() as u64);
        let busier = share(self.events, reading.events);
        let threads_ns = reading.threads_ns as f64 * longer.max(busier);
        Self { threads_ns: self.threads_ns.min(threads_ns as u64), ..*self }
    }

    /// Two stretches together.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            elapsed: self.elapsed + other.elapsed,
            threads_ns: self.threads_ns + other.threads_ns,
            events: self.events + other.events,
        }
    }
}

/// Reads what a guard and its meter used since the last reading.
pub struct CostMeter {
    /// Threads of this process whose time is accounted for elsewhere.
    left_out: Vec<i32>,
    processes: Vec<u32>,
    instances: Vec<Instance>,
    threads: HashMap<i32, u64>,
    events: HashMap<(usize, u32), u64>,
    at: Instant,
}

impl CostMeter {
    /// Begins to count, of this process without some threads and of a meter, which also records into the instance `kept`.
    pub fn of(meter: i32, kept: Option<&str>, left_out: Vec<i32>) -> Self {
        let instances = Tracefs::find().map(|tracefs| {
            let prefix = format!("{INSTANCE_PREFIX}{meter}-");
            let is_ours = |name: &String| name.starts_with(&prefix) || Some(name.as_str()) == kept;
            let names = tracefs.instances().into_iter().filter(is_ours);
            names.filter_map(|name| tracefs.open_instance(&name).ok()).collect()
        });
        let mut cost = Self {
            left_out,
            processes: vec![std::process::id(), meter.unsigned_abs()],
            instances: instances.unwrap_or_default(),
            threads: HashMap::new(),
            events: HashMap::new(),
            at: Instant::now(),
        };
        cost.read();
        cost
    }

    /// The use since the last reading.
    pub fn read(&mut self) -> Spent {
        let elapsed = self.at.elapsed();
        self.at = Instant::now();
        let threads_ns = self.thread_times();
        Spent { elapsed, threads_ns, events: self.recorded().into_values().max().unwrap_or(0) }
    }

    /// Whether the last reading is so long ago.
    pub fn is_older_than(&self, age: Duration) -> bool {
        self.at.elapsed() >= age
    }

    /// Events recorded on a CPU since the last reading; other CPUs count as read, too.
    pub fn events_on(&mut self, cpu: u32) -> u64 {
        self.recorded().get(&cpu).copied().unwrap_or(0)
    }

    fn thread_times(&mut self) -> u64 {
        let mut now = HashMap::new();
        for process in &self.processes {
            let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
            let tids = tasks.filter_map(|task| task.file_name().to_str()?.parse::<i32>().ok());
            for tid in tids.filter(|tid| !self.left_out.contains(tid)) {
                if let Some(ns) = thread_time_ns(*process, tid) {
                    now.insert(tid, ns);
                }
            }
        }
        let used = now.iter().map(|(tid, ns)| ns.saturating_sub(self.threads.get(tid).copied().unwrap_or(0))).sum();
        self.threads = now;
        used
    }

    /// By CPU. Counters of a buffer that was emptied begin again.
    fn recorded(&mut self) -> HashMap<u32, u64> {
        let mut on_cpus = HashMap::new();
        for (number, instance) in self.instances.iter().enumerate() {
            for cpu in instance.cpus() {
                let Ok(stats) = instance.cpu_stats(cpu) else { continue };
                let now = stats.entries + stats.overrun + stats.read_events + stats.dropped_events;
                let before = self.events.insert((number, cpu), now).unwrap_or(0);
                *on_cpus.entry(cpu).or_default() += now.checked_sub(before).unwrap_or(now);
            }
        }
        on_cpus
    }
}

/// CPU time of a thread so far, in ns.
pub fn thread_time_ns(process: u32, tid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{tid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Memory of this process and of a meter, and the kernel's trace buffers for it, in kB. Pages of the program files do not count: the
/// kernel drops them where it needs memory.
pub fn memory_kb(meter: i32, buffers_kb: u64) -> u64 {
    let own = |process: u32| {
        let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        own_kb(&text)
    };
    [std::process::id(), meter.unsigned_abs()].into_iter().map(own).sum::<u64>() + buffers_kb
}

/// Of a `/proc/PID/status`: resident memory that no file backs.
fn own_kb(status: &str) -> u64 {
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    ["RssAnon", "RssShmem"].into_iter().filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_events_are_parts_of_the_same_percentage() {
        let spent = Spent { elapsed: Duration::from_secs(10), threads_ns: 20_000_000, events: 100_000 };
        assert!((spent.percent(200.0) - 0.4).abs() < 1e-9, "{}", spent.percent(200.0));
        let both = spent.and(&Spent { elapsed: Duration::from_secs(10), ..Spent::default() });
        assert!((both.percent(200.0) - 0.2).abs() < 1e-9);
        assert_eq!(Spent::default().percent(200.0), 0.0);
        let copying = Spent { elapsed: Duration::from_secs(10), threads_ns: 900_000_000, events: 300_000 };
        assert_eq!(copying.reading_as_in(&spent).threads_ns, 60_000_000, "three times the events");
        let few = Spent { events: 1, ..copying };
        assert_eq!(few.reading_as_in(&spent).threads_ns, 20_000_000);
        let less = Spent { threads_ns: 5, ..copying };
        assert_eq!(less.reading_as_in(&spent).threads_ns, 5);
    }

    #[test]
    fn memory_that_no_file_backs_counts() {
        let status = "VmRSS:\t   10000 kB\nRssAnon:\t    4668 kB\nRssFile:\t    5032 kB\nRssShmem:\t     300 kB\n";
        assert_eq!((own_kb(status), own_kb("")), (4968, 0));
        assert!(memory_kb(i32::MAX, 7) > 7);
    }

    #[test]
    fn the_time_of_this_thread_is_read() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        assert!(thread_time_ns(std::process::id(), tid).is_some());
        assert_eq!(thread_time_ns(std::process::id(), i32::MAX), None);
    }
}
