//! Time that the kernel itself loses to firmware.

use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

pub const RULES: &[Rule] = &[
    Rule {
        id: "firmware.management-interrupts",
        title: "the firmware interrupts the kernel",
        reason: "a system management interrupt stops all CPUs for 10 µs to milliseconds, and no trace shows it",
        source: "Intel 64 and IA-32 Architectures Software Developer's Manual, volume 4: MSR_SMI_COUNT",
        severity: Severity::Warning,
        look: management_interrupts,
    },
    Rule {
        id: "firmware.machine-check-polling",
        title: "all CPUs poll for machine checks",
        reason: "a timer on every CPU reads slow registers",
        source: "Configurable sysfs parameters for the x86-64 machine check code",
        severity: Severity::Notice,
        look: machine_check_polling,
    },
    Rule {
        id: "firmware.virtual-machine",
        title: "this is a virtual machine",
        reason: "the host can take the CPU away at any time; measurements in a guest include its host",
        source: "Considering hardware",
        severity: Severity::Notice,
        look: virtual_machine,
    },
];

fn management_interrupts(machine: &Machine) -> Look {
    if !machine.is_x86() {
        return fine();
    }
    if let Some(why) = &machine.facts.smi_problem {
        return Err(Unknown(why.clone()));
    }
    let counters = &machine.facts.smi;
    let Some(most) = counters.iter().max_by_key(|counter| counter.after) else {
        return Err(Unknown("no counter was read".into()));
    };
    let now = counters.iter().map(|counter| counter.after.saturating_sub(counter.before)).max().unwrap_or(0);
    let fix = "switch off in the firmware's setup what needs them: USB legacy support, power and thermal management";
    if now > 0 {
        let what =
            format!("{now} came in {} ms while nothing but this check ran", machine.facts.smi_pause_ns / 1_000_000);
        return Ok(vec![Sign::new(what).key("now").by_hand(fix)]);
    }
    let uptime_s = machine.text("/proc/uptime")?.split('.').next().and_then(|text| text.parse::<u64>().ok());
    let uptime_s = uptime_s.ok_or_else(|| Unknown("/proc/uptime is not a number".into()))?;
    // Booting alone raises some. More than one a minute on average is abnormal.
    let habit = most.after > 100 && most.after.saturating_mul(60) > uptime_s;
    sign_if(habit, || {
        let what = format!("CPU {} counted {} since the machine was switched on", most.cpu, most.after);
        Sign::new(what).key("since boot").severity(Severity::Notice).by_hand(fix)
    })
}

fn machine_check_polling(machine: &Machine) -> Look {
    let path = "/sys/devices/system/machinecheck/machinecheck0/check_interval";
    let Some(text) = machine.optional(path)? else { return fine() };
    sign_if(text != "0", || {
        let sign = Sign::new(format!("check_interval is {}", quoted(text))).write(path, "0");
        sign.by_hand("0 means that corrected errors of memory are no longer noticed")
    })
}

fn virtual_machine(machine: &Machine) -> Look {
    let found = machine.facts.environment.virtualisation.as_deref();
    let found = found.ok_or_else(|| Unknown("no fact shows whether this is a virtual machine".into()))?;
    sign_if(found != "none", || {
        Sign::new(format!("it is a guest of {}", quoted(found)))
            .key(found)
            .by_hand("on the host: pin each virtual CPU to a CPU of its own, isolate those, give its thread SCHED_FIFO")
    })
}
