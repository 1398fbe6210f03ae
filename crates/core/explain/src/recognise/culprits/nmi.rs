//! Non-maskable interrupts.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::culprit::HeldBy;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "nmi:nmi_handler says how long it had the CPU",
    events: &["nmi_handler"],
    shows: "its length, by the kernel's own measurement",
    reading: &["Softlockup detector and hardlockup detector (aka nmi_watchdog)"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, HeldBy>> {
    let pieces = case.claim(|piece| matches!(held(piece), Some(Context::Nmi { .. })))?;
    let facts = HeldBy { who: case.holders(&pieces) };
    Some(Claim::new(pieces, Confidence::Certain, facts))
}
