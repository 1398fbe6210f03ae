//! What the books of a measuring thread hold after a script of stops: every number is exact, as no machine is involved.

use archive::sample::{Second, Totals};
use meter::measure::books::Books;
use meter::measure::cycle::{Cycles, Schedule};

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
        traced: false,
    }
}

/// A thread that is always 3 µs late, and as late as a stop lasts (from, until) when it is due in one.
fn seen_ns(due_ns: i64, stops: &[(i64, i64)]) -> i64 {
    let stopped = stops.iter().find(|(from_ns, until_ns)| (*from_ns..*until_ns).contains(&due_ns));
    stopped.map_or(due_ns, |(_, until_ns)| *until_ns) + LATENCY_NS
}

fn measured(schedule: Schedule, stops: &[(i64, i64)]) -> (Totals, Vec<Second>) {
    let books = Books::new(0);
    let mut cycles = Cycles::new(schedule, &books, 0, 10);
    while let Some(due_ns) = cycles.next_due_ns() {
        cycles.seen(seen_ns(due_ns, stops));
    }
    cycles.finish();
    (books.totals(), std::iter::from_fn(|| books.take_second(0)).collect())
}

#[test]
fn a_stop_of_50_ms_is_one_late_wake_up_and_49_missed_periods() {
    // Due at 701 ms and seen at 750.203 ms: those of 702 to 750 ms were never waited for.
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
fn what_is_not_measured_is_missed_however_long_the_stops_are() {
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
    let books = Books::new(0);
    let mut cycles = Cycles::new(schedule(), &books, 0, 10);
    let mut due = Vec::new();
    for overrun in [0, 3, 0] {
        let due_ns = cycles.next_due_ns().unwrap();
        due.push(due_ns);
        cycles.seen_with_overrun(due_ns + i64::from(overrun) * MS + LATENCY_NS, overrun);
    }
    assert_eq!(due, [0, MS, 5 * MS], "the timer goes on where it would have been");
    assert_eq!((books.totals().cycles, books.totals().missed_periods), (3, 3));
}

#[test]
fn the_first_counted_wake_up_is_the_one_due_when_settling_ends() {
    let settling = Schedule { count_from_ns: 100 * MS, ..schedule() };
    let (totals, seconds) = measured(settling, &[]);
    assert_eq!((totals.cycles, seconds.len()), (PERIODS - 100, 2));
    // A stop that is over before does not count, neither as a late wake-up nor as missed periods.
    let (totals, _) = measured(settling, &[(50 * MS, 99 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods, totals.over_limit), (PERIODS - 100, 0, 0));
    // One that starts with the first counted wake-up counts whole.
    let (totals, _) = measured(settling, &[(100 * MS, 110 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods, totals.over_limit), (PERIODS - 110, 10, 1));
}

#[test]
fn cycles_are_limited_and_missed_periods_are_none_of_them() {
    let limited = Schedule { cycles_max: 100, ..schedule() };
    let (totals, _) = measured(limited, &[(10 * MS, 20 * MS)]);
    assert_eq!((totals.cycles, totals.missed_periods), (100, 10));
}
