//! Rules about CPU time that the scheduler grants to real-time tasks or takes from them.

use super::isolation::listed;
use super::machine::Machine;
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
const FAIR: &str = "/sys/kernel/debug/sched/fair_server/cpu";
const EXTENSIBLE_STATE: &str = "/sys/kernel/sched_ext/state";
/// The kernel's default: 95 %.
const USUAL_PERCENT: i64 = 95;

pub const RULES: &[Rule] = &[
    Rule {
        id: "scheduler.throttling",
        title: "real-time tasks are throttled when they have used their share",
        reason: "the task leaves its CPU in the middle of its work until the period ends, usually for 50 ms",
        source: "Real-Time group scheduling",
        severity: Severity::Notice,
        look: throttling,
    },
    Rule {
        id: "scheduler.fair-server",
        title: "normal tasks can take the CPU from real-time tasks",
        reason: "in every period in which normal tasks starve, the fair server takes the CPU from real-time tasks for its runtime",
        source: "Deadline Task Scheduling",
        severity: Severity::Notice,
        look: fair_server,
    },
    Rule {
        id: "scheduler.fair-server-tick",
        title: "the fair server may restart the tick of a nohz_full CPU",
        reason: "kernels from 6.12 on start the server when an ordinary task wakes up there, and some of them keep the tick while it runs: up to 1000 interrupts a second on a CPU that should have none",
        source: "NO_HZ: Reducing Scheduling-Clock Ticks",
        severity: Severity::Notice,
        look: fair_server_tick,
    },
    Rule {
        id: "scheduler.extensible",
        title: "a scheduler in BPF schedules the ordinary tasks",
        reason: "it decides when ordinary threads run, threads of audio and desktop programs among them, and its bugs delay them; real-time and deadline threads still run first",
        source: "Extensible Scheduler Class",
        severity: Severity::Notice,
        look: extensible,
    },
    Rule {
        id: "scheduler.statistics",
        title: "the scheduler keeps statistics",
        reason: "every wake-up and switch updates counters",
        source: "Documentation for /proc/sys/kernel/: sched_schedstats",
        severity: Severity::Notice,
        look: statistics,
    },
    Rule {
        id: "scheduler.bpf-statistics",
        title: "the kernel measures the run time of BPF programs",
        reason: "it reads the clock twice for each program that runs, in hot paths of the kernel",
        source: "Documentation for /proc/sys/kernel/: bpf_stats_enabled",
        severity: Severity::Notice,
        look: bpf_statistics,
    },
];

fn throttling(machine: &Machine) -> Look {
    let (runtime_us, period_us) = match (machine.number(RUNTIME)?, machine.number(PERIOD)?) {
        (Some(runtime_us), Some(period_us)) => (runtime_us, period_us),
        _ => return Err(Unknown(format!("{RUNTIME} does not exist"))),
    };
    if runtime_us < 0 || runtime_us >= period_us {
        return fine();
    }
    let percent = i128::from(runtime_us) * 100 / i128::from(period_us.max(1));
    let unusual = percent < i128::from(USUAL_PERCENT);
    // Since 6.12 the fair server stops real-time tasks; these values only limit deadline tasks.
    if machine.is_since(6, 12)? && !unusual {
        return fine();
    }
    let severity = match runtime_us {
        0 => Severity::Severe,
        _ if unusual => Severity::Warning,
        _ => Severity::Notice,
    };
    let what = format!("real-time tasks may use {runtime_us} µs of each {period_us} µs ({percent} %)");
    Ok(vec![Sign::new(what).key(format!("{percent}")).severity(severity).write(RUNTIME, "-1").by_hand(
        "-1 takes the net away: a real-time task that never sleeps then keeps its CPU for ever; fix such a task first",
    )])
}

fn fair_server(machine: &Machine) -> Look {
    if !machine.is_since(6, 12)? {
        return fine();
    }
    let runtimes = machine.of_cpus(FAIR, "/runtime")?;
    let periods = machine.of_cpus(FAIR, "/period")?;
    if runtimes.is_empty() {
        return Err(Unknown(
            "the fair servers are hidden; mount -t debugfs debugfs /sys/kernel/debug shows them".into(),
        ));
    }
    let mut signs = Vec::new();
    for (cpu, runtime) in runtimes.into_iter().filter(|(cpu, _)| machine.realtime.contains(*cpu)) {
        let ns = |text: &str| text.parse::<u64>().map_err(|_| Unknown(format!("{FAIR}{cpu} holds no number")));
        let runtime_ns = ns(runtime)?;
        let period_ns = periods.iter().find(|(of, _)| *of == cpu).map_or(Ok(1_000_000_000), |(_, text)| ns(text))?;
        if runtime_ns > 0 {
            let greedy = u128::from(runtime_ns) * 100 > u128::from(period_ns) * 5;
            let what = format!(
                "on CPU {cpu} ordinary tasks get {} ms of each {} ms in which they starve",
                runtime_ns / 1_000_000,
                period_ns / 1_000_000
            );
            signs.push(
                Sign::new(what)
                    .key(format!("cpu{cpu}"))
                    .severity(if greedy { Severity::Warning } else { Severity::Notice })
                    .write(format!("{FAIR}{cpu}/runtime"), "0"),
            );
        }
    }
    Ok(signs)
}

fn fair_server_tick(machine: &Machine) -> Look {
    if !machine.is_since(6, 12)? {
        return fine();
    }
    let without_tick = listed(machine, "nohz_full")?;
    if without_tick.is_empty() {
        return fine();
    }
    let runtimes = machine.of_cpus(FAIR, "/runtime")?;
    let serving = runtimes.into_iter().filter(|(cpu, runtime)| without_tick.contains(*cpu) && *runtime != "0");
    let sign = |(cpu, _): (u32, &str)| {
        Sign::new(format!("CPU {cpu} is in nohz_full and has a fair server"))
            .key(format!("cpu{cpu}"))
            .write(format!("{FAIR}{cpu}/runtime"), "0")
    };
    Ok(serving.map(sign).collect())
}

fn extensible(machine: &Machine) -> Look {
    let enabled = machine.optional(EXTENSIBLE_STATE)? == Some("enabled");
    sign_if(enabled, || {
        Sign::new("a scheduler of sched_ext is loaded")
            .by_hand("stop the program or the service that loaded it, such as scx.service, and measure both ways")
    })
}

fn statistics(machine: &Machine) -> Look {
    let path = "/proc/sys/kernel/sched_schedstats";
    let on = machine.number(path)?.is_some_and(|value| value != 0);
    sign_if(on, || Sign::new("kernel.sched_schedstats is 1").write(path, "0"))
}

fn bpf_statistics(machine: &Machine) -> Look {
    let path = "/proc/sys/kernel/bpf_stats_enabled";
    let on = machine.number(path)?.is_some_and(|value| value != 0);
    sign_if(on, || Sign::new("kernel.bpf_stats_enabled is 1").write(path, "0"))
}
