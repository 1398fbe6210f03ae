//! Modules are loaded or unloaded, or udev handles a new device.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "modprobe, insmod, kmod, depmod or a worker of udev has the CPU while the thread could run",
    confirm: "dmesg and `udevadm monitor` show what was loaded or plugged in at that instant",
    fix: "load every module and plug every device before real-time work begins; sysctl kernel.modules_disabled=1 afterwards",
    reading: &["The kernel's command-line parameters", "Documentation for /proc/sys/kernel/"],
    proof: Proof::Real,
};

const NAMED: Named = Named {
    threads: &["modprobe", "insmod", "rmmod", "kmod", "depmod", "(udev-worker)", "systemd-udevd", "udevd"],
    functions: &["do_free_init", "deferred_probe_work_func"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel set up a module or a new device")
}
