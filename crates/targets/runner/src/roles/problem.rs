//! What can go wrong between the machines of one measurement.

use archive::problem::{Code, Definition, ProblemKind};
use archive::roles::RunRole;
use thiserror::Error;

/// A problem that one run has because of another.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoleProblem {
    #[error("the run did not start, because that of the {role} machine ({target}) failed{}", because(.why.as_deref()))]
    NotStarted { role: RunRole, target: String, why: Option<String> },
    #[error("the run of the {role} machine ({target}) ended early, and this one with it{}", because(.why.as_deref()))]
    EndedEarly { role: RunRole, target: String, why: Option<String> },
    #[error("stopped on request before every machine was ready")]
    Stopped,
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

impl ProblemKind for RoleProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::NotStarted { .. } => "role.not-started",
            Self::EndedEarly { .. } => "role.ended-early",
            Self::Stopped => "role.stopped",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::NotStarted { .. } | Self::EndedEarly { .. } => "find out why the other machine's run failed",
            Self::Stopped => "",
        }
        .into()
    }
}

/// Every code of this module.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "role.not-started",
        meaning: "In a measurement with a machine for each role, another machine failed before this one started.",
        fix: "Find out why the other machine failed; the text says so.",
    },
    Definition {
        code: "role.ended-early",
        meaning: "In a measurement with a machine for each role, another machine's run ended early. The figures until then are \
                  sound.",
        fix: "Find out why the other machine's run ended; the text and its archive say so.",
    },
    Definition {
        code: "role.stopped",
        meaning: "The user stopped a measurement with a machine for each role before every machine was ready.",
        fix: "Nothing, if that was the intention.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_defined_once_and_the_machine_is_named() {
        let (role, target) = (RunRole::Stimulus, "pc".to_owned());
        let kinds = [
            RoleProblem::NotStarted { role, target: target.clone(), why: Some("no port".into()) },
            RoleProblem::EndedEarly { role, target, why: None },
            RoleProblem::Stopped,
        ];
        let codes: Vec<String> = kinds.iter().map(|kind| kind.code().to_string()).collect();
        let defined: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.code).collect();
        assert_eq!(codes, defined);
        assert!(kinds[0].to_string().ends_with("the stimulus machine (pc) failed: no port"), "{}", kinds[0]);
        assert!(kinds[1].to_string().ends_with("and this one with it"), "{}", kinds[1]);
    }
}
