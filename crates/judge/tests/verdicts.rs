//! Invented runs against limits: what passes, what fails, what is too short, and what is refused.

use archive::environment::Environment;
use archive::manifest::Manifest;
use archive::message::{Ending, Problem, RunPhase, Severity};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Second, Totals};
use archive::settings::RunSettings;
use archive::summary::RunSummary;
use judge::coin::Coin;
use judge::limit::{Limit, Rate};
use judge::machine::DoubtKind;
use judge::verdict::{Judgement, Verdict, judge};
use std::collections::BTreeMap;

/// What a thread of an invented run saw in a second: maximum in ns, samples over the limit of the run, missed periods.
type Seen = (i64, u32, u32);

/// A run on a real machine with a real-time kernel, 1000 wake-ups a second, `limit_ns` 100 µs.
fn run(seconds: u32, cpus: u32, seen: impl Fn(u32, u32) -> Seen) -> Run {
    let thread = |cpu: u32| {
        let records: Vec<Second> = (0..seconds)
            .map(|second| {
                let (latency_ns_max, over_limit, missed_periods) = seen(cpu, second);
                Second { thread: cpu, second, cycles: 1000, latency_ns_max, over_limit, missed_periods }
            })
            .collect();
        let totals = Totals {
            cycles: u64::from(seconds) * 1000,
            over_limit: records.iter().map(|record| u64::from(record.over_limit)).sum(),
            latency_ns_max: records.iter().map(|record| record.latency_ns_max).max(),
            ..Totals::default()
        };
        (cpu, ThreadRun { thread: cpu, cpu, totals, seconds: records, ..ThreadRun::default() })
    };
    let manifest = serde_json::json!({ "archive_version": 1, "id": "invented", "tool_version": "", "command": [],
        "target": "local", "started_unix_ns": 0, "ended_unix_ns": null, "state": "complete", "problem": null });
    let mut manifest: Manifest = serde_json::from_value(manifest).unwrap();
    manifest.settings = Some(RunSettings { limit_ns: Some(100_000), ..RunSettings::default() });
    let end_ns = i64::from(seconds) * 1_000_000_000;
    Run {
        manifest: Some(manifest),
        environment: Some(Environment {
            preempt_rt: Some(true),
            virtualisation: Some("none".into()),
            ..Environment::default()
        }),
        phases: vec![(RunPhase::Measure, 0), (RunPhase::Collect, end_ns)],
        threads: (0..cpus).map(thread).collect::<BTreeMap<_, _>>(),
        ending: Some((Ending::Complete, end_ns)),
        ..Run::default()
    }
}

fn limit(text: &str, allow: &str) -> Limit {
    let time_ns = |text: &str| -> Result<u64, String> {
        Ok(text.strip_suffix("us").ok_or("a unit")?.parse::<u64>().map_err(|error| error.to_string())? * 1000)
    };
    Limit::parse(text, &Rate::parse(allow).unwrap(), time_ns).unwrap()
}

fn judged(run: &Run, text: &str, allow: &str) -> Judgement {
    judge(run, &RunSummary::of(run, &[]), &limit(text, allow), 0.95, &[])
}

const HOUR: u32 = 3600;

#[test]
fn three_hours_without_a_late_wake_up_pass_one_an_hour() {
    let quiet = |hours_tenths: u32| run(hours_tenths * HOUR / 10, 1, |_, _| (50_000, 0, 0));
    let passed = judged(&quiet(31), "latency < 100us", "1/h");
    assert_eq!(passed.verdict, Verdict::Pass, "{}", passed.sentence);
    assert!(
        passed.sentence.starts_with(
            "PASS: a minute with a wake-up later than 100.0 µs comes less often than 1/h, with 95 % confidence"
        ),
        "{}",
        passed.sentence
    );
    let short = judged(&quiet(10), "latency < 100us", "1/h");
    assert_eq!(short.verdict, Verdict::NotEnoughData);
    let needed = short.cpus[0].hours_needed.unwrap();
    assert!((needed - 1.9957).abs() < 1e-3, "{needed}");
    assert!(short.sentence.contains("2.0 h more without one would show fewer"), "{}", short.sentence);
}

#[test]
fn a_late_wake_up_on_one_cpu_fails_the_machine() {
    let bad = run(HOUR, 2, |cpu, second| (if cpu == 1 && second % 300 == 7 { 200_000 } else { 50_000 }, 0, 0));
    let failed = judged(&bad, "latency < 100us", "1/h");
    assert_eq!(failed.verdict, Verdict::Fail);
    assert_eq!(failed.cpus[0].verdict, Verdict::NotEnoughData);
    let expected = "FAIL: on CPU 1 a minute with a wake-up later than 100.0 µs came 12 times in 60 min: with 95 % \
                    confidence more often than 1/h.";
    assert_eq!(failed.sentence, expected);
    // Exactly at the limit: `<` breaks it, `<=` keeps it.
    let at = run(4 * HOUR, 1, |_, second| (if second % 300 == 7 { 100_000 } else { 50_000 }, 0, 0));
    assert_eq!(judged(&at, "latency < 100us", "1/h").verdict, Verdict::Fail);
    assert_eq!(judged(&at, "latency <= 100us", "1/h").verdict, Verdict::Pass);
}

#[test]
fn a_burst_counts_once() {
    // 30 bad seconds in a row: one event, in two minutes of 480.
    let burst = run(8 * HOUR, 1, |_, second| (if (1000..1030).contains(&second) { 200_000 } else { 1 }, 0, 0));
    let judged = judged(&burst, "latency < 100us", "1/h");
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.sentence);
    let blocks = judged.cpus[0].blocks.unwrap();
    assert_eq!((blocks.bad, blocks.events, blocks.block_s), (2, 1, 60));
}

#[test]
fn never_cannot_be_shown_but_refuted() {
    let quiet = judged(&run(HOUR, 1, |_, _| (1, 0, 0)), "latency < 100us", "never");
    assert_eq!(quiet.verdict, Verdict::NotEnoughData);
    assert!(quiet.sentence.contains("no test is long enough to show *never*"), "{}", quiet.sentence);
    let late = run(HOUR, 1, |_, second| (if second == 9 { 200_000 } else { 1 }, 0, 0));
    let late = judged(&late, "latency < 100us", "never");
    assert_eq!(late.verdict, Verdict::Fail, "{}", late.sentence);
    assert!(late.sentence.contains("came once in 60 min"), "{}", late.sentence);
}

#[test]
fn missed_periods_are_judged_like_late_wake_ups() {
    let one = run(8 * HOUR, 1, |_, second| (1, 0, u32::from(second == 77)));
    assert_eq!(judged(&one, "missed < 1/h", "1/h").verdict, Verdict::Pass);
    assert_eq!(judged(&one, "missed < 1/day", "1/h").verdict, Verdict::NotEnoughData);
    let many = run(HOUR, 1, |_, second| (1, 0, u32::from(second % 60 == 7)));
    assert!(
        judged(&many, "missed < 1/h", "1/h").sentence.starts_with("FAIL: a minute with a missed period came 60 times")
    );
}

#[test]
fn quantiles_are_judged_by_samples_that_do_not_come_together() {
    // Every tenth second one sample over: 1e-4 of all.
    let spread = run(HOUR, 1, |_, second| (200_000, u32::from(second % 10 == 0), 0));
    let passed = judged(&spread, "p99.9 < 100us", "1/h");
    assert_eq!(passed.verdict, Verdict::Pass, "{}", passed.sentence);
    assert!(
        passed.sentence.starts_with("PASS: at most 0.0109 % of the wake-ups come later than 100.0 µs"),
        "{}",
        passed.sentence
    );
    assert_eq!(judged(&spread, "p99.999 < 100us", "1/h").verdict, Verdict::Fail);
    let close = judged(&spread, "p99.99 < 100us", "1/h");
    assert_eq!(close.verdict, Verdict::NotEnoughData, "{}", close.sentence);
    // The same share in four bursts: 360 samples that count as a few.
    let burst = run(HOUR, 1, |_, second| (200_000, if second % 900 == 450 { 90 } else { 0 }, 0));
    let counts = judged(&burst, "p99.99 < 100us", "1/h").cpus[0].samples.unwrap();
    assert!(counts.dispersion > 50.0, "{counts:?}");
    assert_eq!(judged(&burst, "p99.98 < 100us", "1/h").verdict, Verdict::NotEnoughData);
    let other = judged(&spread, "p99.9 < 50us", "1/h");
    assert_eq!(other.verdict, Verdict::NoVerdict);
    assert!(other.sentence.contains("measure with --limit 50us"), "{}", other.sentence);
}

#[test]
fn a_machine_in_doubt_can_fail_but_not_pass() {
    let mut guest = run(4 * HOUR, 1, |_, _| (1, 0, 0));
    guest.environment.as_mut().unwrap().virtualisation = Some("kvm".into());
    let refused = judged(&guest, "latency < 100us", "1/h");
    assert_eq!(refused.verdict, Verdict::NoVerdict);
    assert!(refused.sentence.contains("`--accept virtual`"), "{}", refused.sentence);
    let accepted =
        judge(&guest, &RunSummary::of(&guest, &[]), &limit("latency < 100us", "1/h"), 0.95, &[DoubtKind::Virtual]);
    assert_eq!((accepted.verdict, accepted.doubts.len()), (Verdict::Pass, 1));
    let mut late = run(HOUR, 1, |_, second| (if second % 99 == 1 { 200_000 } else { 1 }, 0, 0));
    late.environment.as_mut().unwrap().preempt_rt = Some(false);
    assert_eq!(judged(&late, "latency < 100us", "1/h").verdict, Verdict::Fail);
    late.manifest.as_mut().unwrap().emulated = true;
    let emulated = judged(&late, "latency < 100us", "1/h");
    assert_eq!((emulated.verdict, emulated.cpus.len()), (Verdict::NoVerdict, 0), "an emulated machine fails nothing");
}

#[test]
fn what_cannot_be_judged_says_why() {
    let mut invalid = run(HOUR, 1, |_, _| (1, 0, 0));
    let text = "the load died".to_owned();
    invalid.problems.push(Problem { code: Default::default(), severity: Severity::Invalid, text, fix: String::new() });
    assert_eq!(judged(&invalid, "latency < 100us", "1/h").sentence, "NO VERDICT: the run is not valid: the load died.");
    let mut blind = run(HOUR, 1, |_, _| (1, 0, 0));
    blind.threads.get_mut(&0).unwrap().seconds.clear();
    assert!(judged(&blind, "latency < 100us", "1/h").sentence.contains("has no record of each second"));
    assert!(judged(&run(HOUR, 1, |_, _| (1, 0, 0)), "latency < 100us", "1/s").sentence.contains("quantile"));
    let empty = judged(&Run::default(), "latency < 100us", "1/h");
    assert_eq!(empty.verdict, Verdict::NoVerdict);
    let sentence = judged(&run(1, 1, |_, _| (i64::MAX, u32::MAX, u32::MAX)), "p99 < 100us", "1/h").sentence;
    assert!(sentence.starts_with("NO VERDICT"), "{sentence}");
}

#[test]
fn lost_records_count_against_passing_and_not_for_failing() {
    let mut gaps = run(4 * HOUR, 1, |_, _| (1, 0, 0));
    gaps.threads.get_mut(&0).unwrap().seconds.retain(|second| second.second % 600 != 30);
    let judged = judged(&gaps, "latency < 100us", "1/h");
    assert_eq!(judged.verdict, Verdict::NotEnoughData, "{}", judged.sentence);
    assert_eq!(judged.cpus[0].blocks.unwrap().unknown, 24);
}

#[test]
fn no_sentence_holds_a_number_that_is_none() {
    for (seconds, cpus) in [(1, 1), (20, 2), (HOUR, 3)] {
        for late_every in [1, 2, 7, 100_000] {
            let run = run(seconds, cpus, |_, second| {
                (if second % late_every == 0 { i64::MAX } else { 0 }, second % late_every, second)
            });
            for text in ["latency < 100us", "p50 < 100us", "p99.99999 < 100us", "missed < 1/year", "missed < 1/min"] {
                for allow in ["never", "1/year", "1/h", "5/min", "1/s"] {
                    let sentence = judged(&run, text, allow).sentence;
                    assert!(!sentence.contains("NaN") && !sentence.contains("inf"), "{sentence}");
                }
            }
        }
    }
}

/// Runs of a machine whose true rate is a little above what is allowed, with bursts: PASS may be said of at most one in
/// twenty; and of one whose rate is a little below, FAIL.
#[test]
fn verdicts_are_seldom_wrong() {
    let mut coin = Coin::new(31);
    let runs = 200;
    let (mut passed, mut failed) = (0, 0);
    for _ in 0..runs {
        let mut invent = |bursts_per_hour: f64| {
            let mut late = vec![false; 6 * HOUR as usize];
            for second in 0..late.len() {
                if coin.unit() < bursts_per_hour / 3600.0 {
                    let length = 1 + coin.below(8);
                    late[second..(second + length).min(6 * HOUR as usize)].fill(true);
                }
            }
            run(6 * HOUR, 1, |_, second| (if late[second as usize] { 200_000 } else { 1 }, 0, 0))
        };
        passed += u32::from(judged(&invent(1.05), "latency < 100us", "1/h").verdict == Verdict::Pass);
        failed += u32::from(judged(&invent(0.95), "latency < 100us", "1/h").verdict == Verdict::Fail);
    }
    let most = (0.05 + 2.5 * (0.05f64 * 0.95 / f64::from(runs)).sqrt()) * f64::from(runs);
    assert!(f64::from(passed) <= most && f64::from(failed) <= most, "{passed} and {failed} of {runs}");
}
