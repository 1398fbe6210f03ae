//! One event as a line of text: time relative to due, CPU, state flags, thread, event.

use crate::read::event::{Event, EventKind, FileSystem, IDLE_EXIT, flag, state};
use crate::read::names::{Names, softirq};

/// `+12.345 µs`, relative to the due instant.
pub fn relative(ts_ns: i64, due_ns: i64) -> String {
    format!("{:+.3} µs", ts_ns.saturating_sub(due_ns) as f64 / 1000.0)
}

/// `    +12.345 µs cpu1 d..h1 hackbench-4711: irq 24 virtio0 entered`.
pub fn line(event: &Event, due_ns: i64, names: &Names) -> String {
    format!(
        "{:>14} cpu{} {} {}: {}",
        relative(event.ts_ns, due_ns),
        event.cpu,
        flags(event),
        thread(event.tid, names),
        what(event, names)
    )
}

fn thread(tid: i32, names: &Names) -> String {
    if tid == 0 { "idle".into() } else { names.task(tid) }
}

/// In the kernel's notation: interrupts off, reschedule needed, in interrupt, preemption depth.
fn flags(event: &Event) -> String {
    let irqs = if event.flags & flag::IRQS_OFF != 0 { 'd' } else { '.' };
    let resched = match (event.flags & flag::NEED_RESCHED != 0, event.flags & flag::PREEMPT_RESCHED != 0) {
        (true, true) => 'N',
        (true, false) => 'n',
        (false, true) => 'p',
        (false, false) => '.',
    };
    let context = match event.flags & (flag::NMI | flag::HARDIRQ | flag::SOFTIRQ) {
        bits if bits & flag::NMI != 0 => 'Z',
        bits if bits == flag::HARDIRQ | flag::SOFTIRQ => 'H',
        bits if bits & flag::HARDIRQ != 0 => 'h',
        bits if bits & flag::SOFTIRQ != 0 => 's',
        _ => '.',
    };
    match event.depth & 0x0f {
        0 => format!("{irqs}{resched}{context}."),
        depth => format!("{irqs}{resched}{context}{depth:x}"),
    }
}

fn what(event: &Event, names: &Names) -> String {
    let function = |address: u64| names.function(address);
    match event.what {
        EventKind::Switch { prev, prev_prio, prev_state, next, next_prio } => format!(
            "switch from {} (prio {prev_prio}, {}) to {} (prio {next_prio})",
            thread(prev, names),
            left_as(prev_state),
            thread(next, names)
        ),
        EventKind::Waking { tid, target_cpu, .. } => {
            format!("starts to wake {} on CPU {target_cpu}", thread(tid, names))
        }
        EventKind::Wakeup { tid, target_cpu, .. } => format!("{} is runnable on CPU {target_cpu}", thread(tid, names)),
        EventKind::Migrate { tid, from_cpu, to_cpu } => {
            format!("{} moves from CPU {from_cpu} to CPU {to_cpu}", thread(tid, names))
        }
        EventKind::PiSetPrio { tid, old_prio, new_prio } => {
            format!("{} inherits prio {new_prio} instead of {old_prio}", thread(tid, names))
        }
        EventKind::Signal { signal, tid } => format!("sends {} to {}", signal_name(signal), thread(tid, names)),
        EventKind::Freeze { frozen } => {
            let what = if frozen { "freezes" } else { "thaws" };
            format!("{what} control group {}", names.text(event.cpu, event.ts_ns).unwrap_or(""))
        }
        EventKind::Runtime { tid, ran_ns } => format!("{} is charged {ran_ns} ns of runtime", thread(tid, names)),
        EventKind::FileSync { file_system, device } => {
            format!("writes out a file on {}", file_system_words(file_system, device))
        }
        EventKind::IrqEntry { irq } => format!("{} entered", names.irq(irq)),
        EventKind::IrqExit { irq } => format!("{} left", names.irq(irq)),
        EventKind::VectorEntry { vector } => format!("{} entered", vector.name()),
        EventKind::VectorExit { vector } => format!("{} left", vector.name()),
        EventKind::SoftirqEntry { vec } => format!("softirq {} begins", softirq(vec)),
        EventKind::SoftirqExit { vec } => format!("softirq {} ends", softirq(vec)),
        EventKind::SoftirqRaise { vec } => format!("softirq {} raised", softirq(vec)),
        EventKind::HrtimerStart { function: address, expires_ns, .. } => {
            format!("timer {} started for {expires_ns}", function(address))
        }
        EventKind::HrtimerCancel { timer } => format!("timer {timer:#x} cancelled"),
        EventKind::HrtimerExpireEntry { function: address, .. } => format!("timer {} expires", function(address)),
        EventKind::HrtimerExpireExit { .. } => "timer done".into(),
        EventKind::TimerExpireEntry { function: address } => format!("wheel timer {} expires", function(address)),
        EventKind::TimerExpireExit => "wheel timer done".into(),
        EventKind::WorkStart { function: address } => format!("work {} begins", function(address)),
        EventKind::WorkEnd => "work ends".into(),
        EventKind::CsdEntry { function: address } => format!("SMP call of {} begins", function(address)),
        EventKind::CsdExit => "SMP call done".into(),
        EventKind::Idle { state: IDLE_EXIT } => "leaves idle".into(),
        EventKind::Idle { state } => format!("enters idle state {state}"),
        EventKind::Frequency { khz, cpu } => format!("CPU {cpu} set to {khz} kHz"),
        EventKind::Nmi { handler, delta_ns } => format!("nmi handler {} took {delta_ns} ns", function(handler)),
        EventKind::PageFault { user: true, address } => format!("page fault of user code at {address:#x}"),
        EventKind::PageFault { user: false, address } => format!("page fault of kernel code at {address:#x}"),
        EventKind::PageAllocated { movable: true } => "gets a page of memory".into(),
        EventKind::PageAllocated { movable: false } => "gets a page for the kernel".into(),
        EventKind::MemoryCounted { own: true } => "its page count changes".into(),
        EventKind::MemoryCounted { own: false } => "the page count of another process changes".into(),
        EventKind::Function { function: entered, caller } => {
            format!("{}() called by {}", function(entered), function(caller))
        }
        EventKind::GraphEntry { function: entered, depth } => format!("{}() begins, depth {depth}", function(entered)),
        EventKind::GraphExit { function: left, depth } => format!("{}() ends, depth {depth}", function(left)),
        EventKind::Stack => format!("called by: {}", names.text(event.cpu, event.ts_ns).unwrap_or("")),
        EventKind::Message => format!("message: {}", names.text(event.cpu, event.ts_ns).unwrap_or("").trim()),
        EventKind::Marker => format!("marker: {}", names.text(event.cpu, event.ts_ns).unwrap_or("").trim()),
        EventKind::Other => names.text(event.cpu, event.ts_ns).unwrap_or("another event").to_owned(),
    }
}

/// `ext4, /dev/block/254:0`.
pub fn file_system_words(file_system: FileSystem, device: u32) -> String {
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

fn left_as(prev_state: i64) -> &'static str {
    match prev_state & 0xff {
        0 => "runnable",
        bits if bits & (state::STOPPED | state::TRACED) != 0 => "stopped",
        bits if bits & state::BLOCKED != 0 => "blocked",
        bits if bits & 0x01 != 0 => "asleep",
        _ => "gone",
    }
}
