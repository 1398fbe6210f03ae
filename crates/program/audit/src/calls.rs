//! The calls that an intercepted program recorded itself, as moments in order of time.

use crate::activity::Call;
use crate::decode::Event;
use archive::audit::AuditDescription;
use call_ring::function::Function;
use call_ring::record::{NEVER, Record, records};
use std::collections::BTreeMap;

/// The start or the end of a system call, or a call of a function of the C library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    pub at_ns: i64,
    pub tid: i32,
    pub call: Half,
}

/// Half of a system call, or the whole of a call of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Half {
    Start { number: i64, arguments: [u64; 6], stack: Vec<u64>, injected: bool, lost_before: u64 },
    End { answer: i64 },
    Library { call: Box<Call>, stack: Vec<u64>, lost_before: u64 },
}

impl Half {
    /// The same call as a trace would have it; `None` for a function, of which it has nothing.
    pub fn event(&self) -> Option<Event> {
        match self {
            Self::Start { number, arguments, .. } => Some(Event::Enter { number: *number, arguments: *arguments }),
            Self::End { answer } => Some(Event::Exit { answer: *answer }),
            Self::Library { .. } => None,
        }
    }

    /// Whether a call was delayed or refused on purpose.
    pub fn is_injected(&self) -> bool {
        matches!(self, Self::Start { injected: true, .. })
    }

    /// Where a call came from.
    pub fn stack(&self) -> Option<&[u64]> {
        match self {
            Self::Start { stack, .. } | Self::Library { stack, .. } => Some(stack),
            Self::End { .. } => None,
        }
    }

    /// Calls of the thread that were lost since the one before.
    pub fn lost_before(&self) -> u64 {
        match self {
            Self::Start { lost_before, .. } | Self::Library { lost_before, .. } => *lost_before,
            Self::End { .. } => 0,
        }
    }
}

/// Calls that were lost between a record and the one before it of its thread: the upper half of the first word.
fn lost_before(record: &Record) -> u64 {
    record.mark >> 32
}

/// Both halves of every system call, and every call of a function. Each thread's system calls keep the order in which they were
/// recorded, whatever their instants say.
pub fn moments(bytes: &[u8], description: &AuditDescription) -> Vec<Moment> {
    let mut by_thread: BTreeMap<i32, Vec<Record>> = BTreeMap::new();
    let executable = Executable::of(description);
    let mut moments = Vec::new();
    for record in records(bytes) {
        match record.of_library {
            true => moments.extend(of_function(&record, &executable)),
            false => by_thread.entry(record.tid).or_default().push(record),
        }
    }
    for (tid, records) in by_thread {
        let mut last_ns = i64::MIN;
        let mut following = records.iter().skip(1);
        for record in &records {
            let next_ns = following.next().map_or(i64::MAX, |next| instant(next.entered));
            let start_ns = instant(record.entered).max(last_ns);
            let stack = stack(record, &executable);
            let number = i64::from(record.number);
            let (arguments, injected) = (record.arguments, record.injected);
            let start = Half::Start { number, arguments, stack, injected, lost_before: lost_before(record) };
            moments.push(Moment { at_ns: start_ns, tid, call: start });
            last_ns = start_ns;
            if record.returned != NEVER {
                // A call that a signal handler interrupted had ended when the handler made its first call.
                last_ns = instant(record.returned).min(next_ns).max(start_ns);
                moments.push(Moment { at_ns: last_ns, tid, call: Half::End { answer: record.result } });
            }
        }
    }
    moments.sort_by_key(|moment| moment.at_ns);
    moments
}

/// A call of a function. Its record was made when it returned, so its instants are taken as they are.
fn of_function(record: &Record, executable: &Executable) -> Option<Moment> {
    Function::from_number(record.number)?;
    let start_ns = instant(record.entered);
    let call = Call {
        number: i64::from(record.number),
        arguments: record.arguments,
        answer: Some(record.result),
        start_ns,
        end_ns: instant(record.returned).max(start_ns),
        ..Call::default()
    };
    let half =
        Half::Library { call: Box::new(call), stack: stack(record, executable), lost_before: lost_before(record) };
    Some(Moment { at_ns: start_ns, tid: record.tid, call: half })
}

/// The address of the call, and the return addresses that are in code.
fn stack(record: &Record, executable: &Executable) -> Vec<u64> {
    let frames = record.callers.iter().copied().take_while(|caller| *caller != 0);
    let frames = frames.filter(|caller| executable.contains(*caller));
    std::iter::once(record.address).chain(frames).collect()
}

fn instant(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Where code is, of all processes, in order and without overlaps. Code without frame pointers uses their register for
/// numbers, and what these point to is no return address.
struct Executable(BTreeMap<u64, u64>);

impl Executable {
    fn of(description: &AuditDescription) -> Self {
        let mappings = description.processes.iter().flat_map(|process| &process.mappings);
        let executable = mappings.filter(|mapping| mapping.rights.contains('x'));
        let mut sorted: Vec<(u64, u64)> = executable.map(|mapping| (mapping.start, mapping.end)).collect();
        sorted.sort_unstable();
        let mut ranges: BTreeMap<u64, u64> = BTreeMap::new();
        for (start, end) in sorted {
            match ranges.last_entry() {
                Some(mut last) if start <= *last.get() => _ = last.insert(end.max(*last.get())),
                _ => _ = ranges.insert(start, end),
            }
        }
        Self(ranges)
    }

    fn contains(&self, address: u64) -> bool {
        self.0.range(..=address).next_back().is_some_and(|(_, end)| address < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::audit::{AuditedProcess, Mapping};

    fn record(tid: i32, number: u32, entered: u64, returned: u64) -> Record {
        Record {
            mark: 0,
            entered,
            returned,
            number,
            injected: false,
            of_library: false,
            tid,
            arguments: [0; 6],
            result: 0,
            address: 0x10,
            callers: [0x1010, 0x9999, 0, 0x1020],
        }
    }

    #[test]
    fn a_call_ends_before_the_handler_that_interrupted_it_makes_one() {
        let records = [record(1, 230, 10, 90), record(1, 1, 40, 50), record(1, 60, 95, NEVER), record(2, 3, 20, 30)];
        let bytes: Vec<u8> = records.iter().flat_map(Record::bytes).collect();
        let moments = moments(&bytes, &AuditDescription::default());
        let short: Vec<(i32, i64, bool)> = moments
            .iter()
            .map(|moment| (moment.tid, moment.at_ns, matches!(moment.call, Half::Start { .. })))
            .collect();
        let expected = [
            (1, 10, true),
            (2, 20, true),
            (2, 30, false),
            (1, 40, false),
            (1, 40, true),
            (1, 50, false),
            (1, 95, true),
        ];
        assert_eq!(short, expected);
    }

    #[test]
    fn a_function_keeps_its_instants_and_shortens_no_system_call() {
        // It waited in the system call, and was recorded after it.
        let lock = Record { of_library: true, ..record(1, Function::MutexLock as u32, 5, 95) };
        let unknown = Record { of_library: true, ..record(1, 999, 6, 7) };
        let records = [record(1, 202, 10, 90), lock, unknown, record(1, 230, 100, 110)];
        let bytes: Vec<u8> = records.iter().flat_map(Record::bytes).collect();
        let moments = moments(&bytes, &AuditDescription::default());
        let instants: Vec<i64> = moments.iter().map(|moment| moment.at_ns).collect();
        assert_eq!(instants, [5, 10, 90, 100, 110]);
        let Half::Library { call, .. } = &moments[0].call else { panic!("{moments:?}") };
        assert_eq!((call.number, call.duration_ns()), (i64::from(Function::MutexLock as u32), 90));
    }

    #[test]
    fn callers_are_code() {
        let mapping = Mapping { start: 0x1000, end: 0x2000, rights: "r-xp".into(), ..Mapping::default() };
        let process = AuditedProcess { mappings: vec![mapping], ..AuditedProcess::default() };
        let description = AuditDescription { processes: vec![process], ..AuditDescription::default() };
        let moments = moments(&record(1, 1, 1, 2).bytes(), &description);
        assert_eq!(moments[0].call.stack().unwrap(), &[0x10, 0x1010]);
    }
}
