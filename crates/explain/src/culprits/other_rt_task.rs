//! Another real-time task of at least our priority had the CPU.

use crate::case::{Case, Claim, held};
use crate::holder::Holder;
use crate::priority::priority_words;
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| {
        (case.kept_off(piece) || matches!(piece.phase, PhaseName::ReturnToUser | PhaseName::WakePath))
            && case.kind(piece) == OwnerKind::RtTask
            && held(piece).and_then(Holder::tid).is_some_and(|tid| case.outranks(tid))
    })?;
    let tid = pieces
        .iter()
        .max_by_key(|&&index| case.pieces[index].ns())
        .and_then(|&index| case.pieces[index].answer.holder().tid())
        .unwrap_or_default();
    let ours = priority_words(case.household.own_prio);
    let theirs = priority_words(case.names().prio(tid));
    let who = case.culprits(&pieces);
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("{who} ran with {theirs}, ours is {ours} ({})", case.share(&pieces)),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm: format!("chrt -p {tid}; ps -eLo tid,cls,rtprio,psr,comm lists all real-time threads"),
        fix: match case.names().comm(tid) {
            comm if comm.starts_with("migration/") => {
                "stop-machine work: do not load modules, toggle tracing or hotplug CPUs while measuring".into()
            }
            _ => {
                format!("lower it (chrt -p -f 1 {tid}), raise ours (--priority), or move it off this CPU (taskset -p)")
            }
        },
        pieces,
    })
}
