//! PASS, FAIL, too short, and refusals.

use crate::invented::{HOUR, judged, limit, run};
use archive::histogram::Histogram;
use archive::loss::{Loss, LossKind};
use archive::manifest::{ImportedFrom, RunState};
use archive::message::{Problem, Severity};
use archive::reader::Run;
use archive::second_records::SecondRecords;
use archive::summary::RunSummary;
use archive::watched::{WatchedKind, WatchedSeries};
use fixtures::assert_sentence;
use judge::coin::Coin;
use judge::machine::DoubtKind;
use judge::verdict::{Verdict, judge};
use std::collections::BTreeMap;

#[test]
fn three_hours_without_a_late_wake_up_pass_one_an_hour() {
    let quiet = |hours_tenths: u32| run(hours_tenths * HOUR / 10, 1, |_, _| (50_000, 0, 0));
    let passed = judged(&quiet(31), "latency < 100us", "1/h");
    assert_eq!(passed.verdict, Verdict::Pass, "{}", passed.sentence);
    let blocks = passed.cpus[0].blocks.unwrap();
    assert_eq!((blocks.bad, blocks.block_s), (0, 60));
    assert_sentence!("limit-passed", passed.sentence);
    let short = judged(&quiet(10), "latency < 100us", "1/h");
    assert_eq!(short.verdict, Verdict::NotEnoughData);
    let needed = short.cpus[0].hours_needed.unwrap();
    assert!((needed - 1.9957).abs() < 1e-3, "{needed}");
    assert_sentence!("limit-short", short.sentence);
}

#[test]
fn a_late_wake_up_on_one_cpu_fails_the_machine() {
    let bad = run(HOUR, 2, |cpu, second| (if cpu == 1 && second % 300 == 7 { 200_000 } else { 50_000 }, 0, 0));
    let failed = judged(&bad, "latency < 100us", "1/h");
    assert_eq!(failed.verdict, Verdict::Fail);
    assert_eq!(failed.cpus[0].verdict, Verdict::NotEnoughData);
    assert_eq!(failed.cpus[1].occasions.unwrap().count, 6);
    assert_sentence!("limit-failed", failed.sentence);
    // Exactly at the limit: `<` is broken, `<=` holds.
    let at = run(4 * HOUR, 1, |_, second| (if second % 300 == 7 { 100_000 } else { 50_000 }, 0, 0));
    assert_eq!(judged(&at, "latency < 100us", "1/h").verdict, Verdict::Fail);
    assert_eq!(judged(&at, "latency <= 100us", "1/h").verdict, Verdict::Pass);
}

#[test]
fn where_several_cpus_fail_the_evidence_names_the_worst() {
    let late = run(HOUR, 3, |cpu, second| {
        (if second == 9 && cpu < 2 { 200_000 + 100_000 * (1 - i64::from(cpu)) } else { 1 }, 0, 0)
    });
    let never = judged(&late, "latency < 100us", "never");
    assert_sentence!("limit-failed-on-several", never.sentence);
    assert_eq!(never.cpus.iter().map(|cpu| cpu.latest_ns).collect::<Vec<_>>(), [Some(300_000), Some(200_000), None]);
    let often = run(HOUR, 2, |cpu, second| (if second % (300 << (1 - cpu)) == 7 { 200_000 } else { 1 }, 0, 0));
    let hourly = judged(&often, "latency < 100us", "1/h");
    assert_sentence!("limit-failed-on-every-cpu", hourly.sentence);
}

#[test]
fn the_count_of_one_cpu_is_not_the_count_of_every_cpu() {
    let once = run(10, 2, |cpu, second| (if cpu == 1 && second == 3 { 200_000 } else { 1 }, 0, 0));
    let once = judged(&once, "latency < 100us", "1/h").sentence;
    assert_sentence!("limit-late-once", once);
    let none = judged(&run(10, 2, |_, _| (1, 0, 0)), "latency < 100us", "1/h").sentence;
    assert_sentence!("limit-never-late", none);
}

#[test]
fn a_burst_counts_once() {
    // 30 bad seconds in a row: one event, in two minutes of 480.
    let burst = run(8 * HOUR, 1, |_, second| (if (1000..1030).contains(&second) { 200_000 } else { 1 }, 0, 0));
    let judged = judged(&burst, "latency < 100us", "1/h");
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.sentence);
    let blocks = judged.cpus[0].blocks.unwrap();
    assert_eq!((blocks.bad, blocks.block_s, judged.cpus[0].occasions.unwrap().count), (2, 60, 1));
}

#[test]
fn never_cannot_be_shown_but_refuted() {
    let quiet = judged(&run(HOUR, 1, |_, _| (1, 0, 0)), "latency < 100us", "never");
    assert_eq!(quiet.verdict, Verdict::NotEnoughData);
    assert_eq!(quiet.cpus[0].hours_needed, None);
    assert_sentence!("limit-never", quiet.sentence);
    let late = run(HOUR, 1, |_, second| (if second == 9 { 200_000 } else { 1 }, 0, 0));
    let late = judged(&late, "latency < 100us", "never");
    assert_eq!(late.verdict, Verdict::Fail, "{}", late.sentence);
    assert_eq!(late.cpus[0].latest_ns, Some(200_000));
    assert_sentence!("limit-never-refuted", late.sentence);
}

#[test]
fn missed_periods_are_judged_like_late_wake_ups() {
    let one = run(8 * HOUR, 1, |_, second| (1, 0, u32::from(second == 77)));
    assert_eq!(judged(&one, "missed < 1/h", "1/h").verdict, Verdict::Pass);
    assert_eq!(judged(&one, "missed < 1/day", "1/h").verdict, Verdict::NotEnoughData);
    let many = judged(&run(HOUR, 1, |_, second| (1, 0, u32::from(second % 60 == 7))), "missed < 1/h", "1/h");
    let occasions = many.cpus[0].occasions.unwrap();
    assert_eq!((many.verdict, occasions.missed, occasions.count), (Verdict::Fail, 60, 6));
    assert_sentence!("limit-missed", many.sentence);
}

#[test]
fn a_limit_above_the_interval_can_hold_although_periods_were_missed() {
    // Each stall of 9 ms misses 9 periods, the latest by 8 ms.
    let stalled = run(4 * HOUR, 1, |_, second| if second % 300 == 7 { (9_000_000, 1, 9) } else { (50_000, 0, 0) });
    assert_eq!(judged(&stalled, "latency < 10000us", "1/h").verdict, Verdict::Pass);
    assert_eq!(judged(&stalled, "latency < 8500us", "1/h").verdict, Verdict::Fail);
    assert_eq!(judged(&stalled, "missed < 1/h", "1/h").verdict, Verdict::Fail);
}

#[test]
fn missed_periods_that_no_wake_up_explains_leave_a_limit_undecided() {
    let unexplained = run(4 * HOUR, 1, |_, second| (50_000, 0, u32::from(second % 300 == 7)));
    let undecided = judged(&unexplained, "latency < 10000us", "1/h");
    assert_eq!(undecided.verdict, Verdict::NotEnoughData, "{}", undecided.sentence);
    assert_eq!(undecided.cpus[0].because.as_ref().unwrap().code, "judge.missed-unexplained");
}

#[test]
fn quantiles_are_judged_by_stretches_of_time() {
    // One sample over in every tenth second: 1e-4 of all.
    let spread =
        |hours: u32| run(hours * HOUR, 1, |_, second| if second % 10 == 0 { (200_000, 1, 0) } else { (50_000, 0, 0) });
    let passed = judged(&spread(1), "p99.9 < 100us, disturbance < 1000000us", "1/h");
    assert_eq!(passed.verdict, Verdict::Pass, "{}", passed.sentence);
    assert_sentence!("quantile-passed", passed.sentence);
    assert_eq!(judged(&spread(1), "p99.999 < 100us", "1/h").verdict, Verdict::Fail);
    let close = judged(&spread(1), "p99.99 < 100us, disturbance < 1000000us", "1/h");
    assert_eq!(close.verdict, Verdict::NotEnoughData, "{}", close.sentence);
    // The same share in four bursts.
    let burst = run(HOUR, 1, |_, second| if second % 900 == 450 { (200_000, 90, 0) } else { (50_000, 0, 0) });
    assert_eq!(judged(&burst, "p99.98 < 100us, disturbance < 1000000us", "1/h").verdict, Verdict::NotEnoughData);
}

#[test]
fn an_unseen_second_may_still_be_late() {
    let second = "p99.99 < 100us, disturbance < 1000000us";
    let minute = judged(&run(60, 1, |_, _| (1, 0, 0)), second, "1/h");
    assert_eq!(minute.verdict, Verdict::NotEnoughData, "{}", minute.sentence);
    let needed = minute.cpus[0].hours_needed.unwrap();
    assert!((needed - 8.82).abs() < 0.01, "{needed}");
    assert_sentence!("quantile-short", minute.sentence);
    let quiet = run(10 * HOUR, 1, |_, _| (1, 0, 0));
    assert_eq!(judged(&quiet, second, "1/h").verdict, Verdict::Pass);
    let default = judged(&quiet, "p99.99 < 100us", "1/h");
    assert_eq!(default.verdict, Verdict::NotEnoughData, "a disturbance of a minute may come: {}", default.sentence);
    assert!(default.sentence.contains("for at most 60 s"), "{}", default.sentence);
}

#[test]
fn a_quantile_that_was_not_counted_is_judged_by_the_histogram() {
    // One sample of a second is 90 µs late; the limit of the run is 100 µs.
    let one = |hours: u32| run(hours * HOUR, 1, |_, _| (90_000, 0, 0));
    assert_eq!(judged(&one(1), "p99.9 < 50us", "1/h").verdict, Verdict::NotEnoughData, "exactly one in a thousand");
    assert_eq!(judged(&one(2), "p99.5 < 50us, disturbance < 1000000us", "1/h").verdict, Verdict::Pass);
    assert_eq!(judged(&one(1), "p99.99 < 50us", "1/h").verdict, Verdict::Fail);
    let mut without = run(HOUR, 1, |_, _| (90_000, 0, 0));
    without.threads.get_mut(&0).unwrap().histogram = Histogram::default();
    let unknown = judged(&without, "p99 < 50us", "1/h");
    assert_eq!(unknown.verdict, Verdict::NotEnoughData, "what is in no bucket may be late: {}", unknown.sentence);
}

#[test]
fn quantiles_count_missed_periods_with_their_lateness() {
    // A stall of 20 ms in each second: 20 missed periods, late by 19.04, 18.04 ... 0.04 ms.
    let stalled = run(HOUR, 1, |_, _| (20_040_000, 0, 20));
    assert_eq!(judged(&stalled, "p99 < 50us", "1/h").verdict, Verdict::Fail);
    assert_eq!(judged(&stalled, "p90 < 20500us", "1/h").verdict, Verdict::Pass);
    assert_sentence!("quantile-missed", judged(&stalled, "p99 < 50us", "1/h").sentence);
}

#[test]
fn a_run_without_an_end_or_with_lost_records_passes_nothing() {
    let quiet = run(4 * HOUR, 1, |_, _| (50_000, 0, 0));
    assert_eq!(judged(&quiet, "latency < 100us", "1/h").verdict, Verdict::Pass);
    let mut died = quiet.clone();
    died.ending = None;
    died.manifest.as_mut().unwrap().state = RunState::Running;
    for text in ["latency < 100us", "p90 < 100us"] {
        let judged = judged(&died, text, "1/h");
        assert_eq!(judged.verdict, Verdict::NoVerdict, "{}", judged.sentence);
        assert_sentence!("limit-without-an-end", judged.sentence);
    }
    let mut lossy = quiet.clone();
    let lost = |kind| Loss { kind, count: 7, detail: String::new() };
    lossy.losses = vec![lost(LossKind::Events)];
    let events = judged(&lossy, "latency < 100us", "1/h");
    assert_eq!(events.verdict, Verdict::Pass, "what is lost of the trace holds no wake-up");
    assert_eq!(events.cautions.len(), 1, "but it is shown");
    lossy.losses.push(lost(LossKind::Frames));
    let frames = judged(&lossy, "latency < 100us", "1/h");
    assert_eq!(frames.verdict, Verdict::NoVerdict, "{}", frames.sentence);
    assert_sentence!("limit-frames-lost", frames.sentence);
    lossy.losses = vec![lost(LossKind::TimeStamps)];
    let unstamped = judged(&lossy, "latency < 100us", "1/h");
    assert_eq!(unstamped.verdict, Verdict::NoVerdict, "{}", unstamped.sentence);
    assert_sentence!("limit-time-stamps-lost", unstamped.sentence);
    let mut late = run(HOUR, 1, |_, second| (if second % 99 == 1 { 200_000 } else { 1 }, 0, 0));
    late.ending = None;
    assert_eq!(judged(&late, "latency < 100us", "1/h").verdict, Verdict::Fail, "what is there may still show harm");
}

/// The same as another tool records it, rounded down to microseconds.
fn imported(mut run: Run) -> Run {
    let manifest = run.manifest.as_mut().unwrap();
    manifest.settings = None;
    manifest.imported = Some(ImportedFrom { resolution_ns: 1000, ..ImportedFrom::default() });
    run
}

#[test]
fn missing_figures_of_another_tool_are_unknown() {
    let quiet = imported(run(4 * HOUR, 1, |_, _| (50_000, 0, 0)));
    let missed = judged(&quiet, "missed < 1/h", "1/h");
    assert_eq!(missed.verdict, Verdict::NoVerdict, "{}", missed.sentence);
    assert_eq!(missed.cpus[0].because.as_ref().unwrap().code, "judge.missed-unknown");
    assert_eq!(judged(&quiet, "latency < 100us", "1/h").verdict, Verdict::Pass, "nothing was late enough to miss one");
    let late = imported(run(4 * HOUR, 1, |_, _| (600_000, 0, 0)));
    assert_eq!(
        judged(&late, "latency < 1000us", "1/h").verdict,
        Verdict::NoVerdict,
        "a period of a millisecond may have been missed"
    );
    let at = imported(run(4 * HOUR, 1, |_, _| (99_000, 0, 0)));
    assert_eq!(judged(&at, "latency <= 99us", "1/h").verdict, Verdict::NotEnoughData, "99 µs may have been 99.9");
    assert_eq!(judged(&at, "latency < 100us", "1/h").verdict, Verdict::Pass);
}

#[test]
fn a_known_maximum_beyond_the_limit_is_no_pass() {
    let mut lost = run(4 * HOUR, 1, |_, _| (50_000, 0, 0));
    lost.threads.get_mut(&0).unwrap().totals.latency_ns_max = Some(777_000);
    let judged_once = judged(&lost, "latency < 100us", "1/h");
    assert_eq!(judged_once.verdict, Verdict::NotEnoughData, "{}", judged_once.sentence);
    assert_eq!(judged_once.cpus[0].because.as_ref().unwrap().code, "judge.maximum-unplaced");
    let never = judged(&lost, "latency < 100us", "never");
    assert_eq!((never.verdict, never.cpus[0].latest_ns), (Verdict::Fail, Some(777_000)));
    let mut histogram = imported(lost);
    histogram.threads.get_mut(&0).unwrap().seconds = SecondRecords::default();
    histogram.phases.clear();
    assert_eq!(judged(&histogram, "latency < 100us", "never").verdict, Verdict::Fail);
    assert_eq!(judged(&histogram, "latency < 1000us", "never").verdict, Verdict::NoVerdict);
}

#[test]
fn a_histogram_without_times_fails_what_is_broken_by_far() {
    let mut times = imported(run(HOUR, 1, |_, _| (200_000, 0, 0)));
    let thread = times.threads.get_mut(&0).unwrap();
    thread.seconds = SecondRecords::default();
    thread.histogram.buckets[1].1 = 400_000;
    assert_eq!(judged(&times, "p99.9 < 100us", "1/h").verdict, Verdict::Fail);
    let close = judged(&times, "p90 < 100us", "1/h");
    assert_eq!(close.verdict, Verdict::NoVerdict, "how they come together is unknown: {}", close.sentence);
}

#[test]
fn a_disturbance_longer_than_a_block_is_one_occasion() {
    // 90 s, in a run of 20 min.
    let some = run(HOUR / 3, 1, |_, second| (if (500..590).contains(&second) { 200_000 } else { 1 }, 0, 0));
    assert_eq!(judged(&some, "latency < 100us", "1/h").verdict, Verdict::NotEnoughData);
    let always = judged(&run(HOUR, 1, |_, _| (200_000, 0, 0)), "latency < 100us", "1/h");
    assert_eq!(always.verdict, Verdict::Fail, "an hour in which every second is late: {}", always.sentence);
    let steady = run(HOUR, 1, |_, second| (if second % 20 == 3 { 200_000 } else { 1 }, 0, 0));
    assert_eq!(judged(&steady, "latency < 100us", "1/h").verdict, Verdict::Fail);
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
fn an_unjudgeable_run_has_a_reason() {
    let mut invalid = run(HOUR, 1, |_, _| (1, 0, 0));
    let text = "the load died".to_owned();
    invalid.problems.push(Problem { code: Default::default(), severity: Severity::Invalid, text, fix: String::new() });
    let invalid = judged(&invalid, "latency < 100us", "1/h");
    assert_eq!((invalid.verdict, invalid.cpus.len()), (Verdict::NoVerdict, 0));
    assert_sentence!("limit-of-an-invalid-run", invalid.sentence);
    let mut blind = run(HOUR, 1, |_, _| (1, 0, 0));
    blind.threads.get_mut(&0).unwrap().seconds = SecondRecords::default();
    let blind = judged(&blind, "latency < 100us", "1/h");
    assert_eq!(blind.cpus[0].because.as_ref().unwrap().code, "judge.no-seconds");
    assert!(judged(&run(HOUR, 1, |_, _| (1, 0, 0)), "latency < 100us", "1/s").sentence.contains("quantile"));
    let empty = judged(&Run::default(), "latency < 100us", "1/h");
    assert_eq!(empty.verdict, Verdict::NoVerdict);
    let extreme = judged(&run(1, 1, |_, _| (i64::MAX, u32::MAX, u32::MAX)), "p99 < 100us", "1/h");
    assert_eq!(extreme.verdict, Verdict::Fail);
    assert_sentence!("quantile-of-extremes", extreme.sentence);
}

#[test]
fn lost_records_count_against_passing_and_not_for_failing() {
    let mut gaps = run(4 * HOUR, 1, |_, _| (1, 0, 0));
    let thread = gaps.threads.get_mut(&0).unwrap();
    thread.seconds = thread.seconds.iter().filter(|second| second.second % 600 != 30).collect();
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

/// Runs with bursts whose true rate is slightly above the allowed one: PASS in at most one of twenty. With a rate
/// slightly below, the same for FAIL.
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

#[test]
fn a_watched_thread_is_named_and_its_cycles_are_no_wake_ups() {
    let series = |thread: u32, kind: WatchedKind| WatchedSeries {
        thread,
        kind,
        tid: 4711,
        name: "arm".into(),
        policy: None,
        priority: 0,
        slack_ns_max: 0,
        late_arms: 0,
        page_faults: None,
        ended: false,
    };
    // The second series is late in every second.
    let mut watched = run(4 * HOUR, 2, |series, _| if series == 1 { (900_000, 1, 0) } else { (50_000, 0, 0) });
    watched.watched = BTreeMap::from([(0, series(0, WatchedKind::Timer)), (1, series(1, WatchedKind::Cycle))]);
    let judged_cycles = judged(&watched, "latency < 100us", "1/h");
    assert_eq!(judged_cycles.verdict, Verdict::Pass, "{}", judged_cycles.sentence);
    assert_eq!(judged_cycles.cpus.len(), 1);
    watched.watched = BTreeMap::from([(0, series(0, WatchedKind::Timer)), (1, series(1, WatchedKind::Woken))]);
    let judged_woken = judged(&watched, "latency < 100us", "1/h");
    assert_eq!(judged_woken.verdict, Verdict::Fail);
    assert_sentence!("limit-of-a-watched-thread", judged_woken.sentence);
}
