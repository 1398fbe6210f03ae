//! Graphics drivers.

use super::about::{About, Proof, SERVED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::Named;
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a graphics driver's interrupt, thread, worker or timer holds the CPU",
    events: SERVED,
    shows: "the driver's interrupt, thread, worker or timer by name",
    reading: &["GPU Driver Developer’s Guide"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named {
    threads: &["nvidia-modeset*", "nv_queue", "card0-crtc*", "Xorg", "gfx_*", "sdma*"],
    functions: &[
        "i915_*",
        "intel_*",
        "__intel_*",
        "xe_*",
        "amdgpu_*",
        "dm_irq_work_func",
        "radeon_*",
        "nouveau_*",
        "nv_*",
        "nvkm_*",
        "drm_*",
        "vc4_*",
        "v3d_*",
    ],
    interrupts: &[
        "i915",
        "xe",
        "amdgpu",
        "radeon",
        "nouveau",
        "nvidia*",
        "msm*",
        "vc4*",
        "v3d*",
        "*.gpu",
        "panfrost*",
        "lima*",
        "etnaviv*",
    ],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
