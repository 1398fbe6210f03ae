//! Containers, control groups and limits: restrictions of the process itself.

use super::cpu_set::CpuSet;
use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, sign_if};
use super::unknown::Unknown;

/// Bits of the effective capabilities.
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

pub const RULES: &[Rule] = &[
    Rule {
        id: "limits.real-time-priority",
        title: "real-time priorities are not allowed",
        reason: "a thread without SCHED_FIFO waits for its turn among all normal tasks",
        source: "sched(7): Privileges and resource limits",
        severity: Severity::Severe,
        look: priority,
    },
    Rule {
        id: "limits.locked-memory",
        title: "memory cannot be locked",
        reason: "a page that is not locked may be missing at the next touch",
        source: "mlock(2)",
        severity: Severity::Warning,
        look: locked_memory,
    },
    Rule {
        id: "limits.processor-time",
        title: "a control group limits CPU time",
        reason: "when the quota is used up, the group's normal threads, helpers of the real-time work among them, stop until the period ends",
        source: "Control Group v2",
        severity: Severity::Warning,
        look: quota,
    },
    Rule {
        id: "limits.real-time-budget",
        title: "a control group grants real-time tasks no time",
        reason: "a thread in the group cannot become real-time, or stops when the budget is used up",
        source: "Real-Time group scheduling",
        severity: Severity::Severe,
        look: budget,
    },
    Rule {
        id: "limits.processors",
        title: "the real-time CPUs are not allowed here",
        reason: "a thread cannot be pinned to a CPU outside its control group's set",
        source: "Control Group v2: Cpuset",
        severity: Severity::Severe,
        look: processors,
    },
    Rule {
        id: "limits.container",
        title: "this is a container",
        reason: "the kernel, its command line and most settings belong to the host, and other containers share them",
        source: "Control Group v2",
        severity: Severity::Notice,
        look: container,
    },
];

fn status<'a>(machine: &Machine<'a>, key: &str) -> Result<&'a str, Unknown> {
    let text = machine.text("/proc/self/status")?;
    let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    found.map(str::trim).ok_or_else(|| Unknown(format!("/proc/self/status has no {key}")))
}

fn is_capable(machine: &Machine, bit: u32) -> Result<bool, Unknown> {
    let mask = u64::from_str_radix(status(machine, "CapEff")?, 16);
    let mask = mask.map_err(|_| Unknown("the capabilities in /proc/self/status are not a number".into()))?;
    Ok(mask & (1 << bit) != 0)
}

fn limit(machine: &Machine, name: &str) -> Result<Option<u64>, Unknown> {
    soft_limit(machine.text("/proc/self/limits")?, name)
}

/// The soft limit of a line of /proc/PID/limits; `None` for unlimited.
pub fn soft_limit(text: &str, name: &str) -> Result<Option<u64>, Unknown> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let soft = line.and_then(|rest| rest.split_whitespace().next());
    match soft {
        Some("unlimited") => Ok(None),
        Some(number) => number.parse().map(Some).map_err(|_| Unknown(format!("{name} is not a number"))),
        None => Err(Unknown(format!("the list of limits has no {name}"))),
    }
}

fn priority(machine: &Machine) -> Look {
    if is_capable(machine, CAP_SYS_NICE)? {
        return Ok(Vec::new());
    }
    let allowed = limit(machine, "Max realtime priority")?;
    sign_if(allowed.is_some_and(|allowed| allowed < u64::from(machine.priority)), || {
        let allowed = allowed.unwrap_or(0);
        let what =
            format!("without CAP_SYS_NICE the highest priority is {allowed}, and {} is wanted", machine.priority);
        Sign::new(what)
            .by_hand("sudo tardy setup --apply, or run as root")
            .by_hand("in a container: --cap-add SYS_NICE --ulimit rtprio=99")
    })
}

fn locked_memory(machine: &Machine) -> Look {
    if is_capable(machine, CAP_IPC_LOCK)? {
        return Ok(Vec::new());
    }
    let allowed = limit(machine, "Max locked memory")?;
    // Enough for a small program with its stacks.
    sign_if(allowed.is_some_and(|bytes| bytes < 256 << 20), || {
        Sign::new(format!("without CAP_IPC_LOCK {} kB may be locked", allowed.unwrap_or(0) >> 10))
            .by_hand("sudo tardy setup --apply, run as root, or in a container: --cap-add IPC_LOCK --ulimit memlock=-1")
    })
}

fn quota(machine: &Machine) -> Look {
    let mut signs = Vec::new();
    for group in &machine.facts.cgroups {
        let path = format!("{group}/cpu.max");
        if let Some(text) = machine.optional(&path)?
            && !text.starts_with("max")
        {
            let what = format!("{} has the quota {} µs", quoted(group), quoted(text).replace(' ', " of "));
            signs.push(Sign::new(what).key(group).write(path, "max"));
        }
        let path = format!("{group}/cpu.cfs_quota_us");
        if let Some(quota_us) = machine.number(&path)?
            && quota_us >= 0
        {
            let what = format!("{} has a quota of {quota_us} µs", quoted(group));
            signs.push(Sign::new(what).key(group).write(path, "-1"));
        }
    }
    Ok(signs)
}

fn budget(machine: &Machine) -> Look {
    // The root group's budget is that of the whole machine, which has its own rule.
    let mut signs = Vec::new();
    for group in &machine.facts.cgroups {
        let path = format!("{group}/cpu.rt_runtime_us");
        if machine.number(&path)? == Some(0) {
            let sign = Sign::new(format!("{} has a budget of 0", quoted(group))).key(group);
            signs.push(sign.write(path, "950000").by_hand("in a container: --cpu-rt-runtime=950000"));
        }
    }
    Ok(signs)
}

fn processors(machine: &Machine) -> Look {
    let text = status(machine, "Cpus_allowed_list")?;
    let allowed = CpuSet::list(text, 0).ok_or_else(|| Unknown(format!("no list of CPUs: {}", quoted(text))))?;
    for group in &machine.facts.cgroups {
        for file in ["cpuset.cpus.effective", "cpuset.effective_cpus"] {
            let cpus = machine.optional(&format!("{group}/{file}"))?.and_then(|text| CpuSet::list(text, 0));
            let outside =
                cpus.filter(|cpus| !cpus.is_empty()).map(|cpus| machine.realtime.and(&machine.online).without(&cpus));
            if let Some(outside) = outside.filter(|outside| !outside.is_empty()) {
                return Ok(vec![
                    Sign::new(format!("{} does not have {}", quoted(group), outside.named()))
                        .key(outside.to_string())
                        .by_hand("start the work in a group that has them: systemd-run --slice, or --cpuset-cpus of a container"),
                ]);
            }
        }
    }
    // Isolated CPUs are not in the default affinity, but can be requested.
    let isolated = machine.optional("/sys/devices/system/cpu/isolated")?.and_then(|text| CpuSet::list(text, 0));
    let missing = machine.realtime.and(&machine.online).without(&allowed).without(&isolated.unwrap_or_default());
    sign_if(!missing.is_empty(), || {
        Sign::new(format!("this process may not use {}", missing.named()))
            .key(missing.to_string())
            .severity(Severity::Warning)
            .by_hand("start it without taskset, or with one that names these CPUs")
    })
}

fn container(machine: &Machine) -> Look {
    let found = machine.facts.environment.container.as_deref();
    let found = found.ok_or_else(|| Unknown("no fact shows whether this is a container".into()))?;
    sign_if(found != "none", || {
        Sign::new(format!("it is a container of {}", quoted(found))).key(found).by_hand("check the host as well")
    })
}
