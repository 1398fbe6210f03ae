//! The events whose fields are read out of their text, or of messages.

use crate::text::short::split_at_last_byte;
use archive::trace_event::Vector;

/// How the text of a field becomes a number or stays text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Number,
    /// An address, hexadecimal with or without `0x`.
    Address,
    /// The name of a function.
    Function,
    Name,
    /// Letters of a thread's state.
    State,
}

/// A field: its key in the text, its name in the kernel's format, and its kind.
pub type FieldOf = (&'static str, &'static str, Kind);

/// An event of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub system: &'static str,
    pub name: &'static str,
    pub fields: &'static [FieldOf],
}

const fn event(system: &'static str, name: &'static str, fields: &'static [FieldOf]) -> Known {
    Known { system, name, fields }
}

const COMM: FieldOf = ("comm", "comm", Kind::Name);
const PID: FieldOf = ("pid", "pid", Kind::Number);
const PRIO: FieldOf = ("prio", "prio", Kind::Number);
const TARGET: FieldOf = ("target_cpu", "target_cpu", Kind::Number);
const WOKEN: &[FieldOf] = &[COMM, PID, PRIO, TARGET];
const VEC: &[FieldOf] = &[("vec", "vec", Kind::Number)];
const IRQ: FieldOf = ("irq", "irq", Kind::Number);
const HRTIMER: FieldOf = ("hrtimer", "hrtimer", Kind::Address);
const TIMER: FieldOf = ("timer", "timer", Kind::Address);
const FUNCTION: FieldOf = ("function", "function", Kind::Function);
const ADDRESS: &[FieldOf] = &[("address", "address", Kind::Address)];

/// Every event with fields that matter. Those of [`vector`] come on top.
pub const KNOWN: [Known; 27] = [
    event(
        "sched",
        "sched_switch",
        &[
            ("prev_comm", "prev_comm", Kind::Name),
            ("prev_pid", "prev_pid", Kind::Number),
            ("prev_prio", "prev_prio", Kind::Number),
            ("prev_state", "prev_state", Kind::State),
            ("next_comm", "next_comm", Kind::Name),
            ("next_pid", "next_pid", Kind::Number),
            ("next_prio", "next_prio", Kind::Number),
        ],
    ),
    event("sched", "sched_waking", WOKEN),
    event("sched", "sched_wakeup", WOKEN),
    event("sched", "sched_wakeup_new", WOKEN),
    event(
        "sched",
        "sched_migrate_task",
        &[COMM, PID, PRIO, ("orig_cpu", "orig_cpu", Kind::Number), ("dest_cpu", "dest_cpu", Kind::Number)],
    ),
    event("sched", "sched_stat_runtime", &[COMM, PID, ("runtime", "runtime", Kind::Number)]),
    event(
        "sched",
        "sched_pi_setprio",
        &[COMM, PID, ("oldprio", "oldprio", Kind::Number), ("newprio", "newprio", Kind::Number)],
    ),
    event(
        "sched",
        "sched_process_fork",
        &[("pid", "parent_pid", Kind::Number), ("child_pid", "child_pid", Kind::Number)],
    ),
    event("sched", "sched_process_exit", &[COMM, PID]),
    event("task", "task_rename", &[PID, ("newcomm", "newcomm", Kind::Name)]),
    event("signal", "signal_generate", &[("sig", "sig", Kind::Number), COMM, PID]),
    event("irq", "irq_handler_entry", &[IRQ, ("name", "name", Kind::Name)]),
    event("irq", "irq_handler_exit", &[IRQ]),
    event("irq", "softirq_entry", VEC),
    event("irq", "softirq_exit", VEC),
    event("irq", "softirq_raise", VEC),
    event(
        "timer",
        "hrtimer_start",
        &[HRTIMER, FUNCTION, ("expires", "expires", Kind::Number), ("softexpires", "softexpires", Kind::Number)],
    ),
    event("timer", "hrtimer_cancel", &[HRTIMER]),
    event("timer", "hrtimer_expire_entry", &[HRTIMER, ("now", "now", Kind::Number), FUNCTION]),
    event("timer", "hrtimer_expire_exit", &[HRTIMER]),
    event("timer", "timer_expire_entry", &[TIMER, FUNCTION]),
    event("timer", "timer_expire_exit", &[TIMER]),
    event("power", "cpu_idle", &[("state", "state", Kind::Number)]),
    event("power", "cpu_frequency", &[("state", "state", Kind::Number), ("cpu_id", "cpu_id", Kind::Number)]),
    event("exceptions", "page_fault_user", ADDRESS),
    event("exceptions", "page_fault_kernel", ADDRESS),
    event("workqueue", "workqueue_execute_end", &[]),
];

/// The description of an event by its name.
pub fn known(name: &str) -> Option<Known> {
    KNOWN.iter().find(|known| known.name == name).copied()
}

/// An interrupt of x86 or of one CPU to another, by the name of its event.
pub fn is_vector(name: &str) -> bool {
    let vector = name.strip_suffix("_entry").or_else(|| name.strip_suffix("_exit"));
    vector.and_then(Vector::from_name).is_some()
}

/// No event above has more fields.
pub const FIELDS_MAX: usize = 7;

/// The text of each field, in order.
pub type Values<'a> = [&'a str; FIELDS_MAX];

/// `None` if the text lacks a field.
pub fn values<'a>(known: &Known, text: &'a str) -> Option<Values<'a>> {
    in_order(known, text).or_else(|| shortened(known.name, text)).or_else(|| anywhere(known, text))
}

/// Fields in the kernel's order, each searched behind the one before it.
fn in_order<'a>(known: &Known, text: &'a str) -> Option<Values<'a>> {
    let bytes = text.as_bytes();
    let space_from = |at: usize| bytes.get(at..)?.iter().position(|byte| *byte == b' ').map(|length| at + length);
    let (mut found, mut at) = (Values::default(), 0);
    for (value, (key, _, kind)) in found.iter_mut().zip(known.fields) {
        loop {
            at += bytes.get(at..)?.iter().position(|byte| *byte != b' ')?;
            if bytes[at..].starts_with(key.as_bytes()) && bytes.get(at + key.len()) == Some(&b'=') {
                break;
            }
            at = space_from(at)?;
        }
        let start = at + key.len() + 1;
        let mut end = space_from(start);
        if *kind == Kind::Name {
            // A name may contain spaces: it lasts to the next key, whichever that is.
            while let Some(space) = end
                && !is_before_key(&bytes[space..])
            {
                end = space_from(space + 1);
            }
        }
        at = end.unwrap_or(bytes.len());
        let word = text.get(start..at)?;
        *value = if *kind == Kind::Name { word.trim() } else { word };
    }
    Some(found)
}

/// Whether a word with `=` follows some spaces.
fn is_before_key(bytes: &[u8]) -> bool {
    let spaces = bytes.iter().take_while(|byte| **byte == b' ').count();
    bytes[spaces..].iter().take_while(|byte| **byte != b' ').any(|byte| *byte == b'=')
}

/// Fields in any order.
fn anywhere<'a>(known: &Known, text: &'a str) -> Option<Values<'a>> {
    let ends = |start: usize| text.match_indices(' ').map(|(at, _)| at).filter(move |at| *at >= start);
    let mut found = Values::default();
    for (value, (key, ..)) in found.iter_mut().zip(known.fields) {
        let at = text.match_indices(key).map(|(at, _)| at).find(|at| {
            let starts = *at == 0 || text.as_bytes()[at - 1].is_ascii_whitespace();
            starts && text.as_bytes().get(at + key.len()) == Some(&b'=')
        })?;
        let start = at + key.len() + 1;
        let end = ends(start).find(|at| is_before_key(&text.as_bytes()[*at..])).unwrap_or(text.len());
        *value = text[start..end].trim();
    }
    Some(found)
}

/// `rustc:2698 [125] R ==> cyclictest:2719 [19]` and `cyclictest:2719 [19] CPU:001`, as trace-cmd prints them.
fn shortened<'a>(name: &str, text: &'a str) -> Option<Values<'a>> {
    match name {
        "sched_switch" => {
            let at = text.as_bytes().windows(5).position(|word| word == b" ==> ")?;
            let (prev, next) = (&text[..at], &text[at + 5..]);
            let (prev, state) = split_at_last_byte(prev, b' ')?;
            let ([prev_comm, prev_pid, prev_prio], [next_comm, next_pid, next_prio]) = (task(prev)?, task(next)?);
            Some([prev_comm, prev_pid, prev_prio, state, next_comm, next_pid, next_prio])
        }
        "sched_wakeup" | "sched_wakeup_new" | "sched_waking" => {
            let (woken, cpu) = split_at_last_byte(text, b':')?;
            let woken = woken.strip_suffix(" CPU")?;
            let [comm, pid, prio] = task(woken)?;
            Some([comm, pid, prio, cpu, "", "", ""])
        }
        _ => None,
    }
}

/// `cyclictest:2719 [19]`.
fn task(text: &str) -> Option<[&str; 3]> {
    let (thread, prio) = split_at_last_byte(text.trim().strip_suffix(']')?, b'[')?;
    let (comm, pid) = split_at_last_byte(thread.strip_suffix(' ')?, b':')?;
    Some([comm, pid, prio])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Option<Vec<String>> {
        let known = KNOWN.iter().find(|known| known.name == name).unwrap();
        Some(values(known, text)?.into_iter().take(known.fields.len()).map(str::to_owned).collect())
    }

    #[test]
    fn names_may_hold_spaces_and_colons() {
        let long =
            "prev_comm=my loop prev_pid=7 prev_prio=19 prev_state=S ==> next_comm=kworker/0:1 next_pid=9 next_prio=120";
        let short = "my loop:7 [19] S ==> kworker/0:1:9 [120]";
        let expected = ["my loop", "7", "19", "S", "kworker/0:1", "9", "120"];
        assert_eq!(of("sched_switch", short).unwrap(), expected);
        let values = of("sched_switch", long).unwrap();
        assert_eq!(values[3], "S");
        assert_eq!((&values[..3], &values[4..]), (&expected.map(String::from)[..3], &expected.map(String::from)[4..]));
        assert_eq!(of("sched_wakeup", "my loop:7 [19] CPU:001").unwrap(), ["my loop", "7", "19", "001"]);
        assert_eq!(of("sched_process_fork", "comm=a b pid=1 child_comm=pid=9 child_pid=2").unwrap(), ["1", "2"]);
        assert_eq!(of("irq_handler_entry", "irq=24"), None);
        assert_eq!(of("irq_handler_entry", "name=a b irq=24").unwrap(), ["24", "a b"]);
    }
}
