//! Words about stop-machine: the kernel stopped a CPU.

use super::{Advice, FindingWords};
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::StoppedCpu;

pub const ADVICE: Advice = Advice {
    title: "the kernel stopped a CPU",
    confirm: "--tracer function on multi_cpu_stop and migration_cpu_stop; dmesg and the journal show what was loaded or changed at that instant",
    fix: "load no module, switch no tracer, probe or BPF program, change no CPU's state and no clock source, and change no thread's affinity while real-time work runs",
};

pub fn words(facts: &StoppedCpu, share: Share) -> FindingWords {
    let others: Vec<String> = facts.also_on.iter().map(u32::to_string).collect();
    let (what, evidence) = match others.is_empty() {
        true => ("stopped this CPU to move a thread or to change its state", Vec::new()),
        false => (
            "stopped several CPUs together",
            vec![format!("migration threads also ran on CPU {} meanwhile", others.join(", "))],
        ),
    };
    FindingWords { evidence, ..ADVICE.with(format!("the kernel {what}: {} ran ({share})", holders(&facts.who))) }
}
