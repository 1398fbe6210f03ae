//! Words about graphics: graphics driver.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "graphics driver",
    confirm: "compare with a run without a picture (no desktop, `glxgears` off and on)",
    fix: "echo on > /sys/class/drm/card0/device/power/control; for i915 enable_dc=0 enable_fbc=0 enable_psr=0; no desktop, or a graphics card of another kind",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "a graphics driver needed the CPU")
}
