//! Rules about power saving that costs latency.

use super::isolation::listed;
use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

const CPUS: &str = "/sys/devices/system/cpu/cpu";
/// An idle state with a shorter exit latency costs no more than a cold cache, µs.
const EXIT_US_MAX: u64 = 10;

pub const RULES: &[Rule] = &[
    Rule {
        id: "power.frequency-governor",
        title: "the CPU frequency follows the load",
        reason: "work starts slowly after each pause, and a frequency change takes 10 to 100 µs",
        source: "CPU Performance Scaling",
        severity: Severity::Warning,
        look: frequency_governor,
    },
    Rule {
        id: "power.idle-states",
        title: "CPUs may enter idle states with a long exit latency",
        reason: "every wake-up from such a state waits for the exit, and caches may be cold",
        source: "CPU Idle Time Management",
        severity: Severity::Warning,
        look: idle_states,
    },
    Rule {
        id: "power.workqueues",
        title: "work items run where they save power",
        reason: "work bound to its CPU becomes unbound and may run on the real-time CPUs",
        source: "Workqueue",
        severity: Severity::Notice,
        look: workqueues,
    },
    Rule {
        id: "power.pcie-links",
        title: "device links sleep between transfers",
        reason: "waking a PCIe link takes up to 100 µs before an access to the device",
        source: "The kernel's command-line parameters: pcie_aspm=",
        severity: Severity::Notice,
        look: pcie_links,
    },
];

fn frequency_governor(machine: &Machine) -> Look {
    let governors = machine.of_cpus(CPUS, "/cpufreq/scaling_governor")?;
    let offered = machine.of_cpus(CPUS, "/cpufreq/scaling_available_governors")?;
    let mut signs = Vec::new();
    for (cpu, governor) in governors.into_iter().filter(|(cpu, _)| machine.realtime.contains(*cpu)) {
        if governor != "performance" && governor != "userspace" {
            let what = format!("the governor of CPU {cpu} is {}", quoted(governor));
            let sign = Sign::new(what).key(format!("cpu{cpu} {governor}"));
            let list = offered.iter().find(|(of, _)| *of == cpu).map_or("", |(_, list)| list);
            let has = list.split_whitespace().any(|name| name == "performance");
            signs.push(if has || list.is_empty() {
                let sign = sign.write(format!("{CPUS}{cpu}/cpufreq/scaling_governor"), "performance");
                sign.boot("cpufreq.default_governor=performance")
            } else {
                sign.build("CONFIG_CPU_FREQ_GOV_PERFORMANCE=y")
            });
        }
    }
    Ok(signs)
}

fn idle_states(machine: &Machine) -> Look {
    let mut signs = Vec::new();
    for cpu in machine.realtime.iter() {
        for state in 0..32 {
            let folder = format!("{CPUS}{cpu}/cpuidle/state{state}");
            let Some(latency) = optional_here(machine, &format!("{folder}/latency"))? else { break };
            let latency_us: u64 = latency.parse().map_err(|_| Unknown(format!("{folder}/latency is not a number")))?;
            let disabled = machine.text(&format!("{folder}/disable"))? != "0";
            if latency_us > EXIT_US_MAX && !disabled && !is_kept_awake(machine, cpu, latency_us)? {
                let name = quoted(machine.text(&format!("{folder}/name"))?);
                signs.push(
                    Sign::new(format!("CPU {cpu} may sleep in {name}, which takes {latency_us} µs to leave"))
                        .key(format!("cpu{cpu} {name}"))
                        .write(format!("{folder}/disable"), "1")
                        .by_hand(
                            "or have the program hold /dev/cpu_dma_latency, as `tardy run --cpu-dma-latency 0` does",
                        ),
                );
            }
        }
    }
    Ok(signs)
}

/// Files of missing CPUs were not read.
fn optional_here<'a>(machine: &Machine<'a>, path: &str) -> Result<Option<&'a str>, Unknown> {
    if machine.facts.files.contains_key(path) { machine.optional(path) } else { Ok(None) }
}

/// Whether the kernel was asked to wake this CPU in less time.
fn is_kept_awake(machine: &Machine, cpu: u32, latency_us: u64) -> Result<bool, Unknown> {
    let limit = optional_here(machine, &format!("{CPUS}{cpu}/power/pm_qos_resume_latency_us"))?;
    // 0 means no limit there; `n/a` means a limit of 0.
    Ok(match limit {
        Some("n/a") => true,
        Some(limit) => limit.parse::<u64>().is_ok_and(|limit_us| limit_us > 0 && limit_us < latency_us),
        None => false,
    })
}

fn workqueues(machine: &Machine) -> Look {
    let path = "/sys/module/workqueue/parameters/power_efficient";
    let on = machine.optional(path)?.is_some_and(|value| matches!(value, "Y" | "1"));
    // Kernels enable it for nohz_full= in any case, so that such work can leave those CPUs.
    if !listed(machine, "nohz_full")?.and(&machine.realtime).is_empty() {
        return fine();
    }
    sign_if(on && machine.online.len() > 1, || {
        let sign = Sign::new("workqueue.power_efficient is on");
        match machine.command_line.all("workqueue.power_efficient").last() {
            Some(one) => sign.boot_without(&one.written),
            None => sign.boot("workqueue.power_efficient=0"),
        }
    })
}

fn pcie_links(machine: &Machine) -> Look {
    let path = "/sys/module/pcie_aspm/parameters/policy";
    let Some(text) = machine.optional(path)? else { return fine() };
    let policy = super::machine::choice(text).unwrap_or_default();
    sign_if(policy.starts_with("power"), || {
        Sign::new(format!("the policy is {policy}"))
            .key(policy)
            .write(path, "performance")
            .boot("pcie_aspm.policy=performance")
    })
}
