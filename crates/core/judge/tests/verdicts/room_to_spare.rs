//! Machines that stay far below the limit, and change with the time of day or while they warm up.

use crate::invented::{HOUR, judged, run};
use archive::reader::Run;
use claims::limit::{Limit, Rate};
use judge::length::needed;
use judge::verdict::Verdict;
use std::f64::consts::TAU;

/// The largest latency of each second, as a part of 10 µs.
type Level = fn(f64) -> f64;

const LEVELS: [(&str, Level); 5] = [
    ("day and night", |second| 1.0 + 0.3 * (TAU * second / 86_400.0).sin()),
    ("warm-up of ten minutes", |second| if second < 600.0 { 1.2 } else { 1.0 }),
    ("phases of ten minutes", |second| if ((second / 600.0) as u32).is_multiple_of(2) { 1.0 } else { 2.0 }),
    ("a job every hour", |second| if second % 3600.0 < 30.0 { 3.0 } else { 1.0 }),
    ("one step", |second| if second < 7000.0 { 1.0 } else { 1.2 }),
];

fn machine(seconds: u32, level: Level) -> Run {
    let scatter = |second: u32| f64::from(second.wrapping_mul(2_654_435_761) >> 20) / 4096.0;
    run(seconds, 1, |_, second| ((10_000.0 * level(f64::from(second)) * (0.9 + 0.2 * scatter(second))) as i64, 0, 0))
}

#[test]
fn a_plan_names_a_length_that_then_passes() {
    for (text, allow) in [("latency <= 100us", "1/h"), ("p99 <= 100us", "1/h"), ("p90 <= 100us", "1/h")] {
        let limit = crate::invented::limit(text, allow);
        let seconds = (needed(&limit, 1_000_000, 0.95).lengths[0].hours * 3600.0).ceil() as u32;
        for (name, level) in LEVELS {
            let judged = judged(&machine(seconds, level), text, allow);
            assert_eq!(judged.verdict, Verdict::Pass, "{name}, {text}: {}", judged.sentence);
        }
    }
}

#[test]
fn no_reason_names_bad_seconds_where_there_are_none() {
    for (name, level) in LEVELS {
        let judged = judged(&machine(HOUR, level), "p99.9 <= 500us", "1/h");
        assert_eq!(judged.verdict, Verdict::NotEnoughData, "{name}");
        assert_eq!(judged.cpus[0].because, None, "{name}: {}", judged.sentence);
        assert!(judged.cpus[0].hours_needed.is_some(), "{name}: {}", judged.sentence);
    }
}

#[test]
fn bad_seconds_that_resemble_their_neighbours_are_named_as_such() {
    let late = run(4 * HOUR, 1, |_, second| if second > 2 * HOUR { (200_000, 1, 0) } else { (1, 0, 0) });
    let judged = judged(&late, "p99 <= 100us, disturbance < 1000000us", "1/h");
    assert_eq!(judged.verdict, Verdict::NotEnoughData);
    assert_eq!(judged.cpus[0].because.as_ref().unwrap().code, "judge.long-bursts");
    assert!(judged.cpus[0].hours_needed.is_some(), "{}", judged.sentence);
}

#[test]
fn a_rate_of_a_plan_passes_too() {
    let limit = Limit { allow: Some(Rate::parse("6/h").unwrap()), ..crate::invented::limit("latency <= 100us", "6/h") };
    let seconds = (needed(&limit, 1_000_000, 0.95).lengths[0].hours * 3600.0).ceil() as u32;
    assert_eq!(judged(&machine(seconds, LEVELS[1].1), "latency <= 100us", "6/h").verdict, Verdict::Pass);
}
