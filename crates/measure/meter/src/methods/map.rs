//! `map`: which thread had the CPU at each instant, as observed by busy threads themselves (Hourglass' method).
//!
//! A thread reads the clock continuously. Two readings further apart than the option `gap_ns` form a gap: the thread
//! was runnable and did not have the CPU. Readings continue during bookkeeping too, so that no gap is lost there; only
//! the few microseconds in which the meter marks a spike are left out.

use super::error::MethodError;
use super::{MeasuringMethod, Release, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::map::{Map, ThreadPolicy};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{BusyThread as Described, Method};
use archive::settings::Policy;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Interval at which a thread that is always busy checks for the end of the run.
const LOOK_NS: i64 = 5_000_000;
/// Default share of a CPU for real-time threads; the rest keeps the machine usable.
const REALTIME_SHARE_PERCENT: u64 = 80;
/// From this share on a CPU has no time left for other threads.
const FULL_PERCENT: u64 = 95;

/// The work of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Work {
    /// `None`: as for the other methods.
    name: Option<String>,
    cpu: u32,
    policy: Policy,
    priority: u8,
    gap_ns: i64,
    period_ns: i64,
    /// CPU time from the start of each period on; `None`: it is always busy.
    burst_ns: Option<i64>,
    /// Part of its CPU that no thread without a real-time policy can have, in %.
    real_time_percent: u64,
}

impl Work {
    /// The threads of a run: those that a file describes, or equal ones on every measured CPU.
    fn of(map: &Map, measured: &[u32], interval_ns: u64) -> Vec<Self> {
        let gap_ns = map.gap_ns() as i64;
        if !map.described.is_empty() {
            return map.described.iter().map(|thread| Self::described(thread, gap_ns)).collect();
        }
        let threads = map.threads();
        let (policy, priority) = match map.policy() {
            ThreadPolicy::Fifo => (Policy::Fifo, map.priority() as u8),
            ThreadPolicy::Rr => (Policy::Rr, map.priority() as u8),
            ThreadPolicy::Other => (Policy::Other, 0),
        };
        let is_shared = policy != Policy::Other && map.work.is_none();
        let percent = if is_shared { REALTIME_SHARE_PERCENT / threads } else { map.work() };
        let period_ns = interval_ns as i64;
        let on = |cpu| Self {
            name: None,
            cpu,
            policy,
            priority,
            gap_ns,
            period_ns,
            burst_ns: (percent < 100).then(|| (period_ns * percent as i64 / 100).max(1)),
            real_time_percent: if policy == Policy::Other { 0 } else { percent },
        };
        measured.iter().flat_map(|cpu| (0..threads).map(move |_| on(*cpu))).collect()
    }

    fn described(thread: &Described, gap_ns: i64) -> Self {
        let ns = |us: u64| i64::try_from(us.saturating_mul(1_000)).unwrap_or(i64::MAX).max(1);
        Self {
            name: Some(thread.name.clone()),
            cpu: thread.cpu,
            policy: thread.policy,
            priority: thread.priority,
            gap_ns,
            period_ns: thread.periodic.map_or(1, |periodic| ns(periodic.period_us)),
            burst_ns: thread.periodic.map(|periodic| ns(periodic.work_us)),
            real_time_percent: thread.real_time_percent(),
        }
    }
}

/// CPUs on which real-time threads leave no time for others, ascending.
fn full_cpus(works: &[Work]) -> Vec<u32> {
    let mut percent = BTreeMap::<u32, u64>::new();
    for work in works {
        *percent.entry(work.cpu).or_default() += work.real_time_percent;
    }
    percent.into_iter().filter(|(_, percent)| *percent > FULL_PERCENT).map(|(cpu, _)| cpu).collect()
}

/// One busy thread.
struct BusyThread {
    gap_ns: i64,
    /// Busy time in every period; `None`: always.
    burst_ns: Option<i64>,
    period_ns: i64,
    /// The previous reading; `None` before the first.
    last_ns: Option<i64>,
    period_start_ns: i64,
    worked_ns: i64,
    /// The shortest time from a reading to the end of a mark in the trace.
    mark_ns: i64,
    over: Arc<AtomicBool>,
}

impl BusyThread {
    fn new(work: &Work, over: Arc<AtomicBool>) -> Self {
        let Work { gap_ns, burst_ns, period_ns, .. } = *work;
        Self { gap_ns, burst_ns, period_ns, last_ns: None, period_start_ns: 0, worked_ns: 0, mark_ns: i64::MAX, over }
    }

    /// Counts one reading; returns what the loop has to do next.
    #[inline]
    fn read(&mut self, from_ns: i64, now_ns: i64) -> Option<Arrival> {
        self.last_ns = Some(now_ns);
        if now_ns - from_ns > self.gap_ns {
            return Some(Arrival::Busy { from_ns, until_ns: now_ns });
        }
        self.worked_ns += now_ns - from_ns;
        None
    }

    /// Sleeps until the next period that has not started, which ends a stretch of work.
    fn sleep(&mut self) {
        let last_ns = self.last_ns.unwrap_or(self.period_start_ns);
        self.period_start_ns = next_period_ns(self.period_start_ns, self.period_ns, last_ns);
        self.worked_ns = 0;
        if self.period_start_ns > last_ns {
            clock::sleep_until_ns(self.period_start_ns);
            // From here on it is runnable.
            self.last_ns = Some(self.period_start_ns);
        }
    }
}

/// The start of the period after this one; if that has already passed, the work continues at once.
fn next_period_ns(start_ns: i64, period_ns: i64, now_ns: i64) -> i64 {
    let next_ns = start_ns.saturating_add(period_ns);
    if next_ns >= now_ns { next_ns } else { now_ns - (now_ns - next_ns) % period_ns.max(1) }
}

impl Waiter for BusyThread {
    #[inline]
    fn wait(&mut self, due_ns: i64) -> Arrival {
        let Some(mut from_ns) = self.last_ns else {
            clock::sleep_until_ns(due_ns);
            (self.last_ns, self.period_start_ns) = (Some(due_ns), due_ns);
            return Arrival::Undisturbed { until_ns: due_ns };
        };
        let look_ns = from_ns.saturating_add(LOOK_NS);
        loop {
            let now_ns = clock::monotonic_ns();
            if let Some(gap) = self.read(from_ns, now_ns) {
                return gap;
            }
            from_ns = now_ns;
            if self.burst_ns.is_some_and(|burst_ns| self.worked_ns >= burst_ns) {
                self.sleep();
                return self.undisturbed(now_ns);
            }
            if now_ns >= look_ns {
                return self.undisturbed(now_ns);
            }
        }
    }

    /// A mark is no gap, but what keeps the thread from its CPU meanwhile is: the next reading shows it.
    fn marked(&mut self) {
        let now_ns = clock::monotonic_ns();
        let took_ns = now_ns - self.last_ns.unwrap_or(now_ns);
        self.mark_ns = self.mark_ns.min(took_ns);
        if took_ns - self.mark_ns <= self.gap_ns {
            self.last_ns = Some(now_ns);
        }
    }
}

impl BusyThread {
    #[inline]
    fn undisturbed(&self, until_ns: i64) -> Arrival {
        if self.over.load(Relaxed) { Arrival::Ended { skipped: 0 } } else { Arrival::Undisturbed { until_ns } }
    }
}

impl MeasuringMethod for Map {
    fn obstacles(&self, _root: &Path) -> Vec<Obstacle> {
        Vec::new()
    }

    /// Policy and priority of its most urgent thread: who may have them may have the others.
    fn scheduling(&self) -> Option<(Policy, u8)> {
        let works = Work::of(self, &[0], 0);
        works.iter().map(|work| (work.policy, work.priority)).max_by_key(|(_, priority)| *priority)
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let works = Work::of(self, run.measured, run.settings.interval_ns);
        let obstacles = obstacles(run, &works);
        if !obstacles.is_empty() {
            return Err(MethodError::Impossible { method: Method::Map, obstacles });
        }
        Ok(works.into_iter().map(setup).collect())
    }
}

fn setup(work: Work) -> ThreadSetup {
    let over = Arc::<AtomicBool>::default();
    let waiter = BusyThread::new(&work, over.clone());
    let release: Release = Box::new(move || over.store(true, Relaxed));
    let setup = ThreadSetup::new(work.cpu, waiter);
    ThreadSetup {
        name: work.name.unwrap_or_else(|| setup.name.clone()),
        scheduling: Some((work.policy, work.priority)),
        pinned: Some(true),
        release: Some(release),
        ..setup
    }
}

/// Why these threads cannot run here.
fn obstacles(run: &RunContext, works: &[Work]) -> Vec<Obstacle> {
    let mut obstacles: Vec<Obstacle> =
        works.iter().filter(|work| !run.measured.contains(&work.cpu)).map(|work| not_measured(work, run)).collect();
    if run.allowed.iter().all(|cpu| full_cpus(works).contains(cpu)) {
        obstacles.push(no_cpu_left());
    }
    obstacles
}

fn not_measured(work: &Work, run: &RunContext) -> Obstacle {
    let measured: Vec<String> = run.measured.iter().map(u32::to_string).collect();
    Obstacle {
        kind: ObstacleKind::Cpus,
        text: format!("{} is on CPU {}, which is not measured", work.name.as_deref().unwrap_or("a thread"), work.cpu),
        fix: format!("set its cpu to one of {}, or change --cpus", measured.join(",")),
    }
}

fn no_cpu_left() -> Obstacle {
    Obstacle {
        kind: ObstacleKind::Cpus,
        text: format!(
            "real-time threads busy for more than {FULL_PERCENT} % of the time on every CPU leave none for the meter and the machine"
        ),
        fix: "leave a CPU out with --cpus or in the file, or let the threads work less".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::method::{MethodOptions, MethodRequest, PeriodicWork};

    fn works(request: &str, measured: &[u32]) -> Vec<Work> {
        let MethodOptions::Map(map) = MethodRequest::parse(request).unwrap().options else { panic!("{request}") };
        Work::of(&map, measured, 1_000_000)
    }

    fn busy(request: &str) -> BusyThread {
        BusyThread { last_ns: Some(0), ..BusyThread::new(&works(request, &[0])[0], Arc::default()) }
    }

    #[test]
    fn readings_further_apart_than_the_limit_are_a_gap_and_no_work() {
        let mut thread = busy("map:gap_ns=1000");
        assert_eq!(thread.read(0, 900), None);
        assert_eq!(thread.read(900, 1_900), None);
        assert_eq!(thread.read(1_900, 2_901), Some(Arrival::Busy { from_ns: 1_900, until_ns: 2_901 }));
        assert_eq!(
            (thread.worked_ns, thread.last_ns),
            (1_900, Some(2_901)),
            "the next gap starts where this one ended"
        );
    }

    #[test]
    fn real_time_threads_leave_time_to_others_unless_asked_otherwise() {
        let full = |text: &str| full_cpus(&works(text, &[0, 2]));
        assert_eq!(works("map", &[0, 2]).len(), 4);
        assert_eq!(works("map", &[0])[0].burst_ns, None);
        assert_eq!(works("map:policy=fifo,threads=4", &[0])[0].burst_ns, Some(200_000));
        assert_eq!((full("map"), full("map:policy=rr")), (vec![], vec![]));
        assert_eq!(full("map:policy=rr,work=50"), [0, 2]);
        assert_eq!(full("map:policy=fifo,threads=1,work=100"), [0, 2]);
    }

    fn described(cpu: u32, policy: Policy, work_us: Option<u64>) -> Described {
        let periodic = work_us.map(|work_us| PeriodicWork { period_us: 1_000, work_us });
        let priority = if policy == Policy::Other { 0 } else { 10 };
        Described { name: format!("on{cpu}"), cpu, policy, priority, periodic }
    }

    #[test]
    fn described_threads_replace_the_equal_ones() {
        let described = vec![described(1, Policy::Fifo, Some(600)), described(1, Policy::Other, None)];
        let map = Map { described, ..Map::default() };
        let works = Work::of(&map, &[0, 1], 5);
        let of = |work: &Work| (work.cpu, work.policy, work.period_ns, work.burst_ns);
        assert_eq!(of(&works[0]), (1, Policy::Fifo, 1_000_000, Some(600_000)));
        assert_eq!((works.len(), works[1].burst_ns, works[1].name.as_deref()), (2, None, Some("on1")));
        assert_eq!(map.scheduling(), Some((Policy::Fifo, 10)));
        assert_eq!(full_cpus(&works), [] as [u32; 0]);
    }

    #[test]
    fn threads_that_leave_no_cpu_or_have_none_are_refused() {
        let settings = archive::settings::RunSettings::default();
        let run = RunContext { settings: &settings, measured: &[0, 1], allowed: &[0, 1] };
        let texts = |described: Vec<Described>| -> Vec<String> {
            let map = Map { described, ..Map::default() };
            obstacles(&run, &Work::of(&map, run.measured, 5)).into_iter().map(|one| one.text).collect()
        };
        let fifo = |cpu| described(cpu, Policy::Fifo, None);
        assert_eq!(texts(vec![fifo(0), described(1, Policy::Other, None)]), [] as [&str; 0]);
        assert_eq!(texts(vec![fifo(0), fifo(1)]).len(), 1, "they leave no CPU for the meter");
        let elsewhere = texts(vec![described(3, Policy::Other, None)]);
        assert!(elsewhere.len() == 1 && elsewhere[0].starts_with("on3 is on CPU 3, "), "{elsewhere:?}");
    }

    #[test]
    fn a_period_that_passed_starts_at_its_own_instant() {
        assert_eq!(next_period_ns(0, 1_000, 400), 1_000);
        assert_eq!(next_period_ns(0, 1_000, 1_000), 1_000);
        assert_eq!(next_period_ns(0, 1_000, 3_250), 3_000);
    }

    #[test]
    fn a_preemption_during_a_mark_is_a_gap_and_the_mark_is_not() {
        let mut thread = busy("map:gap_ns=1000000");
        let marked_for = |thread: &mut BusyThread, ns: i64| {
            let read_ns = clock::monotonic_ns() - ns;
            thread.last_ns = Some(read_ns);
            thread.marked();
            thread.last_ns == Some(read_ns)
        };
        assert!(!marked_for(&mut thread, 5_000));
        // Ten seconds are more than any test machine adds.
        assert!(marked_for(&mut thread, 10_000_000_000));
        thread.gap_ns = 60_000_000_000;
        assert!(!marked_for(&mut thread, 10_000_000_000));
    }

    #[test]
    fn work_ends_when_the_run_does() {
        let mut thread = busy("map:gap_ns=1000000000");
        thread.last_ns = Some(clock::monotonic_ns());
        assert!(matches!(thread.wait(0), Arrival::Undisturbed { .. }));
        thread.over.store(true, Relaxed);
        assert_eq!(thread.wait(0), Arrival::Ended { skipped: 0 });
    }
}
