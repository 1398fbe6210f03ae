//! The processor reports overheating.

use super::about::{About, Proof};
use super::named::claim;
use super::previous_irq::is_foreign;
use crate::read::event::Vector;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;

pub const ABOUT: About = About {
    recognised: "the thermal interrupt of the processor is served between due and seen",
    confirm: "/sys/devices/system/cpu/cpu*/thermal_throttle/*_count rise; power:cpu_frequency shows the speed going down",
    fix: "cool the machine or lower its power limit; below full speed everything takes longer, so look at the frequency, too",
    reading: &["Thermal", "CPU Performance Scaling"],
    proof: Proof::Unproven,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| {
        is_foreign(case, piece) && matches!(held(piece), Some(Context::Vector { vector: Vector::ThermalApic, .. }))
    })?;
    Some(claim(case, pieces, &ABOUT, "the processor reported its temperature"))
}
