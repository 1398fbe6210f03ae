//! Makes records of the events in a Perfetto trace.

use super::compact::{Switch, Waking, expanded};
use super::event::{Event, text};
use super::message::{Fields, Value};
pub use super::trace::is_one;
use super::trace::{Surroundings, bundles, parts};
use crate::archived::environment::UNNAMED;
use crate::problem::Refusal;
use crate::records::contexts::Contexts;
use crate::records::event::Kind;
use crate::records::functions::Functions;
use crate::records::layout::{Layout, push_name, push_text};
use crate::records::{About, CPUS_MAX, Pages, Place, Records, Room};
use std::collections::BTreeMap;

/// Numbers of the fields of a bundle.
mod field {
    pub const CPU: u32 = 1;
    pub const EVENT: u32 = 2;
    pub const LOST: u32 = 3;
    pub const COMPACT: u32 = 4;
    pub const CLOCK: u32 = 5;
}

/// More than a bundle of Perfetto has: each is of one read of a buffer.
const EVENTS_OF_BUNDLE_MAX: usize = 400_000;

/// An event in any form.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Event(Event<'a>),
    Switch(Switch<'a>),
    Waking(Waking<'a>),
    Lost,
}

/// A Perfetto trace as records.
#[derive(Debug)]
pub struct Converted {
    pub trace: Pages,
    /// Known events whose fields cannot be read.
    pub unreadable: u64,
}

/// Converts a trace. `bytes_max`: limit of what it unpacks to.
///
/// # Errors
/// [`Refusal::NoFtraceEvents`] if the trace has none; [`Refusal::TooSparse`].
pub fn convert(bytes: &[u8], bytes_max: usize) -> Result<Converted, Refusal> {
    let mut surroundings = Surroundings::default();
    let mut unpacked_bytes = 0;
    parts(bytes, bytes_max, |part| {
        surroundings.learn(part);
        unpacked_bytes += part.len();
    });
    let records = Records::new(Room::of(unpacked_bytes));
    let mut converter = Converter {
        symbols: &surroundings.symbols,
        records,
        contexts: Contexts::default(),
        running: BTreeMap::new(),
        clock: None,
        has_events: false,
    };
    parts(bytes, bytes_max, |part| bundles(part).for_each(|bundle| converter.bundle(bundle)));
    if !converter.has_events {
        return Err(Refusal::NoFtraceEvents);
    }
    let uname = format!("Linux {UNNAMED} {}", surroundings.kernel.join(" "));
    let uname = if surroundings.kernel[0].is_empty() { "" } else { &uname };
    let about = About { clock: clock(converter.clock), uname, ..About::default() };
    let unreadable = converter.records.unreadable;
    Ok(Converted { trace: converter.records.finish(about)?, unreadable })
}

/// The name of the trace clock; bundles name any other than `boot`.
fn clock(named: Option<u64>) -> &'static str {
    match named {
        None | Some(0) => "boot",
        Some(2) => "global",
        Some(3) => "local",
        Some(4) => "mono_raw",
        Some(_) => "",
    }
}

/// The CPU of a bundle and its events in order of time. Those beyond a number that no bundle has are lost.
fn items(bundle: &[u8]) -> Option<(u32, Vec<(u64, Item<'_>)>)> {
    let cpu = Fields(bundle).find(field::CPU).and_then(Value::number).and_then(|cpu| u32::try_from(cpu).ok());
    let cpu = cpu.filter(|cpu| *cpu < CPUS_MAX)?;
    let mut items = Vec::new();
    let mut lost = Fields(bundle).find(field::LOST).and_then(Value::number) == Some(1);
    for (number, value) in Fields(bundle) {
        if items.len() > EVENTS_OF_BUNDLE_MAX {
            lost = true;
            break;
        }
        match (number, value) {
            (field::EVENT, Value::Bytes(message)) => {
                items.extend(Event::parse(message).map(|event| (event.ts_ns, Item::Event(event))));
            }
            (field::COMPACT, Value::Bytes(message)) => {
                let (switches, wakings) = expanded(message, EVENTS_OF_BUNDLE_MAX);
                items.extend(switches.into_iter().map(|switch| (switch.ts_ns, Item::Switch(switch))));
                items.extend(wakings.into_iter().map(|waking| (waking.ts_ns, Item::Waking(waking))));
            }
            _ => {}
        }
    }
    items.sort_by_key(|(ts_ns, _)| *ts_ns);
    if let Some((first_ns, _)) = items.first().filter(|_| lost) {
        items.insert(0, (*first_ns, Item::Lost));
    }
    Some((cpu, items))
}

struct Converter<'p> {
    symbols: &'p BTreeMap<u64, Vec<u8>>,
    records: Records,
    contexts: Contexts,
    /// The thread that the last switch gave each CPU, if a bundle has columns.
    running: BTreeMap<u32, Running>,
    /// The number of the clock that the first bundle with one names.
    clock: Option<u64>,
    has_events: bool,
}

impl Converter<'_> {
    fn bundle(&mut self, bundle: &[u8]) {
        let named = || Fields(bundle).find(field::CLOCK)?.number();
        self.clock = self.clock.or_else(named);
        if let Some((cpu, items)) = items(bundle) {
            self.has_events |= !items.is_empty();
            self.cpu(cpu, &items);
        }
    }

    fn cpu(&mut self, cpu: u32, items: &[(u64, Item<'_>)]) {
        let mut running = self.running.remove(&cpu);
        for (ts_ns, item) in items {
            let (name, tid) = match item {
                Item::Lost => {
                    self.records.lose(cpu, None);
                    running = None;
                    continue;
                }
                Item::Event(event) => (event.name, event.tid),
                Item::Switch(_) => ("sched_switch", running.as_ref().map_or(0, Running::tid)),
                Item::Waking(_) => ("sched_waking", running.as_ref().map_or(0, Running::tid)),
            };
            let flags = self.contexts.flags(cpu, name);
            let place = Place { cpu, ts_ns: *ts_ns, tid, flags, preempt_depth: 0 };
            let symbols = self.symbols;
            self.records.push(place, name, |layout, functions, payload| match item {
                Item::Event(event) => fill(event, layout, symbols, functions, payload),
                Item::Switch(switch) => fill_switch(running.as_ref()?, switch, payload),
                Item::Waking(waking) => fill_waking(waking, payload),
                Item::Lost => None,
            });
            if let Item::Switch(switch) = item {
                running = Some(Running::of(switch));
            }
        }
        self.running.extend(running.map(|running| (cpu, running)));
    }
}

/// A thread that was given a CPU.
struct Running {
    comm: String,
    tid: i64,
    prio: i64,
}

impl Running {
    fn of(switch: &Switch<'_>) -> Self {
        Self { comm: switch.next_comm.to_owned(), tid: switch.next_tid, prio: switch.next_prio }
    }

    fn tid(&self) -> i32 {
        self.tid as i32
    }
}

/// Appends the fields of a message.
fn fill(
    event: &Event<'_>,
    layout: &Layout,
    symbols: &BTreeMap<u64, Vec<u8>>,
    functions: &mut Functions,
    payload: &mut Vec<u8>,
) -> Option<()> {
    let Some(known) = layout.known else {
        push_text(payload, event.field("buf").and_then(text).unwrap_or_default());
        return Some(());
    };
    for (_, name, kind) in known.fields {
        let value = event.field(name)?;
        match (kind, value) {
            (Kind::Name, value) => push_name(payload, text(value)?),
            (Kind::Function, Value::Bytes(_)) => payload.extend(functions.address(text(value)?).to_le_bytes()),
            (Kind::Function, Value::Number(number)) => {
                let name = symbols.get(&number).map(|name| String::from_utf8_lossy(name));
                payload.extend(name.map_or(number, |name| functions.address(&name)).to_le_bytes());
            }
            (_, value) => payload.extend(value.number()?.to_le_bytes()),
        }
    }
    Some(())
}

fn fill_switch(running: &Running, switch: &Switch<'_>, payload: &mut Vec<u8>) -> Option<()> {
    push_name(payload, &running.comm);
    payload.extend([running.tid, running.prio, switch.prev_state].into_iter().flat_map(i64::to_le_bytes));
    push_name(payload, switch.next_comm);
    payload.extend([switch.next_tid, switch.next_prio].into_iter().flat_map(i64::to_le_bytes));
    Some(())
}

fn fill_waking(waking: &Waking<'_>, payload: &mut Vec<u8>) -> Option<()> {
    push_name(payload, waking.comm);
    payload.extend([waking.tid, waking.prio, waking.target_cpu].into_iter().flat_map(i64::to_le_bytes));
    Some(())
}
