//! Culprits and facts as they are stored.

use super::*;
use crate::evidence::Evidence;
use crate::explanation::Finding;
use serde_json::{Value, from_value, json, to_value};

fn finding(facts: Value, evidence: Value) -> Finding {
    let stored = json!({
        "culprit": "nmi", "confidence": "certain", "ns": 9,
        "facts": facts, "evidence_facts": evidence,
        "sentence": "said", "evidence": [], "confirm": "", "fix": "",
    });
    from_value(stored).unwrap()
}

#[test]
fn every_culprit_is_stored_as_its_identifier() {
    for culprit in Culprit::ALL {
        let stored = to_value(culprit).unwrap();
        assert_eq!(stored, culprit.id());
        assert_eq!(from_value::<Culprit>(stored).unwrap(), *culprit);
    }
}

#[test]
fn a_culprit_of_another_version_keeps_its_identifier() {
    let other: Culprit = from_value(json!("moon-phase")).unwrap();
    assert_eq!(other, Culprit::Other("moon-phase".into()));
    assert_eq!(to_value(&other).unwrap(), "moon-phase");
}

#[test]
fn facts_are_stored_under_the_identifier_of_their_culprit() {
    let who = Holders { largest: Holder::Untraced, others: 0 };
    let facts = Facts::Ksm(NamedHolders { who, is_thread: true, asked_with_preemption_off: false });
    let stored = to_value(&facts).unwrap();
    assert_eq!(stored["ksm"]["is_thread"], true);
    assert_eq!(finding(stored, json!([])).facts, Some(facts.clone()));
    assert_eq!(facts.culprit(), Culprit::Ksm);
}

#[test]
fn facts_and_evidence_of_a_newer_version_are_left_out() {
    let found = finding(json!({"moon-phase": {"full": true}}), json!([{"steal_time": {"ns": 4}}, {"tide": 7}]));
    assert_eq!(found.facts, None);
    assert_eq!(found.evidence_facts, [Evidence::StealTime { ns: 4 }]);
    assert_eq!(found.sentence, "said");
}

#[test]
fn a_finding_of_an_older_version_has_no_facts() {
    let old = json!({
        "culprit": "nmi", "sentence": "said", "confidence": "hint", "ns": 1, "evidence": ["a line"], "confirm": "a", "fix": "b",
    });
    let old: Finding = from_value(old).unwrap();
    assert_eq!((old.facts, old.evidence_facts, old.evidence.len()), (None, Vec::new(), 1));
}
