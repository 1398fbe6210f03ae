//! Words about text-patching: the kernel changed its own code.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "the kernel changed its own code",
    confirm: "ipi:ipi_send_cpumask with callback=do_sync_core names the sender; static keys, tracepoints, probes and BPF programs do it",
    fix: "switch no tracer, probe, BPF program or network feature on or off while real-time work runs: arm everything before",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel patched its own code")
}
