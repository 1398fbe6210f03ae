//! Problems of an external board that gives the stimuli.

use archive::problem::Problem;
use protocol::latmon::Contradiction;
use std::time::Duration;
use thiserror::Error;

/// A problem with the board.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum StimulusProblem {
    #[error("the stimulus board at {address} cannot be reached: {why}")]
    #[problem(
        code = "stimulus.no-board",
        meaning = "The external board of --stimulus cannot be reached, so the run did not start.",
        fix = "check that the board is on, runs latmon and waits (its console says `Waiting for Latmus`), that no \
               other program is connected to it, and the address; Zephyr prints it as `Listening on`",
        documented_fix = "check that the board is on, runs latmon and waits for a connection, that no other program \
                          is connected to it, and its address"
    )]
    NoBoard { address: String, why: String },
    #[error("the stimulus board was not found: {why}")]
    #[problem(
        code = "stimulus.not-announced",
        meaning = "No external board announced its address on the network, so the run did not start.",
        fix = "give the board's address: --stimulus latmon:ADDRESS; its console shows it",
        documented_fix = "give the address: --stimulus latmon:ADDRESS"
    )]
    NotAnnounced { why: String },
    #[error("the connection to the stimulus board was lost after {answers} answers: {why}")]
    #[problem(
        code = "stimulus.cut",
        meaning = "The connection to the external board was lost. The target's own figures are sound until its \
                   stimuli ended.",
        fix = "check the board's power and network; reset it before the next run",
        documented_fix = "check the board's power and network, and reset it"
    )]
    Cut { why: String, answers: u64 },
    #[error("{}", silent(*limit, *answers))]
    #[problem(
        code = "stimulus.silent",
        meaning = "The external board sent nothing for longer than its records take. Zephyr's latmon stops at a \
                   stimulus that has no answer within 1 ms. Where it saw no answer before, the run is not valid.",
        fix = "check both wires; Zephyr's latmon waits 1 ms for an answer and stops at one that is later",
        documented_fix = "check both wires. If the target can be later than 1 ms, build latmon with a longer wait"
    )]
    Silent { limit: Duration, answers: u64 },
    #[error("no signal: the stimulus board saw no answer in time, and counts {overruns} stimuli without one")]
    #[problem(
        code = "stimulus.no-signal",
        meaning = "The external board gave stimuli and saw no answer to any of them, so the run is not valid.",
        fix = "check both wires and the common ground: the board's pulse to in=, out= to the board's ack; the board \
               gives falling edges (edge=falling), and waits for a rising one",
        documented_fix = "check both wires and the common ground, the numbers of the lines, and the direction of the \
                          edges"
    )]
    NoSignal { overruns: u64 },
    #[error("the service at the address of the stimulus board does not speak latmon: {contradiction}")]
    #[problem(
        code = "stimulus.wrong-answer",
        meaning = "The bytes that the external board sent contradict latmon's protocol. The data before them is kept.",
        fix = "check address and port; latmon listens at port 2306",
        documented_fix = "check address and port: latmon listens at port 2306"
    )]
    WrongAnswer { contradiction: Contradiction },
    #[error("the stimulus board ended its measurement by itself after {answers} answers")]
    #[problem(
        code = "stimulus.ended-early",
        meaning = "The external board ended its measurement before it was asked to.",
        fix = "reset the board, and check that no other program uses it"
    )]
    EndedEarly { answers: u64 },
    #[error(
        "the connection to the stimulus board ended with that to the target, and its measurement cannot be resumed: \
         {answers} answers of it are kept, and the target had no stimuli from then on"
    )]
    #[problem(
        code = "stimulus.not-resumed",
        meaning = "`tardy target collect` fetched the rest of a run whose stimuli an external board gave. The board was \
                   connected to the host, so its stimuli ended when the host lost the run.",
        fix = "the target's figures stand for the time with stimuli; reset the board, and measure again for its \
               figures",
        documented_fix = "use the target's figures for the time before, or measure again. Run tardy on a host that \
                          stays connected"
    )]
    NotResumed { answers: u64 },
}

fn silent(limit: Duration, answers: u64) -> String {
    let limit_s = limit.as_secs();
    match answers {
        0 => format!(
            "no signal: the stimulus board sent nothing for {limit_s} s, and saw no answer before; it hangs, or it gave up at \
             its first stimulus"
        ),
        _ => format!(
            "the stimulus board sent nothing for {limit_s} s after {answers} answers: it hangs, or it gave up at a stimulus \
             that had no answer in time"
        ),
    }
}
