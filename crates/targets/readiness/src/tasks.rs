//! Tasks with a higher priority than the work.

use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine};
use super::unknown::Unknown;
use archive::facts::TaskFact;

/// Kernel threads whose priority is part of their function.
const BORN_URGENT: &[&str] = &["migration/", "stopper/", "posixcputmr/", "cpuhp/", "watchdog", "idle_inject/"];

pub const RULES: &[Rule] = &[
    Rule {
        id: "tasks.as-urgent",
        title: "a task's priority is at or above the real-time work's",
        reason: "whenever it is runnable on the same CPU, the real-time work waits until it sleeps",
        source: "sched(7): Scheduling policies",
        severity: Severity::Warning,
        look: as_urgent,
    },
    Rule {
        id: "tasks.kernel-threads",
        title: "a kernel thread's priority is at or above the real-time work's",
        reason: "interrupt and RCU threads with a raised priority run first, including the threads of devices that the work does not need",
        source: "Real-time preemption: Theory of operation",
        severity: Severity::Notice,
        look: kernel_threads,
    },
    Rule {
        id: "tasks.soft-interrupts",
        title: "softirqs have a real-time priority",
        reason: "everything that drivers defer, above all networking, then competes with real-time tasks",
        source: "Reducing OS jitter due to per-cpu kthreads",
        severity: Severity::Warning,
        look: soft_interrupts,
    },
    Rule {
        id: "tasks.priority-99",
        title: "the real-time work uses the priority of the kernel's own critical threads",
        reason: "at 99 it competes with threads that migrate tasks and detect dead CPUs; a thread that spins there hangs the machine",
        source: "sched(7): Scheduling policies",
        severity: Severity::Notice,
        look: priority_99,
    },
    Rule {
        id: "tasks.meddlers",
        title: "a service changes priorities or settings on its own",
        reason: "it reverts manual settings, and stalld boosts tasks that wait for the real-time work",
        source: "Considering hardware",
        severity: Severity::Notice,
        look: meddlers,
    },
];

fn is_urgent(machine: &Machine, task: &TaskFact) -> bool {
    let born = task.kernel && BORN_URGENT.iter().any(|begin| task.name.starts_with(begin));
    let ahead = matches!(task.policy.as_str(), "fifo" | "rr") && task.priority >= machine.priority;
    (ahead || task.policy == "deadline") && !born
}

fn seen<'a>(machine: &Machine<'a>) -> Result<&'a [TaskFact], Unknown> {
    if machine.facts.omitted > 0 {
        return Err(Unknown(format!("there were too many tasks: {} were left out", machine.facts.omitted)));
    }
    if machine.facts.tasks.is_empty() {
        return Err(Unknown("no threads of the kernel and no real-time tasks can be seen, as in a container".into()));
    }
    Ok(&machine.facts.tasks)
}

fn as_urgent(machine: &Machine) -> Look {
    let urgent = seen(machine)?.iter().filter(|task| !task.kernel && is_urgent(machine, task));
    Ok(urgent.map(|task| sign(machine, task)).collect())
}

fn kernel_threads(machine: &Machine) -> Look {
    let soft = |task: &TaskFact| task.name.starts_with("ksoftirqd/");
    let urgent = seen(machine)?.iter().filter(|task| task.kernel && !soft(task) && is_urgent(machine, task));
    Ok(urgent.map(|task| sign(machine, task)).collect())
}

fn sign(machine: &Machine, task: &TaskFact) -> Sign {
    let name = quoted(&task.name);
    let (what, fix) = match task.policy.as_str() {
        "deadline" => {
            (format!("{name} is a deadline task"), format!("chrt -o -p 0 {} if it need not be one", task.tid))
        }
        policy => {
            let below = machine.priority.saturating_sub(1).max(1);
            (
                format!("{name} has priority {} ({policy})", task.priority),
                format!("chrt -f -p {below} {} or raise the work's own", task.tid),
            )
        }
    };
    Sign::new(what).key(&task.name).by_hand(fix)
}

fn soft_interrupts(machine: &Machine) -> Look {
    let raised = |task: &&TaskFact| task.kernel && task.name.starts_with("ksoftirqd/") && task.policy != "other";
    let signs = seen(machine)?.iter().filter(raised).map(|task| {
        let what = format!("{} has priority {}", quoted(&task.name), task.priority);
        Sign::new(what).key(&task.name).by_hand(format!("chrt -o -p 0 {}", task.tid))
    });
    Ok(signs.collect())
}

fn priority_99(machine: &Machine) -> Look {
    if machine.priority < 99 {
        return fine();
    }
    Ok(vec![Sign::new("the priority of the work is 99").by_hand("use 98 or less")])
}

fn meddlers(machine: &Machine) -> Look {
    let known = ["stalld", "tuned", "thermald", "numad", "ksmtuned", "power-profiles-"];
    let found = seen(machine)?.iter().filter(|task| !task.kernel && known.contains(&task.name.as_str()));
    Ok(found
        .map(|task| {
            let name = quoted(&task.name);
            Sign::new(format!("{name} is running"))
                .key(&name)
                .by_hand(format!("systemctl stop {name}, unless you want what it changes"))
        })
        .collect())
}
