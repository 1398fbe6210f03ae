//! `tardy judge` on archives of a fake meter: verdicts, exit codes, refusals.

use archive::environment::Environment;
use archive::histogram::{Histogram, bucket_of};
use archive::manifest::RunState;
use archive::message::{Ending, Message, RunPhase, Severity};
use archive::sample::{Second, Totals};
use archive::writer::RunWriter;
use fixtures::fake_meter::*;

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
    assert!(text.contains("PASS: "), "{text}");
    assert!(!text.contains("50 %"), "the verdict is the answer, not the probability of a new maximum: {text}");
    let more = bench.run(&["judge", "here", "--limit", "latency < 100us", "--more"]).stdout;
    let more = more.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(more.contains("50 % in the next 4 h"), "{more}");
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
    let late: Vec<u32> = (0..48).map(|number| 300 * number + 7).collect();
    let bench = measured(&late, real_time(), &[]);
    let failed = bench.run(&["judge", "here"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stdout);
    assert!(failed.stdout.contains("latency <= 100.0 µs, ") && failed.stdout.contains(" 1/h"), "{}", failed.stdout);
    let quantile = bench.run(&["judge", "here", "--limit", "p99.9 < 100us, disturbance < 1s"]);
    assert_eq!(quantile.code, Some(0), "{}", quantile.stdout);
    let both =
        bench.run(&["judge", "here", "--limit", "p99.9 < 100us, disturbance < 1s", "--limit", "latency < 100us"]);
    assert_eq!(both.code, Some(1));
    let other = bench.run(&["judge", "here", "--limit", "p99.9 < 70us, disturbance < 1s"]);
    assert_eq!(other.code, Some(0), "the histogram counts what was no limit of the run: {}", other.stdout);
}

#[test]
fn a_machine_in_doubt_passes_only_when_accepted() {
    let guest = Environment { virtualisation: Some("kvm".into()), preempt_rt: Some(false), ..Environment::default() };
    let bench = measured(&[], guest, &[]);
    let refused = bench.run(&["judge", "here"]);
    assert_eq!(refused.code, Some(3), "an error is no failure");
    let text = refused.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("NO VERDICT: ") && text.contains("--accept virtual,non-rt"), "{text}");
    let accepted = bench.run(&["judge", "here", "--accept", "virtual,non-rt"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stdout);
    assert!(accepted.stdout.contains("PREEMPT_RT"), "{}", accepted.stdout);
}

#[test]
fn an_invalid_run_is_not_judged() {
    let bench = measured(&[], real_time(), &[problem(Severity::Invalid, "the load died", "")]);
    let ended = bench.run(&["judge", "here"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stdout.contains("NO VERDICT: ") && ended.stdout.contains(": the load died."), "{}", ended.stdout);
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

#[test]
fn a_longer_time_is_estimated_or_refused_with_the_reason() {
    let bench = measured(&[], real_time(), &[]);
    let alike = bench.run(&["judge", "here", "--horizon", "10h", "--limit", "latency < 100us"]);
    assert_eq!(alike.code, Some(4), "{}", alike.stdout);
    let alike = bench.run(&["judge", "here", "--horizon", "10h", "--limit", "latency < 100us", "--json"]);
    assert!(alike.stdout.contains("\"judge.all-equal\""), "{}", alike.stdout);
    let far = bench.run(&["judge", "here", "--horizon", "30d", "--json"]);
    assert!(far.stdout.contains("\"judge.horizon-too-long\""), "{}", far.stdout);
}

#[test]
fn a_test_is_planned_without_a_run() {
    let bench = Bench::new();
    let planned = bench.run(&["judge", "--plan-test", "--limit", "latency < 100us", "--allow", "1/day"]);
    assert_eq!(planned.code, Some(0), "{}", planned.stderr);
    assert!(planned.stdout.contains(" 3 days "), "{}", planned.stdout);
    let quantile =
        ["judge", "--plan-test", "--limit", "p99.9999 < 1us, disturbance < 1s", "--interval", "250us", "--json"];
    let hours = bench.run(&quantile).json()["test_plans"][0]["lengths"][0]["hours"].as_f64().unwrap();
    assert!((880.0..890.0).contains(&hours), "a second for each that may be late, times three: {hours}");
    for words in [&["judge"][..], &["judge", "--plan-test"], &["judge", "--plan-test", "here"]] {
        assert_eq!(bench.run(words).code, Some(2), "{words:?}");
    }
}

/// Unusable archives: every answer has a reason and no invalid number.
#[test]
fn runs_without_content_are_refused_with_a_reason() {
    let seconds =
        |latency_ns_max: i64| Message::Seconds(vec![Second { cycles: 1, latency_ns_max, ..Second::default() }]);
    let thread = |cycles: u64, max: Option<i64>, buckets: Vec<(u32, u64)>| {
        let totals = Totals { cycles, latency_ns_min: max, latency_ns_max: max, ..Totals::default() };
        Message::Thread { thread: 0, cpu: 0, totals, histogram: Histogram { buckets }, worst: Vec::new() }
    };
    let far = bucket_of(i64::MAX).unwrap() as u32;
    for (name, content) in [
        ("nothing", vec![]),
        ("no sample", vec![thread(0, None, vec![])]),
        ("one sample", vec![seconds(5), thread(1, Some(5), vec![(5, 1)])]),
        ("all equal", vec![seconds(5), thread(9000, Some(5), vec![(5, 9000)])]),
        (
            "endless tail",
            vec![seconds(i64::MAX), thread(u64::MAX, Some(i64::MAX), vec![(0, u64::MAX), (far, u64::MAX)])],
        ),
    ] {
        let bench = Bench::new().says(&[hello(), phase(RunPhase::Measure, 0)]).says(&content).says(&[
            phase(RunPhase::Collect, 1_000_000_000),
            Message::End { ending: Ending::Complete, monotonic_ns: 1_000_000_000 },
        ]);
        bench.run(&["run", "--out", "here", "--limit", "100us", "--quiet"]);
        std::fs::create_dir(bench.path("damaged")).unwrap();
        std::fs::write(bench.path("damaged/manifest.json"), "{}").unwrap();
        std::fs::write(bench.path("damaged/stream.tardy"), [0xff; 300]).unwrap();
        for words in [
            &["judge", "here", "--limit", "latency < 1us", "--limit", "p99.9 < 100us", "--horizon", "5s"][..],
            &["judge", "damaged"],
            &["compare", "here", "here"],
            &["compare", "here", "damaged"],
            &["lab", "history", "here", "damaged"],
            &["list", "."],
        ] {
            let ended = bench.run(words);
            let reported = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!reported.trim().is_empty(), "{name}: {words:?}");
            for none in ["NaN", "inf ", "inf,", "inf)", "panicked"] {
                assert!(!reported.contains(none), "{name}: {words:?}: {reported}");
            }
            if words[0] == "judge" {
                assert_ne!(ended.code, Some(0), "{name}: {words:?}: {reported}");
                assert!(
                    reported.contains("NO VERDICT")
                        || reported.contains("NOT ENOUGH DATA")
                        || reported.contains("FAIL")
                        || reported.contains("proves nothing"),
                    "{name}: {reported}"
                );
            }
        }
    }
}

/// A thousand million samples, a day of twelve CPUs at 1 kHz, judged in 200 MB of memory.
#[test]
fn a_day_of_twelve_cpus_is_judged_in_little_memory() {
    const DAY_S: u32 = 86_400;
    let bench = Bench::new();
    let manifest = serde_json::json!({ "archive_version": 1, "id": "day", "tool_version": "", "command": [],
        "target": "local", "started_unix_ns": 0, "ended_unix_ns": null, "state": "running", "problem": null });
    let mut archive = RunWriter::create(bench.path("day"), serde_json::from_value(manifest).unwrap()).unwrap();
    archive.append(&hello()).unwrap();
    archive.append(&Message::Environment(Box::new(real_time()))).unwrap();
    archive.append(&phase(RunPhase::Measure, 0)).unwrap();
    for hour in 0..24 {
        for thread in 0..12 {
            let second = |second| Second {
                thread,
                second,
                cycles: 1000,
                latency_ns_max: 20_000 + i64::from((second * 7919 + thread * 104_729) % 30_011),
                ..Second::default()
            };
            let seconds = (hour * 3600..(hour + 1) * 3600).map(second).collect();
            archive.append(&Message::Seconds(seconds)).unwrap();
        }
    }
    let end_ns = i64::from(DAY_S) * 1_000_000_000;
    archive.append(&phase(RunPhase::Collect, end_ns)).unwrap();
    for thread in 0..12 {
        let cycles = u64::from(DAY_S) * 1000;
        let totals = Totals { cycles, latency_ns_max: Some(50_010), ..Totals::default() };
        let first = bucket_of(5_000).unwrap() as u32;
        let buckets = (0..2000).map(|step| (first + step, cycles / 2000)).collect();
        archive
            .append(&Message::Thread {
                thread,
                cpu: thread,
                totals,
                histogram: Histogram { buckets },
                worst: Vec::new(),
            })
            .unwrap();
    }
    archive.append(&Message::End { ending: Ending::Complete, monotonic_ns: end_ns }).unwrap();
    archive.finish(RunState::Complete, None, end_ns).unwrap();
    let words = "exec \"$0\" judge day --limit 'latency < 100us' --allow 1/h --horizon 10d --json";
    let limited = |kb: u32| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {kb}; {words}"), env!("CARGO_BIN_EXE_tardy")]);
        Ended::of(shell.current_dir(bench.path(".")).output().unwrap())
    };
    let judged = limited(200_000);
    let document = judged.json();
    assert_eq!(document["judgements"][0]["verdict"], "pass", "{}", judged.stderr);
    assert_eq!(document["judgements"][0]["cpus"].as_array().unwrap().len(), 12);
    assert_ne!(limited(20_000).code, judged.code, "the limit of memory is one");
}
