//! Clocks and timers.

use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
/// Reading one of these needs a system call and accesses a device.
const SLOW: &[&str] = &["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
const FAST: &[&str] = &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource"];

pub const RULES: &[Rule] = &[
    Rule {
        id: "clocks.resolution",
        title: "timers have the resolution of the tick",
        reason: "every wake-up waits for the next tick: 1 to 10 ms",
        source: "hrtimers - subsystem for high-resolution kernel timers",
        severity: Severity::Severe,
        look: resolution,
    },
    Rule {
        id: "clocks.source",
        title: "the clock is read from a slow chip",
        reason: "each clock read is a system call and takes 1 to 5 µs, during which no other CPU can read the clock",
        source: "Clock sources, Clock events, sched_clock() and delay timers",
        severity: Severity::Warning,
        look: source,
    },
    Rule {
        id: "clocks.timer-migration",
        title: "timers move between CPUs",
        reason: "a CPU that goes idle hands its timers to a busy one, which may be a real-time CPU",
        source: "Documentation for /proc/sys/kernel/: timer_migration",
        severity: Severity::Notice,
        look: migration,
    },
    Rule {
        id: "clocks.skewed-tick",
        title: "the ticks of all CPUs come at the same instant",
        reason: "the handlers wait for each other's locks; skew_tick=1 spreads them over the period",
        source: "The kernel's command-line parameters: skew_tick=",
        severity: Severity::Notice,
        look: skewed_tick,
    },
];

fn resolution(machine: &Machine) -> Look {
    let ns = machine.facts.clock_resolution_ns;
    let ns = ns.ok_or_else(|| Unknown("the resolution of the clock was not asked for".into()))?;
    sign_if(ns > 1000, || {
        Sign::new(format!("CLOCK_MONOTONIC has a resolution of {ns} ns"))
            .by_hand("look for highres=off on the command line, CONFIG_HIGH_RES_TIMERS, and a clock the kernel trusts")
    })
}

fn source(machine: &Machine) -> Look {
    let current = machine.text(&format!("{SOURCES}/current_clocksource"))?;
    if !SLOW.contains(&current) {
        return fine();
    }
    let available = machine.text(&format!("{SOURCES}/available_clocksource"))?;
    let better = FAST.iter().find(|fast| available.split_whitespace().any(|name| name == **fast));
    let sign = Sign::new(format!("the clock source is {}", quoted(current))).key(current);
    let forced = machine.command_line.all("clocksource").find(|one| one.value.as_deref() == Some(current));
    let sign = forced.map_or(sign.clone(), |one| sign.boot_without(&one.written));
    Ok(vec![match better {
        Some(better) => sign.write(format!("{SOURCES}/current_clocksource"), *better),
        None if machine.is_x86() => {
            sign.by_hand("where the TSC can be trusted in spite of the kernel: boot with tsc=reliable clocksource=tsc")
        }
        None => sign.by_hand("find out from the kernel's log why it does not use the processor's own counter"),
    }])
}

fn migration(machine: &Machine) -> Look {
    let path = "/proc/sys/kernel/timer_migration";
    let on = machine.number(path)?.is_some_and(|value| value != 0);
    sign_if(on && machine.online.len() > 1, || {
        let severity = if machine.dedicated { Severity::Warning } else { Severity::Notice };
        Sign::new("kernel.timer_migration is 1").severity(severity).write(path, "0")
    })
}

fn skewed_tick(machine: &Machine) -> Look {
    let skewed = machine.command_line.value("skew_tick").is_some_and(|value| value != "0");
    sign_if(!skewed && machine.online.len() > 1, || {
        Sign::new("skew_tick=1 is not on the command line").boot("skew_tick=1")
    })
}
