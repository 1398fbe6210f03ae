//! The time that recording a stack trace takes in a timer interrupt: the tool's own, although the interrupt has the CPU.

use super::ledger::{Answer, Piece};
use crate::read::event::EventKind;
use crate::replay::trace::{CpuActivity, Trace};

/// Gives the tool what it spent in interrupts. Keeps the partition of the pieces.
pub fn attribute(pieces: Vec<Piece>, trace: &Trace) -> Vec<Piece> {
    if trace.cpus.iter().all(|activity| activity.stacks.is_empty()) {
        return pieces;
    }
    let mut attributed = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Answer::Held(context) = piece.answer else {
            attributed.push(piece);
            continue;
        };
        let recorded = trace.cpu(piece.cpu).filter(|_| context.is_hardirq()).map(stretches).unwrap_or_default();
        let mut rest = piece;
        for (start_ns, end_ns) in recorded {
            let (start_ns, end_ns) = (start_ns.max(rest.start_ns), end_ns.min(rest.end_ns));
            if start_ns >= end_ns {
                continue;
            }
            if start_ns > rest.start_ns {
                attributed.push(Piece { end_ns: start_ns, ..rest });
            }
            attributed.push(Piece { start_ns, end_ns, answer: Answer::StackRecorded(context), ..rest });
            rest.start_ns = end_ns;
        }
        if rest.start_ns < rest.end_ns {
            attributed.push(rest);
        }
    }
    attributed
}

/// From a timer's turn to the stack trace that it triggers.
fn stretches(activity: &CpuActivity) -> Vec<(i64, i64)> {
    let pairs = activity.events.windows(2);
    let triggered = pairs.filter(|pair| {
        matches!(pair[0].what, EventKind::HrtimerExpireEntry { .. }) && pair[1].what == EventKind::Stack
    });
    triggered.map(|pair| (pair[0].ts_ns, pair[1].ts_ns)).collect()
}
