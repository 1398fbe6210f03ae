//! Graphics drivers.

use super::about::{About, Proof};
use super::named::Named;
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a graphics driver's interrupt, thread, worker or timer holds the CPU",
    confirm: "compare with a run without a picture (no desktop, `glxgears` off and on)",
    fix: "echo on > /sys/class/drm/card0/device/power/control; for i915 enable_dc=0 enable_fbc=0 enable_psr=0; no desktop, or a graphics card of another kind",
    reading: &["GPU Driver Developer’s Guide"],
    proof: Proof::MadeUp,
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

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "a graphics driver needed the CPU")
}
