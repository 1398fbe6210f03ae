//! Where interrupts of devices are handled.

use super::cpu_set::CpuSet;
use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

/// With more interrupts, they are counted instead of listed.
const NAMED_MAX: usize = 200;

pub const RULES: &[Rule] = &[
    Rule {
        id: "interrupts.affinity",
        title: "device interrupts are handled on the real-time CPUs",
        reason: "a handler, and the softirqs it raises, run before any thread of the CPU",
        source: "SMP IRQ affinity",
        severity: Severity::Warning,
        look: affinity,
    },
    Rule {
        id: "interrupts.default-affinity",
        title: "new interrupts may go to the real-time CPUs",
        reason: "a driver that is loaded later gets the default",
        source: "SMP IRQ affinity",
        severity: Severity::Warning,
        look: default_affinity,
    },
    Rule {
        id: "interrupts.balancer",
        title: "a service moves interrupts between CPUs",
        reason: "irqbalance moves interrupts back unless its configuration excludes the CPUs",
        source: "SMP IRQ affinity",
        severity: Severity::Warning,
        look: balancer,
    },
];

fn affinity(machine: &Machine) -> Look {
    if !machine.dedicated {
        return fine();
    }
    let actions = machine.of_cpus("/sys/kernel/irq/", "/actions")?;
    let effective = machine.of_cpus("/proc/irq/", "/effective_affinity_list")?;
    let wanted = machine.of_cpus("/proc/irq/", "/smp_affinity_list")?;
    let of = |lists: &[(u32, &str)], irq: u32| {
        lists.iter().find(|(number, _)| *number == irq).and_then(|(_, text)| CpuSet::list(text, 0))
    };
    let mut signs = Vec::new();
    for (irq, name) in actions.into_iter().filter(|(_, name)| !name.is_empty()) {
        let allowed = of(&wanted, irq).unwrap_or_default();
        // Kernels without effective masks deliver an interrupt to its allowed CPUs.
        let used = of(&effective, irq).filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| allowed.clone());
        let here = used.and(&machine.realtime);
        if !here.is_empty() && signs.len() < NAMED_MAX {
            let what = format!("interrupt {irq} ({}) is handled on {}", quoted(name), here.named());
            let sign = Sign::new(what).key(name);
            let path = format!("/proc/irq/{irq}/smp_affinity_list");
            signs.push(sign.write(path, machine.housekeeping().to_string()));
        }
    }
    Ok(signs)
}

fn default_affinity(machine: &Machine) -> Look {
    let path = "/proc/irq/default_smp_affinity";
    if !machine.dedicated {
        return fine();
    }
    let Some(text) = machine.optional(path)? else { return fine() };
    let mask = CpuSet::mask(text).ok_or_else(|| Unknown(format!("{path} is not a CPU mask: {}", quoted(text))))?;
    let open = mask.and(&machine.realtime).and(&machine.online);
    sign_if(!open.is_empty(), || {
        Sign::new(format!("the default has {}", open.named()))
            .key(open.to_string())
            .write(path, machine.housekeeping().to_mask())
            .boot(format!("irqaffinity={}", machine.housekeeping()))
    })
}

fn balancer(machine: &Machine) -> Look {
    if machine.facts.tasks.is_empty() {
        return Err(Unknown("no tasks can be seen, as in a container".into()));
    }
    let running = machine.facts.tasks.iter().any(|task| task.name == "irqbalance");
    sign_if(running, || {
        let severity = if machine.dedicated { Severity::Warning } else { Severity::Notice };
        let banned = format!("or IRQBALANCE_BANNED_CPULIST={} in its configuration", machine.realtime);
        let sign = Sign::new("irqbalance is running").severity(severity);
        sign.by_hand("systemctl disable --now irqbalance").by_hand(banned)
    })
}
