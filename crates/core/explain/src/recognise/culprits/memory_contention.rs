//! Everything took longer, without a single culprit: the CPU itself was slow.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::slowdown::{rest, slowed_percent};
use archive::culprit::Slowdown;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "handler, wake path, scheduling delay and return to user all take 1.5 to 5 times their time in ordinary samples",
    events: &[],
    shows: "all phases take longer than in ordinary samples; no event shows why",
    reading: &["User Interface for Resource Control feature", "CPU Performance Scaling"],
    proof: Proof::Unproven,
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Slowdown>> {
    let (least, most) = slowed_percent(case)?;
    if least < 150 || most > 500 {
        return None;
    }
    let pieces = rest(case)?;
    let facts = Slowdown { least_percent: least, most_percent: most };
    Some(Claim::new(pieces, Confidence::Hint, facts))
}
