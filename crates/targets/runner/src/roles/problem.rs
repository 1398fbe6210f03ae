//! Problems between the machines of one measurement.

use archive::problem::Problem;
use archive::roles::RunRole;
use thiserror::Error;

/// A problem that one run has because of another.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum RoleProblem {
    #[error("the run did not start, because the run on the {role} machine ({target}) failed{}", because(.why.as_deref()))]
    #[problem(
        code = "role.not-started",
        meaning = "In a measurement with a machine for each role, another machine failed before this one started.",
        fix = "find out why the other machine's run failed",
        documented_fix = "find out why the other machine failed; the text says so"
    )]
    NotStarted { role: RunRole, target: String, why: Option<String> },
    #[error("the run of the {role} machine ({target}) ended early, and this one with it{}", because(.why.as_deref()))]
    #[problem(
        code = "role.ended-early",
        meaning = "In a measurement with a machine for each role, another machine's run ended early. The figures \
                   until then are sound.",
        fix = "find out why the other machine's run failed",
        documented_fix = "find out why the other machine's run ended; the text and its archive say so"
    )]
    EndedEarly { role: RunRole, target: String, why: Option<String> },
    #[error("stopped on request before every machine was ready")]
    #[problem(
        code = "role.stopped",
        meaning = "The user stopped a measurement with a machine for each role before every machine was ready.",
        fix = "",
        documented_fix = "nothing, if that was the intention"
    )]
    Stopped,
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_machine_is_named() {
        let (role, target) = (RunRole::Stimulus, "pc".to_owned());
        let kinds = [
            RoleProblem::NotStarted { role, target: target.clone(), why: Some("no port".into()) },
            RoleProblem::EndedEarly { role, target, why: None },
        ];
        assert!(kinds.iter().all(|kind| kind.to_string().contains("stimulus machine (pc)")), "{kinds:?}");
        assert!(kinds[0].to_string().ends_with(": no port"), "{}", kinds[0]);
    }
}
