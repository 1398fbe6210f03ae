//! Periodic interrupts of a device that the kernel hands to a reader: from the interrupt, or the instant at which it was
//! due, to the reader.
//!
//! ```text
//! device            period · · · period · · · interrupt ─┐
//! kernel                         |==         handler |== └─ wake-up, switch
//! measuring thread  waits · · · · · · · · · · · · · · · · · · · ==| reads the clock
//! ```

pub mod clock_holder;
pub mod hpet;
mod pending;
pub mod rtc;

use crate::device::{obstacle, open_below};
use archive::load::cpu_list;
use archive::method::state::{Obstacle, ObstacleKind};
use meter::kernel::event_stamps::{EventStamps, Point};
use meter::kernel::trace_mount;
use meter::kernel::{capability, clock};
use meter::measure::waiter::{Arrival, Waiter, WaiterCounts};
use meter::methods::ThreadSetup;
use pending::Pending;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// An interrupt that has not come after this time does not come.
const SILENCE: Duration = Duration::from_secs(1);

const CAP_SYS_RESOURCE: u32 = 24;

/// A device whose interrupts a thread waits for.
pub trait Periodic: Send {
    /// Starts the interrupts; called in the measuring thread.
    ///
    /// # Errors
    /// The action that the kernel rejected.
    fn start(&mut self) -> io::Result<()>;

    fn wait(&self, at_most: Duration) -> bool;

    /// Periods since the last call; waits if there were none.
    ///
    /// # Errors
    /// Errors of read(2).
    fn periods(&self) -> io::Result<u64>;

    /// When the current period started, in ns of CLOCK_MONOTONIC, where the device shows it.
    fn started_ns(&self) -> Option<i64> {
        None
    }
}

/// Where a sample starts.
pub enum SampleStart {
    /// The instant at which the interrupt is due: a whole number of periods after the start.
    Expectation { started_ns: i64, periods: i64 },
    /// The kernel's entry of the handler.
    Handler { stamps: EventStamps, pending: Pending },
    /// The instant that the device reports.
    Device,
}

/// The thread that reads a device.
pub struct Reader<D: Periodic> {
    pub device: D,
    pub period_ns: i64,
    pub from: SampleStart,
    /// Start of the latest period that was read, as the kernel or the device shows it.
    latest_ns: Option<i64>,
    counts: Arc<WaiterCounts>,
    /// It has seen an interrupt: those before its first wait are no stimulus.
    begun: bool,
}

impl SampleStart {
    /// At the kernel's entry of a handler.
    pub fn handler(stamps: EventStamps) -> Self {
        Self::Handler { stamps, pending: Pending::new() }
    }
}

/// A measuring thread that reads a device.
pub fn setup(cpu: u32, device: impl Periodic + 'static, period_ns: i64, from: SampleStart) -> ThreadSetup {
    let counts = Arc::<WaiterCounts>::default();
    let reader = Reader { device, period_ns, from, latest_ns: None, counts: counts.clone(), begun: false };
    ThreadSetup { counts, ..ThreadSetup::new(cpu, reader) }
}

impl<D: Periodic> Reader<D> {
    /// When the oldest period that was read started, and how many were missed; `None`: no sample starts there.
    #[inline]
    fn oldest(&mut self, periods: u64, seen_ns: i64) -> Option<(i64, i64)> {
        let read = periods as i64;
        match &mut self.from {
            SampleStart::Expectation { started_ns, periods: passed } => {
                let given_ns = *started_ns + (*passed + 1) * self.period_ns;
                *passed += read;
                Some((given_ns, read - 1))
            }
            SampleStart::Handler { stamps, pending } => {
                let read_ns = clock::monotonic_ns();
                stamps.drain(seen_ns, |passage| pending.add(passage));
                let periods_since_latest =
                    |ns: i64| self.latest_ns.map_or(1, |latest_ns| periods_in(ns - latest_ns, self.period_ns));
                // No later stamp shows what was lost last, or on another CPU.
                let is_regular = pending.count() == periods && pending.first_ns().map(periods_since_latest) == Some(1);
                if !is_regular {
                    stamps.count_lost(|passage| pending.add(passage));
                }
                let Some(given_ns) = pending.counted(periods, read_ns) else {
                    // Its period is counted as one without a stamp, so the next sample does not count it as missed.
                    self.latest_ns = self.latest_ns.map(|latest_ns| latest_ns + read * self.period_ns);
                    return None;
                };
                // A device merges interrupts that the kernel does not take in time, so time counts the periods.
                let before = (periods_since_latest(given_ns) - 1).max(0);
                self.latest_ns = Some(given_ns + (read - 1) * self.period_ns);
                Some((given_ns, before + read - 1))
            }
            SampleStart::Device => {
                let started_ns = self.device.started_ns()?;
                let passed = self.latest_ns.map_or(1, |latest_ns| periods_in(started_ns - latest_ns, self.period_ns));
                self.latest_ns = Some(started_ns);
                // The interrupt of a period that was seen with the one before.
                (passed > 0).then(|| (started_ns - (passed - 1) * self.period_ns, passed - 1))
            }
        }
    }
}

fn periods_in(ns: i64, period_ns: i64) -> i64 {
    (ns + period_ns / 2).div_euclid(period_ns)
}

impl<D: Periodic> Waiter for Reader<D> {
    fn prepare(&mut self) -> io::Result<()> {
        let now_ns = clock::monotonic_ns();
        if let SampleStart::Expectation { started_ns, .. } = &mut self.from {
            // The device starts between this instant and the end of the call: no sample is too small.
            *started_ns = now_ns;
        }
        self.device.start()?;
        let took_ns = clock::monotonic_ns() - now_ns;
        if matches!(self.from, SampleStart::Expectation { .. }) && took_ns > self.period_ns / 2 {
            let why = format!(
                "the call that starts the interrupt took {took_ns} ns, so when each is due is unknown; measure again, or with sample=interrupt"
            );
            return Err(io::Error::other(why));
        }
        Ok(())
    }

    #[inline]
    fn wait(&mut self, _due_ns: i64) -> Arrival {
        loop {
            if !self.device.wait(SILENCE) {
                return Arrival::NoSignal;
            }
            let seen_ns = clock::monotonic_ns();
            let Ok(periods) = self.device.periods() else { return Arrival::Gone };
            let oldest = self.oldest(periods, seen_ns);
            if !std::mem::replace(&mut self.begun, true) {
                continue;
            }
            match oldest {
                Some((given_ns, skipped)) if given_ns <= seen_ns => {
                    return Arrival::Stimulus { given_ns, seen_ns, skipped: skipped.max(0) as u64 };
                }
                // Seen with the one before.
                None if matches!(self.from, SampleStart::Device) => {}
                None if matches!(self.from, SampleStart::Handler { .. }) => {
                    return Arrival::Unstamped { seen_ns, skipped: periods.saturating_sub(1) };
                }
                _ => self.counts.count_stray(),
            }
        }
    }
}

/// The instants of a point of the kernel, on every CPU.
///
/// # Errors
/// As [`EventStamps::open`].
pub fn stamps(point: &Point) -> io::Result<EventStamps> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let cpus = cpu_list(online.trim()).ok_or_else(|| io::Error::other("the kernel lists no CPUs"))?;
    let tracing = trace_mount::find_or_mount().map_err(io::Error::other)?;
    EventStamps::open(point, tracing.root(), &cpus)
}

/// Why a device cannot be used.
fn device_obstacles(what: &str, root: &Path, device: &Path) -> Vec<Obstacle> {
    match open_below(root, device) {
        Err(error) => vec![obstacle(what, device, &error)],
        Ok(file) if file.metadata().is_ok_and(|of_file| of_file.file_type().is_char_device()) => Vec::new(),
        Ok(_) => vec![Obstacle {
            kind: ObstacleKind::Device,
            text: format!("{} is not a device", device.display()),
            fix: format!("name a {what} with device="),
        }],
    }
}

/// A rate of the interrupt, if it is above the maximum of users in the file `limit` and this process is one of them.
fn rate_obstacle(root: &Path, limit: &Path, hz: u64) -> Option<Obstacle> {
    let most_hz: u64 = std::fs::read_to_string(root.join(limit)).ok()?.trim().parse().ok()?;
    (hz > most_hz && capability::is_missing(root, CAP_SYS_RESOURCE)).then(|| Obstacle {
        kind: ObstacleKind::Right,
        text: format!("no right to more than {most_hz} interrupts per second (CAP_SYS_RESOURCE)"),
        fix: format!("add hz={most_hz}, or as root: echo {hz} > /{}", limit.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meter::kernel::event_stamps::Passage;
    use std::cell::RefCell;
    use std::collections::VecDeque;

    /// Answers of `periods`; none left: silence.
    struct Script(RefCell<VecDeque<u64>>, i64);

    impl Periodic for Script {
        fn start(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn wait(&self, _at_most: Duration) -> bool {
            !self.0.borrow().is_empty()
        }

        fn periods(&self) -> io::Result<u64> {
            Ok(self.0.borrow_mut().pop_front().unwrap_or(0))
        }

        fn started_ns(&self) -> Option<i64> {
            Some(self.1)
        }
    }

    fn reader(periods: &[u64], from: SampleStart) -> Reader<Script> {
        let device = Script(RefCell::new(periods.iter().copied().collect()), 5_000_000_000);
        Reader { device, period_ns: 1000, from, latest_ns: None, counts: Arc::default(), begun: false }
    }

    #[test]
    fn a_sample_starts_at_the_oldest_period_that_was_not_read_and_the_others_are_missed() {
        let started_ns = clock::monotonic_ns() - 1_000_000;
        let mut reader = reader(&[5, 1, 3, 1], SampleStart::Expectation { started_ns, periods: 0 });
        let mut next = || match reader.wait(0) {
            Arrival::Stimulus { given_ns, skipped, .. } => (given_ns - started_ns, skipped),
            other => panic!("{other:?}"),
        };
        assert_eq!(next(), (6000, 0), "the first five were before the first wait");
        assert_eq!(next(), (7000, 2));
        assert_eq!(next(), (10_000, 0));
        assert_eq!(reader.wait(0), Arrival::NoSignal);
    }

    #[test]
    fn an_interrupt_before_it_is_due_is_no_sample() {
        let started_ns = clock::monotonic_ns() + 1_000_000_000;
        let mut reader = reader(&[1, 1], SampleStart::Expectation { started_ns, periods: 0 });
        assert_eq!(reader.wait(0), Arrival::NoSignal);
        assert_eq!(reader.counts.stray.load(std::sync::atomic::Ordering::Relaxed), 1);
    }

    #[test]
    fn an_interrupt_without_a_stamp_is_no_sample_and_no_stray_answer() {
        let stamps = EventStamps::open(&Point::InterruptHandler("x".into()), Path::new("/nowhere"), &[]).unwrap();
        let mut reader = reader(&[1, 1, 3], SampleStart::handler(stamps));
        let mut next = || match reader.wait(0) {
            Arrival::Unstamped { skipped, .. } => Some(skipped),
            Arrival::NoSignal => None,
            other => panic!("{other:?}"),
        };
        assert_eq!([next(), next(), next()], [Some(0), Some(2), None], "the first was before the first wait");
        assert_eq!(reader.counts.stray.load(std::sync::atomic::Ordering::Relaxed), 0);
    }

    #[test]
    fn periods_whose_stamps_are_lost_are_not_missed_as_well() {
        let stamps = EventStamps::open(&Point::InterruptHandler("x".into()), Path::new("/nowhere"), &[]).unwrap();
        let mut reader = reader(&[], SampleStart::handler(stamps));
        let mut oldest = |passage: Option<Passage>, seen_ns| {
            let SampleStart::Handler { pending, .. } = &mut reader.from else { panic!("of a handler") };
            passage.into_iter().for_each(|passage| pending.add(passage));
            reader.oldest(1, seen_ns)
        };
        assert_eq!(oldest(Some(Passage::At { ns: 1000 }), 1010), Some((1000, 0)));
        assert_eq!(oldest(Some(Passage::Lost { after_ns: 1000, before_ns: 2010, count: 1 }), 2010), None);
        assert_eq!(oldest(None, 3010), None);
        assert_eq!(oldest(Some(Passage::At { ns: 4001 }), 4010), Some((4001, 0)));
        assert_eq!(oldest(Some(Passage::At { ns: 7001 }), 7010), Some((7001, 2)), "the device merged two");
    }

    #[test]
    fn a_device_shows_when_its_latest_period_started_and_merged_interrupts_are_missed() {
        let mut reader = reader(&[], SampleStart::Device);
        reader.period_ns = 1_000_000_000;
        let seen_ns = 5_000_000_700;
        assert_eq!(reader.oldest(1, seen_ns), Some((5_000_000_000, 0)));
        assert_eq!(reader.oldest(1, seen_ns), None, "the same period again");
        reader.latest_ns = Some(2_000_000_000);
        assert_eq!(reader.oldest(1, seen_ns), Some((3_000_000_000, 2)), "the oldest of the three");
    }

    #[test]
    fn a_rate_above_the_maximum_of_users_needs_a_right() {
        let root = tempfile::tempdir().unwrap();
        let limit = Path::new("limit");
        let status = |capabilities: u64| {
            std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
            std::fs::write(root.path().join("proc/self/status"), format!("CapEff:\t{capabilities:016x}\n")).unwrap();
        };
        let obstacle = |hz| rate_obstacle(root.path(), limit, hz);
        status(0);
        assert_eq!(obstacle(1024), None, "a kernel without the limit");
        std::fs::write(root.path().join(limit), "64\n").unwrap();
        assert!(obstacle(1024).is_some_and(|one| one.kind == ObstacleKind::Right && one.fix.contains("hz=64")));
        assert_eq!(obstacle(64), None);
        status(1 << CAP_SYS_RESOURCE);
        assert_eq!(obstacle(1024), None);
    }
}
