//! Compares requested with effective isolation, and finds what else may run on CPUs dedicated to real-time work.

use super::cpu_set::CpuSet;
use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

const CPUS: &str = "/sys/devices/system/cpu";
/// Flags before the list of isolcpus=.
const FLAGS: &[&str] = &["nohz", "domain", "managed_irq"];

pub const RULES: &[Rule] = &[
    Rule {
        id: "isolation.not-in-effect",
        title: "CPUs that should be isolated are not",
        reason: "isolcpus= or nohz_full= has no effect where the kernel did not accept it",
        source: "CPU Isolation",
        severity: Severity::Severe,
        look: not_in_effect,
    },
    Rule {
        id: "isolation.no-such-cpu",
        title: "a real-time CPU does not exist or is offline",
        reason: "no thread can be pinned to it",
        source: "CPU hotplug in the Kernel",
        severity: Severity::Severe,
        look: no_such_cpu,
    },
    Rule {
        id: "isolation.scheduler",
        title: "the scheduler may put other tasks on the real-time CPUs",
        reason: "load balancing moves tasks and kernel threads there, and takes locks of these CPUs",
        source: "CPU Isolation",
        severity: Severity::Warning,
        look: scheduler,
    },
    Rule {
        id: "isolation.tick",
        title: "the tick continues on the real-time CPUs",
        reason: "it interrupts a running thread 100 to 1000 times per second; it matters more to threads that poll than to those that sleep",
        source: "NO_HZ: Reducing Scheduling-Clock Ticks",
        severity: Severity::Notice,
        look: tick,
    },
    Rule {
        id: "isolation.rcu-callbacks",
        title: "RCU callbacks run on the real-time CPUs",
        reason: "a softirq there frees the memory that other tasks on the CPU have released",
        source: "Reducing OS jitter due to per-cpu kthreads",
        severity: Severity::Warning,
        look: rcu_callbacks,
    },
    Rule {
        id: "isolation.kernel-threads",
        title: "kernel threads may run on the real-time CPUs",
        reason: "threads that are not bound to a CPU take CPU time there, take locks and evict caches",
        source: "Reducing OS jitter due to per-cpu kthreads",
        severity: Severity::Notice,
        look: kernel_threads,
    },
    Rule {
        id: "isolation.workqueues",
        title: "work items may run on the real-time CPUs",
        reason: "unbound kworkers start on any CPU of the mask",
        source: "Workqueue",
        severity: Severity::Warning,
        look: |machine| mask(machine, "/sys/devices/virtual/workqueue/cpumask", "unbound work items"),
    },
    Rule {
        id: "isolation.writeback",
        title: "dirty pages may be written back on the real-time CPUs",
        reason: "writeback is long work in a kworker",
        source: "Reducing OS jitter due to per-cpu kthreads",
        severity: Severity::Notice,
        look: |machine| mask(machine, "/sys/bus/workqueue/devices/writeback/cpumask", "writing back"),
    },
    Rule {
        id: "isolation.nothing-left",
        title: "no CPU is left for other work",
        reason: "the kernel's own work must run somewhere, and then runs on the real-time CPUs",
        source: "NO_HZ: Reducing Scheduling-Clock Ticks",
        severity: Severity::Warning,
        look: nothing_left,
    },
    Rule {
        id: "isolation.boot-cpu",
        title: "CPU 0 is a real-time CPU",
        reason: "timekeeping, and much work that is not bound to a CPU, stays on the CPU that booted",
        source: "NO_HZ: Reducing Scheduling-Clock Ticks",
        severity: Severity::Notice,
        look: boot_cpu,
    },
    Rule {
        id: "isolation.siblings",
        title: "other threads share a core with a real-time CPU",
        reason: "a sibling thread uses half of the core's execution units and caches",
        source: "Considering hardware: Simultaneous multithreading",
        severity: Severity::Warning,
        look: siblings,
    },
];

/// CPUs of a kernel file with a list; empty if the kernel has no such file, or writes its word for an empty list.
pub(super) fn listed(machine: &Machine, file: &str) -> Result<CpuSet, Unknown> {
    let text = machine.optional(&format!("{CPUS}/{file}"))?.unwrap_or_default();
    if text == "(null)" {
        return Ok(CpuSet::default());
    }
    CpuSet::list(text, 0).ok_or_else(|| Unknown(format!("{CPUS}/{file} is not a CPU list: {}", quoted(text))))
}

/// The value of a parameter that is not a CPU list.
struct NoList<'a>(&'a str);

/// CPUs of a parameter; flags such as `domain` may precede them.
fn asked<'a>(machine: &'a Machine, name: &str) -> Option<Result<CpuSet, NoList<'a>>> {
    let value = machine.command_line.value(name)?;
    let list: Vec<&str> = value.split(',').skip_while(|word| FLAGS.contains(word)).collect();
    Some(CpuSet::list(&list.join(","), machine.last_cpu()).ok_or(NoList(value)))
}

fn not_in_effect(machine: &Machine) -> Look {
    let mut signs = Vec::new();
    for (name, file) in [("isolcpus", "isolated"), ("nohz_full", "nohz_full")] {
        let Some(asked) = asked(machine, name) else { continue };
        let flags = machine.command_line.value(name).unwrap_or_default();
        if name == "isolcpus" && (flags.contains("nohz") || flags.contains("managed_irq")) && !flags.contains("domain")
        {
            // Without `domain`, it does not affect the scheduler.
            continue;
        }
        let asked = match asked {
            Ok(asked) => asked,
            Err(NoList(value)) => {
                let what = format!("{name}={} is not a CPU list", quoted(value));
                signs.push(Sign::new(what).key(name).by_hand(format!("write it like {name}=2-3,5")));
                continue;
            }
        };
        let effective = listed(machine, file)?;
        let missing = asked.without(&effective);
        if !missing.is_empty() {
            let found = if effective.is_empty() {
                "none is".into()
            } else {
                format!("{} {}", effective.named(), if effective.len() == 1 { "is" } else { "are" })
            };
            let absent = missing.without(&machine.online);
            let fix = if !absent.is_empty() {
                format!(
                    "{} not online here; CPUs are counted from 0",
                    if absent.len() == 1 {
                        format!("{} is", absent.named())
                    } else {
                        format!("{} are", absent.named())
                    }
                )
            } else if name == "nohz_full" && machine.is_built("NO_HZ_FULL") == Ok(false) {
                "the kernel was built without CONFIG_NO_HZ_FULL".into()
            } else {
                "the kernel's log says why: dmesg | grep -iE 'isol|nohz|housekeeping'".into()
            };
            let what = format!("{name}= asks for {}, and {found}", asked.named());
            signs.push(Sign::new(what).key(format!("{name} {missing}")).by_hand(fix));
        }
    }
    Ok(signs)
}

fn no_such_cpu(machine: &Machine) -> Look {
    let absent = machine.realtime.without(&machine.online);
    sign_if(!absent.is_empty() && !machine.online.is_empty(), || {
        Sign::new(format!("{}, of {} online", absent.named(), machine.online.named()))
            .key(absent.to_string())
            .by_hand("name other CPUs with --cpus, or bring it online")
    })
}

fn scheduler(machine: &Machine) -> Look {
    if !machine.dedicated {
        return fine();
    }
    let partitions = machine.optional("/sys/fs/cgroup/cpuset.cpus.isolated")?.and_then(|text| CpuSet::list(text, 0));
    let open = machine
        .realtime
        .and(&machine.online)
        .without(&listed(machine, "isolated")?)
        .without(&partitions.unwrap_or_default());
    sign_if(!open.is_empty(), || {
        let argument = format!("isolcpus=managed_irq,domain,{}", machine.realtime);
        Sign::new(format!("{} not isolated", is_or_are(&open))).key(open.to_string()).boot(argument)
    })
}

fn tick(machine: &Machine) -> Look {
    if !machine.dedicated {
        return fine();
    }
    let ticking = machine.realtime.and(&machine.online).without(&listed(machine, "nohz_full")?);
    sign_if(!ticking.is_empty(), || {
        Sign::new(format!("{} not in nohz_full", is_or_are(&ticking)))
            .key(ticking.to_string())
            .boot(format!("nohz_full={}", machine.realtime))
    })
}

fn rcu_callbacks(machine: &Machine) -> Look {
    if !machine.dedicated && !machine.command_line.has("rcu_nocbs") {
        return fine();
    }
    let kept = match (asked(machine, "rcu_nocbs"), machine.command_line.has("rcu_nocbs")) {
        (Some(Ok(cpus)), _) => cpus,
        (Some(Err(NoList(value))), _) => {
            return sign_if(true, || {
                Sign::new(format!("rcu_nocbs={} is not a CPU list", quoted(value)))
                    .by_hand("write it like rcu_nocbs=2-3")
            });
        }
        // Without a list it only makes a later request possible, and applies to no CPU yet.
        _ => CpuSet::default(),
    };
    let moved = kept.iter().chain(listed(machine, "nohz_full")?.iter()).collect::<Vec<_>>();
    let open = machine.realtime.and(&machine.online).without(&CpuSet::of(moved.iter().copied()));
    if !open.is_empty() && machine.dedicated {
        return Ok(vec![
            Sign::new(format!("callbacks of {} run there", open.named()))
                .key(open.to_string())
                .boot(format!("rcu_nocbs={}", machine.realtime)),
        ]);
    }
    sign_if(machine.is_built("RCU_NOCB_CPU").is_ok_and(|built| !built) && !moved.is_empty(), || {
        Sign::new("rcu_nocbs= is asked for, and the kernel was built without it")
            .key("not built")
            .build("CONFIG_RCU_NOCB_CPU=y")
    })
}

fn kernel_threads(machine: &Machine) -> Look {
    if !machine.dedicated {
        return fine();
    }
    let tasks = &machine.facts.tasks;
    if tasks.is_empty() {
        return Err(Unknown("no threads of the kernel can be seen, as in a container".into()));
    }
    let everywhere = |text: &str| {
        let cpus = CpuSet::list(text, 0).unwrap_or_default();
        // A task restricted to these CPUs is there for them.
        !cpus.and(&machine.realtime).is_empty() && !cpus.without(&machine.realtime).is_empty()
    };
    let movable = tasks.iter().filter(|task| task.kernel && !task.bound && everywhere(&task.cpus_allowed));
    let names: Vec<&str> = movable.map(|task| task.name.as_str()).collect();
    sign_if(!names.is_empty(), || {
        let some: Vec<String> = names.iter().take(3).map(|name| quoted(name)).collect();
        let more = names.len() - some.len();
        let and_more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Sign::new(format!("{}{and_more} may run on {}", some.join(", "), machine.realtime.named()))
            .boot(format!("nohz_full={}", machine.realtime))
            .by_hand(format!("or move them now: taskset -pc {} TID", machine.housekeeping()))
    })
}

fn mask(machine: &Machine, path: &str, whose: &str) -> Look {
    if !machine.dedicated {
        return fine();
    }
    let Some(text) = machine.optional(path)? else { return fine() };
    let mask = CpuSet::mask(text).ok_or_else(|| Unknown(format!("{path} is not a CPU mask: {}", quoted(text))))?;
    let open = mask.and(&machine.realtime);
    sign_if(!open.is_empty(), || {
        Sign::new(format!("the mask of {whose} has {}", open.named()))
            .key(open.to_string())
            .write(path, machine.housekeeping().to_mask())
    })
}

fn nothing_left(machine: &Machine) -> Look {
    let isolated = listed(machine, "isolated")?;
    let all = !isolated.is_empty() && machine.online.without(&isolated).is_empty();
    let taken = machine.dedicated && machine.online.without(&machine.realtime).is_empty();
    sign_if(all || taken, || {
        let what = if all { "every online CPU is isolated" } else { "the work has every online CPU" };
        Sign::new(what).by_hand("leave at least one CPU, usually 0, to everything else")
    })
}

fn boot_cpu(machine: &Machine) -> Look {
    let elsewhere = machine.dedicated && machine.realtime.contains(0) && machine.online.len() > machine.realtime.len();
    sign_if(elsewhere, || {
        Sign::new("the work has CPU 0").by_hand("give the work other CPUs and leave CPU 0 to everything else")
    })
}

fn siblings(machine: &Machine) -> Look {
    let lists = machine.of_cpus(&format!("{CPUS}/cpu"), "/topology/thread_siblings_list")?;
    let isolated = listed(machine, "isolated")?;
    let mut signs = Vec::new();
    for (cpu, text) in lists.into_iter().filter(|(cpu, _)| machine.realtime.contains(*cpu)) {
        let core = CpuSet::list(text, 0).unwrap_or_default().and(&machine.online);
        let strange = core.without(&machine.realtime).without(&isolated);
        let dedicated = machine.dedicated && !strange.is_empty();
        if dedicated || !machine.dedicated && core.len() > 1 && core.iter().next() == Some(cpu) {
            let sign = match dedicated {
                true => Sign::new(format!("CPU {cpu} shares its core with {}", strange.named())),
                false => Sign::new(format!("{} share a core", core.named())).severity(Severity::Notice),
            };
            let sign = sign.key(core.to_string()).boot("nosmt");
            signs.push(sign.by_hand("or now, until the next boot: echo off > /sys/devices/system/cpu/smt/control"));
        }
    }
    Ok(signs)
}

fn is_or_are(cpus: &CpuSet) -> String {
    format!("{} {}", cpus.named(), if cpus.len() == 1 { "is" } else { "are" })
}
