//! Instants that get a mark in the picture: the waker of the thread, requests of other CPUs to the late one, migrations
//! of the thread, text that programs wrote into the trace.

use crate::cut::anchors::Anchors;
use crate::read::event::{Event, EventKind};
use crate::replay::context::ToolThreads;
use crate::replay::trace::Trace;
use archive::culprit::{ForeignText, KernelName, KernelPriority};
use archive::mark::{Mark, MarkKind, MarkedEvent};

/// Marks in one picture; more would hide what they mark. The first of each kind are kept.
const MARKS_MAX: usize = 60;
/// Characters of a marker's text.
const TEXT_MAX: usize = 80;

/// Ascending.
pub fn marks(trace: &Trace, anchors: &Anchors, tool_threads: &ToolThreads) -> Vec<Mark> {
    let cpu = late_cpu(trace, anchors);
    let mut marks: Vec<Mark> = trace
        .cpus
        .iter()
        .flat_map(|activity| &activity.events)
        .filter_map(|event| {
            let marked = marked(event, trace, anchors, tool_threads, cpu)?;
            Some(Mark::new(event.ts_ns - trace.window.due_ns, event.cpu, marked))
        })
        .collect();
    marks.sort_by_key(|mark| (mark.at_ns, mark.cpu, mark.kind));
    if marks.len() > MARKS_MAX {
        // Requests and changes of speed can be numerous; the others are on the path of the wake-up.
        let many = |mark: &Mark| matches!(mark.kind, MarkKind::Ipi | MarkKind::Frequency | MarkKind::Marker);
        let mut room = MARKS_MAX.saturating_sub(marks.iter().filter(|mark| !many(mark)).count());
        marks.retain(|mark| {
            let keep = !many(mark) || room > 0;
            room -= usize::from(many(mark) && keep);
            keep
        });
        marks.truncate(MARKS_MAX);
    }
    marks
}

/// CPU on which the wake-up waits: where the thread was to run.
fn late_cpu(trace: &Trace, anchors: &Anchors) -> Option<u32> {
    let anchor = anchors.switched.or(anchors.woken).or(anchors.interrupt).or(anchors.armed);
    anchor.map(|anchor| anchor.cpu).or(trace.cpus.first().map(|activity| activity.cpu))
}

fn marked(
    event: &Event,
    trace: &Trace,
    anchors: &Anchors,
    tool_threads: &ToolThreads,
    late_cpu: Option<u32>,
) -> Option<MarkedEvent> {
    let names = &trace.names;
    let at = |anchor: Option<crate::cut::anchors::Anchor>| {
        anchor.is_some_and(|anchor| anchor.ts_ns == event.ts_ns && anchor.cpu == event.cpu)
    };
    let by = || names.task_name(event.tid);
    match event.what {
        EventKind::Waking { tid, .. } if tid == tool_threads.own_tid && at(anchors.waking) => {
            Some(MarkedEvent::Woken { by: by() })
        }
        EventKind::Switch { next, .. } if next == tool_threads.own_tid && at(anchors.switched) => {
            Some(MarkedEvent::GivenCpu)
        }
        EventKind::Migrate { tid, from_cpu, to_cpu } if tid == tool_threads.own_tid => {
            Some(MarkedEvent::Migrated { from_cpu, to_cpu })
        }
        EventKind::PiSetPrio { tid, old_prio, new_prio } => {
            let (old_prio, new_prio) = old_prio.zip(new_prio)?;
            Some(MarkedEvent::Boosted {
                task: names.task_name(tid),
                old_priority: KernelPriority(old_prio),
                new_priority: KernelPriority(new_prio),
            })
        }
        EventKind::Frequency { khz, cpu } => Some(MarkedEvent::Frequency { cpu, khz }),
        EventKind::Marker => {
            let text = names.text(event.cpu, event.ts_ns).unwrap_or("").trim();
            let short: String = text.chars().take(TEXT_MAX).collect();
            (!short.is_empty()).then(|| MarkedEvent::Marker { by: by(), text: ForeignText(short) })
        }
        EventKind::Other => {
            let request = Request::read(names.text(event.cpu, event.ts_ns)?)?;
            let to_cpu = late_cpu.filter(|cpu| *cpu != event.cpu && request.asks(*cpu))?;
            let (function, sent_from) = (request.function.map(KernelName::from), request.from.map(KernelName::from));
            Some(MarkedEvent::Ipi { by: by(), to_cpu, function, sent_from })
        }
        _ => None,
    }
}

/// The kernel's record of a request to other CPUs: `ipi_send_cpu`, `ipi_send_cpumask`, `csd_queue_cpu`.
struct Request<'a> {
    cpu: Option<u32>,
    mask: Option<u128>,
    /// Function that sends the request.
    from: Option<&'a str>,
    /// Function to run there; `None`: check whether there is something to do.
    function: Option<&'a str>,
}

impl<'a> Request<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut words = text.split_whitespace();
        if !matches!(words.next()?, "ipi_send_cpu" | "ipi_send_cpumask" | "csd_queue_cpu") {
            return None;
        }
        let value = |key: &str| text.split_whitespace().find_map(|word| word.strip_prefix(key));
        let name = |text: &'a str| text.split('+').next().filter(|name| !name.is_empty());
        let function = value("callback=").or(value("func=")).filter(|function| !function.starts_with("0x"));
        Some(Self {
            cpu: value("cpu=").and_then(|cpu| cpu.parse().ok()),
            mask: value("cpumask=").and_then(|mask| u128::from_str_radix(&mask.replace(',', ""), 16).ok()),
            from: value("callsite=").and_then(name),
            function: function.and_then(name),
        })
    }

    fn asks(&self, cpu: u32) -> bool {
        self.cpu == Some(cpu) || self.mask.is_some_and(|mask| cpu < u128::BITS && mask >> cpu & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_the_kernel_words_them() {
        let one = Request::read("ipi_send_cpu cpu=1 callsite=irq_work_queue+0x29 callback=rb_wake_up_waiters").unwrap();
        assert!(one.asks(1) && !one.asks(0));
        assert_eq!((one.function, one.from), (Some("rb_wake_up_waiters"), Some("irq_work_queue")));
        let plain = Request::read("ipi_send_cpu cpu=0 callsite=wakeup_preempt+0x55 callback=0x0").unwrap();
        assert_eq!((plain.function, plain.from), (None, Some("wakeup_preempt")));
        let many =
            Request::read("ipi_send_cpumask cpumask=00000000,0000000a callsite=x+0x1 callback=do_sync_core").unwrap();
        assert!(many.asks(1) && many.asks(3) && !many.asks(0) && !many.asks(200));
        assert!(Request::read("sched_switch prev=1").is_none() && Request::read("").is_none());
        assert!(!Request::read("ipi_send_cpu cpu=x cpumask=zz").unwrap().asks(0));
    }
}
