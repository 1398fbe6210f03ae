//! Watchdogs, and messages on a slow console.

use super::cpu_set::CpuSet;
use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

const PRINTK: &str = "/proc/sys/kernel/printk";
/// Messages below this level, errors and worse, are worth their cost.
const LEVEL_MAX: i64 = 4;

pub const RULES: &[Rule] = &[
    Rule {
        id: "watchdogs.hard-lockups",
        title: "a watchdog uses NMIs",
        reason: "it occupies a performance counter of each CPU, and its interrupt cannot be masked",
        source: "Softlockup detector and hardlockup detector (aka nmi_watchdog)",
        severity: Severity::Warning,
        look: hard_lockups,
    },
    Rule {
        id: "watchdogs.soft-lockups",
        title: "a watchdog runs on the real-time CPUs",
        reason: "every 4 s a timer starts a thread there that runs before all others",
        source: "Softlockup detector and hardlockup detector (aka nmi_watchdog)",
        severity: Severity::Notice,
        look: soft_lockups,
    },
    Rule {
        id: "console.level",
        title: "normal messages go to the console",
        reason: "a character takes 87 µs on a serial line at 115200 baud, with interrupts off on kernels that print immediately",
        source: "Message logging with printk",
        severity: Severity::Warning,
        look: console_level,
    },
    Rule {
        id: "console.ignored-level",
        title: "all messages go to the console, whatever their level",
        reason: "ignore_loglevel also prints debug messages on every console",
        source: "The kernel's command-line parameters: ignore_loglevel",
        severity: Severity::Warning,
        look: ignored_level,
    },
];

fn hard_lockups(machine: &Machine) -> Look {
    let path = "/proc/sys/kernel/nmi_watchdog";
    sign_if(machine.number(path)? == Some(1), || {
        Sign::new("kernel.nmi_watchdog is 1").write(path, "0").boot("nmi_watchdog=0")
    })
}

fn soft_lockups(machine: &Machine) -> Look {
    if machine.number("/proc/sys/kernel/watchdog")? != Some(1) {
        return fine();
    }
    let path = "/proc/sys/kernel/watchdog_cpumask";
    let text = machine.text(path)?;
    let watched =
        CpuSet::list(text, 0).ok_or_else(|| Unknown(format!("{path} is not a CPU list: {}", quoted(text))))?;
    let here = watched.and(&machine.realtime).and(&machine.online);
    sign_if(!here.is_empty(), || {
        let sign = Sign::new(format!("it watches {}", here.named())).key(here.to_string());
        match machine.dedicated {
            true => sign.severity(Severity::Warning).write(path, machine.housekeeping().to_string()),
            false => sign.write("/proc/sys/kernel/watchdog", "0").boot("nowatchdog"),
        }
    })
}

fn console_level(machine: &Machine) -> Look {
    let text = machine.text(PRINTK)?;
    let mut levels = text.split_whitespace();
    let level: i64 = levels
        .next()
        .and_then(|level| level.parse().ok())
        .ok_or_else(|| Unknown(format!("{PRINTK} is not a level: {}", quoted(text))))?;
    let rest: Vec<&str> = levels.collect();
    let consoles = machine.optional("/proc/consoles")?.unwrap_or_default();
    let serial = consoles.lines().any(|line| line.starts_with("tty") && !line.starts_with("tty0 "));
    sign_if(level > LEVEL_MAX && !consoles.is_empty(), || {
        let severity = if serial { Severity::Warning } else { Severity::Notice };
        let names: Vec<String> =
            consoles.lines().filter_map(|line| line.split_whitespace().next()).map(quoted).collect();
        Sign::new(format!("messages of level {} and below go to {}", level - 1, names.join(", ")))
            .key(level.to_string())
            .severity(severity)
            .write(PRINTK, format!("3 {}", rest.join(" ")).trim())
            .boot("loglevel=3")
    })
}

fn ignored_level(machine: &Machine) -> Look {
    let path = "/sys/module/printk/parameters/ignore_loglevel";
    let on = machine.optional(path)?.is_some_and(|value| matches!(value, "Y" | "1"));
    sign_if(on, || {
        let sign = Sign::new("printk.ignore_loglevel is on").write(path, "N");
        match machine.command_line.all("ignore_loglevel").last() {
            Some(one) => sign.boot_without(&one.written),
            None => sign,
        }
    })
}
