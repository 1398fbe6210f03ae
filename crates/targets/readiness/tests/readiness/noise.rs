//! Unreadable facts give no findings, and random facts no panics.

use crate::sessions::any_program;
use crate::{ORDINARY, WELL_SET, facts, judged, subject};
use archive::facts::{Fact, Facts, SessionFacts, TaskFact};
use proptest::prelude::*;
use readiness::{Checklist, check};

#[test]
fn a_fact_that_cannot_be_read_makes_no_finding_and_is_reported() {
    for name in [WELL_SET, ORDINARY] {
        let whole = facts(name);
        let before = judged(&whole);
        let mut reported = 0;
        for path in whole.files.keys() {
            let mut spoilt = whole.clone();
            spoilt.files.insert(path.clone(), Fact::Refused("Permission denied".into()));
            let after = judged(&spoilt);
            let new: Vec<_> = after
                .findings
                .iter()
                .filter(|finding| !before.findings.iter().any(|one| one.fingerprint == finding.fingerprint))
                .collect();
            assert!(new.is_empty(), "{name}, {path}: {new:?}");
            reported += usize::from(after.not_known.len() > before.not_known.len());
        }
        assert!(reported >= 25, "{name}: only {reported} unreadable files were reported");
    }
}

#[test]
fn of_nothing_nothing_is_known() {
    let nothing = judged(&Facts::default());
    assert!(nothing.findings.is_empty(), "{:?}", nothing.findings);
    assert!(nothing.not_known.len() > 30 && nothing.not_known.iter().all(|one| !one.why.is_empty()));
}

fn noise() -> impl Strategy<Value = String> {
    prop_oneof![
        "(?s).{0,40}",
        "[0-9a-fx,:/ -]{0,20}",
        Just("[always] never".to_owned()),
        Just("0-1".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("-9223372036854775808".to_owned()),
        Just("1".to_owned()),
    ]
}

fn task() -> impl Strategy<Value = TaskFact> {
    (any::<i32>(), noise(), noise(), any::<u8>(), noise(), any::<bool>(), any::<bool>()).prop_map(
        |(tid, name, policy, priority, cpus_allowed, kernel, bound)| TaskFact {
            tid,
            name,
            policy,
            priority,
            cpus_allowed,
            kernel,
            bound,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_facts_are_judged_without_panic(
        texts in prop::collection::vec(noise(), 200),
        words in prop::collection::vec(noise(), 8),
        tasks in prop::collection::vec(task(), 0..6),
        cpus in prop::option::of(prop::collection::vec(0u32..70_000, 0..4)),
        priority in any::<u8>(),
        programs in prop::collection::vec(any_program(noise), 0..4),
        rtkit_arguments in prop::option::of(prop::collection::vec(noise(), 0..4)),
    ) {
        let mut facts = facts(ORDINARY);
        let paths: Vec<String> = facts.files.keys().cloned().collect();
        for (path, text) in paths.into_iter().zip(texts.into_iter().cycle()) {
            facts.files.insert(path, Fact::Text(text));
        }
        facts.environment.command_line = Some(words.join(" isolcpus="));
        facts.environment.kernel_release = words[0].clone();
        facts.environment.cpus_online = Some(words[1].clone());
        facts.environment.cpus_isolated = Some(words[2].clone());
        facts.kernel_config = Some(format!("CONFIG_{}\n{}", words[3], words[4]));
        facts.cgroups = vec![words[5].clone()];
        facts.tasks = tasks;
        facts.sessions = Some(SessionFacts { programs, rtkit_arguments });
        let subject = readiness::Subject { priority, ..subject(cpus) };
        let readiness = check(&facts, &subject, &Checklist::default(), &[]);
        prop_assert!(readiness.findings.iter().all(|finding| !finding.what.is_empty()));
        let _ = readiness::kernel_arguments(readiness.to_fix(true));
        let text = readiness::sysctl_text(readiness.to_fix(true));
        prop_assert!(text.lines().all(|line| line.starts_with('#') || line.contains(" = ")));
    }
}
