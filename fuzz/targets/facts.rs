//! Facts of a real machine with changed texts, or any bytes: the rules read whatever a target sends.
#![no_main]

use archive::facts::{Fact, Facts};
use libfuzzer_sys::{arbitrary, fuzz_target};
use readiness::{Checklist, Profile, Subject, check, kernel_arguments, sysctl_text, writes};
use std::sync::LazyLock;
use tardy_fuzz::{Damage, spoilt, within_budget};

const SOUND: [&str; 2] =
    [include_str!("../../corpus/readiness/ordinary.json"), include_str!("../../corpus/readiness/well-set.json")];
static FACTS: LazyLock<Vec<Facts>> =
    LazyLock::new(|| SOUND.iter().map(|text| serde_json::from_str(text).expect("facts of the corpus")).collect());

#[derive(Debug, arbitrary::Arbitrary)]
enum Change<'a> {
    /// A file has this text.
    File(u16, &'a str),
    /// A file's text is damaged.
    Damaged(u16, Vec<Damage>),
    Absent(u16),
    Refused(u16, &'a str),
    KernelConfig(Option<&'a str>),
    Task(u16, &'a str, u8),
    ControlGroups(Vec<&'a str>),
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Any(&'a [u8]),
    Changed { which: u8, changes: Vec<Change<'a>>, cpus: Option<Vec<u16>>, priority: u8, checklist: &'a str },
}

fn change(facts: &mut Facts, change: Change) {
    let count = facts.files.len().max(1);
    let file = |facts: &mut Facts, which: u16, new: &dyn Fn(&Fact) -> Fact| {
        if let Some(fact) = facts.files.values_mut().nth(usize::from(which) % count) {
            *fact = new(fact);
        }
    };
    match change {
        Change::File(which, text) => file(facts, which, &|_| Fact::Text(text.into())),
        Change::Damaged(which, damages) => file(facts, which, &|fact| match fact {
            Fact::Text(text) => Fact::Text(String::from_utf8_lossy(&spoilt(text.as_bytes(), &damages)).into_owned()),
            other => other.clone(),
        }),
        Change::Absent(which) => file(facts, which, &|_| Fact::Absent),
        Change::Refused(which, why) => file(facts, which, &|_| Fact::Refused(why.into())),
        Change::KernelConfig(text) => facts.kernel_config = text.map(str::to_owned),
        Change::Task(which, cpus, priority) => {
            let tasks = facts.tasks.len().max(1);
            if let Some(task) = facts.tasks.get_mut(usize::from(which) % tasks) {
                task.cpus_allowed = cpus.into();
                task.priority = priority;
            }
        }
        Change::ControlGroups(groups) => facts.cgroups = groups.into_iter().map(str::to_owned).collect(),
    }
}

fuzz_target!(|input: Input| {
    let (facts, cpus, priority, checklist) = match input {
        Input::Any(bytes) => {
            let facts = within_budget(bytes.len(), || runner::facts::parse(bytes));
            let Ok(facts) = facts else { return };
            (facts, None, 80, "")
        }
        Input::Changed { which, changes, cpus, priority, checklist } => {
            let mut facts = FACTS[usize::from(which) % FACTS.len()].clone();
            changes.into_iter().for_each(|it| change(&mut facts, it));
            (facts, cpus, priority, checklist)
        }
    };
    let bytes = serde_json::to_vec(&facts).map_or(0, |text| text.len());
    within_budget(bytes, || {
        let checklist = Checklist::parse(checklist).unwrap_or_default();
        let cpus = cpus.map(|cpus| cpus.into_iter().map(u32::from).collect());
        let subject = Subject { cpus, priority: priority.clamp(1, 99), profile: Profile::Auto };
        let readiness = check(&facts, &subject, &checklist, &[]);
        kernel_arguments(readiness.findings.iter());
        sysctl_text(readiness.findings.iter());
        writes(readiness.findings.iter());
    });
});
