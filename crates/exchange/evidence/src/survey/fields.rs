//! The few fields of events that a survey reads.

use ftrace::event_set::EventSet;
use ftrace::format::{EventFormat, EventFormats, Field};
use ftrace::trace_dat::Record;
use std::borrow::Cow;

/// The part of an event that a survey reads.
#[derive(Debug, Clone)]
pub enum Noted<'a> {
    /// The thread that was switched out, and the one that was switched in.
    Switch([Named<'a>; 2]),
    Waking(Named<'a>),
    Expiry(Expiry),
    ExpiryEnd,
    Fork {
        parent: i32,
        child: i32,
    },
    /// Text that a program wrote to the trace.
    Mark(Cow<'a, str>),
    Other,
}

/// A thread as an event names it.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    pub tid: i32,
    /// Its name, in a field that may be longer.
    pub field: &'a [u8],
    pub prio: Option<i32>,
}

impl<'a> Named<'a> {
    pub fn comm(&self) -> &'a [u8] {
        self.field.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Whether it has this name, which has no zero.
    #[inline]
    pub fn is_named(&self, comm: &str) -> bool {
        self.field.strip_prefix(comm.as_bytes()).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == 0))
    }
}

/// The function of an expired timer, and the time of its clock.
#[derive(Debug, Clone, Copy)]
pub struct Expiry {
    pub function: u64,
    pub now_ns: i64,
}

/// Where an event has what it says.
#[derive(Debug)]
enum Places {
    Switch(Box<[ThreadPlaces; 2]>),
    Waking(Box<ThreadPlaces>),
    Expiry(Box<[Field; 2]>),
    ExpiryEnd,
    Fork(Box<[Field; 2]>),
    Mark(Box<Field>),
    Other,
}

#[derive(Debug)]
struct ThreadPlaces {
    tid: Field,
    comm: Option<Field>,
    prio: Option<Field>,
}

impl ThreadPlaces {
    fn of(format: &EventFormat, [tid, comm, prio]: [&str; 3]) -> Option<Self> {
        let field = |name| format.field(name).cloned();
        Some(Self { tid: field(tid)?, comm: field(comm), prio: field(prio) })
    }

    fn named<'a>(&self, payload: &'a [u8]) -> Option<Named<'a>> {
        let tid = self.tid.int(payload)? as i32;
        let field = self.comm.as_ref().and_then(|field| field.bytes(payload)).unwrap_or_default();
        let prio = self.prio.as_ref().and_then(|field| field.int(payload)).map(|prio| prio as i32);
        Some(Named { tid, field, prio })
    }
}

impl Places {
    /// [`Places::Other`] as well for an event without the fields.
    fn of(format: &EventFormat) -> Self {
        let field = |name| format.field(name).cloned();
        let thread = |names| ThreadPlaces::of(format, names);
        let found = match (format.system.as_str(), format.name.as_str()) {
            ("sched", "sched_switch") => thread(["prev_pid", "prev_comm", "prev_prio"])
                .zip(thread(["next_pid", "next_comm", "next_prio"]))
                .map(|(prev, next)| Self::Switch(Box::new([prev, next]))),
            ("sched", "sched_waking" | "sched_wakeup" | "sched_wakeup_new") => {
                thread(["pid", "comm", "prio"]).map(|thread| Self::Waking(Box::new(thread)))
            }
            ("timer", "hrtimer_expire_entry") => {
                field("function").zip(field("now")).map(|(function, now)| Self::Expiry(Box::new([function, now])))
            }
            ("timer", "hrtimer_expire_exit") => Some(Self::ExpiryEnd),
            ("sched", "sched_process_fork") => {
                field("parent_pid").zip(field("child_pid")).map(|(parent, child)| Self::Fork(Box::new([parent, child])))
            }
            ("ftrace", "print") => field("buf").map(|text| Self::Mark(Box::new(text))),
            _ => None,
        };
        found.unwrap_or(Self::Other)
    }

    fn say_something(&self) -> bool {
        !matches!(self, Self::Other)
    }
}

/// Reads the records of one recording.
#[derive(Debug)]
pub struct Reader {
    by_id: Vec<Option<Places>>,
}

impl Reader {
    pub fn new(formats: &EventFormats) -> Self {
        let mut by_id: Vec<Option<Places>> = Vec::new();
        for format in formats.iter() {
            let index = usize::from(format.id);
            if by_id.len() <= index {
                by_id.resize_with(index + 1, || None);
            }
            by_id[index] = Some(Places::of(format));
        }
        Self { by_id }
    }

    /// The events that the recording describes.
    pub fn described(&self) -> EventSet {
        (0..=u16::MAX).zip(&self.by_id).filter(|(_, places)| places.is_some()).map(|(id, _)| id).collect()
    }

    /// Whether a survey reads no field of an event.
    pub fn is_other(&self, id: u16) -> bool {
        !self.by_id.get(usize::from(id)).is_some_and(|places| places.as_ref().is_some_and(Places::say_something))
    }

    /// `None` if the recording does not describe the event.
    pub fn noted<'a>(&self, record: &Record<'a>) -> Option<Noted<'a>> {
        let payload = record.payload;
        let places = self.by_id.get(usize::from(record.id))?.as_ref()?;
        let noted = match places {
            Places::Switch(threads) => {
                let [prev, next] = &**threads;
                prev.named(payload).zip(next.named(payload)).map(|(prev, next)| Noted::Switch([prev, next]))
            }
            Places::Waking(thread) => thread.named(payload).map(Noted::Waking),
            Places::Expiry(fields) => {
                let [function, now] = &**fields;
                let values = function.uint(payload).zip(now.int(payload));
                values.map(|(function, now_ns)| Noted::Expiry(Expiry { function, now_ns }))
            }
            Places::ExpiryEnd => Some(Noted::ExpiryEnd),
            Places::Fork(fields) => {
                let [parent, child] = [&fields[0], &fields[1]].map(|field| field.int(payload));
                parent.zip(child).map(|(parent, child)| Noted::Fork { parent: parent as i32, child: child as i32 })
            }
            Places::Mark(text) => text.text(payload).map(Noted::Mark),
            Places::Other => None,
        };
        Some(noted.unwrap_or(Noted::Other))
    }
}
