//! Machines that keep a limit with a factor of ten to spare and change over the day, which must pass; and archives that cannot
//! show what a limit asks for, which must not.

use crate::dependence::limit_of;
use crate::tables::{Table, publish};
use crate::{repeated, share};
use archive::effective::EffectiveSettings;
use archive::environment::Environment;
use archive::histogram::{Histogram, bucket_of};
use archive::manifest::Manifest;
use archive::message::{Ending, RunPhase};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Second, Totals};
use archive::settings::RunSettings;
use archive::summary::RunSummary;
use judge::coin::Coin;
use judge::length::needed;
use judge::verdict::{Verdict, judge};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

const PER_SECOND: u32 = 1000;
const REPETITIONS: usize = 40;

/// Largest latency of a second, as a part of 8 µs.
type Level = fn(f64) -> f64;

/// A run whose seconds are never later than about 20 µs, measured on `cpus` CPUs with a clock of this resolution.
fn machine(seed: u64, seconds: u32, level: Level, cpus: Vec<u32>, resolution_ns: i64) -> Run {
    let mut coin = Coin::new(seed);
    let tick = |ns: f64| ns as i64 / resolution_ns * resolution_ns;
    let begin_s = 86_400.0 * coin.unit();
    let records: Vec<Second> = (0..seconds)
        .map(|second| {
            let warmed = if level(-1.0) > 0.0 { f64::from(second) + begin_s } else { f64::from(second) };
            let latency_ns_max = tick(8_000.0 * level(warmed).abs() * (0.9 + 0.2 * coin.unit()));
            Second { second, cycles: PER_SECOND, latency_ns_max, ..Second::default() }
        })
        .collect();
    let mut counts = BTreeMap::new();
    for record in &records {
        *counts.entry(bucket_of(record.latency_ns_max).expect("positive") as u32).or_default() += 1u64;
        *counts.entry(bucket_of(tick(3_000.0)).expect("positive") as u32).or_default() += u64::from(PER_SECOND - 1);
    }
    let totals = Totals {
        cycles: u64::from(seconds * PER_SECOND),
        latency_ns_max: records.iter().map(|record| record.latency_ns_max).max(),
        ..Totals::default()
    };
    let mut manifest = Manifest::new("invented", "", "local");
    manifest.settings = Some(RunSettings { cpus: Some(cpus), ..RunSettings::default() });
    manifest.state = archive::manifest::RunState::Complete;
    let histogram = Histogram { buckets: counts.into_iter().collect() };
    let thread = ThreadRun { totals, histogram, seconds: records.into(), ..ThreadRun::default() };
    let end_ns = i64::from(seconds) * 1_000_000_000;
    Run {
        manifest: Some(manifest),
        effective: Some(effective(resolution_ns as u64)),
        environment: Some(Environment { preempt_rt: Some(true), ..Environment::default() }),
        phases: vec![(RunPhase::Measure, 0), (RunPhase::Collect, end_ns)],
        threads: BTreeMap::from([(0, thread)]),
        ending: Some((Ending::Complete, end_ns)),
        ..Run::default()
    }
}

fn effective(resolution_ns: u64) -> EffectiveSettings {
    EffectiveSettings {
        clock_step_ns: resolution_ns.max(20),
        clock_resolution_ns: Some(resolution_ns),
        ..EffectiveSettings::untraced()
    }
}

fn passes(run: &Run, text: &str, allow: &str) -> bool {
    judge(run, &RunSummary::of(run, &[]), &limit_of(text, allow), 0.95, &[]).verdict == Verdict::Pass
}

fn planned_s(text: &str, allow: &str) -> u32 {
    (needed(&limit_of(text, allow), 1_000_000, 0.95).lengths[0].hours * 3600.0).ceil() as u32
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn a_machine_with_a_factor_of_ten_to_spare_passes_at_the_length_that_a_plan_says() {
    // A level of 0 before the start: the time counts from the start of the run.
    let levels: [(&str, Level); 6] = [
        ("the same all day", |_| 1.0),
        ("day and night, 30 %", |second| 1.0 + 0.3 * (TAU * second / 86_400.0).sin()),
        ("phases of a minute, twice as late", |second| if (second / 60.0) as i64 % 2 == 0 { 1.0 } else { 2.0 }),
        ("phases of ten minutes, twice as late", |second| if (second / 600.0) as i64 % 2 == 0 { 1.0 } else { 2.0 }),
        ("warm-up of ten minutes, 20 %", |second| {
            if second < 0.0 {
                0.0
            } else if second < 600.0 {
                1.2
            } else {
                1.0
            }
        }),
        ("a job every hour", |second| if second.rem_euclid(3600.0) < 20.0 { 2.4 } else { 1.0 }),
    ];
    let limits = [
        ("p90", "p90 <= 200us", "1/h"),
        ("p99", "p99 <= 200us", "1/h"),
        ("1/h", "latency <= 200us", "1/h"),
        ("1/day", "latency <= 200us", "1/day"),
    ];
    let title = limits
        .map(|(name, text, allow)| format!("{name} in {}", crate::dependence::length(planned_s(text, allow) as usize)));
    let mut table = Table::new("never later than a tenth of the limit", &title);
    for (kind, (name, level)) in levels.into_iter().enumerate() {
        let cells = limits.map(|(_, text, allow)| {
            let seconds = planned_s(text, allow);
            let passed = repeated(REPETITIONS, |number| {
                passes(&machine((kind * 1000 + number) as u64, seconds, level, vec![0], 1), text, allow)
            });
            assert!(passed.iter().all(|passed| *passed), "{name}, {text}: {:.2} pass", share(&passed));
            format!("{:.0}", share(&passed) * 100.0)
        });
        table.row(name, cells.to_vec());
    }
    publish("spare", &table);
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn an_archive_that_cannot_show_it_does_not_pass() {
    let flat: Level = |_| 1.0;
    let mut table = Table::new("latency <= 5us in 3.2 h", &["passes, in percent".to_owned()]);
    let seconds = planned_s("latency <= 5us", "1/h");
    let late =
        |number: usize, cpus: Vec<u32>, resolution_ns| machine(number as u64, seconds, flat, cpus, resolution_ns);
    let cases: [(&str, &(dyn Fn(usize) -> bool + Sync)); 4] = [
        ("clock of 1 ns", &|number| passes(&late(number, vec![0], 1), "latency <= 5us", "1/h")),
        ("clock of 10 µs", &|number| passes(&late(number, vec![0], 10_000), "latency <= 5us", "1/h")),
        ("clock of 4 ms", &|number| passes(&late(number, vec![0], 4_000_000), "latency <= 5us", "1/h")),
        ("CPUs 1-3 without a record, limit 50 µs", &|number| {
            passes(&late(number, vec![0, 1, 2, 3], 1), "latency <= 50us", "1/h")
        }),
    ];
    for (name, case) in cases {
        let passed = repeated(REPETITIONS, case);
        table.row(name, vec![format!("{:.0}", share(&passed) * 100.0)]);
        assert!(passed.iter().all(|passed| !passed), "{name}");
    }
    publish("cannot show", &table);
}
