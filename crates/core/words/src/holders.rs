//! Names of threads, interrupts and whatever else can have a CPU.

use archive::culprit::{Holder, Holders, KernelName, KernelPriority, Preferred, TaskName, WakeSource};
use archive::owner::Standstill;
use archive::trace_event::{Interrupt, softirq};

/// `hackbench-4711`; `thread-4711` if its name is unknown.
pub fn task(task: &TaskName) -> String {
    match task.comm.as_str() {
        "" => format!("thread-{}", task.tid),
        comm if task.tid >= TaskName::NAMELESS_TIDS => comm.to_owned(),
        comm => format!("{comm}-{}", task.tid),
    }
}

/// [`task`], or `idle`.
pub fn thread(thread: &TaskName) -> String {
    if thread.tid == 0 { "idle".into() } else { task(thread) }
}

/// `irq 24 virtio0-input`.
pub fn interrupt(interrupt: &Interrupt) -> String {
    match &interrupt.name {
        Some(name) => format!("irq {} {}", interrupt.number, name.0),
        None => format!("irq {}", interrupt.number),
    }
}

/// `kworker/1:2-300 (vmstat_update)`, `irq 24 virtio0-input`, `NET_RX in ksoftirqd/1-22`, `idle state 2`.
pub fn holder(holder: &Holder) -> String {
    let with = |name: String, function: &Option<KernelName>| match function {
        Some(function) => format!("{name} ({})", function.0),
        None => name,
    };
    match holder {
        Holder::Untraced => "no data".into(),
        Holder::Nmi { function } => with("nmi".into(), function),
        Holder::Vector { vector, function } => with(vector.name().into(), function),
        Holder::Irq { irq, function } => with(interrupt(irq), function),
        Holder::Softirq { softirq: number, on: None, function } => {
            with(format!("{} in idle", softirq(*number)), function)
        }
        Holder::Softirq { softirq: number, on: Some(thread), function } => {
            with(format!("{} in {}", softirq(*number), task(thread)), function)
        }
        Holder::Task { task: thread, function } => with(task(thread), function),
        Holder::Idle { state: None } => "idle".into(),
        Holder::Idle { state: Some(state) } => format!("idle state {state}"),
    }
}

/// `hackbench-4711`, or `hackbench-4711 and 2 others`.
pub fn holders(holders: &Holders) -> String {
    and_others(&holder(&holders.largest), holders.others)
}

/// A name and the number of the others.
fn and_others(name: &str, others: u32) -> String {
    match others {
        0 => name.to_owned(),
        1 => format!("{name} and one other"),
        _ => format!("{name} and {others} others"),
    }
}

/// `hackbench-4711`, or `hackbench-4711 and 2 other tasks`.
pub fn preferred(preferred: &Preferred) -> String {
    let name = task(&preferred.largest);
    match preferred.others {
        0 => name,
        1 => format!("{name} and one other task"),
        others => format!("{name} and {others} other tasks"),
    }
}

/// A priority in the user's terms.
pub fn priority(priority: Option<KernelPriority>) -> String {
    match priority.map(|KernelPriority(priority)| priority) {
        Some(priority @ 1..=98) => format!("real-time priority {}", 99 - priority),
        Some(0) => "real-time priority 99 or a stop request".into(),
        Some(..0) => "a deadline".into(),
        Some(100..) => "no real-time priority".into(),
        Some(priority) => format!("kernel priority {priority}"),
        None => "an unknown priority".into(),
    }
}

/// The origin of a wake-up; `None` if the recording does not show it.
pub fn wake_source(what: &WakeSource) -> Option<String> {
    Some(match what {
        WakeSource::Device(irq) => format!("a device ({})", interrupt(irq)),
        WakeSource::BlockDevice => "a block device".into(),
        WakeSource::Network => "the network".into(),
        WakeSource::Timer => "a timer".into(),
        WakeSource::Unknown => return None,
    })
}

/// The holder of the CPU, with the reason that it did not run its own code.
pub fn standstill(why: Standstill, holder: &str) -> String {
    match why {
        Standstill::NotInterrupted => format!("interrupt not delivered to {holder}"),
        Standstill::InCode => format!("stood still in {holder}"),
        Standstill::NotExecuted => format!("not executed by the hypervisor, in {holder}"),
        Standstill::StackRecorded => format!("stack trace in {holder}"),
        Standstill::AllCpus => format!("no CPU recorded anything, this one was in {holder}"),
    }
}
