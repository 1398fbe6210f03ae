//! Run, report, lab and judge agree about every run: 10 000 random ones, with limits below and above the interval, missed periods,
//! lost records and cuts, against the lateness of each period of which the run was made.

use super::RunRecord;
use crate::standing::Standing;
use account::{Account, ExplanationSource};
use archive::environment::Environment;
use archive::histogram::{BUCKETS, Histogram, bucket_of};
use archive::manifest::{Manifest, RunState};
use archive::message::{Ending, RunPhase};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Second, Totals};
use archive::settings::RunSettings;
use claims::limit::{Limit, Rate};
use judge::coin::Coin;
use judge::machine::DoubtKind;
use judge::verdict::{Judgement, Verdict};
use std::collections::BTreeMap;
use words::figures::{count, latency};
use words::time::time_ns;

const RUNS: u64 = 10_000;
const SECOND_NS: i64 = 1_000_000_000;
/// A bucket is at most this much wider than its lower bound.
const RESOLUTION: f64 = 0.002;

/// A run and the truth about it.
struct Case {
    run: Run,
    /// Lateness of each period, missed ones included.
    lateness_ns: Vec<i64>,
    limit_ns: i64,
}

fn case(number: u64) -> Case {
    // A run is the function of its number.
    let mut coin = Coin::new(number);
    let mut below = |bound: i64| coin.below(bound as usize) as i64;
    let interval_ns = [1_000_000, 10_000_000][below(2) as usize];
    let seconds = 1 + below(3);
    let limit_ns = interval_ns / 20 + below(interval_ns * 3);
    let late_one_in = 1 + below(400);
    let worst_ns = 1 + below(interval_ns * 5);
    let mut made = Made::new(limit_ns, below(5) == 0);
    let mut due_ns = 0;
    while due_ns < seconds * SECOND_NS {
        let late = below(late_one_in) == 0;
        let wake_up_ns = if late { below(worst_ns) } else { 1_000 + below(interval_ns / 25) };
        made.wake_up(due_ns, wake_up_ns);
        let missed = wake_up_ns / interval_ns;
        // A wake-up at the instant of the next period serves that one too late, but serves it.
        let missed = if missed > 0 && wake_up_ns % interval_ns == 0 { missed - 1 } else { missed };
        (1..=missed).for_each(|later| made.miss(due_ns + later * interval_ns, wake_up_ns - later * interval_ns));
        due_ns += (1 + missed) * interval_ns;
    }
    let state = match below(8) {
        0 => RunState::Interrupted,
        1 => RunState::Failed,
        _ => RunState::Complete,
    };
    let Made { lateness_ns, mut thread, seconds: records, counts, .. } = made;
    thread.seconds = records.into();
    thread.histogram = Histogram::from_counts(counts);
    let settings = RunSettings { interval_ns: interval_ns as u64, limit_ns: Some(limit_ns), ..RunSettings::default() };
    let manifest =
        Manifest { state, settings: Some(settings), ..Manifest::new("invented", env!("CARGO_PKG_VERSION"), "local") };
    let run = Run {
        threads: BTreeMap::from([(0, thread)]),
        phases: vec![(RunPhase::Measure, 0), (RunPhase::Collect, seconds * SECOND_NS)],
        ending: Some((Ending::Complete, seconds * SECOND_NS)),
        environment: Some(Environment { preempt_rt: Some(true), ..Environment::default() }),
        manifest: Some(manifest),
        ..Run::default()
    };
    Case { run, lateness_ns, limit_ns }
}

/// The totals and records that a meter would write of a run.
struct Made {
    limit_ns: i64,
    /// Records of some seconds are lost.
    loses: bool,
    lateness_ns: Vec<i64>,
    thread: ThreadRun,
    seconds: Vec<Second>,
    counts: Vec<u64>,
}

impl Made {
    fn new(limit_ns: i64, loses: bool) -> Self {
        let thread = ThreadRun::default();
        Self { limit_ns, loses, lateness_ns: Vec::new(), thread, seconds: Vec::new(), counts: vec![0; BUCKETS] }
    }

    fn wake_up(&mut self, due_ns: i64, lateness_ns: i64) {
        self.lateness_ns.push(lateness_ns);
        self.counts[bucket_of(lateness_ns).unwrap()] += 1;
        let over = lateness_ns > self.limit_ns;
        let Totals { cycles, over_limit, latency_ns_min, latency_ns_max, latency_ns_sum, .. } = &mut self.thread.totals;
        *cycles += 1;
        *over_limit += u64::from(over);
        *latency_ns_min = Some(latency_ns_min.map_or(lateness_ns, |least| least.min(lateness_ns)));
        *latency_ns_max = Some(latency_ns_max.map_or(lateness_ns, |most| most.max(lateness_ns)));
        *latency_ns_sum += lateness_ns;
        if let Some(second) = self.second(due_ns) {
            second.cycles += 1;
            second.latency_ns_max = second.latency_ns_max.max(lateness_ns);
            second.over_limit += u32::from(over);
        }
    }

    fn miss(&mut self, due_ns: i64, lateness_ns: i64) {
        self.lateness_ns.push(lateness_ns);
        self.thread.totals.missed_periods += 1;
        if let Some(second) = self.second(due_ns) {
            second.missed_periods += 1;
        }
    }

    fn second(&mut self, due_ns: i64) -> Option<&mut Second> {
        let second = (due_ns / SECOND_NS) as u32;
        if self.loses && second == 1 {
            return None;
        }
        let seconds = &mut self.seconds;
        if seconds.last().is_none_or(|last| last.second != second) {
            let record = Second { thread: 0, second, cycles: 0, latency_ns_max: 0, over_limit: 0, missed_periods: 0 };
            seconds.push(record);
        }
        seconds.last_mut()
    }
}

fn judged(account: &Account, text: &str, allow: &str) -> Judgement {
    let limit = Limit::parse(text, &Rate::parse(allow).unwrap(), time_ns).unwrap();
    account.judge(&[limit], 0.95, &DoubtKind::ALL).remove(0)
}

/// Where the surfaces differ from each other or from the truth.
fn disagreements(number: u64) -> Vec<String> {
    let Case { run, lateness_ns, limit_ns } = case(number);
    let late = lateness_ns.iter().filter(|ns| **ns > limit_ns).count() as u64;
    let account = Account::of(run, ExplanationSource::Stored);
    let summary = account.summary().clone();
    let over = summary.deciding().map(|cpu| cpu.over_limit).sum::<u64>();
    let sentence = report::account::verdict(&summary);
    let never = judged(&account, &format!("latency <= {limit_ns}ns"), "never");
    let quantile = judged(&account, &format!("p99 <= {limit_ns}ns"), "1/h");
    let shown = account.limit_judgements();
    let data = account.report_data();
    let p99 = summary.all_cpus.p99;
    let record = RunRecord::of(account);
    let share = late as f64 / lateness_ns.len() as f64;
    let said = if over == 0 { "None".into() } else { count(over) };
    let (fails, passes) = (Verdict::Fail, Verdict::Pass);
    let usable = summary.valid;
    let p99_over = p99.is_some_and(|ns| ns as f64 > limit_ns as f64 * (1.0 + RESOLUTION));
    let p99_under = p99.is_some_and(|ns| (ns as f64) < limit_ns as f64 * (1.0 - RESOLUTION));
    let claims = [
        (
            sentence.contains(&format!("{said} came later than the limit of {}", latency(limit_ns))),
            "the run's sentence",
        ),
        ((over == 0) == (late == 0), "a missed period is later than the limit only after a wake-up that is"),
        (never.verdict != fails || late > 0, "judge fails a limit that nothing exceeded"),
        (never.verdict != passes || late == 0, "judge passes `never` although something came later"),
        (!usable || late == 0 || never.verdict == fails, "judge does not fail `never` although something came later"),
        (quantile.verdict != fails || share > 0.01, "judge fails a quantile that holds"),
        (quantile.verdict != passes || share <= 0.01, "judge passes a quantile that does not hold"),
        (quantile.verdict != fails || !p99_under, "judge fails a quantile below which the summary stands"),
        (quantile.verdict != passes || !p99_over, "judge passes a quantile above which the summary stands"),
        (share <= 0.012 || !p99_under, "the summary's quantile leaves late periods out"),
        (share > 0.008 || !p99_over, "the summary's quantile counts periods later than they were"),
        (shown.iter().all(|one| one.verdict != fails || late > 0), "the report fails a limit that nothing exceeded"),
        (shown.iter().all(|one| one.verdict != passes || late == 0), "the report passes a limit in a short run"),
        (data.summary.all_cpus == summary.all_cpus, "the report's figures"),
        (!usable || record.figures.latency_ns == summary.all_cpus, "the lab's figures"),
        (usable || record.latency_max_ns.is_none(), "an invalid run has a figure in the lab"),
        (record.over_limit as u64 == over, "the lab's count"),
        (!usable || (record.standing == Standing::Held) == (late == 0), "the lab's standing"),
    ];
    claims
        .into_iter()
        .filter(|(holds, _)| !holds)
        .map(|(_, claim)| format!("run {number}: {claim}: {sentence} {}", never.sentence))
        .collect()
}

#[test]
fn every_surface_says_the_same_of_ten_thousand_random_runs() {
    let found: Vec<String> = (0..RUNS).flat_map(disagreements).take(20).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_random_runs_have_what_matters() {
    let cases: Vec<Case> = (0..500).map(case).collect();
    let many = |holds: fn(&Case) -> bool| cases.iter().filter(|case| holds(case)).count();
    let interval = |case: &Case| case.run.period_ns().unwrap();
    assert!(many(|case| case.run.threads[&0].totals.missed_periods > 0) > 100);
    assert!(cases.iter().filter(|case| case.limit_ns > interval(case)).count() > 100);
    assert!(cases.iter().filter(|case| case.limit_ns < interval(case)).count() > 100);
    assert!(many(|case| case.lateness_ns.iter().all(|ns| *ns <= case.limit_ns)) > 50);
}
