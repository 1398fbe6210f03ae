//! What can go wrong with an external board that gives the stimuli.

use archive::problem::{Code, Definition, ProblemKind};
use protocol::latmon::Contradiction;
use std::fmt;
use std::time::Duration;

/// A problem with the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StimulusProblem {
    NoBoard { address: String, why: String },
    NotAnnounced { why: String },
    Cut { why: String, answers: u64 },
    Silent { limit: Duration, answers: u64 },
    NoSignal { overruns: u64 },
    WrongAnswer { contradiction: Contradiction },
    EndedEarly { answers: u64 },
    NotResumed { answers: u64 },
}

impl fmt::Display for StimulusProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBoard { address, why } => write!(out, "the stimulus board at {address} cannot be reached: {why}"),
            Self::NotAnnounced { why } => write!(out, "the stimulus board was not found: {why}"),
            Self::Cut { why, answers } => {
                write!(out, "the connection to the stimulus board was lost after {answers} answers: {why}")
            }
            Self::Silent { limit, answers: 0 } => write!(
                out,
                "no signal: the stimulus board sent nothing for {} s, and saw no answer before; it hangs, or it gave up at its \
                 first stimulus",
                limit.as_secs()
            ),
            Self::Silent { limit, answers } => write!(
                out,
                "the stimulus board sent nothing for {} s after {answers} answers: it hangs, or it gave up at a stimulus \
                 that had no answer in time",
                limit.as_secs()
            ),
            Self::NoSignal { overruns } => write!(
                out,
                "no signal: the stimulus board saw no answer in time, and counts {overruns} stimuli without one"
            ),
            Self::WrongAnswer { contradiction } => {
                write!(out, "what answers at the address of the stimulus board does not speak latmon: {contradiction}")
            }
            Self::EndedEarly { answers } => {
                write!(out, "the stimulus board ended its measurement by itself after {answers} answers")
            }
            Self::NotResumed { answers } => write!(
                out,
                "the connection to the stimulus board ended with that to the target, and its measurement cannot be resumed: \
                 {answers} answers of it are kept, and the target had no stimuli from then on"
            ),
        }
    }
}

impl ProblemKind for StimulusProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::NoBoard { .. } => "stimulus.no-board",
            Self::NotAnnounced { .. } => "stimulus.not-announced",
            Self::Cut { .. } => "stimulus.cut",
            Self::Silent { .. } => "stimulus.silent",
            Self::NoSignal { .. } => "stimulus.no-signal",
            Self::WrongAnswer { .. } => "stimulus.wrong-answer",
            Self::EndedEarly { .. } => "stimulus.ended-early",
            Self::NotResumed { .. } => "stimulus.not-resumed",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::NoBoard { .. } => {
                "check that the board is on, runs latmon and waits (its console says `Waiting for Latmus`), that no other \
                 program is connected to it, and the address; Zephyr prints it as `Listening on`"
            }
            Self::NotAnnounced { .. } => "give the board's address: --stimulus latmon:ADDRESS; its console shows it",
            Self::Cut { .. } => "check the board's power and network; reset it before the next run",
            Self::Silent { .. } => {
                "check both wires; Zephyr's latmon waits 1 ms for an answer and stops at one that is later"
            }
            Self::NoSignal { .. } => {
                "check both wires and the common ground: the board's pulse to in=, out= to the board's ack; the board gives \
                 falling edges (edge=falling), and waits for a rising one"
            }
            Self::WrongAnswer { .. } => "check address and port; latmon listens at port 2306",
            Self::EndedEarly { .. } => "reset the board, and check that no other program uses it",
            Self::NotResumed { .. } => {
                "the target's figures stand for the time with stimuli; reset the board, and measure again for its figures"
            }
        }
        .into()
    }
}

/// Every code of this module.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "stimulus.no-board",
        meaning: "The external board of --stimulus cannot be reached, so the run did not start.",
        fix: "Check that the board is on, runs latmon and waits for a connection, that no other program is connected to it, \
              and its address.",
    },
    Definition {
        code: "stimulus.not-announced",
        meaning: "No external board announced its address on the network, so the run did not start.",
        fix: "Give the address: --stimulus latmon:ADDRESS.",
    },
    Definition {
        code: "stimulus.cut",
        meaning: "The connection to the external board was lost. The target's own figures are sound until its stimuli ended.",
        fix: "Check the board's power and network, and reset it.",
    },
    Definition {
        code: "stimulus.silent",
        meaning: "The external board sent nothing for longer than its records take. Zephyr's latmon stops at a stimulus that \
                  has no answer within 1 ms. Where it saw no answer before, the run is not valid.",
        fix: "Check both wires. If the target can be later than 1 ms, build latmon with a longer wait.",
    },
    Definition {
        code: "stimulus.no-signal",
        meaning: "The external board gave stimuli and saw no answer to any of them, so the run is not valid.",
        fix: "Check both wires and the common ground, the numbers of the lines, and the direction of the edges.",
    },
    Definition {
        code: "stimulus.wrong-answer",
        meaning: "The bytes that the external board sent contradict latmon's protocol. What came before them is kept.",
        fix: "Check address and port: latmon listens at port 2306.",
    },
    Definition {
        code: "stimulus.ended-early",
        meaning: "The external board ended its measurement before it was asked to.",
        fix: "Reset the board, and check that no other program uses it.",
    },
    Definition {
        code: "stimulus.not-resumed",
        meaning: "`tardy collect` fetched the rest of a run whose stimuli an external board gave. The board was connected to the \
                  host, so its stimuli ended when the host lost the run.",
        fix: "Use the target's figures for the time before, or measure again. Run tardy on a host that stays connected.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_defined_once_and_has_a_fix() {
        let (text, answers) = (String::new, 0);
        let kinds = [
            StimulusProblem::NoBoard { address: text(), why: text() },
            StimulusProblem::NotAnnounced { why: text() },
            StimulusProblem::Cut { why: text(), answers },
            StimulusProblem::Silent { limit: Duration::ZERO, answers },
            StimulusProblem::NoSignal { overruns: 0 },
            StimulusProblem::WrongAnswer { contradiction: Contradiction::Beyond { bytes: 1 } },
            StimulusProblem::EndedEarly { answers },
            StimulusProblem::NotResumed { answers },
        ];
        let codes: Vec<String> = kinds.iter().map(|kind| kind.code().to_string()).collect();
        let defined: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.code).collect();
        assert_eq!(codes, defined);
        assert!(kinds.iter().all(|kind| !kind.fix().is_empty() && !kind.to_string().is_empty()));
    }
}
