//! Another thread of this tool had the CPU while the measuring thread was runnable.
//!
//! A late timer interrupt during such a thread is judged like one during any task: the thread may have masked it, or
//! the hypervisor may have delayed it. The stack traces that `--stack` records take their time in the timer interrupt.

use super::about::{About, Proof};
use crate::account::ledger::{Answer, Piece};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::passed_over::PassedOver;
use archive::culprit::OwnTool;
use archive::explanation::{Confidence, OwnerKind, PhaseName};
use archive::method::Stimulus;

pub const ABOUT: About = About {
    recognised: "a thread of this tool has the CPU while the measuring thread could run, or its stack trace is recorded in the timer interrupt",
    events: &["sched_switch"],
    shows: "a thread of this tool had the CPU after the wake-up",
    reading: &["ftrace - Function Tracer"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, OwnTool>> {
    // The measured path leads through the thread that gives the stimulus: it wakes the measuring thread and gives way to it.
    let woken = case.anchors.woken.filter(|_| case.input.stimulus == Stimulus::Thread);
    let giver = woken.and_then(|woken| case.event(|event| event.ts_ns == woken.ts_ns && event.cpu == woken.cpu));
    let giver = giver.map(|event| event.tid);
    let gives_stimulus = |piece: &Piece| match piece.phase {
        PhaseName::WakePath => case.input.stimulus == Stimulus::Thread,
        PhaseName::SchedulingDelay => giver.is_some() && piece.answer.context().tid() == giver,
        _ => false,
    };
    let throttled = PassedOver::find(case).filter(|found| found.is_throttling(case) == Some(true));
    let has_no_budget = |piece: &Piece| throttled.as_ref().is_some_and(|found| found.has_no_budget(case, piece));
    let pieces = case.claim(|piece| {
        case.kind(piece) == OwnerKind::Tool
            && piece.phase != PhaseName::TimerDelay
            && !gives_stimulus(piece)
            && !has_no_budget(piece)
    })?;
    let records_a_stack = |index: &&usize| matches!(case.pieces[**index].answer, Answer::StackRecorded(_));
    let stacks: Vec<usize> = pieces.iter().filter(records_a_stack).copied().collect();
    let facts = match case.ns(&stacks) * 2 > case.ns(&pieces) {
        true => OwnTool::RecordedStack,
        false => OwnTool::Ran(case.holders(&pieces)),
    };
    Some(Claim::new(pieces, Confidence::Certain, facts))
}
