//! A service of the EFI firmware is called.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a worker executes efi_call_rts while the thread could run, or a function efi_* holds the CPU",
    confirm: "`fuser -v /sys/firmware/efi/efivars` and the reader of the real-time clock; the function tracer on efi_call_rts",
    fix: "efi=noruntime on the kernel command line (the default of PREEMPT_RT kernels); read no EFI variables while real-time work runs",
    reading: &["The kernel's command-line parameters"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named { functions: &["efi_call_rts", "efi_*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel called the EFI firmware")
}
