//! One record of a trace as a line of text: time relative to due, CPU, state flags, thread, event.

use crate::holders::{interrupt, thread};
use archive::culprit::{ForeignText, KernelPriority};
use archive::trace_event::{FileSystem, Happened, LeftAs, TraceEvent, flag, softirq};

/// `+12.345 µs`, an instant relative to due.
pub fn relative(at_ns: i64) -> String {
    format!("{:+.3} µs", at_ns as f64 / 1000.0)
}

/// `    +12.345 µs cpu1 d..h1 hackbench-4711: irq 24 virtio0 entered`.
pub fn line(event: &TraceEvent) -> String {
    let (at, flags, thread) = (relative(event.at_ns), flags(event.flags, event.depth), thread(&event.thread));
    format!("{at:>14} cpu{} {flags} {thread}: {}", event.cpu, happened(&event.what))
}

/// In the kernel's notation: interrupts off, reschedule needed, in interrupt, preemption depth.
fn flags(flags: u8, depth: u8) -> String {
    let irqs = if flags & flag::IRQS_OFF != 0 { 'd' } else { '.' };
    let resched = match (flags & flag::NEED_RESCHED != 0, flags & flag::PREEMPT_RESCHED != 0) {
        (true, true) => 'N',
        (true, false) => 'n',
        (false, true) => 'p',
        (false, false) => '.',
    };
    let context = match flags & (flag::NMI | flag::HARDIRQ | flag::SOFTIRQ) {
        bits if bits & flag::NMI != 0 => 'Z',
        bits if bits == flag::HARDIRQ | flag::SOFTIRQ => 'H',
        bits if bits & flag::HARDIRQ != 0 => 'h',
        bits if bits & flag::SOFTIRQ != 0 => 's',
        _ => '.',
    };
    match depth {
        0 => format!("{irqs}{resched}{context}."),
        depth => format!("{irqs}{resched}{context}{depth:x}"),
    }
}

fn happened(what: &Happened) -> String {
    match what {
        Happened::Switch { from, from_priority, left, to, to_priority } => format!(
            "switch from {} (prio {}, {}) to {} (prio {})",
            thread(from),
            priority(*from_priority),
            left_as(*left),
            thread(to),
            priority(*to_priority)
        ),
        Happened::Waking { task, on_cpu } => format!("starts to wake {} on CPU {on_cpu}", thread(task)),
        Happened::Wakeup { task, on_cpu } => format!("{} is runnable on CPU {on_cpu}", thread(task)),
        Happened::Migrate { task, from_cpu, to_cpu } => {
            format!("{} moves from CPU {from_cpu} to CPU {to_cpu}", thread(task))
        }
        Happened::PriorityLent { task, old_priority, new_priority } => {
            let (new, old) = (priority(*new_priority), priority(*old_priority));
            format!("{} inherits prio {new} instead of {old}", thread(task))
        }
        Happened::Signal { signal, task } => format!("sends {} to {}", signal_name(*signal), thread(task)),
        Happened::Freeze { frozen, group } => {
            format!("{} control group {}", if *frozen { "freezes" } else { "thaws" }, group.0)
        }
        Happened::Runtime { task, ran_ns } => format!("{} is charged {ran_ns} ns of runtime", thread(task)),
        Happened::FileSync { file_system, device } => {
            format!("writes out a file on {}", file_system_on(*file_system, *device))
        }
        Happened::IrqEntry(irq) => format!("{} entered", interrupt(irq)),
        Happened::IrqExit(irq) => format!("{} left", interrupt(irq)),
        Happened::VectorEntry(vector) => format!("{} entered", vector.name()),
        Happened::VectorExit(vector) => format!("{} left", vector.name()),
        Happened::SoftirqEntry(number) => format!("softirq {} begins", softirq(*number)),
        Happened::SoftirqExit(number) => format!("softirq {} ends", softirq(*number)),
        Happened::SoftirqRaise(number) => format!("softirq {} raised", softirq(*number)),
        Happened::HrtimerStart { function, expires_ns } => format!("timer {} started for {expires_ns}", function.0),
        Happened::HrtimerCancel { timer } => format!("timer {timer:#x} cancelled"),
        Happened::HrtimerExpireEntry { function } => format!("timer {} expires", function.0),
        Happened::HrtimerExpireExit => "timer done".into(),
        Happened::TimerExpireEntry { function } => format!("wheel timer {} expires", function.0),
        Happened::TimerExpireExit => "wheel timer done".into(),
        Happened::WorkStart { function } => format!("work {} begins", function.0),
        Happened::WorkEnd => "work ends".into(),
        Happened::CsdEntry { function } => format!("SMP call of {} begins", function.0),
        Happened::CsdExit => "SMP call done".into(),
        Happened::IdleExit => "leaves idle".into(),
        Happened::IdleEntry { state } => format!("enters idle state {state}"),
        Happened::Frequency { khz, cpu } => format!("CPU {cpu} set to {khz} kHz"),
        Happened::Nmi { handler, took_ns } => format!("nmi handler {} took {took_ns} ns", handler.0),
        Happened::PageFault { user: true, address } => format!("page fault of user code at {address:#x}"),
        Happened::PageFault { user: false, address } => format!("page fault of kernel code at {address:#x}"),
        Happened::PageAllocated { movable: true } => "gets a page of memory".into(),
        Happened::PageAllocated { movable: false } => "gets a page for the kernel".into(),
        Happened::MemoryCounted { own: true } => "its page count changes".into(),
        Happened::MemoryCounted { own: false } => "the page count of another process changes".into(),
        Happened::Function { function, caller } => format!("{}() called by {}", function.0, caller.0),
        Happened::GraphEntry { function, depth } => format!("{}() begins, depth {depth}", function.0),
        Happened::GraphExit { function, depth } => format!("{}() ends, depth {depth}", function.0),
        Happened::Stack(ForeignText(callers)) => format!("called by: {callers}"),
        Happened::Message(ForeignText(text)) => format!("message: {text}"),
        Happened::Marker(ForeignText(text)) => format!("marker: {text}"),
        Happened::Other(Some(ForeignText(text))) => text.clone(),
        Happened::Other(None) => "another event".into(),
    }
}

/// `ext4, /dev/block/254:0`.
pub fn file_system_on(file_system: FileSystem, device: u32) -> String {
    // The kernel uses 20 bits for the minor number.
    match (device >> 20, device & 0xf_ffff) {
        (0, 0) => file_system.name().to_owned(),
        (major, minor) => format!("{}, /dev/block/{major}:{minor}", file_system.name()),
    }
}

/// Names of the signals that stop and continue, as on most architectures.
fn signal_name(signal: i32) -> String {
    match signal {
        18 => "SIGCONT".into(),
        19 => "SIGSTOP".into(),
        20 => "SIGTSTP".into(),
        21 => "SIGTTIN".into(),
        22 => "SIGTTOU".into(),
        _ => format!("signal {signal}"),
    }
}

fn priority(priority: Option<KernelPriority>) -> String {
    priority.map_or_else(|| "unknown".into(), |priority| priority.0.to_string())
}

fn left_as(left: LeftAs) -> &'static str {
    match left {
        LeftAs::Runnable => "runnable",
        LeftAs::Stopped => "stopped",
        LeftAs::Blocked => "blocked",
        LeftAs::Asleep => "asleep",
        LeftAs::Gone => "gone",
    }
}
