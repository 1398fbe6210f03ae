//! Marks in the picture of a late sample, in words.

use crate::holders::{task, thread};
use archive::culprit::{ForeignText, KernelName, TaskName};
use archive::mark::MarkedEvent;

/// The event of a mark on this CPU, and the task that caused it.
pub fn text(event: &MarkedEvent, cpu: u32) -> String {
    let on_cpu = |by: &TaskName| format!("{} on CPU {cpu}", thread(by));
    match event {
        MarkedEvent::Woken { by } => format!("{} starts to wake the thread", on_cpu(by)),
        MarkedEvent::GivenCpu => "the thread gets the CPU".into(),
        MarkedEvent::Ipi { by, to_cpu, function, sent_from } => {
            format!("{} asks CPU {to_cpu} for {}", on_cpu(by), request(function.as_ref(), sent_from.as_ref()))
        }
        MarkedEvent::Migrated { from_cpu, to_cpu } => format!("the thread moves from CPU {from_cpu} to CPU {to_cpu}"),
        MarkedEvent::Boosted { task: thread, old_priority, new_priority } => {
            let what = if new_priority < old_priority { "inherits" } else { "goes back to" };
            format!("{} {what} prio {} (was {})", task(thread), new_priority.0, old_priority.0)
        }
        MarkedEvent::Frequency { cpu, khz } => format!("CPU {cpu} is set to {khz} kHz"),
        MarkedEvent::Marker { by, text: ForeignText(text) } => format!("{} wrote: {text}", on_cpu(by)),
    }
}

fn request(function: Option<&KernelName>, sent_from: Option<&KernelName>) -> String {
    let function = function.map_or("attention", |KernelName(function)| function);
    match sent_from {
        Some(KernelName(from)) => format!("{function} ({from})"),
        None => function.to_owned(),
    }
}
