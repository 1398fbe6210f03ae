//! Sentences of an explanation, written again from its anonymous facts.

use archive::explanation::{Explanation, Finding, Mark, MarkKind};
use archive::reader::Run;
use words::culprits::advice;
use words::explanation::fill_in;
use words::voice::{Share, Voice};

/// Writes the sentences of the findings and marks of an explanation of this run.
pub fn write_again(explanation: &mut Explanation, run: &Run) {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let sample = settings.map(|settings| settings.method.sample()).unwrap_or_default();
    let watched = run.spikes.iter().find(|spike| spike.number == explanation.spike).and_then(|spike| spike.watched);
    let voice = Voice { watched, sample };
    explanation.elsewhere.clear();
    fill_in(explanation, voice);
    let latency_ns = explanation.latency_ns;
    explanation.findings.iter_mut().for_each(|finding| advise(finding, Share { ns: finding.ns, latency_ns, voice }));
    explanation.marks.iter_mut().filter(|mark| mark.event.is_none()).for_each(name);
}

/// Where no facts are published, what holds for every finding of the culprit.
fn advise(finding: &mut Finding, share: Share) {
    finding.evidence.retain(|line| !line.is_empty());
    let Some(advice) = advice(&finding.culprit).filter(|_| finding.sentence.is_empty()) else { return };
    finding.sentence = format!("{} ({share})", advice.title);
    finding.confirm = advice.confirm.into();
    finding.fix = advice.fix.into();
}

fn name(mark: &mut Mark) {
    mark.text = match mark.kind {
        MarkKind::Woken => "the waking of the thread starts",
        MarkKind::GivenCpu => "the thread gets the CPU",
        MarkKind::Ipi => "another CPU asks the late one for attention",
        MarkKind::Migrated => "the thread moves to another CPU",
        MarkKind::Boosted => "a thread inherits a priority, or goes back to its own",
        MarkKind::Frequency => "the frequency of a CPU changes",
        MarkKind::Marker => "a program writes into the trace",
    }
    .into();
}
