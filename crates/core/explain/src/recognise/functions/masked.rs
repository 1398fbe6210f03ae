//! Stretches in which a CPU could not be interrupted, or the task on it could not be preempted, according to the state
//! that is recorded with each event.
//!
//! The state is that of an instant. Between a record with interrupts off and the next with interrupts on they were
//! enabled at some point, so a stretch has a minimum length from records and a maximum length. Time in user space is
//! never masked, although the last record before it and the first after it are made with interrupts off.

use super::running::{Continuity, Running};
use crate::read::event::{Event, EventKind, flag};
use crate::read::names::Names;
use crate::read::unwinding::Roles;
use crate::replay::trace::CpuActivity;
pub use archive::evidence::Masking;

/// One stretch of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// Every record from here ...
    pub start_ns: i64,
    /// ... to here shows it ...
    pub end_ns: i64,
    /// ... and it was at most this long.
    pub ns_max: i64,
    pub tid: i32,
    /// Function in which it began and ended.
    pub first: String,
    pub last: String,
}

impl Masked {
    pub fn ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

/// An unfinished stretch.
struct Open<'e> {
    /// The previous event, if it showed the opposite.
    before: Option<&'e Event<'e>>,
    begins: &'e Event<'e>,
    last: &'e Event<'e>,
}

/// All stretches of a CPU, without interrupt handlers and the idle thread.
pub fn stretches(activity: &CpuActivity, names: &Names, masking: Masking) -> Vec<Masked> {
    let mut found = Vec::new();
    let mut open: Option<Open> = None;
    let mut before: Option<&Event> = None;
    let mut before_leaves = false;
    let mut running = Running::new(activity);
    let roles = Roles::of(names.functions());
    for event in &activity.events {
        // Between the last step of the exit from the kernel and the next event the thread was in user space.
        let event_leaves = leaves(event, &roles);
        let left = before.is_some() && before_leaves && !event_leaves;
        if running.pass(event) == Continuity::Broken || left {
            found.extend(open.take().map(|open| open.close(None, names, masking)));
            before = None;
        }
        let elsewhere = event.tid == 0 || is_in_interrupt(event, &roles);
        // A preempted section continues after the interrupt; masked interrupts cannot have let one in.
        if elsewhere && masking == Masking::Preemption && event.tid != 0 && is_masked(event, masking) {
            continue;
        }
        match (&mut open, is_masked(event, masking) && !elsewhere) {
            (Some(open), true) => open.last = event,
            (None, true) => open = Some(Open { before, begins: event, last: event }),
            (Some(_), false) => found.extend(open.take().map(|open| open.close(Some(event), names, masking))),
            (None, false) => {}
        }
        before = (!elsewhere).then_some(event);
        before_leaves = event_leaves;
    }
    found.extend(open.map(|open| open.close(None, names, masking)));
    found
}

impl Open<'_> {
    fn close(self, after: Option<&Event>, names: &Names, masking: Masking) -> Masked {
        // A function that masks is recorded with the state before it.
        let masks = self.before.filter(|before| masks(before, names, masking));
        let start_ns = masks.map_or(self.begins.ts_ns, |before| before.ts_ns);
        let earliest_ns = self.before.map_or(self.begins.ts_ns, |before| before.ts_ns);
        let latest_ns = after.map_or(self.last.ts_ns, |after| after.ts_ns);
        Masked {
            start_ns,
            end_ns: self.last.ts_ns,
            ns_max: latest_ns - earliest_ns,
            tid: self.begins.tid,
            first: place(masks.unwrap_or(self.begins), names),
            last: place(self.last, names),
        }
    }
}

/// Whether the event belongs to the last step in the kernel before a thread returns to user space.
fn leaves(event: &Event, roles: &Roles) -> bool {
    match event.what {
        EventKind::Function { function, .. }
        | EventKind::GraphEntry { function, .. }
        | EventKind::GraphExit { function, .. } => roles.at(function).last_step,
        _ => false,
    }
}

fn is_masked(event: &Event, masking: Masking) -> bool {
    match masking {
        Masking::Interrupts => event.flags & flag::IRQS_OFF != 0,
        Masking::Preemption => event.preempt_off(),
    }
}

fn is_in_interrupt(event: &Event, roles: &Roles) -> bool {
    let by_name = |address: u64| roles.at(address).interrupt_entry;
    event.flags & (flag::HARDIRQ | flag::NMI) != 0
        || event.is_interrupt_entry()
        || match event.what {
            EventKind::Function { function, caller } => by_name(function) || by_name(caller),
            EventKind::GraphEntry { function, .. } => by_name(function),
            _ => false,
        }
}

/// Whether the event is the entry of a function that takes a lock and thereby masks interrupts or preemption.
fn masks(event: &Event, names: &Names, masking: Masking) -> bool {
    let (EventKind::Function { function, .. } | EventKind::GraphEntry { function, .. }) = event.what else {
        return false;
    };
    let Some(name) = names.function_known(function) else { return false };
    let locks = ["_raw_spin_lock", "_raw_spin_trylock", "_raw_read_lock", "_raw_write_lock"];
    locks.iter().any(|lock| name.starts_with(lock)) && (masking == Masking::Preemption || name.contains("_irq"))
}

/// The function of an event, or the event itself.
fn place(event: &Event, names: &Names) -> String {
    match event.what {
        EventKind::Function { function, .. }
        | EventKind::GraphEntry { function, .. }
        | EventKind::GraphExit { function, .. }
        | EventKind::HrtimerStart { function, .. } => names.function(function),
        EventKind::Switch { .. } => "sched_switch".into(),
        EventKind::Waking { .. } => "sched_waking".into(),
        EventKind::Wakeup { .. } => "sched_wakeup".into(),
        _ => "an event of the kernel".into(),
    }
}
