//! `map`: which thread had the CPU at each instant, as observed by busy threads themselves (Hourglass' method).
//!
//! A thread reads the clock continuously. Two readings further apart than the option `gap_ns` form a gap: the thread
//! was runnable and did not have the CPU. Readings continue during bookkeeping too, so that no gap is lost there; only
//! the time in which the meter marks a spike is left out.

use super::error::MethodError;
use super::{MeasuringMethod, Release, Site, Station};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use archive::settings::Policy;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Interval at which a thread that is always busy checks for the end of the run.
const LOOK_NS: i64 = 5_000_000;
/// Default share of a CPU for real-time threads; the rest keeps the machine usable.
const REALTIME_SHARE_PERCENT: u64 = 80;
/// From this share on a CPU has no time left for other threads.
const FULL_PERCENT: u64 = 95;

pub struct Map;

/// The work of every thread of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Work {
    threads: u64,
    policy: Policy,
    priority: u8,
    gap_ns: i64,
    /// Share of each period; 100: always busy.
    percent: u64,
}

impl Work {
    fn of(request: &MethodRequest) -> Self {
        let (threads, policy) = (request.number("threads"), request.value("policy"));
        let realtime = |policy| (policy, request.number("priority") as u8, REALTIME_SHARE_PERCENT / threads.max(1));
        let (policy, priority, default_percent) = match policy {
            Some("fifo") => realtime(Policy::Fifo),
            Some("rr") => realtime(Policy::Rr),
            _ => (Policy::Other, 0, 100),
        };
        let percent = if request.is_set("work") { request.number("work") } else { default_percent };
        Self { threads, policy, priority, gap_ns: request.number("gap_ns") as i64, percent: percent.max(1) }
    }

    fn fills_a_cpu(&self) -> bool {
        self.policy != Policy::Other && self.threads * self.percent > FULL_PERCENT
    }
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
    over: Arc<AtomicBool>,
}

impl BusyThread {
    fn new(work: Work, period_ns: i64, over: Arc<AtomicBool>) -> Self {
        let burst_ns = (work.percent < 100).then(|| (period_ns * work.percent as i64 / 100).max(1));
        Self { gap_ns: work.gap_ns, burst_ns, period_ns, last_ns: None, period_start_ns: 0, worked_ns: 0, over }
    }

    /// Books one reading; returns what the loop has to do next.
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

    fn marked(&mut self) {
        self.last_ns = Some(clock::monotonic_ns());
    }
}

impl BusyThread {
    #[inline]
    fn undisturbed(&self, until_ns: i64) -> Arrival {
        if self.over.load(Relaxed) { Arrival::Ended { skipped: 0 } } else { Arrival::Undisturbed { until_ns } }
    }
}

impl MeasuringMethod for Map {
    fn obstacles(&self, _root: &Path, _request: Option<&MethodRequest>) -> Vec<Obstacle> {
        Vec::new()
    }

    fn scheduling(&self, request: &MethodRequest) -> Option<(Policy, u8)> {
        let work = Work::of(request);
        Some((work.policy, work.priority))
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let work = Work::of(site.request());
        if work.fills_a_cpu() && site.measured.len() == site.allowed.len() {
            return Err(MethodError::Impossible { method: Method::Map, obstacles: vec![no_cpu_left(work)] });
        }
        let period_ns = site.settings.interval_ns as i64;
        let station = |cpu: u32| {
            let over = Arc::<AtomicBool>::default();
            let waiter = BusyThread::new(work, period_ns, over.clone());
            let release: Release = Box::new(move || over.store(true, Relaxed));
            Station {
                scheduling: Some((work.policy, work.priority)),
                pinned: Some(true),
                release: Some(release),
                ..Station::new(cpu, waiter)
            }
        };
        Ok(site.measured.iter().flat_map(|cpu| (0..work.threads).map(move |_| *cpu)).map(station).collect())
    }
}

fn no_cpu_left(work: Work) -> Obstacle {
    Obstacle {
        kind: ObstacleKind::Cpus,
        text: format!(
            "{} real-time threads busy for {} % of the time leave no CPU for the meter and the machine",
            work.threads, work.percent
        ),
        fix: "leave a CPU out with --cpus, or set a smaller work=".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(request: &str) -> BusyThread {
        let work = Work::of(&MethodRequest::parse(request).unwrap());
        BusyThread { last_ns: Some(0), ..BusyThread::new(work, 1_000_000, Arc::default()) }
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
        let work = |text: &str| Work::of(&MethodRequest::parse(text).unwrap());
        assert_eq!(work("map").percent, 100);
        assert_eq!(work("map:policy=fifo,threads=4").percent, 20);
        assert!(!work("map").fills_a_cpu() && !work("map:policy=rr").fills_a_cpu());
        assert!(
            work("map:policy=rr,work=50").fills_a_cpu() && work("map:policy=fifo,threads=1,work=100").fills_a_cpu()
        );
    }

    #[test]
    fn a_period_that_passed_starts_at_its_own_instant() {
        assert_eq!(next_period_ns(0, 1_000, 400), 1_000);
        assert_eq!(next_period_ns(0, 1_000, 1_000), 1_000);
        assert_eq!(next_period_ns(0, 1_000, 3_250), 3_000);
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
