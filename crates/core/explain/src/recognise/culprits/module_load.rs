//! Modules are loaded or unloaded, or udev handles a new device.

use super::about::{About, Proof, SWITCHED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "modprobe, insmod, kmod, depmod or a worker of udev has the CPU while the thread could run",
    events: SWITCHED,
    shows: "the program or worker by name had the CPU after the wake-up",
    reading: &["The kernel's command-line parameters", "Documentation for /proc/sys/kernel/"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

const NAMED: Named = Named {
    threads: &["modprobe", "insmod", "rmmod", "kmod", "depmod", "(udev-worker)", "systemd-udevd", "udevd"],
    functions: &["do_free_init", "deferred_probe_work_func"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
