//! Sentences about lines counted in the output of a watched command.

use archive::explanation::{Explanation, ExplanationStatus};
use archive::summary::{BESIDE_NS, CountedText, PrintedLine, RunSummary};
use std::collections::{BTreeMap, BTreeSet};
use words::figures::{count, counted, duration, latency};

/// Title of the section.
pub const TITLE: &str = "Counted lines";

/// Stands wherever lines have causes.
pub const NO_PROOF: &str = "A spike before a line does not show that it was the reason.";

/// Number of lines with a text.
pub fn headline(text: &CountedText) -> String {
    format!("{} with {}", counted(text.count, "line"), text.text)
}

/// The number of lines by the cause of the late wake-up before each: `21 lines with XRun: 20 after other-rt-task (hog-71), 1 after
/// no captured spike` with [`NO_PROOF`]. Causes with a name come first; threads of one name count together.
pub fn with_causes(text: &CountedText, summary: &RunSummary) -> String {
    let mut groups: BTreeMap<Group, (u64, BTreeSet<String>)> = BTreeMap::new();
    for line in &text.lines {
        let (lines, owners) = groups.entry(Group::of(line, summary)).or_default();
        *lines += 1;
        owners.extend(cause_before(line, summary).and_then(|cause| cause.owner));
    }
    let mut groups: Vec<(Group, (u64, BTreeSet<String>))> = groups.into_iter().collect();
    groups.sort_by_key(|(group, (lines, _))| (!matches!(group, Group::Cause { .. }), std::cmp::Reverse(*lines)));
    let mut each: Vec<String> =
        groups.iter().map(|(group, (lines, owners))| format!("{} {}", count(*lines), group.words(owners))).collect();
    let unkept = text.count.saturating_sub(text.lines.len() as u64);
    if unkept > 0 {
        each.push(format!("{} not kept", count(unkept)));
    }
    let of = if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
    format!("{}{of}.{}", headline(text), reservation(text).map(|said| format!(" {said}")).unwrap_or_default())
}

/// Lines that are counted together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// The name has no thread id.
    Cause {
        culprit: String,
        name: Option<String>,
    },
    NotExplained,
    NoSpike,
    UnknownInstant,
}

impl Group {
    fn of(line: &PrintedLine, summary: &RunSummary) -> Self {
        match (cause_before(line, summary), &line.beside, line.at_ns) {
            (Some(Cause { culprit, owner }), ..) => {
                Self::Cause { culprit, name: owner.map(|owner| without_id(&owner).to_owned()) }
            }
            (None, Some(_), _) => Self::NotExplained,
            (None, None, Some(_)) => Self::NoSpike,
            (None, None, None) => Self::UnknownInstant,
        }
    }

    /// As a phrase behind the number of such lines.
    fn words(&self, owners: &BTreeSet<String>) -> String {
        match self {
            Self::Cause { culprit, name } => {
                let only = owners.iter().next().filter(|_| owners.len() == 1);
                let cause = Cause { culprit: culprit.clone(), owner: only.or(name.as_ref()).cloned() };
                format!("after {}", cause.words())
            }
            Self::NotExplained => "after a wake-up that is not explained".into(),
            Self::NoSpike => "after no captured spike".into(),
            Self::UnknownInstant => "at an unknown instant".into(),
        }
    }
}

/// `hog` of `hog-71`.
fn without_id(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((name, id)) if !name.is_empty() && !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// [`NO_PROOF`] if a spike came before one of the lines.
pub fn reservation(text: &CountedText) -> Option<&'static str> {
    text.lines.iter().any(|line| line.beside.is_some()).then_some(NO_PROOF)
}

/// The first finding of an explanation.
struct Cause {
    culprit: String,
    /// The thread or interrupt that had the CPU longest.
    owner: Option<String>,
}

impl Cause {
    /// `other-rt-task (hog-71)`.
    fn words(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{} ({owner})", self.culprit),
            None => self.culprit.clone(),
        }
    }
}

/// The cause of the late wake-up before a line; `None` where nothing is explained.
fn cause_before(line: &PrintedLine, summary: &RunSummary) -> Option<Cause> {
    let number = line.beside.as_ref()?.spike;
    let entry = summary.spikes.iter().find(|entry| entry.spike.number == number)?;
    let explanation: &Explanation = entry.explanation.as_ref()?;
    let finding = explanation.findings.first().filter(|_| explanation.status == ExplanationStatus::Explained)?;
    let owner = explanation.phases.iter().flat_map(|phase| &phase.owners).max_by_key(|owner| owner.ns);
    let owner = owner.map(|owner| owner.name.clone()).filter(|name| !name.is_empty());
    Some(Cause { culprit: finding.culprit.to_string(), owner })
}

/// When a line was printed, if known, and how exactly.
pub fn when(line: &PrintedLine) -> String {
    match (line.at_ns, line.uncertain_ns) {
        (None, _) => "at an unknown instant".into(),
        (Some(at), None) => format!("at {}", duration(at)),
        (Some(at), Some(before)) => format!("at {}, or up to {} earlier", duration(at), duration(before as i64)),
    }
}

/// The late wake-up before a line, with its cause.
pub fn beside(line: &PrintedLine, summary: &RunSummary) -> String {
    match (line.at_ns, &line.beside) {
        (None, _) => "the command ran on another machine".into(),
        (Some(_), None) => format!("no captured spike in the {} before", duration(BESIDE_NS)),
        (Some(_), Some(beside)) => {
            let whose = if beside.name.is_empty() { String::new() } else { format!(" of {}", beside.name) };
            let (before, late) = (latency(beside.before_ns), latency(beside.latency_ns));
            let cause = cause_before(line, summary).map(|cause| format!(", by {}", cause.words())).unwrap_or_default();
            format!("{before} after spike {}{whose} ({late}{cause})", beside.spike)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::assert_sentence;

    #[test]
    fn threads_of_one_name_count_together() {
        assert_eq!(
            ["hog-71", "rust-lld-4833", "rcu-", "irq/9-eth0", "-7"].map(without_id),
            ["hog", "rust-lld", "rcu-", "irq/9-eth0", "-7"]
        );
        let group = Group::Cause { culprit: "other-rt-task".into(), name: Some("hog".into()) };
        let owners = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(group.words(&owners(&["hog-71"])), "after other-rt-task (hog-71)");
        let both = group.words(&owners(&["hog-71", "hog-72"]));
        assert!(both.contains("other-rt-task") && both.contains("(hog)"), "{both}");
    }

    #[test]
    fn a_line_of_a_log_has_its_uncertainty() {
        let at = |at_ns, uncertain_ns| when(&PrintedLine { line: "XRun".into(), at_ns, uncertain_ns, beside: None });
        assert_eq!(at(Some(2_000_000_000), None), "at 2.0 s");
        let vague = [at(Some(2_000_000_000), Some(10_000_000)), at(None, None)];
        assert_sentence!("printed-lines", vague.join("\n"));
    }
}
