//! Events of the recorded pages, typed.

use ftrace::format::{EventFormat, EventFormats, Field};
use ftrace::trace_dat::Record;

/// One event of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Enter {
        number: i64,
        arguments: [u64; 6],
    },
    Exit {
        answer: i64,
    },
    /// The thread was switched out: `waits` unless it was still runnable.
    Out {
        waits: bool,
        uninterruptible: bool,
    },
    In {
        kernel_priority: i64,
        name: String,
    },
    /// A thread was woken by the thread of the record.
    Woke {
        tid: i32,
    },
    Fault {
        address: u64,
        instruction: u64,
        user: bool,
    },
    Signal {
        number: i32,
    },
    Stack(Vec<u64>),
}

/// Fields of the events by their numbers; what a kernel lacks is not decoded.
#[derive(Debug)]
pub struct Decoder {
    enter: Option<(u16, Field, Field)>,
    exit: Option<(u16, Field)>,
    switch: Option<Switch>,
    waking: Option<(u16, Field)>,
    fault_user: Option<(u16, Field, Field)>,
    fault_kernel: Option<(u16, Field, Field)>,
    signal: Option<(u16, Field)>,
    stack: Option<(u16, Field)>,
}

#[derive(Debug)]
struct Switch {
    id: u16,
    prev: Field,
    state: Field,
    next: Field,
    next_priority: Field,
    next_name: Field,
}

/// Bits of `prev_state`: interruptible, uninterruptible, stopped, traced, ...; larger ones only mark a preemption.
const WAITING: i64 = 0x7f;
const UNINTERRUPTIBLE: i64 = 0x02;
/// Marks a preempted thread (since Linux 4.14).
const PREEMPTED: i64 = 0x100;

impl Decoder {
    pub fn new(formats: &EventFormats) -> Self {
        let find = |system: &str, name: &str| formats.find(system, name);
        let field = |format: &EventFormat, name: &str| format.field(name).cloned();
        let one = |system: &str, event: &str, name: &str| {
            let format = find(system, event)?;
            Some((format.id, field(format, name)?))
        };
        let two = |system: &str, event: &str, first: &str, second: &str| {
            let format = find(system, event)?;
            Some((format.id, field(format, first)?, field(format, second)?))
        };
        let switch = || {
            let format = find("sched", "sched_switch")?;
            Some(Switch {
                id: format.id,
                prev: field(format, "prev_pid")?,
                state: field(format, "prev_state")?,
                next: field(format, "next_pid")?,
                next_priority: field(format, "next_prio")?,
                next_name: field(format, "next_comm")?,
            })
        };
        Self {
            enter: two("raw_syscalls", "sys_enter", "id", "args"),
            exit: one("raw_syscalls", "sys_exit", "ret"),
            switch: switch(),
            waking: one("sched", "sched_waking", "pid"),
            fault_user: two("exceptions", "page_fault_user", "address", "ip"),
            fault_kernel: two("exceptions", "page_fault_kernel", "address", "ip"),
            signal: one("signal", "signal_deliver", "sig"),
            stack: one("ftrace", "user_stack", "caller"),
        }
    }

    /// The events of a record, each with its thread.
    pub fn events(&self, record: &Record<'_>) -> Vec<(i32, Event)> {
        self.decoded(record).unwrap_or_default()
    }

    fn decoded(&self, record: &Record<'_>) -> Option<Vec<(i32, Event)>> {
        let (tid, id, payload) = (record.common_pid, record.id, record.payload);
        if let Some((_, number, arguments)) = self.enter.as_ref().filter(|(own, ..)| *own == id) {
            let mut given = [0; 6];
            for (at, argument) in given.iter_mut().enumerate() {
                *argument = arguments.element(payload, at).unwrap_or(0);
            }
            return Some(vec![(tid, Event::Enter { number: number.int(payload)?, arguments: given })]);
        }
        if let Some((_, answer)) = self.exit.as_ref().filter(|(own, _)| *own == id) {
            return Some(vec![(tid, Event::Exit { answer: answer.int(payload)? })]);
        }
        if let Some((_, callers)) = self.stack.as_ref().filter(|(own, _)| *own == id) {
            let frames = (0..8).map_while(|at| callers.element(payload, at)).take_while(|address| *address != 0);
            return Some(vec![(tid, Event::Stack(frames.collect()))]);
        }
        if let Some(switch) = self.switch.as_ref().filter(|switch| switch.id == id) {
            let state = switch.state.int(payload)?;
            let waits = state & WAITING != 0 && state & PREEMPTED == 0;
            let out = Event::Out { waits, uninterruptible: waits && state & UNINTERRUPTIBLE != 0 };
            let name = switch.next_name.text(payload).unwrap_or_default().into_owned();
            let into = Event::In { kernel_priority: switch.next_priority.int(payload)?, name };
            let of = |field: &Field| field.int(payload).and_then(|tid| i32::try_from(tid).ok());
            return Some(vec![(of(&switch.prev)?, out), (of(&switch.next)?, into)]);
        }
        if let Some((_, woken)) = self.waking.as_ref().filter(|(own, _)| *own == id) {
            return Some(vec![(tid, Event::Woke { tid: i32::try_from(woken.int(payload)?).ok()? })]);
        }
        for (fields, user) in [(&self.fault_user, true), (&self.fault_kernel, false)] {
            if let Some((_, address, instruction)) = fields.as_ref().filter(|(own, ..)| *own == id) {
                let (address, instruction) = (address.uint(payload)?, instruction.uint(payload)?);
                return Some(vec![(tid, Event::Fault { address, instruction, user })]);
            }
        }
        let (_, number) = self.signal.as_ref().filter(|(own, _)| *own == id)?;
        Some(vec![(tid, Event::Signal { number: i32::try_from(number.int(payload)?).ok()? })])
    }
}
