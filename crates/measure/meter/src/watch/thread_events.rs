//! Converts records of the follower's buffers to the few events that concern a wake-up.

use crate::trace::error::TraceError;
use ftrace::format::{EventFormat, EventFormats, Field};
use ftrace::header::PageLayout;
use ftrace::page::{GapKind, PageItem, PageItems};

const FLAG_HARDIRQ: u8 = 0x08;
const FLAG_SOFTIRQ: u8 = 0x10;

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
}

/// Decodes pages. Field positions are looked up once.
#[derive(Debug)]
pub struct EventReader {
    recipes: Vec<Recipe>,
    layout: PageLayout,
}

impl EventReader {
    /// # Errors
    /// [`TraceError`] with the event that this kernel lacks.
    pub fn new(formats: &EventFormats, layout: PageLayout) -> Result<Self, TraceError> {
        let recipe = |system: &str, name: &str, kind: Kind, fields: &[&str]| -> Result<Recipe, TraceError> {
            let format = formats
                .find(system, name)
                .ok_or_else(|| TraceError::NoEvent { system: system.to_owned(), name: name.to_owned() })?;
            let fields = fields.iter().map(|field| field_of(format, field)).collect::<Result<_, _>>()?;
            Ok(Recipe { id: format.id, kind, fields })
        };
        let mut recipes = vec![
            recipe("timer", "hrtimer_start", Kind::Arm, &["hrtimer", "function", "softexpires", "expires"])?,
            recipe("sched", "sched_waking", Kind::Waking, &["pid"])?,
            recipe("sched", "sched_switch", Kind::Switch, &["prev_pid", "next_pid", "next_comm"])?,
            recipe("sched", "sched_process_fork", Kind::Fork, &["parent_pid", "child_pid"])?,
            recipe("sched", "sched_process_exit", Kind::Exit, &["pid"])?,
        ];
        // The next switch also shows a new name.
        recipes.extend(recipe("task", "task_rename", Kind::Rename, &["pid", "newcomm"]));
        recipes.extend(recipe(RETURN.0, RETURN.1, Kind::Returned, &[]));
        Ok(Self { recipes, layout })
    }

    /// Appends the events in the pages of one CPU.
    pub fn read(&self, cpu: u32, pages: &[u8], events: &mut Vec<TimedEvent>) {
        for page in pages.chunks(self.layout.page_size) {
            for item in PageItems::new(page, &self.layout) {
                match item {
                    PageItem::Record(record) => {
                        if let Some(event) = self.event(record.payload) {
                            events.push(TimedEvent { ts_ns: record.ts_ns as i64, cpu, event });
                        }
                    }
                    PageItem::Gap { ts_ns, kind } => {
                        let count = match kind {
                            GapKind::Lost { count } => count.unwrap_or(1),
                            GapKind::Corrupt { .. } | GapKind::Truncated => 1,
                        };
                        events.push(TimedEvent { ts_ns: ts_ns as i64, cpu, event: ThreadEvent::Lost { count } });
                    }
                }
            }
        }
    }

    fn event(&self, payload: &[u8]) -> Option<ThreadEvent> {
        let id = u16::from_ne_bytes(payload.get(..2)?.try_into().ok()?);
        let flags = *payload.get(2)?;
        let recipe = self.recipes.iter().find(|recipe| recipe.id == id)?;
        let int = |index: usize| recipe.fields[index].int(payload);
        let tid = |index: usize| int(index).map(|value| value as i32);
        let address = |index: usize| recipe.fields[index].uint(payload);
        let running = i32::from_ne_bytes(payload.get(4..8)?.try_into().ok()?);
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
                ThreadEvent::Switch { prev: tid(0)?, next: tid(1)?, next_comm: comm(&recipe.fields[2], payload) }
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

fn field_of(format: &EventFormat, name: &str) -> Result<Field, TraceError> {
    let missing =
        || TraceError::NoField { system: format.system.clone(), name: format.name.clone(), field: name.to_owned() };
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
