//! Kernel parameters that cost latency or are probably mistyped.

use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

/// Parameters of real-time setups; a similar spelling is probably a typo.
const KNOWN: &[&str] = &[
    "clocksource",
    "cpufreq.default_governor",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "numa_balancing",
    "preempt",
    "processor.max_cstate",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
];
/// Existing parameters that resemble one of those.
const INNOCENT: &[&str] = &["noht", "nosmp", "highres", "nohlt", "nopti", "init", "ima"];
/// Name, and harmful values; empty for every value.
const TRACING: &[(&str, &[&str])] =
    &[("ftrace", &[]), ("trace_event", &[]), ("initcall_debug", &[]), ("stacktrace", &[]), ("kprobe_event", &[])];
const MEMORY: &[(&str, &[&str])] = &[
    ("slub_debug", &[]),
    ("slab_debug", &[]),
    ("debug_pagealloc", &["on", "1"]),
    ("kmemleak", &["on"]),
    ("page_owner", &["on"]),
    ("page_poison", &["1", "on"]),
    ("init_on_free", &["1", "on", "y"]),
];
const TIMERS: &[(&str, &[&str])] = &[("highres", &["off"]), ("nohires", &[])];

pub const RULES: &[Rule] = &[
    Rule {
        id: "parameters.tracing",
        title: "the kernel has been tracing since boot",
        reason: "the kernel records every event or function on all CPUs, even if nothing reads the trace",
        source: "The kernel's command-line parameters: ftrace=, trace_event=",
        severity: Severity::Warning,
        look: |machine| harmful(machine, TRACING),
    },
    Rule {
        id: "parameters.memory-debugging",
        title: "the kernel was booted with memory debugging",
        reason: "each allocation and release fills and compares objects, often with a lock held",
        source: "Short users guide for the slab allocator",
        severity: Severity::Warning,
        look: |machine| harmful(machine, MEMORY),
    },
    Rule {
        id: "parameters.low-resolution",
        title: "the kernel was booted without high-resolution timers",
        reason: "every wake-up waits for the next tick: 1 to 10 ms",
        source: "The kernel's command-line parameters: highres=",
        severity: Severity::Severe,
        look: |machine| harmful(machine, TIMERS),
    },
    Rule {
        id: "parameters.tick-always",
        title: "the tick continues while a CPU is idle",
        reason: "nohz=off wakes every CPU at every tick and disables nohz_full=",
        source: "NO_HZ: Reducing Scheduling-Clock Ticks",
        severity: Severity::Warning,
        look: |machine| harmful(machine, &[("nohz", &["off"])]),
    },
    Rule {
        id: "parameters.misspelt",
        title: "a word on the command line is not a kernel parameter",
        reason: "the kernel passes it to the first process and otherwise ignores it",
        source: "The kernel's command-line parameters",
        severity: Severity::Warning,
        look: misspelt,
    },
    Rule {
        id: "parameters.repeated",
        title: "an isolation option is given more than once",
        reason: "the kernel uses the last one or rejects the second; it does not merge the lists",
        source: "The kernel's command-line parameters: isolcpus=",
        severity: Severity::Warning,
        look: repeated,
    },
    Rule {
        id: "parameters.idle-poll",
        title: "idle CPUs spin",
        reason: "idle=poll avoids the exit from idle states, but costs power and slows the sibling thread",
        source: "CPU Idle Time Management",
        severity: Severity::Notice,
        look: |machine| harmful(machine, &[("idle", &["poll"])]),
    },
];

/// A missing command line is not an empty one.
fn known(machine: &Machine) -> Result<(), Unknown> {
    let known = machine.facts.environment.command_line.is_some();
    known.then_some(()).ok_or_else(|| Unknown("/proc/cmdline cannot be read".into()))
}

fn harmful(machine: &Machine, parameters: &[(&str, &[&str])]) -> Look {
    known(machine)?;
    let mut signs = Vec::new();
    for parameter in &machine.command_line.0 {
        let value = parameter.value.as_deref().unwrap_or_default();
        let harms = |(name, values): &(&str, &[&str])| {
            *name == parameter.name && (values.is_empty() && value != "0" && value != "off" || values.contains(&value))
        };
        if parameters.iter().any(harms) {
            let sign = Sign::new(format!("{} is on the command line", quoted(&parameter.written))).key(&parameter.name);
            signs.push(sign.boot_without(&parameter.written));
        }
    }
    Ok(signs)
}

fn misspelt(machine: &Machine) -> Look {
    known(machine)?;
    let meant = |name: &str| {
        let strange = !KNOWN.contains(&name) && !INNOCENT.contains(&name) && name.len() >= 4;
        strange.then(|| KNOWN.iter().find(|known| known.len() >= 4 && is_near(name, known))).flatten()
    };
    let signs = machine.command_line.0.iter().filter_map(|parameter| {
        let meant = meant(&parameter.name)?;
        let right = parameter.value.as_ref().map_or((*meant).into(), |value| format!("{meant}={value}"));
        let what = format!("{} was probably meant to be {meant}", quoted(&parameter.written));
        Some(Sign::new(what).key(&parameter.name).boot_without(&parameter.written).boot(right))
    });
    Ok(signs.collect())
}

/// Whether one insertion, deletion, replacement or swap converts one into the other.
fn is_near(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let same = |left: &[u8], right: &[u8]| left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let begin = same(left, right);
    let (left, right) = (&left[begin..], &right[begin..]);
    match (left, right) {
        ([_, left @ ..], right) if left == right => true,
        (left, [_, right @ ..]) if left == right => true,
        ([_, left @ ..], [_, right @ ..]) if left == right => true,
        ([a, b, left @ ..], [c, d, right @ ..]) => a == d && b == c && left == right,
        _ => false,
    }
}

fn repeated(machine: &Machine) -> Look {
    known(machine)?;
    for name in ["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity"] {
        let count = machine.command_line.all(name).count();
        if count > 1 {
            let words: Vec<String> = machine.command_line.all(name).map(|one| quoted(&one.written)).collect();
            return sign_if(true, || {
                Sign::new(format!("{} is there {count} times: {}", name, words.join(" ")))
                    .key(name)
                    .by_hand(format!("write one {name}= with all CPUs in one list"))
            });
        }
    }
    fine()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_near_and_two_are_not() {
        for (left, right) in
            [("isolcpu", "isolcpus"), ("isolcpuss", "isolcpus"), ("isolcups", "isolcpus"), ("nohz_fill", "nohz_full")]
        {
            assert!(is_near(left, right), "{left}");
        }
        for left in ["isolcp", "quiet", "isolcpus", "solcpsu", ""] {
            assert!(left == "isolcpus" || !is_near(left, "isolcpus"), "{left}");
        }
    }

    #[test]
    fn no_known_name_is_near_another() {
        for name in KNOWN {
            let near: Vec<_> = KNOWN.iter().filter(|other| *other != name && is_near(name, other)).collect();
            assert!(near.is_empty(), "{name}: {near:?}");
        }
    }
}
