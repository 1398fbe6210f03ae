//! Words for findings: one module for each culprit, with its general advice and what it says of its facts.

mod absence;
mod named;
mod on_the_host;
mod slowdown;

use crate::evidence;
use crate::own_code;
use crate::voice::{Share, Voice};
use archive::culprit::{Culprit, Facts};
use archive::evidence::Evidence;
use archive::explanation::Finding;

/// General texts about a culprit.
#[derive(Debug, Clone, Copy)]
pub struct Advice {
    /// The culprit in a few words.
    pub title: &'static str,
    /// The command that confirms it.
    pub confirm: &'static str,
    /// The change to make.
    pub fix: &'static str,
}

/// The words of one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingWords {
    /// The culprit and its share.
    pub sentence: String,
    /// Lines of evidence that only this culprit has.
    pub evidence: Vec<String>,
    pub confirm: String,
    pub fix: String,
}

impl Advice {
    /// A finding with the general advice and no evidence of its own.
    fn with(&self, sentence: String) -> FindingWords {
        FindingWords { sentence, evidence: Vec::new(), confirm: self.confirm.into(), fix: self.fix.into() }
    }
}

macro_rules! modules {
    ($($variant:ident $id:literal $module:ident $facts:ident;)*) => {
        $(mod $module;)*

        /// General texts about a culprit; `None` if it is of another version.
        pub fn advice(culprit: &Culprit) -> Option<&'static Advice> {
            match culprit {
                $(Culprit::$variant => Some(&$module::ADVICE),)*
                Culprit::Other(_) => None,
            }
        }

        fn words(facts: &Facts, share: Share) -> FindingWords {
            match facts {
                $(Facts::$variant(facts) => $module::words(facts, share),)*
            }
        }
    };
}

archive::culprits!(modules);

/// A culprit by its identifier, in words: `interrupts masked by a task (irqs-off)`. A text that names none stays as it is.
pub fn named(id: &str) -> String {
    advice(&Culprit::from(id)).map_or_else(|| id.to_owned(), |advice| format!("{} ({id})", advice.title))
}

/// Writes the words of a finding that has facts; one without keeps its words.
pub fn fill_in(finding: &mut Finding, latency_ns: i64, voice: Voice) {
    let Some(facts) = &finding.facts else { return };
    let FindingWords { mut sentence, evidence: own, confirm, fix } =
        words(facts, Share { ns: finding.ns, latency_ns, voice });
    let innocent = matches!(finding.culprit, Culprit::Steal | Culprit::Silence);
    for evidence in &finding.evidence_facts {
        match evidence {
            Evidence::Function(spent) => sentence.push_str(&evidence::where_spent(spent, innocent)),
            Evidence::SlowCode(slow) => sentence.push_str(&format!("; {}", own_code::sentence(slow))),
            Evidence::LongestWait(wait) => sentence.push_str(&format!("; {}", own_code::longest_wait(wait))),
            _ => {}
        }
    }
    let line = |evidence: &Evidence| evidence::line(evidence, voice);
    let (events, others): (Vec<&Evidence>, Vec<&Evidence>) =
        finding.evidence_facts.iter().partition(|evidence| matches!(evidence, Evidence::Event(_)));
    finding.evidence = events.into_iter().map(line).chain(own).chain(others.into_iter().map(line)).collect();
    (finding.sentence, finding.confirm, finding.fix) = (sentence, confirm, fix);
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::culprit::{BlockingTask, NamedHolders};
    use archive::culprit::{ForeignText, Holder, Holders, KernelName, SlowReturn, TaskName, WhyBlocking};
    use archive::evidence::FunctionTime;
    use archive::explanation::Confidence;
    use archive::functions::ChainSource;
    use archive::method::SampleWord;
    use archive::watched::WatchedKind;

    fn written(mut finding: Finding, watched: Option<WatchedKind>) -> Finding {
        fill_in(&mut finding, 100_000, Voice { watched, sample: SampleWord::default() });
        finding
    }

    fn finding(facts: Facts, evidence: Vec<Evidence>) -> Finding {
        let culprit = facts.culprit();
        Finding { facts: Some(facts), evidence_facts: evidence, ..Finding::new(culprit, Confidence::Likely, 50_000) }
    }

    fn hackbench() -> Holders {
        let task = TaskName { tid: 4711, comm: "hackbench".into() };
        Holders { largest: Holder::Task { task, function: None }, others: 2 }
    }

    #[test]
    fn a_finding_without_facts_keeps_its_sentence() {
        let stored = Finding { sentence: "said".into(), ..Finding::new(Culprit::Nmi, Confidence::Hint, 1) };
        assert_eq!(written(stored.clone(), None), stored);
    }

    #[test]
    fn the_voice_names_the_thread() {
        let facts = || {
            let why = WhyBlocking::NotAsked;
            Facts::BlockingTask(BlockingTask { who: hackbench(), asked: None, why, without_wake_up: false })
        };
        let sentence = |watched| written(finding(facts(), Vec::new()), watched).sentence;
        assert!(sentence(None).contains(" the measuring thread "), "{}", sentence(None));
        let cycle = sentence(Some(WatchedKind::Cycle));
        assert!(cycle.contains(" the watched thread ") && cycle.contains("50 % of the cycle"), "{cycle}");
    }

    #[test]
    fn evidence_of_the_culprit_comes_after_events_and_before_the_rest() {
        let clocksource = Some(ForeignText("tsc".into()));
        let facts = Facts::SlowReturn(SlowReturn::Unknown { clocksource });
        let found = written(finding(facts, vec![Evidence::StealTime { ns: 7 }]), None);
        assert_eq!(found.evidence.len(), 2);
        assert_eq!(found.evidence[0], "clocksource is tsc");
    }

    #[test]
    fn the_function_ends_the_sentence() {
        let chain = vec![KernelName("shrink_dentry_list".into()), KernelName("prune_dcache_sb".into())];
        let spent = FunctionTime { ns: Some(40_000), chain, source: ChainSource::Graph, last_entered: false };
        let facts = Facts::Ksm(NamedHolders { who: hackbench(), is_thread: true, asked_with_preemption_off: false });
        let found = written(finding(facts, vec![Evidence::Function(spent)]), None);
        assert!(found.sentence.ends_with("; 40.0 µs were spent in `shrink_dentry_list` < `prune_dcache_sb`"));
        assert!(found.sentence.contains("hackbench-4711 and 2 others"), "{}", found.sentence);
    }

    #[test]
    fn every_culprit_has_advice_and_one_of_another_version_has_none() {
        assert!(Culprit::ALL.iter().all(|culprit| advice(culprit).is_some()));
        assert!(advice(&Culprit::Other("moon-phase".into())).is_none());
        assert_eq!(named("silence"), "hypervisor or firmware (silence)");
        assert_eq!(named("not explained"), "not explained");
    }
}
