//! Non-maskable interrupts.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "nmi:nmi_handler says how long it had the CPU",
    confirm: "the row NMI of /proc/interrupts",
    fix: "sysctl kernel.nmi_watchdog=0; stop perf sessions; if it persists, a device reports hardware errors",
    reading: &["Softlockup detector and hardlockup detector (aka nmi_watchdog)"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| matches!(held(piece), Some(Context::Nmi { .. })))?;
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("a non-maskable interrupt had the CPU: {} ({})", case.culprits(&pieces), case.share(&pieces)),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm: "watch the NMI row of /proc/interrupts".into(),
        fix: "sysctl kernel.nmi_watchdog=0, stop perf sessions; if it persists, a device reports hardware errors"
            .into(),
        pieces,
    })
}
