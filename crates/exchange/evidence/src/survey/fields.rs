//! The few fields of events that a survey reads.

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
    /// Text that a program wrote to the trace.
    Mark(Cow<'a, str>),
    Other,
}

/// A thread as an event names it.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    pub tid: i32,
    pub comm: &'a [u8],
    pub prio: Option<i32>,
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
        let comm = self.comm.as_ref().and_then(|field| field.c_str(payload)).unwrap_or_default();
        let prio = self.prio.as_ref().and_then(|field| field.int(payload)).map(|prio| prio as i32);
        Some(Named { tid, comm, prio })
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
            ("ftrace", "print") => field("buf").map(|text| Self::Mark(Box::new(text))),
            _ => None,
        };
        found.unwrap_or(Self::Other)
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
            Places::Mark(text) => text.text(payload).map(Noted::Mark),
            Places::Other => None,
        };
        Some(noted.unwrap_or(Noted::Other))
    }
}
