//! The rules of `tardy check` on facts of real machines, well configured and misconfigured, and on noise.

mod documents;
mod noise;
mod planted;
mod sessions;

use archive::facts::Facts;
use fixtures::repository::repository_path;
use readiness::{Checklist, Profile, Readiness, Severity, Subject, check};

/// A virtual machine with Debian's real-time kernel, booted with the output of `tardy check --format cmdline`; CPU 1 of
/// two is for real-time work.
const WELL_SET: &str = "well-set";
/// A virtual machine in a data centre with a custom kernel, not tuned for anything.
const ORDINARY: &str = "ordinary";

fn facts(name: &str) -> Facts {
    let path = repository_path("corpus/readiness").join(name).with_extension("json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn subject(cpus: Option<Vec<u32>>) -> Subject {
    Subject { cpus, priority: 80, profile: Profile::Auto }
}

fn judged(facts: &Facts) -> Readiness {
    check(facts, &subject(None), &Checklist::default(), &[])
}

/// Identifiers of findings above a notice.
fn bad(readiness: &Readiness) -> Vec<&str> {
    let open = readiness.open().filter(|finding| finding.severity > Severity::Notice);
    open.map(|finding| finding.id.as_str()).collect()
}

fn all(readiness: &Readiness) -> Vec<&str> {
    readiness.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_machine_that_is_well_set_has_nothing_to_fix() {
    let readiness = judged(&facts(WELL_SET));
    assert_eq!(bad(&readiness), [""; 0]);
    assert!(readiness.is_ready() && readiness.dedicated);
    assert_eq!((readiness.cpus_realtime.as_str(), readiness.cpus_housekeeping.as_str()), ("1", "0"));
}

#[test]
fn an_ordinary_machine_is_shown_what_it_lacks() {
    let readiness = check(&facts(ORDINARY), &subject(Some(vec![1])), &Checklist::default(), &[]);
    let found = bad(&readiness);
    for id in ["kernel.preempt-rt", "isolation.scheduler", "interrupts.affinity", "memory.locked-pages-move"] {
        assert!(found.contains(&id), "{id} is not in {found:?}");
    }
    let unknown: Vec<&str> = readiness.not_known.iter().map(|one| one.id.as_str()).collect();
    let (of_the_kernel, of_sessions) = unknown.split_at(3);
    assert_eq!(of_the_kernel, ["scheduler.fair-server", "scheduler.extensible", "firmware.management-interrupts"]);
    // The meter that read these facts did not read sessions.
    assert!(of_sessions.len() == 4 && of_sessions.iter().all(|id| id.starts_with("sessions.")), "{of_sessions:?}");
}

#[test]
fn accepted_findings_do_not_count_and_unused_acceptances_are_reported() {
    let facts = facts(ORDINARY);
    let all = check(&facts, &subject(None), &Checklist::default(), &[]);
    let lines = readiness::acceptance_lines(all.to_fix(false));
    let text = format!("{}\n* power.frequency-governor # not there\n", lines.join("\n"));
    let accepted = readiness::Accepted::parse(&text).unwrap();
    let accepting = check(&facts, &subject(None), &Checklist::default(), &accepted);
    assert!(!all.is_ready() && accepting.is_ready());
    assert_eq!(accepting.findings.len(), all.findings.len());
    assert_eq!(accepting.accepted_unused, ["* power.frequency-governor"]);
}
