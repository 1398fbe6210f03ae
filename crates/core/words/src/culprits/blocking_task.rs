//! Words about blocking-task: a task that cannot be preempted.

use super::{Advice, FindingWords};
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::{AskedToYield, BlockingTask, ForeignText, WhyBlocking};

pub const ADVICE: Advice = Advice {
    title: "a task that cannot be preempted",
    confirm: "`tardy run --stack` shows the function that the wake-up interrupted; the preemptoff tracer, where the kernel has it, the longest section",
    fix: "PREEMPT_RT or preempt=full; keep the task off the CPU (cpuset, taskset, isolcpus)",
};

pub fn words(facts: &BlockingTask, share: Share) -> FindingWords {
    let (why, fix) = why(&facts.why, share);
    let asked = facts.asked.map(|asked| match asked {
        AskedToYield::WithPreemptionDisabled => "the kernel had asked it to yield (N) with preemption disabled".into(),
        AskedToYield::Asked => "the kernel had asked it to yield (N)".into(),
    });
    let confirm = match facts.without_wake_up {
        true => {
            "`tardy run --stack` shows in which function the task was; or the preemptoff tracer, where the kernel has it"
        }
        false => {
            "`tardy run --stack` shows the function that the wake-up interrupted; or the preemptoff tracer, where the kernel has it"
        }
    };
    let (who, thread) = (holders(&facts.who), share.voice.thread());
    FindingWords {
        sentence: format!("{who} kept the CPU after {thread} became runnable ({share}): {why}"),
        evidence: asked.into_iter().collect(),
        confirm: confirm.into(),
        fix,
    }
}

/// Why it was not preempted, and what to change.
fn why(why: &WhyBlocking, share: Share) -> (String, String) {
    const OFF: &str = "keep this task off the CPU (cpuset, taskset, isolcpus)";
    match why {
        WhyBlocking::NoPriority { tid } => (
            format!("{} has no real-time priority", share.voice.thread()),
            match share.voice.watched {
                None => "run the measurement with --policy fifo --priority 80".into(),
                Some(_) => format!(
                    "give {} a real-time priority: chrt -f -p 50 {tid}, or sched_setscheduler in the program",
                    share.voice.thread()
                ),
            },
        ),
        WhyBlocking::ChosenAgain => (
            "the scheduler chose it although the thread could run, so the thread was throttled or its priority changed"
                .into(),
            OFF.into(),
        ),
        WhyBlocking::NotAsked => ("no event shows that the kernel asked it to yield".into(), OFF.into()),
        WhyBlocking::NoTick => (
            "not even the tick came meanwhile: either it had interrupts masked or the host had the CPU".into(),
            OFF.into(),
        ),
        WhyBlocking::NotInKernel => ("no event shows that it was in the kernel".into(), OFF.into()),
        WhyBlocking::KernelNotPreemptible { model: ForeignText(model) } => (
            format!(
                "it was in the kernel, which with preempt={model} does not preempt a task until it finishes or yields"
            ),
            format!("boot with preempt=full or use a PREEMPT_RT kernel, or {OFF}"),
        ),
        WhyBlocking::Section { preempt_rt } => (
            "it was in a kernel section that cannot be preempted".into(),
            match preempt_rt {
                true => format!(
                    "find the section with the stack trace above and report it to the kernel's RT maintainers; until then {OFF}"
                ),
                false => format!("use a PREEMPT_RT kernel, or {OFF}"),
            },
        ),
    }
}
