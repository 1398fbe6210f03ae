//! Other timers expired in the same interrupt.

use crate::case::{Case, Claim, held};
use crate::event::Vector;
use crate::holder::Holder;
use archive::explanation::{Confidence, PhaseName};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| {
        let Some(holder) = held(piece) else { return false };
        let timer =
            matches!(holder, Holder::Vector { vector: Vector::LocalTimer, .. }) || case.is_wake_interrupt(piece);
        let before_ours = piece.phase == PhaseName::Handler;
        let other = holder.function().is_some_and(|function| before_ours || !is_wakeup(case, function));
        timer && holder.is_hardirq() && other && piece.phase != PhaseName::WakePath
    })?;
    let (who, others) = case.largest(&pieces, |case, piece| {
        piece.answer.holder().function().map_or_else(String::new, |function| case.names().function(function))
    });
    let more = if others > 0 { format!(" and {others} others") } else { String::new() };
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("other timers had their turn in the same interrupt: {who}{more} ({})", case.share(&pieces)),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm: "/proc/timer_list shows which timers this CPU has".into(),
        fix: "keep their owners off this CPU; skew_tick=1 and an interval that is no multiple of the tick spread expiries; nohz_full removes the tick".into(),
        pieces,
    })
}

fn is_wakeup(case: &Case, function: u64) -> bool {
    case.names().function_known(function) == Some("hrtimer_wakeup")
}
