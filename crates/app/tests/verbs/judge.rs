//! `tardy judge` on archives that a fake meter left: verdicts, exit codes, refusals.

use crate::fake_meter::*;
use archive::environment::Environment;
use archive::histogram::{Histogram, bucket_of};
use archive::message::{Ending, Message, RunPhase, Severity};
use archive::sample::{Second, Totals};

const SECONDS: u32 = 4 * 3600;

/// A bench with the archive `here` of four hours on a real machine, with a late wake-up in these seconds.
fn measured(late: &[u32], environment: Environment, more: &[Message]) -> Bench {
    let latency_ns = |second: u32| if late.contains(&second) { 200_000 } else { 50_000 };
    let second = |second: u32| Second {
        second,
        cycles: 1000,
        latency_ns_max: latency_ns(second),
        over_limit: u32::from(late.contains(&second)),
        ..Second::default()
    };
    let totals = Totals {
        cycles: u64::from(SECONDS) * 1000,
        over_limit: late.len() as u64,
        latency_ns_min: Some(1000),
        latency_ns_max: (0..SECONDS).map(latency_ns).max(),
        ..Totals::default()
    };
    let histogram = Histogram { buckets: vec![(bucket_of(50_000).unwrap() as u32, totals.cycles)] };
    let end_ns = i64::from(SECONDS) * 1_000_000_000;
    let bench = Bench::new()
        .says(&[hello(), Message::Environment(Box::new(environment)), phase(RunPhase::Measure, 0)])
        .says(
            &(0..SECONDS)
                .map(second)
                .collect::<Vec<_>>()
                .chunks(3600)
                .map(|part| Message::Seconds(part.into()))
                .collect::<Vec<_>>(),
        )
        .says(more)
        .says(&[
            phase(RunPhase::Collect, end_ns),
            Message::Thread { thread: 0, cpu: 0, totals, histogram, worst: Vec::new() },
            Message::End { ending: Ending::Complete, monotonic_ns: end_ns },
        ]);
    let ended = bench.run(&["run", "--out", "here", "--limit", "100us", "--quiet"]);
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{}", ended.stderr);
    bench
}

fn real_time() -> Environment {
    Environment { preempt_rt: Some(true), virtualisation: Some("none".into()), ..Environment::default() }
}

#[test]
fn a_quiet_run_passes_what_it_is_long_enough_for() {
    let bench = measured(&[], real_time(), &[]);
    let passed = bench.run(&["judge", "here", "--limit", "latency < 100us", "--allow", "1/h"]);
    assert_eq!(passed.code, Some(0), "{}", passed.stdout);
    let text = passed.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("PASS: a minute with a wake-up later than 100.0 µs comes less often than 1/h"), "{text}");
    assert!(text.contains("a new one comes with probability 50 % in the next 4.0 h"), "{text}");
    let short = bench.run(&["judge", "here", "--limit", "latency < 100us", "--allow", "1/day", "--json"]);
    assert_eq!(short.code, Some(4));
    let judgement = &short.json()["judgements"][0];
    assert_eq!(judgement["verdict"], "not_enough_data");
    let needed = judgement["cpus"][0]["hours_needed"].as_f64().unwrap();
    assert!((needed - 67.9).abs() < 0.1, "{needed}");
    assert!(passed.stdout.lines().all(|line| line.chars().count() <= 80), "{}", passed.stdout);
}

#[test]
fn the_limit_of_the_run_is_the_default_and_the_worst_verdict_counts() {
    let late: Vec<u32> = (0..40).map(|number| 300 * number + 7).collect();
    let bench = measured(&late, real_time(), &[]);
    let failed = bench.run(&["judge", "here"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stdout);
    assert!(failed.stdout.contains("latency <= 100.0 µs, exceeded at most 1/h"), "{}", failed.stdout);
    let quantile = bench.run(&["judge", "here", "--limit", "p99.9 < 100us"]);
    assert_eq!(quantile.code, Some(0), "{}", quantile.stdout);
    let both = bench.run(&["judge", "here", "--limit", "p99.9 < 100us", "--limit", "latency < 100us"]);
    assert_eq!(both.code, Some(1));
    let other = bench.run(&["judge", "here", "--limit", "p99.9 < 70us"]);
    assert_eq!(other.code, Some(3));
    assert!(other.stdout.contains("--limit 70us"), "{}", other.stdout);
}

#[test]
fn a_machine_in_doubt_passes_only_when_told_so() {
    let guest = Environment { virtualisation: Some("kvm".into()), preempt_rt: Some(false), ..Environment::default() };
    let bench = measured(&[], guest, &[]);
    let refused = bench.run(&["judge", "here"]);
    assert_eq!(refused.code, Some(3), "an error is no failure");
    let text = refused.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("NO VERDICT: the numbers would pass") && text.contains("--accept virtual,non-rt"), "{text}");
    let accepted = bench.run(&["judge", "here", "--accept", "virtual,non-rt"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stdout);
    assert!(accepted.stdout.contains("note: the kernel is not PREEMPT_RT"), "{}", accepted.stdout);
}

#[test]
fn an_invalid_run_is_not_judged() {
    let bench = measured(&[], real_time(), &[problem(Severity::Invalid, "the load died", "")]);
    let ended = bench.run(&["judge", "here"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stdout.contains("NO VERDICT: the run is not valid: the load died."), "{}", ended.stdout);
    assert!(ended.stdout.contains("proves nothing"), "{}", ended.stdout);
}

#[test]
fn limits_that_mean_nothing_are_wrong_usage() {
    let bench = ending_well(measuring());
    bench.run(&["run", "--out", "here"]);
    for (words, expected) in [
        (["--limit", "latency < 100"], "no unit"),
        (["--limit", "max < 100us"], "no test shows"),
        (["--limit", "jitter"], "latency < 100us"),
        (["--allow", "often"], "1/h"),
        (["--confidence", "100"], "99.9999"),
        (["--accept", "everything"], "non-rt"),
    ] {
        let ended = bench.run(&[&["judge", "here"][..], &words].concat());
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
    let without = bench.run(&["judge", "here"]);
    assert_eq!(without.code, Some(0), "without a limit it says what the run proves: {}", without.stderr);
}
