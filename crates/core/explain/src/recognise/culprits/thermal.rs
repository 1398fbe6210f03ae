//! The processor reports overheating.

use super::about::{About, Proof};
use crate::read::event::Vector;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::foreign_interrupt::is_foreign;
use crate::recognise::evidence::named::claim;
use crate::replay::context::Context;
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the thermal interrupt of the processor is served between due and seen",
    events: &[],
    shows: "the processor's interrupt; its trace has not been seen",
    reading: &["Thermal", "CPU Performance Scaling"],
    proof: Proof::Unproven,
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    let pieces = case.claim(|piece| {
        is_foreign(case, piece) && matches!(held(piece), Some(Context::Vector { vector: Vector::ThermalApic, .. }))
    })?;
    Some(claim(case, pieces))
}
