//! A service of the EFI firmware is called.

use super::about::{About, Proof, WORKED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a worker executes efi_call_rts while the thread could run, or a function efi_* holds the CPU",
    events: WORKED,
    shows: "the worker and its function",
    reading: &["The kernel's command-line parameters"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named { functions: &["efi_call_rts", "efi_*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
