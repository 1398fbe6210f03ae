//! The thread returned to its timer after the next wake-up was already due.

use super::about::{About, Proof};
use super::own_work;
use super::passed_over::PassedOver;
use crate::account::ledger::Piece;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::explanation::{Confidence, PhaseName};
use words::figures::latency;

pub const ABOUT: About = About {
    recognised: "the thread starts its timer after the instant it is due, and was not merely interrupted or pushed aside on the way to it; a watched thread that computed until then is own-work; a hint where the trace shows neither a late wake-up before it nor what had the CPU",
    confirm: "explain the previous wake-up: its lateness is the cause",
    fix: "fix the previous cycle, or use a longer interval",
    reading: &["hrtimers - subsystem for high-resolution kernel timers"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let due_ns = case.trace.window.due_ns;
    let previous = case.input.spike.previous_seen_ns;
    let overran = case.previous_overran();
    let passed_over: Vec<Piece> = PassedOver::find(case)
        .map_or_else(Vec::new, |found| found.pieces.iter().map(|&index| case.pieces[index]).collect());
    let pieces = case.claim(|piece| {
        piece.phase == PhaseName::LateArm
            && !case.is_held_up_by_another(piece)
            && !passed_over.contains(piece)
            && (case.input.spike.watched.is_some() || !case.kept_off(piece))
            && !own_work::overruns(case, piece)
    })?;
    let sample = case.input.sample;
    let by_timer = sample.is_wake_up();
    let mut evidence = Vec::new();
    if let Some(seen_ns) = previous {
        let side = if seen_ns > due_ns { "after" } else { "before" };
        let apart = latency((seen_ns - due_ns).abs());
        evidence.push(if by_timer {
            format!("the thread saw its previous wake-up {apart} {side} this one was due")
        } else {
            format!("its previous sample ended {apart} {side} {}", sample.begun)
        });
    }
    let untraced = |index: &&usize| held(&case.pieces[**index]) == Some(Context::Untraced);
    let untraced_ns: i64 = pieces.iter().filter(untraced).map(|&index| case.pieces[index].ns()).sum();
    let mostly_untraced = untraced_ns * 2 > case.ns(&pieces);
    let (who, _) = case.largest(&pieces, |case, piece| piece.answer.context().name(case.names()));
    let meanwhile = match mostly_untraced {
        true => "the trace does not show what had the CPU for most of it".to_owned(),
        false => format!("{who} had the CPU for most of it"),
    };
    let share = case.share(&pieces);
    let sentence = if !by_timer {
        format!("the thread was still busy with its previous cycle when {} ({share}); {meanwhile}", sample.begun)
    } else if overran {
        format!(
            "the previous wake-up was so late that the thread set this timer after it was due ({share}); {meanwhile}"
        )
    } else {
        format!("the thread set its timer only after the wake-up was due ({share}); {meanwhile}")
    };
    Some(Claim {
        confidence: match case.anchors.armed.is_some() || overran {
            // That the timer was late is known, and not why, unless it is the wake-up before.
            _ if mostly_untraced && !overran => Confidence::Hint,
            true => Confidence::Certain,
            false => Confidence::Likely,
        },
        sentence,
        events: case.trace.arm().into_iter().collect(),
        evidence,
        confirm: match case.input.spike.watched {
            None => format!("explain the previous {}: its lateness is the cause", sample.one),
            Some(_) => "look at the previous cycle: it overran".into(),
        },
        fix: match case.input.spike.watched {
            None => {
                let interval = latency(case.input.interval_ns as i64);
                format!("fix the previous cycle, or use an interval longer than {interval}")
            }
            Some(_) => "do less work in a cycle, or use a longer cycle".into(),
        },
        pieces,
    })
}
