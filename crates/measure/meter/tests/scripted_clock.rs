//! The counters of a measuring thread after a script of stops: every number is exact, because no machine is involved.

use archive::sample::{Second, Totals};
use meter::measure::cycle::Cycles;
use meter::measure::dither::Dither;
use meter::measure::schedule::Schedule;
use meter::measure::thread_record::ThreadRecord;
use proptest::prelude::*;

const MS: i64 = 1_000_000;
const LATENCY_NS: i64 = 3_000;
const PERIODS: u64 = 2_000;

fn schedule() -> Schedule {
    Schedule {
        interval_ns: MS,
        dither: None,
        first_due_ns: 0,
        count_from_ns: 0,
        end_ns: PERIODS as i64 * MS,
        cycles_max: u64::MAX,
        limit_ns: 100_000,
        spike_threshold_ns: 0,
        stretches: None,
        traced: false,
    }
}

/// A thread that is always 3 µs late, and until the end of a stop (from, until) if it is due within one.
fn seen_ns(due_ns: i64, stops: &[(i64, i64)]) -> i64 {
    let stopped = stops.iter().find(|(from_ns, until_ns)| (*from_ns..*until_ns).contains(&due_ns));
    stopped.map_or(due_ns, |(_, until_ns)| *until_ns) + LATENCY_NS
}

fn measured(schedule: Schedule, stops: &[(i64, i64)]) -> (Totals, Vec<Second>) {
    let record = ThreadRecord::new(0);
    let mut cycles = Cycles::new(schedule, &record, 0, 10);
    while let Some(due_ns) = cycles.next_due_ns() {
        cycles.seen(seen_ns(due_ns, stops));
    }
    cycles.finish();
    (record.totals(), std::iter::from_fn(|| record.take_second(0)).collect())
}

#[test]
fn a_stop_of_50_ms_is_one_late_wake_up_and_49_missed_periods() {
    // Due at 701 ms and seen at 750.203 ms: those of 702 to 750 ms were not waited for.
    let (totals, seconds) = measured(schedule(), &[(700_200_000, 750_200_000)]);
    assert_eq!((totals.cycles, totals.missed_periods, totals.over_limit), (PERIODS - 49, 49, 1));
    assert_eq!(totals.latency_ns_max, Some(49_203_000));
    assert_eq!(totals.worst.map(|worst| (worst.due_ns, worst.cycle)), Some((701 * MS, 701)));
    assert_eq!(totals.latency_ns_min, Some(LATENCY_NS));
    let per_second = seconds.iter().map(|second| (second.cycles, second.missed_periods, second.over_limit));
    assert_eq!(per_second.collect::<Vec<_>>(), [(951, 49, 1), (1000, 0, 0)]);
}

#[test]
fn a_stop_that_ends_before_the_next_wake_up_is_not_seen() {
    let (totals, _) = measured(schedule(), &[(700_200_000, 700_900_000)]);
    assert_eq!((totals.cycles, totals.missed_periods, totals.latency_ns_max), (PERIODS, 0, Some(LATENCY_NS)));
}

#[test]
fn unmeasured_periods_are_missed_however_long_the_stops_are() {
    for stop_ns in (0..40).map(|length| length * 333_333) {
        let stops: Vec<(i64, i64)> = (1..30).map(|at| (at * 61 * MS + 1, at * 61 * MS + 1 + stop_ns)).collect();
        let (totals, seconds) = measured(schedule(), &stops);
        assert_eq!(totals.cycles + totals.missed_periods, PERIODS, "stops of {stop_ns} ns");
        let in_seconds = seconds.iter().map(|second| u64::from(second.missed_periods)).sum::<u64>();
        assert_eq!(in_seconds, totals.missed_periods);
    }
}

#[test]
fn missed_periods_belong_to_the_second_in_which_the_late_wake_up_was_due() {
    let (totals, seconds) = measured(schedule(), &[(998 * MS, 1_005 * MS)]);
    assert_eq!(totals.missed_periods, 7);
    assert_eq!(seconds.iter().map(|second| second.missed_periods).collect::<Vec<_>>(), [7, 0]);
    assert_eq!(seconds.iter().map(|second| second.cycles).collect::<Vec<_>>(), [999, 994]);
}

#[test]
fn the_overrun_of_a_timer_is_what_was_missed() {
    let record = ThreadRecord::new(0);
    let mut cycles = Cycles::new(schedule(), &record, 0, 10);
    let mut due = Vec::new();
    for overrun in [0, 3, 0] {
        let due_ns = cycles.next_due_ns().unwrap();
        due.push(due_ns);
        cycles.seen_with_overrun(due_ns + i64::from(overrun) * MS + LATENCY_NS, overrun);
    }
    assert_eq!(due, [0, MS, 5 * MS], "the timer goes on where it would have been");
    assert_eq!((record.totals().cycles, record.totals().missed_periods), (3, 3));
}

#[test]
fn the_first_counted_wake_up_is_the_one_due_when_settling_ends() {
    let settling = Schedule { count_from_ns: 100 * MS, ..schedule() };
    let (totals, seconds) = measured(settling, &[]);
    assert_eq!((totals.cycles, seconds.len()), (PERIODS - 100, 2));
    // A stop that ends before does not count, neither as a late wake-up nor as missed periods.
    let (totals, _) = measured(settling, &[(50 * MS, 99 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods, totals.over_limit), (PERIODS - 100, 0, 0));
    // One that starts with the first counted wake-up counts completely.
    let (totals, _) = measured(settling, &[(100 * MS, 110 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods, totals.over_limit), (PERIODS - 110, 10, 1));
}

#[test]
fn cycles_are_limited_and_missed_periods_are_none_of_them() {
    let limited = Schedule { cycles_max: 100, ..schedule() };
    let (totals, _) = measured(limited, &[(10 * MS, 20 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods), (100, 10));
}

#[test]
fn a_stop_that_reaches_from_settling_into_the_counted_stretch_counts_the_periods_in_it() {
    let settling = Schedule { count_from_ns: 100 * MS, ..schedule() };
    // Due at 95 ms and seen at 105.003 ms: that wake-up was settling, but the periods of 100 to 105 ms count as missed.
    let (totals, seconds) = measured(settling, &[(95 * MS, 105 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods), (PERIODS - 106, 6));
    assert_eq!(totals.latency_ns_max, Some(LATENCY_NS), "the late wake-up itself was due before counting started");
    assert_eq!((seconds[0].missed_periods, seconds[0].cycles), (6, 994));
}

#[test]
fn a_stop_that_reaches_past_the_end_counts_no_period_due_after_it() {
    let end_ns = PERIODS as i64 * MS;
    let (totals, _) = measured(schedule(), &[(end_ns - 5 * MS, end_ns + 50 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods), (PERIODS - 4, 4));
    assert_eq!(totals.latency_ns_max, Some(55 * MS + LATENCY_NS));
}

#[test]
fn a_stop_over_the_whole_measurement_misses_all_of_it() {
    let settling = Schedule { count_from_ns: 100 * MS, ..schedule() };
    let (totals, seconds) = measured(settling, &[(50 * MS, 5_000 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods), (0, PERIODS - 100));
    let only = seconds[0];
    assert_eq!((only.cycles, only.latency_ns_max, u64::from(only.missed_periods)), (0, 0, PERIODS - 100));
}

#[test]
fn nothing_is_missed_after_the_last_cycle_that_was_asked_for() {
    let limited = Schedule { cycles_max: 100, ..schedule() };
    let (totals, _) = measured(limited, &[(99 * MS, 200 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods), (100, 0));
}

/// The event that a thread waits for in its next period.
#[derive(Debug, Clone, Copy)]
enum Waits {
    /// An instant.
    Until,
    /// An instant determined by a seed.
    Drawn(u64),
    /// A periodic timer that counts its expirations.
    Timer,
}

/// Every due instant of a schedule without latencies.
fn due_instants(schedule: &Schedule) -> Vec<i64> {
    let (mut due_ns, mut dither, mut instants) = (schedule.first_due_ns, schedule.dither, Vec::new());
    while due_ns < schedule.end_ns {
        instants.push(due_ns);
        due_ns += dither.as_mut().map_or(schedule.interval_ns, |dither| dither.interval_ns(schedule.interval_ns));
    }
    instants
}

fn waits() -> impl Strategy<Value = Waits> {
    prop_oneof![Just(Waits::Until), any::<u64>().prop_map(Waits::Drawn), Just(Waits::Timer)]
}

/// Mostly punctual, sometimes late by up to a third of the measurement.
fn latenesses() -> impl Strategy<Value = Vec<i64>> {
    let lateness = prop_oneof![8 => 0..MS, 2 => 0..5 * MS, 1 => 0..60 * MS];
    prop::collection::vec(lateness, 1..40)
}

proptest! {
    #[test]
    fn every_period_asked_for_is_a_cycle_or_missed(
        waits in waits(),
        latenesses in latenesses(),
        interval_ns in 100_000..3 * MS,
        settle_ns in 0..20 * MS,
        offset_ns in 0..3 * MS,
        length_ns in 1..150 * MS,
        cycles_max in prop_oneof![2 => Just(u64::MAX), 1 => 1..60u64],
    ) {
        let dither = if let Waits::Drawn(seed) = waits { Some(Dither::new(seed, 1)) } else { None };
        let schedule = Schedule {
            interval_ns,
            dither,
            first_due_ns: 1_000 * MS + offset_ns - settle_ns,
            count_from_ns: 1_000 * MS,
            end_ns: 1_000 * MS + length_ns,
            cycles_max,
            ..self::schedule()
        };
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule, &record, 0, 10);
        let mut last_counted_ns = i64::MIN;
        for lateness_ns in latenesses.iter().cycle() {
            let Some(due_ns) = cycles.next_due_ns() else { break };
            if due_ns >= schedule.count_from_ns {
                last_counted_ns = due_ns;
            }
            let seen_ns = due_ns + lateness_ns;
            match waits {
                Waits::Timer => cycles.seen_with_overrun(seen_ns, (lateness_ns / interval_ns) as u32),
                Waits::Until | Waits::Drawn(_) => cycles.seen(seen_ns),
            };
        }
        cycles.finish();
        let totals = record.totals();
        // With a limit of cycles, the requested periods end with the last cycle.
        let until_ns = if totals.cycles == cycles_max { last_counted_ns + 1 } else { schedule.end_ns };
        let counted = schedule.count_from_ns..until_ns;
        let asked = due_instants(&schedule).into_iter().filter(|due_ns| counted.contains(due_ns)).count() as u64;
        prop_assert_eq!(totals.cycles + totals.missed_periods, asked);
        let seconds: Vec<Second> = std::iter::from_fn(|| record.take_second(0)).collect();
        prop_assert_eq!(seconds.iter().map(|second| u64::from(second.cycles)).sum::<u64>(), totals.cycles);
        prop_assert_eq!(seconds.iter().map(|second| u64::from(second.missed_periods)).sum::<u64>(), totals.missed_periods);
    }
}
