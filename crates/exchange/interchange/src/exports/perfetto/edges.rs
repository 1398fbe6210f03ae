//! Handles the start and end of a recorded stretch of a CPU.
//!
//! Perfetto expects one continuous record. Across a gap it would draw the last thread as running and the last interrupt
//! as open until the next snapshot, and count an error because the next switch has another previous thread. So at the
//! end of a stretch everything open is closed, and a pseudo-thread "not recorded" is switched in until the next stretch
//! starts.

use super::super::protobuf::Message;
use super::kernel_packets::KernelPackets;
use crate::recorded::{RecordedEvent, RecordedItem, Recording};
use ftrace::perfetto_messages::{GENERIC, GENERIC_EVENT_NAME};
use std::collections::HashMap;

/// No kernel has a larger thread ID; the CPU's number is added.
const NOBODY: i64 = 1 << 22;
const NOBODY_NAME: &str = "(not recorded)";
const IDLE_PRIO: i64 = 120;
/// Deeper nesting is not plausible.
const OPEN_MAX: usize = 4096;

const TIMESTAMP: u32 = 1;
const PID: u32 = 2;
const SCHED_SWITCH: u32 = 4;
const INFERRED: &str = "tardy_inferred_switch";

/// An event that opens something, the event that closes it, and the closing event's message with its fields: (the
/// kernel's name in the opening event, number in the closing message).
struct Pair {
    opens: &'static str,
    closes: &'static str,
    message: u32,
    fields: &'static [(&'static str, u32)],
}

const fn pair(opens: &'static str, closes: &'static str, message: u32, fields: &'static [(&'static str, u32)]) -> Pair {
    Pair { opens, closes, message, fields }
}

const PAIRS: &[Pair] = &[
    pair("softirq_entry", "softirq_exit", 25, &[("vec", 1)]),
    pair("irq_handler_entry", "irq_handler_exit", 37, &[("irq", 1)]),
    pair("ipi_entry", "ipi_exit", 22, &[]),
    pair("local_timer_entry", "local_timer_exit", 560, &[("vector", 1)]),
    pair("hrtimer_expire_entry", "hrtimer_expire_exit", 554, &[("hrtimer", 1)]),
    pair("timer_expire_entry", "timer_expire_exit", 558, &[("timer", 1)]),
    pair("workqueue_execute_start", "workqueue_execute_end", 57, &[("work", 1), ("function", 2)]),
    pair("funcgraph_entry", "funcgraph_exit", 438, &[("depth", 2), ("func", 3)]),
];

/// A thread in `sched_switch`.
#[derive(Debug, Clone)]
struct Thread {
    tid: i64,
    name: String,
    prio: i64,
}

/// Names and priorities of the threads of a recording.
#[derive(Debug, Default)]
pub struct Threads(HashMap<i64, Thread>);

impl Threads {
    pub fn of(recording: &Recording<'_>) -> Self {
        let mut threads = Self::default();
        for cpu in recording.cpus() {
            for item in recording.items(cpu) {
                let RecordedItem::Event(event) = item else { continue };
                if event.name() == "sched_switch" {
                    for thread in [leaving(&event), coming(&event)].into_iter().flatten() {
                        threads.0.entry(thread.tid).or_insert(thread);
                    }
                }
            }
        }
        threads
    }

    fn get(&self, tid: i64, cpu: u32, recording: &Recording<'_>) -> Thread {
        if tid == 0 {
            return Thread { tid, name: format!("swapper/{cpu}"), prio: IDLE_PRIO };
        }
        let unknown = || {
            let name = i32::try_from(tid).ok().and_then(|tid| recording.thread_name(tid)).unwrap_or("");
            Thread { tid, name: name.to_owned(), prio: IDLE_PRIO }
        };
        self.0.get(&tid).cloned().unwrap_or_else(unknown)
    }
}

fn leaving(switch: &RecordedEvent<'_>) -> Option<Thread> {
    let name = switch.text("prev_comm").unwrap_or_default().into_owned();
    Some(Thread { tid: switch.number("prev_pid")?, name, prio: switch.number("prev_prio")? })
}

fn coming(switch: &RecordedEvent<'_>) -> Option<Thread> {
    let name = switch.text("next_comm").unwrap_or_default().into_owned();
    Some(Thread { tid: switch.number("next_pid")?, name, prio: switch.number("next_prio")? })
}

/// An open interval on a CPU, or in a thread that ran on it.
#[derive(Debug)]
struct Open {
    closes: &'static str,
    tid: i32,
    message: u32,
    fields: Vec<(u32, i64)>,
}

/// State of one CPU while its events are written.
#[derive(Debug)]
pub struct Edges {
    cpu: u32,
    /// `None` between stretches.
    running: Option<Thread>,
    /// The previous thread of a switch, to which events during the switch belong.
    giving_way: Option<i64>,
    last_ns: u64,
    open: Vec<Open>,
}

impl Edges {
    pub fn new(cpu: u32) -> Self {
        Self { cpu, running: None, giving_way: None, last_ns: 0, open: Vec::new() }
    }

    /// Must be called before an event is written.
    pub fn before(
        &mut self,
        event: &RecordedEvent<'_>,
        threads: &Threads,
        recording: &Recording<'_>,
        packets: &mut KernelPackets<'_>,
    ) {
        let left = if event.name() == "sched_switch" { leaving(event) } else { None };
        let tid = left.as_ref().map_or(i64::from(event.tid), |thread| thread.tid);
        let is_tail = self.giving_way == Some(tid) && event.system() == "ftrace";
        if self.running.as_ref().is_some_and(|running| running.tid == tid) {
            self.giving_way = None;
        }
        if self.running.as_ref().is_some_and(|running| running.tid != tid) && !is_tail {
            // A switch is missing in the record.
            self.end(packets);
        }
        if self.running.is_none() {
            let thread = left.unwrap_or_else(|| threads.get(tid, self.cpu, recording));
            packets.event(|message| switch(event.ts_ns, &self.nobody(), &thread, message));
            packets.event(|message| inferred(event.ts_ns, thread.tid, message));
            self.running = Some(thread);
        }
        self.last_ns = event.ts_ns;
        if event.name() == "sched_switch" {
            self.giving_way = Some(tid);
            self.running = coming(event).or(self.running.take());
        }
        self.follow(event);
    }

    /// The record ends here, or has a gap.
    pub fn end(&mut self, packets: &mut KernelPackets<'_>) {
        let Some(running) = self.running.take() else { return };
        for open in self.open.drain(..).rev() {
            packets.event(|event| {
                event.unsigned(TIMESTAMP, self.last_ns).signed(PID, i64::from(open.tid));
                event.message(open.message, |message| {
                    for &(number, value) in &open.fields {
                        message.signed(number, value);
                    }
                });
            });
        }
        packets.event(|message| switch(self.last_ns, &running, &self.nobody(), message));
        packets.event(|message| inferred(self.last_ns, running.tid, message));
    }

    fn nobody(&self) -> Thread {
        Thread { tid: NOBODY + 1 + i64::from(self.cpu), name: NOBODY_NAME.into(), prio: IDLE_PRIO }
    }

    fn follow(&mut self, event: &RecordedEvent<'_>) {
        let name = event.name();
        if let Some(pair) = PAIRS.iter().find(|pair| pair.opens == name)
            && self.open.len() < OPEN_MAX
        {
            let value = |&(field, number): &(&str, u32)| Some((number, event.number(field)?));
            let fields = pair.fields.iter().filter_map(value).collect();
            self.open.push(Open { closes: pair.closes, tid: event.tid, message: pair.message, fields });
        } else if let Some(index) = self.open.iter().rposition(|open| open.closes == name && open.tid == event.tid) {
            self.open.remove(index);
        }
    }
}

/// Marks the switch before it as inferred: the kernel recorded none.
fn inferred(at_ns: u64, tid: i64, event: &mut Message) {
    event.unsigned(TIMESTAMP, at_ns).signed(PID, tid);
    event.message(GENERIC, |message| {
        message.text(GENERIC_EVENT_NAME, INFERRED);
    });
}

/// `sched_switch` between two threads; the previous one is still runnable.
fn switch(at_ns: u64, from: &Thread, to: &Thread, event: &mut Message) {
    event.unsigned(TIMESTAMP, at_ns).signed(PID, from.tid);
    event.message(SCHED_SWITCH, |message| {
        message.text(1, &from.name).signed(2, from.tid).signed(3, from.prio).signed(4, 0);
        message.text(5, &to.name).signed(6, to.tid).signed(7, to.prio);
    });
}
