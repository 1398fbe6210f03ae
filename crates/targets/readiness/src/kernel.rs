//! Rules about the kernel: its preemption model, and what was built into it.

use super::machine::Machine;
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};

pub const RULES: &[Rule] = &[
    Rule {
        id: "kernel.preempt-rt",
        title: "the kernel is not PREEMPT_RT",
        reason: "interrupt handlers, softirqs and spinlocks delay a woken real-time thread for as long as they take",
        source: "Real-time preemption: Theory of operation",
        severity: Severity::Warning,
        look: preempt_rt,
    },
    Rule {
        id: "kernel.preemption-model",
        title: "the kernel can be preempted at few points only",
        reason: "a system call of any other task runs until it reaches one of them",
        source: "The kernel's command-line parameters: preempt=",
        severity: Severity::Warning,
        look: preemption_model,
    },
    Rule {
        id: "kernel.threaded-interrupts",
        title: "interrupt handlers run with interrupts off",
        reason: "real-time tasks can preempt a threaded handler, but no other handler",
        source: "The kernel's command-line parameters: threadirqs",
        severity: Severity::Notice,
        look: threaded_interrupts,
    },
    Rule {
        id: "kernel.high-resolution-timers",
        title: "the kernel has no high-resolution timers",
        reason: "every wake-up waits for the next tick: 1 to 10 ms",
        source: "hrtimers - subsystem for high-resolution kernel timers",
        severity: Severity::Severe,
        look: high_resolution_timers,
    },
    Rule {
        id: "kernel.rt-group-scheduling",
        title: "real-time tasks need a budget of their control group",
        reason: "a group without a budget cannot have a real-time task, and a group that has used its budget waits",
        source: "Real-Time group scheduling",
        severity: Severity::Warning,
        look: rt_group_scheduling,
    },
    Rule {
        id: "kernel.cpu-isolation",
        title: "the kernel cannot isolate CPUs",
        reason: "the kernel accepts isolcpus= and nohz_full= but ignores them",
        source: "CPU Isolation",
        severity: Severity::Warning,
        look: cpu_isolation,
    },
    Rule {
        id: "kernel.rt-mutexes",
        title: "user-space locks cannot inherit priorities",
        reason: "without CONFIG_FUTEX_PI a task of middle priority delays an urgent one that waits for a lock",
        source: "Lightweight PI-futexes",
        severity: Severity::Warning,
        look: priority_inheritance,
    },
];

fn preempt_rt(machine: &Machine) -> Look {
    sign_if(!machine.is_realtime_kernel()?, || {
        let model = machine.facts.environment.preemption.as_deref().unwrap_or("unknown");
        Sign::new(format!("kernel {} has the preemption model {model}", machine.facts.environment.kernel_release))
            .build("CONFIG_PREEMPT_RT=y")
            .by_hand("or install the distribution's real-time kernel (Debian: linux-image-rt-amd64)")
    })
}

fn preemption_model(machine: &Machine) -> Look {
    if machine.is_realtime_kernel()? {
        return fine();
    }
    let model = machine.facts.environment.preemption.as_deref();
    let dynamic = machine.facts.environment.kernel_version.contains("PREEMPT_DYNAMIC");
    sign_if(matches!(model, Some("none" | "voluntary" | "lazy")), || {
        let model = model.unwrap_or_default();
        let sign = Sign::new(format!("the preemption model is {model}")).key(model);
        if dynamic { sign.boot("preempt=full") } else { sign.build("CONFIG_PREEMPT=y") }
    })
}

fn threaded_interrupts(machine: &Machine) -> Look {
    let threaded = machine.is_realtime_kernel()? || machine.command_line.has("threadirqs");
    sign_if(!threaded, || Sign::new("threadirqs is not on the command line").boot("threadirqs"))
}

fn high_resolution_timers(machine: &Machine) -> Look {
    sign_if(!machine.is_built("HIGH_RES_TIMERS")?, || {
        Sign::new("CONFIG_HIGH_RES_TIMERS is not set").build("CONFIG_HIGH_RES_TIMERS=y")
    })
}

fn rt_group_scheduling(machine: &Machine) -> Look {
    let disabled = machine.command_line.value("rt_group_sched") == Some("0");
    sign_if(machine.is_built("RT_GROUP_SCHED")? && !disabled, || {
        let sign = Sign::new("CONFIG_RT_GROUP_SCHED is set").build("CONFIG_RT_GROUP_SCHED=n");
        if machine.is_since(6, 16) == Ok(true) { sign.boot("rt_group_sched=0") } else { sign }
    })
}

fn cpu_isolation(machine: &Machine) -> Look {
    let asked = ["isolcpus", "nohz_full"].iter().any(|name| machine.command_line.has(name));
    if !asked && !machine.dedicated {
        return fine();
    }
    sign_if(!machine.is_built("CPU_ISOLATION")?, || {
        Sign::new("CONFIG_CPU_ISOLATION is not set").build("CONFIG_CPU_ISOLATION=y")
    })
}

fn priority_inheritance(machine: &Machine) -> Look {
    sign_if(!machine.is_built("FUTEX_PI")? && !machine.is_built("RT_MUTEXES")?, || {
        Sign::new("CONFIG_FUTEX_PI is not set").build("CONFIG_FUTEX_PI=y")
    })
}
