//! Synthetic pairs of runs with a known difference.

use super::*;
use archive::causes::CpuCount;
use archive::explanation::{Confidence, Explanation, ExplanationStatus, Finding};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Sample, Totals};
use archive::spike::{Spike, SpikeReason};
use fixtures::assert_sentence;
use std::collections::BTreeMap;

/// One CPU for an hour at 1 kHz; `late` are culprit, second and latency of wake-ups with a trace, `untraced` the latest
/// without one.
struct Made {
    run: Run,
    explanations: Vec<Explanation>,
    causes: RunCauses,
}

fn made(late: &[(&str, i64, i64)], untraced_ns: i64) -> Made {
    let sample =
        |cycle: u64, due_s: i64, latency_ns: i64| Sample { cpu: 0, cycle, due_ns: due_s * 1_000_000_000, latency_ns };
    let mut worst = vec![sample(u64::MAX, 0, untraced_ns)];
    let (mut spikes, mut explanations) = (Vec::new(), Vec::new());
    let mut groups: BTreeMap<&str, CauseGroup> = BTreeMap::new();
    for (number, &(culprit, due_s, latency_ns)) in (1u32..).zip(late) {
        let sample = sample(u64::from(number), due_s, latency_ns);
        worst.push(sample);
        spikes.push(Spike::new(number, 0, 1, sample, SpikeReason::OverLimit));
        explanations.push(explained(number, culprit, latency_ns));
        let group = groups.entry(culprit).or_insert_with(|| CauseGroup {
            culprit: Some(culprit.into()),
            title: culprit.into(),
            spikes: Vec::new(),
            latency_ns_max: 0,
            cpus: vec![CpuCount { cpu: 0, count: 1 }],
            worst: 0,
            period: None,
            rhythm: String::new(),
        });
        group.spikes.push(number);
        group.worst += 1;
        group.latency_ns_max = group.latency_ns_max.max(latency_ns);
    }
    let totals = Totals { cycles: 3_600_000, ..Totals::default() };
    let thread = ThreadRun { totals, worst, ..ThreadRun::default() };
    Made {
        run: Run { threads: BTreeMap::from([(0, thread)]), spikes, ..Run::default() },
        explanations,
        causes: RunCauses { groups: groups.into_values().collect(), ..RunCauses::default() },
    }
}

fn explained(spike: u32, culprit: &str, latency_ns: i64) -> Explanation {
    let finding = Finding::new(culprit.into(), Confidence::Certain, latency_ns / 2);
    Explanation {
        spike,
        latency_ns,
        median_ns: 0,
        status: ExplanationStatus::Explained,
        phases: Vec::new(),
        findings: vec![finding],
        spans: Vec::new(),
        lanes: Vec::new(),
        marks: Vec::new(),
        elsewhere_facts: Vec::new(),
        elsewhere: Vec::new(),
        functions: None,
        own_code: None,
        recording: None,
        caveats: Vec::new(),
    }
}

fn differ_made(a: &Made, b: &Made) -> CausesDifference {
    let summary = |made: &Made| RunSummary { measured_ns: Some(3_600_000_000_000), ..RunSummary::of(&made.run, &[]) };
    let (summary_a, summary_b) = (summary(a), summary(b));
    differ(
        CausesSide { of: Side { run: &a.run, summary: &summary_a, explanations: &a.explanations }, causes: &a.causes },
        CausesSide { of: Side { run: &b.run, summary: &summary_b, explanations: &b.explanations }, causes: &b.causes },
    )
}

fn struck(culprit: &'static str, times: i64, latency_ns: i64) -> Vec<(&'static str, i64, i64)> {
    (0..times).map(|at| (culprit, 10 * at, latency_ns)).collect()
}

#[test]
fn changes_beyond_chance_come_first() {
    let a = made(&[struck("nmi", 20, 90_000), struck("steal", 5, 80_000), struck("tick", 1, 50_000)].concat(), 1000);
    let b =
        made(&[struck("fair-server", 12, 60_000), struck("steal", 6, 80_000), struck("rcu", 1, 70_000)].concat(), 1000);
    let found = differ_made(&a, &b);
    let shown: Vec<(&str, Change)> = found.causes.iter().map(|cause| (cause.name(), cause.change)).collect();
    assert_eq!(
        shown,
        [
            ("nmi", Change::Vanished),
            ("fair-server", Change::Appeared),
            ("steal", Change::NotShown),
            ("rcu", Change::NotShown),
            ("tick", Change::NotShown),
        ]
    );
    assert_eq!((found.causes[1].a.spikes, found.causes[1].b.spikes), (0, 12));
    assert_sentence!("causes-appeared", found.causes[1].sentence);
    assert_sentence!("causes-too-few", found.causes[3].sentence);
    // Twelve of twelve in one of two equal runs, five tests: 0.005^(1/12) of the share.
    let share = 0.005f64.powf(1.0 / 12.0);
    let (low, high) = found.causes[1].ratio.unwrap();
    assert!((low - share / (1.0 - share)).abs() < 1e-6 && high.is_none(), "{low}");
    let fair = &found.causes[1].b;
    assert_eq!((fair.stretch_ns_median, fair.stretch_ns_max, fair.among_worst), (Some(30_000), Some(30_000), 12));
    let rate = fair.per_hour.unwrap();
    assert!((rate.seen - 12.0).abs() < 1e-9 && (rate.low - 6.2006).abs() < 1e-3 && (rate.high - 20.9616).abs() < 1e-3);
    assert!((fair.per_million_wakeups.unwrap().seen - 12.0 / 3.6).abs() < 1e-9);
}

#[test]
fn a_burst_is_one_event() {
    let burst: Vec<_> = (0..50).map(|_| ("nmi", 7, 90_000)).collect();
    let found = differ_made(&made(&burst, 1000), &made(&struck("steal", 1, 80_000), 1000));
    assert_eq!((found.causes[0].a.spikes, found.causes[0].a.events), (50, Some(1)));
    assert!(found.causes.iter().all(|cause| cause.change == Change::NotShown), "{found:?}");
}

#[test]
fn below_the_latest_without_a_trace_nothing_is_counted() {
    let (a, b) = (made(&struck("nmi", 20, 90_000), 95_000), made(&struck("steal", 1, 80_000), 1000));
    let found = differ_made(&a, &b);
    assert_eq!(found.counted_above_ns, Some(95_000));
    assert_sentence!("causes-counted-above", found.counted);
    assert!(found.causes.iter().all(|cause| cause.change == Change::NotCounted));
    assert_sentence!("causes-not-counted", found.causes[0].sentence);
}

#[test]
fn a_run_without_traces_has_no_causes_to_lose() {
    let mut blind = made(&[], 1000);
    blind.run.spikes.clear();
    let found = differ_made(&made(&struck("nmi", 20, 90_000), 1000), &blind);
    assert_eq!((found.counted_above_ns, found.causes[0].change), (None, Change::NotCounted));
    assert_sentence!("causes-without-traces", found.counted);
    assert!(found.cautions.iter().any(|caution| caution.code == "judge.no-traces"));
}

/// Two runs with equal rates of each cause: changes must be reported less often than the error allows, at any rate.
#[test]
fn alike_runs_seldom_differ() {
    let mut coin = crate::coin::Coin::new(5);
    let culprits = ["nmi", "steal", "tick", "rcu"];
    let pairs = 400;
    let mut wrong = 0;
    for _ in 0..pairs {
        let mut run = || {
            let mut late = Vec::new();
            for (at, culprit) in culprits.into_iter().enumerate() {
                let struck = (0..60).filter(|_| coin.unit() < [0.02, 0.1, 0.2, 0.4][at]);
                late.extend(struck.map(|second| (culprit, 5 * second, 90_000)));
            }
            made(&late, 1000)
        };
        let found = differ_made(&run(), &run());
        let shown = |cause: &CauseDifference| !matches!(cause.change, Change::NotShown | Change::NotCounted);
        wrong += i32::from(found.causes.iter().any(shown));
    }
    assert!(f64::from(wrong) <= 0.05 * f64::from(pairs), "{wrong} of {pairs}");
}
