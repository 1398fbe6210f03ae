//! Runs of arbitrary content, including content that no meter writes: no result is NaN or infinite.

use archive::environment::Environment;
use archive::histogram::{BUCKETS, Histogram};
use archive::manifest::Manifest;
use archive::message::{Ending, LoadReport, RunPhase};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Second, Totals};
use archive::settings::RunSettings;
use archive::summary::RunSummary;
use claims::limit::{Limit, Rate};
use judge::compare::{Side, compare};
use judge::experiment::{Failed, PairedRound, Stopping, experiment, metrics, variant_figures};
use judge::extremes::extrapolation::extrapolate;
use judge::figures::RunFigures;
use judge::history::{HistoryRun, history};
use judge::machine::DoubtKind;
use judge::observer::{Level, Round, observer_effect};
use judge::proof::proof;
use judge::verdict::{Verdict, judge};
use proptest::prelude::*;
use std::fmt::Debug;

fn limits() -> Vec<Limit> {
    let time_ns = |text: &str| text.trim_end_matches("ns").parse::<u64>().map_err(|error| error.to_string());
    let limit = |text: &str, allow: &str| Limit::parse(text, &Rate::parse(allow).unwrap(), time_ns).unwrap();
    vec![
        limit("latency < 100ns", "1/h"),
        limit("latency <= 9223372036854775807ns", "never"),
        limit("p50 < 100ns", "1/h"),
        limit("p99.99999 < 100ns", "1/year"),
        limit("missed < 5/min", "1/h"),
    ]
}

/// Latencies, valid and invalid.
fn latency() -> impl Strategy<Value = i64> {
    prop_oneof![0i64..1000, Just(0), Just(100), Just(i64::MAX), Just(-5), Just(i64::MIN), any::<i64>()]
}

fn thread() -> impl Strategy<Value = ThreadRun> {
    let bucket = prop_oneof![Just(0u32), 0..2000u32, Just(BUCKETS as u32 - 1)];
    let count = prop_oneof![Just(0u64), Just(1), 0..5000u64, Just(u64::MAX), Just(1_000_000_000)];
    let buckets = proptest::collection::vec((bucket, count), 0..4);
    let second = (0u32..4000, latency(), 0u32..3, 0u32..3, any::<bool>());
    let seconds = proptest::collection::vec(second, 0..40);
    let totals =
        (proptest::option::of(latency()), prop_oneof![1..100_000u64, Just(1u64), Just(0u64), Just(u64::MAX)], 0u64..9);
    (0u32..3, buckets, seconds, totals).prop_map(|(cpu, buckets, seconds, (max, cycles, over))| {
        let records = seconds.into_iter().map(|(second, latency_ns_max, over_limit, missed_periods, huge)| Second {
            thread: cpu,
            second: if huge && second == 7 { u32::MAX } else { second },
            cycles: 1,
            latency_ns_max,
            over_limit,
            missed_periods,
        });
        let totals =
            Totals { cycles, latency_ns_max: max, over_limit: over, missed_periods: over, ..Totals::default() };
        let histogram = Histogram { buckets }.normalised();
        ThreadRun { thread: cpu, cpu, totals, histogram, seconds: records.collect(), ..ThreadRun::default() }
    })
}

fn manifest(limited: bool) -> Manifest {
    let manifest = serde_json::json!({ "archive_version": 1, "id": "invented", "tool_version": "", "command": [],
        "target": "local", "started_unix_ns": 0, "ended_unix_ns": null, "state": "complete", "problem": null });
    let mut manifest: Manifest = serde_json::from_value(manifest).unwrap();
    manifest.settings = Some(RunSettings { limit_ns: limited.then_some(100), ..RunSettings::default() });
    manifest
}

fn run() -> impl Strategy<Value = Run> {
    let end = prop_oneof![Just(0i64), Just(1), 1..20_000_000_000_000i64, Just(i64::MAX), Just(-7)];
    let load = ("[ab]", "(messages|bytes|)", prop_oneof![Just(0u64), 1..1000u64, Just(u64::MAX)]);
    (proptest::collection::vec(thread(), 0..3), end, any::<bool>(), proptest::option::of(load)).prop_map(
        |(threads, end_ns, known, load)| Run {
            threads: threads.into_iter().map(|thread| (thread.thread, thread)).collect(),
            phases: vec![(RunPhase::Load, 0), (RunPhase::Measure, 0), (RunPhase::Collect, end_ns)],
            manifest: Some(manifest(known)),
            ending: Some((Ending::Complete, end_ns)),
            environment: known.then(|| Environment { preempt_rt: Some(true), ..Environment::default() }),
            loads: load
                .map(|(name, unit, progress)| LoadReport { name, unit, progress, alive: true, detail: String::new() })
                .into_iter()
                .collect(),
            ..Run::default()
        },
    )
}

/// JSON cannot represent NaN and infinity, but the Debug output shows them.
fn only_numbers(what: &impl Debug) -> Result<(), TestCaseError> {
    let text = format!("{what:?}");
    let at =
        text.find("NaN").or_else(|| text.find("inf,")).or_else(|| text.find("inf ")).or_else(|| text.find(": inf"));
    let around = at.map(|at| text[at.saturating_sub(200)..(at + 20).min(text.len())].to_owned());
    prop_assert!(around.is_none(), "{}", around.unwrap_or_default());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn one_run_is_judged_in_numbers_or_refused(run in run(), horizon in prop_oneof![Just(1e-6), 0.1..100.0f64, Just(1e12)]) {
        let summary = RunSummary::of(&run, &[]);
        for limit in limits() {
            let judgement = judge(&run, &summary, &limit, 0.95, &DoubtKind::ALL);
            only_numbers(&judgement)?;
            prop_assert!(judgement.sentence.starts_with(judgement.verdict.words()), "{}", judgement.sentence);
            let nothing = run.threads.is_empty() || run.threads.values().all(|thread| thread.seconds.is_empty());
            prop_assert!(!nothing || judgement.verdict != Verdict::Pass, "{}", judgement.sentence);
        }
        only_numbers(&proof(&run, &summary, None, 0.95))?;
        for extrapolation in extrapolate(&run, &summary, &[], horizon, 0.95) {
            only_numbers(&extrapolation)?;
            prop_assert!(extrapolation.estimate.is_some() != extrapolation.refusal.is_some());
        }
    }

    #[test]
    fn many_runs_are_compared_in_numbers_or_refused(a in run(), b in run(), count in 1usize..9) {
        let (summary_a, summary_b) = (RunSummary::of(&a, &[]), RunSummary::of(&b, &[]));
        only_numbers(&compare(
            Side { run: &a, summary: &summary_a, explanations: &[] },
            Side { run: &b, summary: &summary_b, explanations: &[] },
        ))?;
        if let (Some(a), Some(b)) = (variant_figures(&a, &[]), variant_figures(&b, &[])) {
            let mut rounds = vec![PairedRound { a: a.clone(), b: b.clone(), b_first: Some(false) }; count];
            rounds[0] = PairedRound { a: b, b: a, b_first: Some(true) };
            only_numbers(&experiment(&rounds, Failed { a: 0, b: 1 }, &metrics(1e6), 0.95, Stopping::FixedRounds))?;
            only_numbers(&experiment(&rounds, Failed { a: 0, b: 3 }, &metrics(1e6), 0.95, Stopping::UntilDecided))?;
        }
        if let (Some(a), Some(b)) = (RunFigures::of(&a), RunFigures::of(&b)) {
            let rounds = vec![Round { runs: vec![(Level::Off, a), (Level::Events, b)] }; count];
            only_numbers(&observer_effect(&rounds, &[Level::Off, Level::Events], 0.95))?;
        }
        let runs: Vec<HistoryRun> = (0..2 * count)
            .filter_map(|number| {
                let of = if number < count { &a } else { &b };
                let mut run = HistoryRun::of(of, RunSummary::of(of, &[]))?;
                run.summary.started_unix_ns = Some(number as i64);
                Some(run)
            })
            .collect();
        only_numbers(&history(&runs, 1))?;
    }
}
