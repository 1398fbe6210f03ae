//! The few fields of events that a survey reads.

use ftrace::format::{EventFormat, Field};
use ftrace::trace_dat::{Record, TraceFile};
use std::borrow::Cow;

/// The role of an event in a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Switch,
    Waking,
    Expiry,
    ExpiryEnd,
    Mark,
    Other,
}

impl Kind {
    fn of(format: &EventFormat) -> Self {
        match (format.system.as_str(), format.name.as_str()) {
            ("sched", "sched_switch") => Self::Switch,
            ("sched", "sched_waking" | "sched_wakeup" | "sched_wakeup_new") => Self::Waking,
            ("timer", "hrtimer_expire_entry") => Self::Expiry,
            ("timer", "hrtimer_expire_exit") => Self::ExpiryEnd,
            ("ftrace", "print") => Self::Mark,
            _ => Self::Other,
        }
    }
}

/// A thread as an event names it.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    pub tid: i32,
    pub comm: &'a [u8],
    pub prio: Option<i32>,
}

/// Reads the records of one recording.
#[derive(Debug)]
pub struct Reader<'f> {
    by_id: Vec<Option<(Kind, &'f EventFormat)>>,
}

impl<'f> Reader<'f> {
    pub fn new(file: &'f TraceFile<'_>) -> Self {
        let mut by_id: Vec<Option<(Kind, &EventFormat)>> = Vec::new();
        for format in file.metadata.formats.iter() {
            let index = usize::from(format.id);
            if by_id.len() <= index {
                by_id.resize(index + 1, None);
            }
            by_id[index] = Some((Kind::of(format), format));
        }
        Self { by_id }
    }

    /// `None` if the recording does not describe the event.
    pub fn kind(&self, id: u16) -> Option<Kind> {
        self.by_id.get(usize::from(id)).copied().flatten().map(|(kind, _)| kind)
    }

    /// The thread that was switched out, and the one that was switched in.
    pub fn switched<'a>(&self, record: &Record<'a>) -> Option<[Named<'a>; 2]> {
        let prev = self.named(record, ["prev_pid", "prev_comm", "prev_prio"])?;
        Some([prev, self.named(record, ["next_pid", "next_comm", "next_prio"])?])
    }

    pub fn woken<'a>(&self, record: &Record<'a>) -> Option<Named<'a>> {
        self.named(record, ["pid", "comm", "prio"])
    }

    /// The function of an expired timer, and the time of its clock.
    pub fn expiry(&self, record: &Record<'_>) -> Option<(u64, i64)> {
        let function = self.field(record, "function")?.uint(record.payload)?;
        Some((function, self.field(record, "now")?.int(record.payload)?))
    }

    /// Text that a program wrote to the trace.
    pub fn text<'a>(&self, record: &Record<'a>) -> Option<Cow<'a, str>> {
        self.field(record, "buf")?.text(record.payload)
    }

    fn field(&self, record: &Record<'_>, name: &str) -> Option<&'f Field> {
        self.by_id.get(usize::from(record.id)).copied().flatten()?.1.field(name)
    }

    fn named<'a>(&self, record: &Record<'a>, [tid, comm, prio]: [&str; 3]) -> Option<Named<'a>> {
        let int = |name| self.field(record, name)?.int(record.payload).map(|value| value as i32);
        let comm = self.field(record, comm).and_then(|field| field.c_str(record.payload)).unwrap_or_default();
        Some(Named { tid: int(tid)?, comm, prio: int(prio) })
    }
}
