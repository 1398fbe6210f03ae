//! Words about silence: hypervisor or firmware.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "hypervisor or firmware",
    confirm: "bare metal: rdmsr 0x34 before and after (Intel counts system management interrupts there), the hwlat tracer; guest: kvm:kvm_exit and kvm:kvm_entry on the host",
    fix: "bare metal: BIOS settings for legacy USB, error polling, power capping and fan control; guest: virtual CPUs pinned one to one on isolated CPUs",
};
