//! An event with the names of its numbers.

use crate::read::event::{Event, EventKind, IDLE_EXIT, state};
use crate::read::names::Names;
use archive::culprit::{ForeignText, KernelPriority};
use archive::trace_event::{Happened, LeftAs, TraceEvent};

/// `+12.345 µs`, relative to the due instant.
pub fn relative(ts_ns: i64, due_ns: i64) -> String {
    words::trace_event::relative(ts_ns.saturating_sub(due_ns))
}

pub fn named_event(event: &Event, due_ns: i64, names: &Names) -> TraceEvent {
    TraceEvent {
        at_ns: event.ts_ns.saturating_sub(due_ns),
        cpu: event.cpu,
        flags: event.flags,
        depth: event.depth & 0x0f,
        thread: names.task_name(event.tid),
        what: happened(event, names),
    }
}

fn happened(event: &Event, names: &Names) -> Happened {
    let function = |address: u64| names.function_name(address);
    let task = |tid: i32| names.task_name(tid);
    let text = || ForeignText::from(names.text(event.cpu, event.ts_ns).unwrap_or(""));
    let trimmed = || ForeignText::from(names.text(event.cpu, event.ts_ns).unwrap_or("").trim());
    match event.what {
        EventKind::Switch { prev, prev_prio, prev_state, next, next_prio } => Happened::Switch {
            from: task(prev),
            from_priority: prev_prio.map(KernelPriority),
            left: left_as(prev_state),
            to: task(next),
            to_priority: next_prio.map(KernelPriority),
        },
        EventKind::Waking { tid, target_cpu, .. } => Happened::Waking { task: task(tid), on_cpu: target_cpu },
        EventKind::Wakeup { tid, target_cpu, .. } => Happened::Wakeup { task: task(tid), on_cpu: target_cpu },
        EventKind::Migrate { tid, from_cpu, to_cpu } => Happened::Migrate { task: task(tid), from_cpu, to_cpu },
        EventKind::PiSetPrio { tid, old_prio, new_prio } => Happened::PriorityLent {
            task: task(tid),
            old_priority: old_prio.map(KernelPriority),
            new_priority: new_prio.map(KernelPriority),
        },
        EventKind::Signal { signal, tid } => Happened::Signal { signal, task: task(tid) },
        EventKind::Freeze { frozen } => Happened::Freeze { frozen, group: text() },
        EventKind::Runtime { tid, ran_ns } => Happened::Runtime { task: task(tid), ran_ns },
        EventKind::FileSync { file_system, device } => Happened::FileSync { file_system, device },
        EventKind::IrqEntry { irq } => Happened::IrqEntry(names.interrupt(irq)),
        EventKind::IrqExit { irq } => Happened::IrqExit(names.interrupt(irq)),
        EventKind::VectorEntry { vector } => Happened::VectorEntry(vector),
        EventKind::VectorExit { vector } => Happened::VectorExit(vector),
        EventKind::SoftirqEntry { vec } => Happened::SoftirqEntry(vec),
        EventKind::SoftirqExit { vec } => Happened::SoftirqExit(vec),
        EventKind::SoftirqRaise { vec } => Happened::SoftirqRaise(vec),
        EventKind::HrtimerStart { function: address, expires_ns, .. } => {
            Happened::HrtimerStart { function: function(address), expires_ns }
        }
        EventKind::HrtimerCancel { timer } => Happened::HrtimerCancel { timer },
        EventKind::HrtimerExpireEntry { function: address, .. } => {
            Happened::HrtimerExpireEntry { function: function(address) }
        }
        EventKind::HrtimerExpireExit { .. } => Happened::HrtimerExpireExit,
        EventKind::TimerExpireEntry { function: address } => Happened::TimerExpireEntry { function: function(address) },
        EventKind::TimerExpireExit => Happened::TimerExpireExit,
        EventKind::WorkStart { function: address, .. } => Happened::WorkStart { function: function(address) },
        EventKind::WorkEnd => Happened::WorkEnd,
        EventKind::CsdEntry { function: address } => Happened::CsdEntry { function: function(address) },
        EventKind::CsdExit => Happened::CsdExit,
        EventKind::Idle { state: IDLE_EXIT } => Happened::IdleExit,
        EventKind::Idle { state } => Happened::IdleEntry { state },
        EventKind::Frequency { khz, cpu } => Happened::Frequency { khz, cpu },
        EventKind::Nmi { handler, delta_ns } => Happened::Nmi { handler: function(handler), took_ns: delta_ns },
        EventKind::PageFault { user, address } => Happened::PageFault { user, address },
        EventKind::PageAllocated { movable } => Happened::PageAllocated { movable },
        EventKind::MemoryCounted { own } => Happened::MemoryCounted { own },
        EventKind::Function { function: entered, caller } => {
            Happened::Function { function: function(entered), caller: function(caller) }
        }
        EventKind::GraphEntry { function: entered, depth } => {
            Happened::GraphEntry { function: function(entered), depth }
        }
        EventKind::GraphExit { function: left, depth } => Happened::GraphExit { function: function(left), depth },
        EventKind::Stack => Happened::Stack(text()),
        EventKind::Message => Happened::Message(trimmed()),
        EventKind::Marker => Happened::Marker(trimmed()),
        EventKind::WorkQueued { .. } | EventKind::Other => {
            Happened::Other(names.text(event.cpu, event.ts_ns).map(ForeignText::from))
        }
    }
}

fn left_as(prev_state: i64) -> LeftAs {
    match prev_state & 0xff {
        0 => LeftAs::Runnable,
        bits if bits & (state::STOPPED | state::TRACED) != 0 => LeftAs::Stopped,
        bits if bits & state::BLOCKED != 0 => LeftAs::Blocked,
        bits if bits & 0x01 != 0 => LeftAs::Asleep,
        _ => LeftAs::Gone,
    }
}
