//! Tracing that costs time now, and tracing that would be needed to explain a late wake-up.

use super::machine::{Machine, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

const TRACING: &str = "/sys/kernel/tracing";

pub const RULES: &[Rule] = &[
    Rule {
        id: "tracing.tracer",
        title: "a tracer traces the whole machine",
        reason: "a function tracer slows down every kernel function, even if nothing reads the trace",
        source: "ftrace - Function Tracer",
        severity: Severity::Warning,
        look: tracer,
    },
    Rule {
        id: "tracing.events",
        title: "the kernel records events of the whole machine",
        reason: "each event takes 0.1 to 1 µs where it occurs",
        source: "Event Tracing",
        severity: Severity::Warning,
        look: events,
    },
    Rule {
        id: "tracing.stacks",
        title: "the kernel measures stack depth",
        reason: "every function call checks the depth of the stack",
        source: "ftrace - Function Tracer: stack trace",
        severity: Severity::Warning,
        look: stacks,
    },
    Rule {
        id: "tracing.printed-events",
        title: "the kernel prints each recorded event",
        reason: "each event is formatted and logged where it occurs, with interrupts masked",
        source: "The kernel's command-line parameters: tp_printk",
        severity: Severity::Warning,
        look: printed_events,
    },
    Rule {
        id: "tracing.unavailable",
        title: "the kernel cannot trace",
        reason: "a late wake-up can be measured but not explained",
        source: "ftrace - Function Tracer",
        severity: Severity::Notice,
        look: unavailable,
    },
    Rule {
        id: "tracing.features",
        title: "the kernel lacks tracing features",
        reason: "without them, explaining a late wake-up costs more or shows less",
        source: "Event Histograms",
        severity: Severity::Notice,
        look: features,
    },
];

/// Why the tracing file system could not be read, if so.
fn readable(machine: &Machine) -> Result<(), Unknown> {
    let Some(why) = &machine.facts.tracing_problem else { return Ok(()) };
    let hidden = "only root can see the trace; `sudo tardy setup --apply` lets this user see it";
    Err(Unknown(if machine.facts.root { quoted(why) } else { hidden.into() }))
}

fn tracer(machine: &Machine) -> Look {
    readable(machine)?;
    let current = machine.text(&format!("{TRACING}/current_tracer"))?;
    sign_if(current != "nop", || {
        let sign = Sign::new(format!("the current tracer is {}", quoted(current))).key(current);
        sign.by_hand(format!("end the tool that set it, or: echo nop > {TRACING}/current_tracer"))
    })
}

fn events(machine: &Machine) -> Look {
    readable(machine)?;
    let enabled = machine.text(&format!("{TRACING}/events/enable"))?;
    sign_if(matches!(enabled, "1" | "X"), || {
        let all = if enabled == "1" { "all events are on" } else { "some events are on" };
        Sign::new(all).key(enabled).by_hand(format!("end the tool that set them, or: echo 0 > {TRACING}/events/enable"))
    })
}

fn stacks(machine: &Machine) -> Look {
    let path = "/proc/sys/kernel/stack_tracer_enabled";
    sign_if(machine.number(path)?.is_some_and(|value| value != 0), || {
        Sign::new("kernel.stack_tracer_enabled is 1").write(path, "0")
    })
}

fn printed_events(machine: &Machine) -> Look {
    let path = "/proc/sys/kernel/tracepoint_printk";
    sign_if(machine.number(path)?.is_some_and(|value| value != 0), || {
        Sign::new("kernel.tracepoint_printk is 1").write(path, "0")
    })
}

fn unavailable(machine: &Machine) -> Look {
    let systems = machine.text("/proc/filesystems")?;
    let has = systems.lines().any(|line| line.split_whitespace().last() == Some("tracefs"));
    sign_if(!has, || Sign::new("there is no tracefs").build("CONFIG_FTRACE=y").build("CONFIG_ENABLE_DEFAULT_TRACERS=y"))
}

fn features(machine: &Machine) -> Look {
    if !machine.is_built("TRACING")? {
        return fine();
    }
    let wanted = [
        ("TRACER_SNAPSHOT", "the buffers cannot be swapped at a late wake-up"),
        ("HIST_TRIGGERS", "the kernel cannot find new maxima itself"),
        ("FUNCTION_TRACER", "functions cannot be seen"),
        ("KPROBE_EVENTS", "no events can be added"),
        ("TIMERLAT_TRACER", "the kernel's own measurement of latencies is missing"),
    ];
    let mut signs = Vec::new();
    for (option, lack) in wanted {
        if !machine.is_built(option)? {
            let line = format!("CONFIG_{option}=y");
            signs.push(Sign::new(format!("CONFIG_{option} is not set: {lack}")).key(option).build(line));
        }
    }
    Ok(signs)
}
