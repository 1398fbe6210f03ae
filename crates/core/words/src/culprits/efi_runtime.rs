//! Words about efi-runtime: a service of the EFI firmware.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "a service of the EFI firmware",
    confirm: "`fuser -v /sys/firmware/efi/efivars` and the reader of the real-time clock; the function tracer on efi_call_rts",
    fix: "efi=noruntime on the kernel command line (the default of PREEMPT_RT kernels); read no EFI variables while real-time work runs",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel called the EFI firmware")
}
