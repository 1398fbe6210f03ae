//! Cases of the corpus without a part of their events, as if another tool had recorded them: what a trace no longer shows is blamed on
//! nothing else above a hint.

use crate::corpus::cases;
use archive::culprit::Culprit;
use archive::explanation::{Confidence, Explanation, Finding};
use explain::corpus_case::CorpusCase;
use explain::recorder::{Precision, Recorder};
use explain::{SpikeInput, explain_spike};
use fixtures::lacking::{Lacking, without};
use ftrace::trace_dat::PagedTrace;

const LACKING: [Lacking; 16] = [
    Lacking::Events(&["irq"]),
    Lacking::Events(&["irq_vectors"]),
    Lacking::Events(&["irq", "irq_vectors"]),
    Lacking::Events(&["irq/softirq_entry", "irq/softirq_exit", "irq/softirq_raise"]),
    Lacking::Events(&["timer"]),
    Lacking::Events(&["timer/hrtimer_start"]),
    Lacking::Events(&["irq", "irq_vectors", "timer"]),
    Lacking::Events(&["sched/sched_waking"]),
    Lacking::Events(&["sched/sched_waking", "sched/sched_wakeup", "sched/sched_wakeup_new"]),
    Lacking::Events(&["sched/sched_migrate_task"]),
    Lacking::Events(&["signal"]),
    Lacking::SwitchesOf(0),
    Lacking::SwitchesOf(1),
    Lacking::Cpu(1),
    Lacking::Priorities,
    Lacking::Stretches,
];

/// One of N pairs of a case and a lack is checked: all of them take minutes. `LACKING_ONE_OF=1` checks all.
const ONE_OF: usize = 4;
/// Culprits that are true as well where a more specific one, by its name, no longer shows: the same interrupt, softirq or stopped CPU
/// without what it executed.
const TRUE_AS_WELL: [(Culprit, &[Culprit]); 3] = [
    (Culprit::Softirq, &[Culprit::Rcu, Culprit::ClocksourceWatchdog]),
    (Culprit::PreviousIrq, &[Culprit::IrqStorm]),
    (Culprit::StopMachine, &[Culprit::Watchdog]),
];

/// Above a hint, with any part of the latency.
fn named(explanation: &Explanation) -> Vec<&Finding> {
    explanation.findings.iter().filter(|finding| finding.confidence > Confidence::Hint).collect()
}

/// Whether the whole trace shows this culprit, or a more specific one beside which it is true.
fn is_true(culprit: &Culprit, whole: &Explanation) -> bool {
    let beside = TRUE_AS_WELL.iter().filter(|(general, _)| general == culprit).flat_map(|(_, specific)| *specific);
    beside.chain([culprit]).any(|one| whole.findings.iter().any(|finding| finding.culprit == *one))
}

#[test]
fn without_a_part_of_its_events_no_case_names_another_culprit_above_a_hint() {
    let one_of = std::env::var("LACKING_ONE_OF").ok().and_then(|text| text.parse().ok()).unwrap_or(ONE_OF);
    let (mut checked, mut named_still, mut wrong) = (0, 0, Vec::new());
    for (index, directory) in cases().iter().enumerate() {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let case: CorpusCase = serde_json::from_slice(&std::fs::read(directory.join("spike.json")).unwrap()).unwrap();
        let trace = std::fs::read(directory.join("trace.dat")).unwrap();
        let whole = explain_spike(&case.input((&trace).into()));
        let of_case = LACKING.into_iter().enumerate().filter(|(number, _)| (index + number).is_multiple_of(one_of));
        for (_, lacking) in of_case {
            let less = without(&mut PagedTrace::open(&trace), lacking);
            let recorder = Recorder::Foreign(Precision { resolution_ns: 1, clock_spread_ns: 0 });
            let explanation = explain_spike(&SpikeInput { recorder, ..case.input((&less).into()) });
            let found = named(&explanation).into_iter();
            let others: Vec<&Finding> = found.filter(|finding| !is_true(&finding.culprit, &whole)).collect();
            checked += 1;
            let most = |finding: &&Finding| finding.ns * 2 > explanation.latency_ns;
            named_still += usize::from(named(&explanation).iter().any(most) && others.is_empty());
            let of = whole.findings.first().map(|finding| finding.culprit.id());
            wrong.extend(others.iter().map(|other| {
                format!("{name}, {lacking:?}: {} ({:?}) instead of {of:?}", other.culprit, other.confidence)
            }));
        }
    }
    let text = wrong.join("\n");
    println!("{checked} traces, {named_still} still name their culprit, {} name another:\n{text}", wrong.len());
    assert!(checked > 900 && named_still > 300, "{checked} traces, {named_still} still name their culprit");
    assert!(wrong.is_empty(), "{} of {checked}:\n{text}", wrong.len());
}
