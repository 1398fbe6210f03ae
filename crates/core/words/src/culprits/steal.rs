//! Words about steal: the hypervisor did not run this CPU.

use super::absence::line;
use super::on_the_host::{CONFIRM, FIX};
use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::{AbsenceSign, CpuAbsence, ForeignText, Stolen};

pub const ADVICE: Advice = Advice {
    title: "the hypervisor did not run this CPU",
    confirm: "on the host: perf kvm stat, or kvm:kvm_exit and kvm:kvm_entry of this virtual CPU",
    fix: "on the host: virtual CPUs pinned one to one on isolated CPUs, SCHED_FIFO for their threads, no overcommitment",
};

const ABSENCES_SHOWN: usize = 3;

pub fn words(facts: &Stolen, share: Share) -> FindingWords {
    FindingWords { evidence: evidence(facts), ..without_evidence(facts, share) }
}

fn without_evidence(facts: &Stolen, share: Share) -> FindingWords {
    let sentence = match facts {
        Stolen::Observed { host, longest, .. } => return observed(host.as_ref(), longest, share),
        Stolen::OnAnotherCpu { host, who, absence } => format!(
            "the hypervisor ({}) did not run CPU {}, and {} waited for that CPU with interrupts masked ({share}): most likely for a \
             lock that is held there",
            host.0,
            absence.cpu,
            holders(who)
        ),
        Stolen::Counted { host, who, counted_ns } => format!(
            "the timer interrupt was late while {} ran ({share}): probably the hypervisor ({}) did not run this CPU, as it took {} \
             from this machine since the snapshot before; the trace does not show when",
            holders(who),
            host.0,
            latency(*counted_ns)
        ),
        Stolen::InUserSpace { host, who } => format!(
            "the hypervisor ({}) did not run this CPU, or delayed the timer interrupt, while it ran {} ({share})",
            host.0,
            holders(who)
        ),
        Stolen::InIdle { host } => format!(
            "the hypervisor ({}) did not run this CPU, or delayed the timer interrupt, while it was idle ({share})",
            host.0
        ),
        Stolen::LeavingIdle { host, cpu } => format!(
            "CPU {cpu} was leaving idle ({share}): the hypervisor ({}) did not run it, or the kernel ran there with \
             interrupts masked; the trace does not show which",
            host.0
        ),
    };
    on_the_host(sentence)
}

fn on_the_host(sentence: String) -> FindingWords {
    FindingWords { sentence, evidence: Vec::new(), confirm: CONFIRM.into(), fix: FIX.into() }
}

/// The words of the longest absence that the host, the steal clock or the emulator shows.
fn observed(host: Option<&ForeignText>, longest: &CpuAbsence, share: Share) -> FindingWords {
    let cpu = longest.cpu;
    match &longest.shown_by {
        AbsenceSign::EmulatorStopped(_) => FindingWords {
            fix: "on the host: do not stop the emulator during a measurement (SIGSTOP, a debugger, a frozen control group, suspend)".into(),
            ..on_the_host(format!("the host stopped the emulator, so CPU {cpu} did not run ({share})"))
        },
        AbsenceSign::Preempted(_) => on_the_host(format!(
            "the host did not run CPU {cpu} of this machine: other tasks had the host's CPUs ({share})"
        )),
        AbsenceSign::StealClock { .. } | AbsenceSign::StealClockOfOthers { .. } | AbsenceSign::StealCount { .. } => {
            let host = host.map_or_else(String::new, |ForeignText(host)| format!(" ({host})"));
            on_the_host(format!("the hypervisor{host} did not run CPU {cpu} ({share}): it ran something else"))
        }
        AbsenceSign::OtherCpuExecuted { of, .. } => FindingWords {
            sentence: format!(
                "CPU {cpu} did not run ({share}): the emulator runs all CPUs in one thread, and was running CPU {of}"
            ),
            evidence: Vec::new(),
            confirm: "measure again on a machine with one CPU".into(),
            fix: "an emulator with one thread per CPU (`accel = \"tcg\"`), or a machine with one CPU".into(),
        },
    }
}

fn evidence(facts: &Stolen) -> Vec<String> {
    match facts {
        Stolen::Observed { longest, others, .. } => {
            [longest].into_iter().chain(others).take(ABSENCES_SHOWN).map(line).collect()
        }
        Stolen::OnAnotherCpu { absence, .. } => vec![line(absence)],
        Stolen::InUserSpace { .. } => vec![
            "the interrupt arrived while the task was in user space, where interrupts cannot be masked: it was switched out on \
             its return there, not inside the kernel"
                .into(),
        ],
        Stolen::InIdle { .. } => {
            vec!["an idle CPU waits with interrupts enabled: nothing in the guest can have delayed it".into()]
        }
        Stolen::Counted { .. } | Stolen::LeavingIdle { .. } => Vec::new(),
    }
}
