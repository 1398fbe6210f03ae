//! Converts records of the follower's buffers to the few events that concern a wake-up.

use ftrace::event_set::EventSet;
use ftrace::format::{EventFormat, EventFormats, Field};
use ftrace::header::PageLayout;
use ftrace::page::GapKind;
use ftrace::trace_dat::{CpuRecords, Record, TraceItem};
use thiserror::Error;

const FLAG_HARDIRQ: u8 = 0x08;
const FLAG_SOFTIRQ: u8 = 0x10;
/// Bits of `prev_state` of a thread that sleeps, has stopped or has ended; the one above them is of a preempted thread.
const STATES_OF_SLEEP: i64 = 0xff;

/// A kernel whose events do not show wake-ups.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EventLack {
    #[error("the kernel has no event {system}:{name}, without which no thread can be watched")]
    NoEvent { system: String, name: String },
    #[error("the kernel's event {system}:{name} has no field {field}")]
    NoField { system: String, name: String, field: String },
}

/// Name of a thread in the format of events.
pub type Comm = [u8; 16];

/// A relevant event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadEvent {
    /// A thread set a timer. `soft_ns` is the requested instant, `hard_ns` the latest that its slack allows.
    Arm {
        tid: i32,
        timer: u64,
        function: u64,
        soft_ns: i64,
        hard_ns: i64,
    },
    /// `by` woke `tid`; `None` if an interrupt did, whichever thread it came in on.
    Waking {
        tid: i32,
        by: Option<i32>,
    },
    Switch {
        prev: i32,
        /// It could go on; `false` where the recording does not show it.
        prev_runnable: bool,
        next: i32,
        next_comm: Comm,
    },
    Fork {
        parent: i32,
        child: i32,
    },
    Exit {
        tid: i32,
    },
    Rename {
        tid: i32,
        comm: Comm,
    },
    /// It returned from a system call, so it is running.
    Returned {
        tid: i32,
    },
    /// Events before this one are missing on this CPU, with their number if known.
    Lost {
        count: u64,
    },
}

impl ThreadEvent {
    /// The thread that caused this, and was therefore running; a return itself shows when it was switched in.
    pub fn proves_running(&self) -> Option<i32> {
        match *self {
            Self::Arm { tid, .. } | Self::Switch { prev: tid, .. } | Self::Exit { tid } => Some(tid),
            Self::Fork { parent, .. } => Some(parent),
            _ => None,
        }
    }
}

/// An event with its instant (CLOCK_MONOTONIC, ns) and CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedEvent {
    pub ts_ns: i64,
    pub cpu: u32,
    pub event: ThreadEvent,
}

/// The events that the follower records, as (system, name).
pub const EVENTS: &[(&str, &str)] = &[
    ("timer", "hrtimer_start"),
    ("sched", "sched_waking"),
    ("sched", "sched_switch"),
    ("sched", "sched_process_fork"),
    ("sched", "sched_process_exit"),
    ("task", "task_rename"),
];

/// Recorded if switches from idle are not.
pub const RETURN: (&str, &str) = ("raw_syscalls", "sys_exit");

#[derive(Debug, Clone, Copy)]
enum Kind {
    Arm,
    Waking,
    Switch,
    Fork,
    Exit,
    Rename,
    Returned,
}

#[derive(Debug)]
struct Recipe {
    id: u16,
    kind: Kind,
    fields: Vec<Field>,
    /// Of a switch that has it.
    prev_state: Option<Field>,
}

/// An event and the fields that are read of it.
struct Described {
    system: &'static str,
    name: &'static str,
    kind: Kind,
    fields: &'static [&'static str],
}

const fn described(system: &'static str, name: &'static str, kind: Kind, fields: &'static [&'static str]) -> Described {
    Described { system, name, kind, fields }
}

const NEEDED: [Described; 5] = [
    described("timer", "hrtimer_start", Kind::Arm, &["hrtimer", "function", "softexpires", "expires"]),
    described("sched", "sched_waking", Kind::Waking, &["pid"]),
    described("sched", "sched_switch", Kind::Switch, &["prev_pid", "next_pid", "next_comm"]),
    described("sched", "sched_process_fork", Kind::Fork, &["parent_pid", "child_pid"]),
    described("sched", "sched_process_exit", Kind::Exit, &["pid"]),
];
const RENAME: Described = described("task", "task_rename", Kind::Rename, &["pid", "newcomm"]);
const RETURNED: Described = described(RETURN.0, RETURN.1, Kind::Returned, &[]);
const WOKEN: [Described; 2] = [
    described("sched", "sched_wakeup", Kind::Waking, &["pid"]),
    described("sched", "sched_wakeup_new", Kind::Waking, &["pid"]),
];

impl Described {
    fn recipe(&self, formats: &EventFormats) -> Result<Recipe, EventLack> {
        let (system, name) = (self.system.to_owned(), self.name.to_owned());
        let format = formats.find(self.system, self.name).ok_or(EventLack::NoEvent { system, name })?;
        let fields = self.fields.iter().map(|field| field_of(format, field)).collect::<Result<_, _>>()?;
        let prev_state = format.field("prev_state").cloned();
        Ok(Recipe { id: format.id, kind: self.kind, fields, prev_state })
    }
}

/// Decodes pages. Field positions are looked up once.
#[derive(Debug)]
pub struct EventReader {
    recipes: Vec<Recipe>,
    layout: PageLayout,
}

impl EventReader {
    /// For a kernel whose events are to be recorded.
    ///
    /// # Errors
    /// [`EventLack`] with the event that this kernel lacks.
    pub fn new(formats: &EventFormats, layout: PageLayout) -> Result<Self, EventLack> {
        let needed = NEEDED.iter().map(|described| described.recipe(formats)).collect::<Result<Vec<_>, _>>();
        // The next switch also shows a new name.
        let optional = [&RENAME, &RETURNED].into_iter().filter_map(|described| described.recipe(formats).ok());
        Ok(Self { recipes: needed?.into_iter().chain(optional).collect(), layout })
    }

    /// For a recording, with the events that it has. One without `sched_waking` shows wake-ups by `sched_wakeup`, somewhat later.
    pub fn of_recording(formats: &EventFormats, layout: PageLayout) -> Self {
        let described = NEEDED.iter().chain([&RENAME, &RETURNED]);
        let mut recipes: Vec<Recipe> = described.filter_map(|described| described.recipe(formats).ok()).collect();
        if !recipes.iter().any(|recipe| matches!(recipe.kind, Kind::Waking)) {
            recipes.extend(WOKEN.iter().filter_map(|described| described.recipe(formats).ok()));
        }
        Self { recipes, layout }
    }

    /// The events that are read. Returns from system calls say nothing of threads other than `tids`, if these are all that are ever followed.
    pub fn wanted(&self, tids: Option<impl IntoIterator<Item = i32>>) -> EventSet {
        let mut wanted: EventSet = self.recipes.iter().map(|recipe| recipe.id).collect();
        let returned = self.recipes.iter().find(|recipe| matches!(recipe.kind, Kind::Returned));
        if let Some((returned, tids)) = returned.zip(tids) {
            wanted.limit(returned.id, tids);
        }
        wanted
    }

    /// Appends the events in the pages of one CPU.
    pub fn read(&self, cpu: u32, pages: &[u8], events: &mut Vec<TimedEvent>) {
        events.extend(CpuRecords::new(cpu, pages, &self.layout).filter_map(|item| self.event(&item)));
    }

    /// One item of a recording as an event.
    pub fn event(&self, item: &TraceItem<'_>) -> Option<TimedEvent> {
        match item {
            TraceItem::Record(record) => {
                let event = self.record(record)?;
                Some(TimedEvent { ts_ns: record.ts_ns as i64, cpu: record.cpu, event })
            }
            TraceItem::Gap(gap) => {
                let count = match gap.kind {
                    GapKind::Lost { count } => count.unwrap_or(1),
                    GapKind::Corrupt { .. } | GapKind::Truncated => 1,
                };
                Some(TimedEvent { ts_ns: gap.ts_ns as i64, cpu: gap.cpu, event: ThreadEvent::Lost { count } })
            }
        }
    }

    fn record(&self, record: &Record<'_>) -> Option<ThreadEvent> {
        let recipe = self.recipes.iter().find(|recipe| recipe.id == record.id)?;
        let (running, flags, payload) = (record.common_pid, record.common_flags, record.payload);
        let int = |index: usize| recipe.fields[index].int(payload);
        let tid = |index: usize| int(index).map(|value| value as i32);
        let address = |index: usize| recipe.fields[index].uint(payload);
        Some(match recipe.kind {
            // A timer set in an interrupt does not belong to the interrupted thread.
            Kind::Arm if flags & FLAG_HARDIRQ != 0 => return None,
            Kind::Arm => ThreadEvent::Arm {
                tid: running,
                timer: address(0)?,
                function: address(1)?,
                soft_ns: int(2)?,
                hard_ns: int(3)?,
            },
            Kind::Waking => ThreadEvent::Waking { tid: tid(0)?, by: waker(running, flags) },
            Kind::Switch => {
                let state = recipe.prev_state.as_ref().and_then(|state| state.int(payload));
                let prev_runnable = state.is_some_and(|state| state & STATES_OF_SLEEP == 0);
                let next_comm = comm(&recipe.fields[2], payload);
                ThreadEvent::Switch { prev: tid(0)?, prev_runnable, next: tid(1)?, next_comm }
            }
            Kind::Fork => ThreadEvent::Fork { parent: tid(0)?, child: tid(1)? },
            Kind::Exit => ThreadEvent::Exit { tid: tid(0)? },
            Kind::Returned => ThreadEvent::Returned { tid: running },
            Kind::Rename => ThreadEvent::Rename { tid: tid(0)?, comm: comm(&recipe.fields[1], payload) },
        })
    }
}

/// The thread that wakes another one; the interrupted one does not.
fn waker(running: i32, flags: u8) -> Option<i32> {
    (flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ) == 0).then_some(running)
}

fn field_of(format: &EventFormat, name: &str) -> Result<Field, EventLack> {
    let missing =
        || EventLack::NoField { system: format.system.clone(), name: format.name.clone(), field: name.to_owned() };
    format.field(name).cloned().ok_or_else(missing)
}

fn comm(field: &Field, payload: &[u8]) -> Comm {
    let mut comm = [0; 16];
    let text = field.c_str(payload).unwrap_or_default();
    let length = text.len().min(comm.len());
    comm[..length].copy_from_slice(&text[..length]);
    comm
}

/// A name as text.
pub fn name_of(comm: &Comm) -> String {
    let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
    String::from_utf8_lossy(&comm[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_wakes_in_the_name_of_no_thread() {
        const IRQS_OFF: u8 = 0x01;
        assert_eq!(waker(7, IRQS_OFF), Some(7));
        assert_eq!(waker(7, IRQS_OFF | FLAG_HARDIRQ), None);
        assert_eq!(waker(7, FLAG_SOFTIRQ), None);
    }
}
