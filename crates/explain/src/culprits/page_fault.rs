//! The measuring thread took a page fault on its way.

use crate::case::{Case, Claim};
use crate::event::What;
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let tid = case.household.own_tid;
    let fault = case.event(|event| event.tid == tid && matches!(event.what, What::PageFault { .. }))?;
    let pieces = case.claim(|piece| {
        piece.phase == PhaseName::ReturnToUser && piece.end_ns > fault.ts_ns && case.kind(piece) == OwnerKind::Own
    })?;
    Some(Claim {
        confidence: Confidence::Likely,
        sentence: format!("the measuring thread took a page fault before it saw the clock ({})", case.share(&pieces)),
        events: vec![fault],
        evidence: Vec::new(),
        confirm: format!("fields 10 and 12 of /proc/self/task/{tid}/stat count minor and major faults"),
        fix: "lock and prefault memory (mlockall with MCL_CURRENT and MCL_FUTURE, write to the stack once); no fork, no NUMA balancing, no KSM".into(),
        pieces,
    })
}
