//! Reads the kernel's counters during a run: context switches, interrupts, softirqs, page faults, steal time, pressure.
//!
//! The meter's main thread reads them; it is an ordinary task for which no measuring thread waits. Files stay open and
//! are read again from the start. A long run reads rarer as it gets older. If a reading takes long, the next ones become rarer, so that it never costs more than
//! a hundredth of a CPU for long; the actual cost is stored with each.

pub mod energy;
mod reading;
mod tables;

use crate::gaps::Gaps;
use crate::kernel::clock;
use archive::counters::{CounterSecond, CpuCount, NamedCount, Pressure};
use reading::Reading;
use tables::Look;

const INTERVAL_NS: i64 = 1_000_000_000;
/// Intervals of a long run, from these ages on: its archive stays small.
const LATER_NS: [(i64, i64); 2] = [(3_600_000_000_000, 10 * INTERVAL_NS), (86_400_000_000_000, 60 * INTERVAL_NS)];
/// Shortest remainder at the end that is worth a reading.
const LAST_NS_MIN: i64 = 100_000_000;
/// Readings may take one part in this many of the time.
const COST_SHARE: i64 = 100;

/// Reads the counters of the machine.
pub struct Counters {
    reading: Reading,
    gaps: Gaps,
    last: Look,
    begun_ns: i64,
    looked_at_ns: i64,
    next_at_ns: i64,
}

impl Counters {
    /// Takes the first reading. `threads` are those whose own switches are counted. Reads in these gaps.
    pub fn begin(threads: &[i32], gaps: &Gaps) -> Self {
        let mut reading = Reading::open(threads);
        let looked_at_ns = clock::monotonic_ns();
        let (last, _) = reading.look(gaps);
        let next_at_ns = looked_at_ns + INTERVAL_NS;
        Self { reading, gaps: gaps.clone(), last, begun_ns: looked_at_ns, looked_at_ns, next_at_ns }
    }

    /// The counts since the last reading, if another one is due.
    pub fn look_when_due(&mut self, now_ns: i64) -> Option<CounterSecond> {
        (now_ns >= self.next_at_ns).then(|| self.look())
    }

    /// The counts since the last reading, unless that was just taken.
    pub fn last_look(&mut self, now_ns: i64) -> Option<CounterSecond> {
        (now_ns - self.looked_at_ns >= LAST_NS_MIN).then(|| self.look())
    }

    /// The counts since the last reading.
    pub fn look(&mut self) -> CounterSecond {
        let from_ns = self.looked_at_ns;
        let until_ns = clock::monotonic_ns();
        let (look, waited_ns) = self.reading.look(&self.gaps);
        let cost_ns = clock::monotonic_ns() - until_ns - waited_ns;
        let second = difference(&self.last, &look);
        self.last = look;
        self.looked_at_ns = until_ns;
        self.next_at_ns = until_ns + interval_ns(until_ns - self.begun_ns).max(cost_ns.saturating_mul(COST_SHARE));
        CounterSecond { from_ns, until_ns, cost_ns: cost_ns.max(0) as u64, ..second }
    }
}

/// The interval between readings at this age of a run.
fn interval_ns(age_ns: i64) -> i64 {
    LATER_NS.iter().rev().find(|(from_ns, _)| age_ns >= *from_ns).map_or(INTERVAL_NS, |(_, interval_ns)| *interval_ns)
}

/// Counters only rise; one that fell belongs to a CPU that went offline, and is left out.
fn difference(before: &Look, after: &Look) -> CounterSecond {
    let rise = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
    let of_cpu = |(cpu, count): (&u32, &u64)| {
        let count = count.checked_sub(*before.interrupts.get(cpu)?)?;
        Some(CpuCount { cpu: *cpu, count })
    };
    let of_kind = |(name, count): (&String, &u64)| {
        let count = count.checked_sub(*before.softirqs.get(name)?)?;
        Some(NamedCount { name: name.clone(), count })
    };
    let of_resource = |(resource, [some, full]): (&&'static str, &[u64; 2])| {
        let [some_before, full_before] = before.pressure_us.get(resource)?;
        Some(Pressure {
            resource: (*resource).into(),
            some_ns: some.checked_sub(*some_before)? * 1000,
            full_ns: full.checked_sub(*full_before)? * 1000,
        })
    };
    CounterSecond {
        context_switches: rise(before.context_switches, after.context_switches),
        voluntary_switches: rise(before.voluntary_switches, after.voluntary_switches),
        forced_switches: rise(before.forced_switches, after.forced_switches),
        forks: rise(before.forks, after.forks),
        page_faults: rise(before.page_faults, after.page_faults),
        major_faults: rise(before.major_faults, after.major_faults),
        steal_ns: rise(before.steal_ns, after.steal_ns),
        interrupts: after.interrupts.iter().filter_map(of_cpu).collect(),
        softirqs: after.softirqs.iter().filter_map(of_kind).collect(),
        pressure: after.pressure_us.iter().filter_map(of_resource).collect(),
        ..CounterSecond::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "reads the files of this machine, and how long a tick is")]
    fn this_machine_counts() {
        let mut counters = Counters::begin(&[rustix::thread::gettid().as_raw_pid()], &Gaps::default());
        assert_eq!(counters.look_when_due(0), None);
        std::thread::sleep(std::time::Duration::from_millis(5));
        let second = counters.look();
        assert!(second.until_ns > second.from_ns && second.cost_ns > 0);
        assert!(second.context_switches.is_some_and(|count| count > 0), "{second:?}");
        assert!(second.voluntary_switches.is_some_and(|count| count > 0), "{second:?}");
        assert!(!second.interrupts.is_empty() && !second.softirqs.is_empty(), "{second:?}");
        assert!(second.page_faults.is_some(), "{second:?}");
    }

    #[test]
    fn a_week_has_a_few_ten_thousand_readings() {
        let (mut age_ns, mut readings) = (0, 0);
        while age_ns < 7 * 86_400_000_000_000 {
            age_ns += interval_ns(age_ns);
            readings += 1;
        }
        assert_eq!(readings, 3600 + 82_800 / 10 + 6 * 86_400 / 60);
        assert_eq!(interval_ns(3_599_999_999_999), INTERVAL_NS);
    }

    #[test]
    fn counters_that_fell_or_are_new_are_left_out() {
        let look = |switches, interrupts: &[(u32, u64)]| Look {
            context_switches: switches,
            interrupts: interrupts.iter().copied().collect(),
            ..Look::default()
        };
        let second = difference(&look(Some(7), &[(0, 10), (1, 50)]), &look(Some(5), &[(0, 13), (1, 4), (2, 9)]));
        assert_eq!(second.context_switches, None);
        assert_eq!(second.interrupts, [CpuCount { cpu: 0, count: 3 }]);
        assert_eq!(difference(&look(None, &[]), &look(Some(1), &[])).context_switches, None);
    }
}
