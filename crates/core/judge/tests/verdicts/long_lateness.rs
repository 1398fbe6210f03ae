//! Lateness that lasts longer than a second, and runs that are short beside it.

use crate::invented::{HOUR, judged, limit, run};
use archive::reader::Run;
use fixtures::assert_sentence;
use judge::coin::Coin;
use judge::length::needed;
use judge::verdict::Verdict;

/// A run whose regimes of `mean_s` seconds (exponential) make every wake-up late, with this share of the time.
fn regimes(coin: &mut Coin, seconds: u32, mean_s: f64, share: f64) -> Run {
    let wait = |coin: &mut Coin, mean: f64| -(1.0 - coin.unit()).ln() * mean;
    let mut late = vec![0u32; seconds as usize + 1];
    let mut at_s = wait(coin, mean_s / share) - 10.0 * mean_s;
    while at_s < f64::from(seconds) {
        let end_s = (at_s + wait(coin, mean_s)).min(f64::from(seconds));
        let mut from_s = at_s.max(0.0);
        while from_s < end_s {
            let to_s = (from_s.floor() + 1.0).min(end_s);
            late[from_s as usize] += ((to_s - from_s) * 1000.0) as u32;
            from_s = to_s;
        }
        at_s += wait(coin, mean_s / share);
    }
    let mut run = run(seconds, 1, |_, second| match late[second as usize].min(1000) {
        0 => (10_000, 0, 0),
        late => (200_000, late, 0),
    });
    let thread = run.threads.get_mut(&0).unwrap();
    let over = thread.totals.over_limit;
    thread.histogram.buckets = vec![
        (thread.histogram.buckets[0].0, thread.totals.cycles - over),
        (archive::histogram::bucket_of(200_000).unwrap() as u32, over),
    ];
    run
}

#[test]
fn lateness_of_up_to_a_minute_does_not_pass_at_the_length_that_a_plan_says() {
    let mut coin = Coin::new(8);
    // A fifth more than is allowed. 5.3 hours for p99.
    let (seconds, runs) = (19_200, 100);
    for mean_s in [2.0, 10.0, 60.0] {
        let passed = (0..runs).filter(|_| {
            let run = regimes(&mut coin, seconds, mean_s, 0.012);
            judged(&run, "p99 <= 100us", "1/h").verdict == Verdict::Pass
        });
        let passed = passed.count();
        assert!(passed <= 9, "{mean_s} s: {passed} of {runs}");
    }
    let quiet = run(seconds, 1, |_, _| (10_000, 0, 0));
    assert_eq!(judged(&quiet, "p99 <= 100us", "1/h").verdict, Verdict::Pass);
}

#[test]
fn a_disturbance_longer_than_assumed_makes_stretches_as_long() {
    let once =
        run(10 * HOUR, 1, |_, second| if (5000..5200).contains(&second) { (200_000, 1000, 0) } else { (1, 0, 0) });
    let judged = judged(&once, "p50 <= 100us, disturbance < 1000000us", "1/h");
    assert!(judged.cpus[0].samples.unwrap().stretch_s >= 200, "{}", judged.sentence);
}

#[test]
fn fewer_than_twenty_stretches_are_not_enough_for_any_quantile() {
    let quiet = |seconds| run(seconds, 1, |_, _| (1, 0, 0));
    let six = judged(&quiet(6), "p50 <= 100us, disturbance < 1000000us", "1/h");
    assert_eq!(six.verdict, Verdict::NotEnoughData, "{}", six.sentence);
    let needed_s = six.cpus[0].hours_needed.unwrap() * 3600.0;
    assert!((needed_s - 14.0).abs() < 0.01, "{needed_s}");
    assert_eq!(judged(&quiet(20), "p50 <= 100us, disturbance < 1000000us", "1/h").verdict, Verdict::Pass);
    assert_eq!(judged(&quiet(1199), "p50 <= 100us", "1/h").verdict, Verdict::NotEnoughData);
    assert_eq!(judged(&quiet(1200), "p50 <= 100us", "1/h").verdict, Verdict::Pass);
}

#[test]
fn the_judge_and_the_plan_of_a_test_name_the_same_length() {
    let quiet = |seconds| run(seconds, 1, |_, _| (1, 0, 0));
    let planned = needed(&limit("p99.9 <= 100us", "1/h"), 1_000_000, 0.95).lengths[0].hours;
    for seconds in [10, 60, 110, 3600] {
        let judgement = judged(&quiet(seconds), "p99.9 <= 100us", "1/h");
        let total = judgement.cpus[0].hours_needed.unwrap() + f64::from(seconds) / 3600.0;
        assert!((total / planned - 1.0).abs() < 0.002, "{seconds} s: {total} h and {planned} h");
    }
}

#[test]
fn a_short_run_within_one_occasion_does_not_fail() {
    for seconds in [1, 2, 60, 300, 600] {
        let late = judged(&run(seconds, 1, |_, _| (200_000, 0, 0)), "latency < 100us", "1/h");
        assert_eq!(late.verdict, Verdict::NotEnoughData, "{seconds} s: {}", late.sentence);
    }
    let hour = judged(&run(HOUR, 1, |_, _| (200_000, 0, 0)), "latency < 100us", "1/h");
    assert_eq!((hour.verdict, hour.cpus[0].occasions.unwrap().within_s), (Verdict::Fail, 600), "{}", hour.sentence);
}

#[test]
fn a_short_run_fails_where_it_sees_many_disturbances_begin_and_end() {
    let scattered = |seconds| run(seconds, 1, |_, second| (if second % 5 == 0 { 1 } else { 200_000 }, 0, 0));
    let late = judged(&scattered(60), "latency < 100us", "1/h");
    assert_eq!(late.verdict, Verdict::Fail, "{}", late.sentence);
    let assumed = "Assumption: a disturbance lasts at most 30 s, as the disturbances of this run did.";
    assert!(late.sentence.ends_with(assumed), "{}", late.sentence);
    assert_eq!(judged(&scattered(2), "latency < 100us", "1/h").verdict, Verdict::NotEnoughData);
}

#[test]
fn an_occasion_of_five_minutes_an_hour_seldom_fails_one_an_hour() {
    let mut coin = Coin::new(3);
    for seconds in [2, 60, 600] {
        let runs = 400;
        let failed = (0..runs).filter(|_| {
            // 0.95 occasions an hour, each five minutes of late seconds.
            let mut starts_s = vec![];
            let mut at_s = -1000.0;
            while at_s < f64::from(seconds) {
                at_s += -(1.0 - coin.unit()).ln() * 3600.0 / 0.95;
                starts_s.push(at_s);
            }
            let late = |second: u32| starts_s.iter().any(|start| (*start..start + 300.0).contains(&f64::from(second)));
            let run = run(seconds, 1, |_, second| (if late(second) { 200_000 } else { 1 }, 0, 0));
            judged(&run, "latency < 100us", "1/h").verdict == Verdict::Fail
        });
        let failed = failed.count();
        assert!(failed <= 29, "{seconds} s: {failed} of {runs}");
    }
}

#[test]
fn a_share_far_beyond_the_allowed_one_fails_in_any_order() {
    let late = judged(&run(60, 1, |_, _| (200_000, 500, 0)), "p99 <= 100us", "1/h");
    assert_sentence!("quantile-failed-in-any-order", late.sentence);
    let hours = run(10 * HOUR, 1, |_, second| if second % 100 < 3 { (200_000, 1000, 0) } else { (1, 0, 0) });
    let stretches = judged(&hours, "p99 <= 100us", "1/h");
    assert_eq!(stretches.verdict, Verdict::Fail);
    assert_sentence!("quantile-failed-by-stretches", stretches.sentence);
}
