//! Switches and wake-ups as columns: each column has one field of all events of a bundle, times as distances.

use super::event::text;
use super::message::{Fields, packed};

/// Numbers of the columns in `CompactSched`.
mod column {
    pub const NAMES: u32 = 5;
    pub const SWITCH: [u32; 5] = [1, 2, 3, 4, 6];
    pub const WAKING: [u32; 5] = [7, 8, 9, 10, 11];
}

/// A switch, without the thread that was switched out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch<'a> {
    pub ts_ns: u64,
    pub prev_state: i64,
    pub next_tid: i64,
    pub next_prio: i64,
    pub next_comm: &'a str,
}

/// A wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waking<'a> {
    pub ts_ns: u64,
    pub tid: i64,
    pub target_cpu: i64,
    pub prio: i64,
    pub comm: &'a str,
}

/// Of five columns.
type Row<'a> = (u64, [i64; 3], &'a str);

/// The rows of five columns, whose first is a time and whose last the number of a name.
fn rows<'a>(message: &'a [u8], columns: [u32; 5], names: &[&'a str], rows_max: usize) -> Vec<Row<'a>> {
    let column = |number: u32| {
        let parts = Fields(message).filter(move |(found, _)| *found == number);
        parts.filter_map(|(_, value)| value.bytes()).flat_map(packed)
    };
    let [times, one, two, three, texts] = columns.map(column);
    let mut ts_ns = 0u64;
    let rows = times.zip(one.zip(two)).zip(three.zip(texts)).map(|((distance_ns, (one, two)), (three, name))| {
        ts_ns = ts_ns.wrapping_add(distance_ns);
        let name = usize::try_from(name).ok().and_then(|name| names.get(name)).copied().unwrap_or_default();
        (ts_ns, [one as i64, two as i64, three as i64], name)
    });
    rows.take(rows_max).collect()
}

/// The switches and the wake-ups of a bundle.
pub fn expanded(message: &[u8], rows_max: usize) -> (Vec<Switch<'_>>, Vec<Waking<'_>>) {
    let names = Fields(message).filter(|(number, _)| *number == column::NAMES);
    let names: Vec<&str> = names.map(|(_, value)| text(value).unwrap_or_default()).collect();
    let switches = rows(message, column::SWITCH, &names, rows_max).into_iter().map(Switch::of).collect();
    (switches, rows(message, column::WAKING, &names, rows_max).into_iter().map(Waking::of).collect())
}

impl<'a> Switch<'a> {
    fn of((ts_ns, [prev_state, next_tid, next_prio], next_comm): Row<'a>) -> Self {
        Self { ts_ns, prev_state, next_tid, next_prio, next_comm }
    }
}

impl<'a> Waking<'a> {
    fn of((ts_ns, [tid, target_cpu, prio], comm): Row<'a>) -> Self {
        Self { ts_ns, tid, target_cpu, prio, comm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_events_and_times_add_up() {
        let mut message = b"\x2a\x01a\x2a\x01b".to_vec();
        for (column, values) in [(1, [100, 7]), (2, [1, 0]), (3, [9, 10]), (4, [19, 120]), (6, [1, 0])] {
            message.extend([column << 3 | 2, 2]);
            message.extend(values);
        }
        let (switches, wakings) = expanded(&message, 10);
        let first = Switch { ts_ns: 100, prev_state: 1, next_tid: 9, next_prio: 19, next_comm: "b" };
        let second = Switch { ts_ns: 107, prev_state: 0, next_tid: 10, next_prio: 120, next_comm: "a" };
        assert_eq!((switches, wakings), (vec![first, second], Vec::new()));
    }
}
