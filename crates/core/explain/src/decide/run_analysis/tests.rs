//! Synthetic whole runs, composed of spikes and explanations.

use super::*;
use archive::explanation::{Confidence, Finding, Phase, PhaseName};

const SECOND: i64 = 1_000_000_000;

fn spike(number: u32, cpu: u32, due_ns: i64, latency_ns: i64) -> Spike {
    Spike::new(
        number,
        cpu,
        100 + cpu as i32,
        Sample { cpu, cycle: u64::from(number), due_ns, latency_ns },
        SpikeReason::OverLimit,
    )
}

/// A spike for tests that need one.
pub fn any_spike() -> Spike {
    spike(1, 0, SECOND, 5_000)
}

fn explanation(spike: &Spike, culprit: Option<&str>, phases: &[(PhaseName, i64)]) -> Explanation {
    let latency_ns = spike.sample.latency_ns;
    let finding = culprit.map(|culprit| Finding::new(culprit.into(), Confidence::Certain, latency_ns));
    let mut explanation = crate::explain_without_trace(spike, 5_000);
    explanation.status = match culprit {
        Some(_) => ExplanationStatus::Explained,
        None => ExplanationStatus::NotExplained,
    };
    explanation.phases = phases.iter().map(|&(name, ns)| Phase { name, ns, owners: Vec::new() }).collect();
    explanation.findings = finding.into_iter().collect();
    explanation
}

fn analysed(explained: &[(Spike, Explanation)], worst: &[(u32, Sample)]) -> RunCauses {
    let spikes: Vec<Spike> = explained.iter().map(|(spike, _)| spike.clone()).collect();
    let explanations: Vec<Explanation> = explained.iter().map(|(_, explanation)| explanation.clone()).collect();
    analyse(&SpikesOfRun {
        spikes: &spikes,
        explanations: &explanations,
        worst,
        interval_ns: 1_000_000,
        tick_hz: Some(250),
        word: SampleWord::default(),
    })
}

fn run() -> Vec<(Spike, Explanation)> {
    let mut explained = Vec::new();
    for number in 0..9u32 {
        let spike = spike(number, 1, 77 * SECOND + i64::from(number * number) * 4 * SECOND, 90_000);
        explained.push((spike.clone(), explanation(&spike, Some("watchdog"), &[(PhaseName::Handler, 80_000)])));
    }
    let nmi = spike(20, 0, 80 * SECOND, 120_000);
    explained.push((nmi.clone(), explanation(&nmi, Some("nmi"), &[(PhaseName::TimerDelay, 110_000)])));
    let unknown = spike(21, 0, 91 * SECOND, 300_000);
    explained.push((unknown.clone(), explanation(&unknown, None, &[(PhaseName::ReturnToUser, 290_000)])));
    explained
}

#[test]
fn spikes_are_grouped_by_what_explains_them() {
    let explained = run();
    let mut worst: Vec<(u32, Sample)> = explained.iter().map(|(spike, _)| (spike.thread, spike.sample)).collect();
    worst.push((0, Sample { cpu: 0, cycle: 9_999, due_ns: 99 * SECOND, latency_ns: 250_000 }));
    let causes = analysed(&explained, &worst);
    let groups: Vec<(Option<&str>, usize, u32)> = causes
        .groups
        .iter()
        .map(|group| (group.culprit.as_ref().map(Culprit::id), group.spikes.len(), group.worst))
        .collect();
    assert_eq!(groups, [(Some("watchdog"), 9, 9), (Some("nmi"), 1, 1), (None, 1, 1)]);
    assert_eq!((causes.worst_samples, causes.worst_with_trace), (12, 11));
    let watchdog = &causes.groups[0];
    assert_eq!(watchdog.period.as_ref().map(|period| period.period_ns), Some(4 * SECOND), "{:?}", watchdog.rhythm);
    assert_eq!(watchdog.cpus.len(), 1);
    let new = causes.new_cause.unwrap();
    assert_eq!((new.attributed, new.seen_once, new.unexplained), (2, 2, 1), "the nine came within ten minutes");
    assert_eq!(new.chance_max, 1.0, "two occasions bound nothing");
}

#[test]
fn the_composed_latency_sums_the_worst_phases_of_different_spikes() {
    let composed = analysed(&run(), &[]).composed.unwrap();
    assert_eq!(composed.ns, 110_000 + 80_000 + 290_000);
    assert_eq!(composed.parts.iter().map(|part| part.ns).sum::<i64>(), composed.ns);
    assert!(composed.parts.windows(2).all(|pair| pair[0].phase < pair[1].phase));
    assert_eq!(analysed(&run()[9..10], &[]).composed, None, "one spike composes nothing");
}

#[test]
fn instants_of_a_recorder_that_could_not_keep_up_have_no_rhythm() {
    let explained = run();
    let uncaptured =
        (0..30).map(|at| (1, Sample { cpu: 1, cycle: 5_000 + at, due_ns: 80 * SECOND, latency_ns: 100_000 }));
    let causes = analysed(&explained, &uncaptured.collect::<Vec<_>>());
    assert_eq!(causes.groups[0].period, None);
    assert!(causes.groups[0].rhythm.contains("recorder"), "{}", causes.groups[0].rhythm);
}

#[test]
fn runs_without_explained_spikes_show_nothing() {
    assert_eq!(analysed(&[], &[]), RunCauses::default());
    let only_unknown = analysed(&run()[10..], &[]);
    assert_eq!(only_unknown.new_cause, None);
    assert_eq!(only_unknown.groups.len(), 1);
    let control = Spike { reason: SpikeReason::Control, ..spike(1, 0, SECOND, 5_000) };
    let explained = explanation(&control, Some("nmi"), &[]);
    assert_eq!(analysed(&[(control, explained)], &[]), RunCauses::default(), "controls are no spikes");
    let ordinary = spike(1, 0, SECOND, 5_000);
    let explained = Explanation { status: ExplanationStatus::Explained, ..explanation(&ordinary, None, &[]) };
    assert_eq!(analysed(&[(ordinary, explained)], &[]), RunCauses::default(), "what was not late needs no cause");
}
