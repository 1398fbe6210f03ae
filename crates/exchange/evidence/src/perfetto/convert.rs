//! Makes a trace.dat of a Perfetto trace.

use super::compact::{Switch, Waking, expanded};
use super::event::{Event, text};
use super::message::{Fields, Value};
pub use super::trace::is_one;
use super::trace::{Packets, compressed};
use crate::archived::environment::UNNAMED;
use crate::problem::Refusal;
use crate::records::contexts::Contexts;
use crate::records::event::Kind;
use crate::records::functions::Functions;
use crate::records::layout::{Layout, push_name, push_text};
use crate::records::{About, CPUS_MAX, Place, Records, Room};
use std::collections::BTreeMap;

/// Numbers of the fields of a bundle.
mod field {
    pub const CPU: u32 = 1;
    pub const EVENT: u32 = 2;
    pub const LOST: u32 = 3;
    pub const COMPACT: u32 = 4;
    pub const CLOCK: u32 = 5;
}

/// An event in any form.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Event(Event<'a>),
    Switch(Switch<'a>),
    Waking(Waking<'a>),
    Lost,
}

/// A Perfetto trace as a trace.dat.
#[derive(Debug)]
pub struct Converted {
    pub trace: Vec<u8>,
    /// Known events whose fields cannot be read.
    pub unreadable: u64,
}

/// Converts a trace. `bytes_max`: limit of what it unpacks to.
///
/// # Errors
/// [`Refusal::NoFtraceEvents`] if the trace has none; [`Refusal::TooSparse`].
pub fn convert(bytes: &[u8], bytes_max: usize) -> Result<Converted, Refusal> {
    let parts = compressed(bytes, bytes_max);
    let mut packets = Packets::default();
    packets.learn(bytes);
    parts.iter().for_each(|part| packets.learn(part));
    let mut by_cpu: BTreeMap<u32, Vec<(u64, Item<'_>)>> = BTreeMap::new();
    packets.bundles.iter().for_each(|bundle| place(bundle, &mut by_cpu));
    if by_cpu.values().flatten().next().is_none() {
        return Err(Refusal::NoFtraceEvents);
    }
    let unpacked_bytes = parts.iter().map(Vec::len).sum::<usize>() + bytes.len();
    let records = Records::new(Room::of(unpacked_bytes));
    let mut converter = Converter { symbols: &packets.symbols, records, contexts: Contexts::default() };
    for (cpu, mut items) in by_cpu {
        items.sort_by_key(|(ts_ns, _)| *ts_ns);
        converter.cpu(cpu, &items);
    }
    let uname = format!("Linux {UNNAMED} {}", packets.kernel.join(" "));
    let uname = if packets.kernel[0].is_empty() { "" } else { &uname };
    let about = About { clock: clock(&packets.bundles), uname, ..About::default() };
    let unreadable = converter.records.unreadable;
    Ok(Converted { trace: converter.records.finish(about)?, unreadable })
}

/// The name of the trace clock; bundles name any other than `boot`.
fn clock(bundles: &[&[u8]]) -> &'static str {
    let named = bundles.iter().find_map(|bundle| Fields(bundle).find(field::CLOCK)?.number());
    match named {
        None | Some(0) => "boot",
        Some(2) => "global",
        Some(3) => "local",
        Some(4) => "mono_raw",
        Some(_) => "",
    }
}

fn place<'a>(bundle: &'a [u8], by_cpu: &mut BTreeMap<u32, Vec<(u64, Item<'a>)>>) {
    let cpu = Fields(bundle).find(field::CPU).and_then(Value::number).and_then(|cpu| u32::try_from(cpu).ok());
    let Some(cpu) = cpu.filter(|cpu| *cpu < CPUS_MAX) else { return };
    let items = by_cpu.entry(cpu).or_default();
    let begin = items.len();
    for (number, value) in Fields(bundle) {
        match (number, value) {
            (field::EVENT, Value::Bytes(message)) => {
                items.extend(Event::parse(message).map(|event| (event.ts_ns, Item::Event(event))));
            }
            (field::COMPACT, Value::Bytes(message)) => {
                let (switches, wakings) = expanded(message);
                items.extend(switches.into_iter().map(|switch| (switch.ts_ns, Item::Switch(switch))));
                items.extend(wakings.into_iter().map(|waking| (waking.ts_ns, Item::Waking(waking))));
            }
            _ => {}
        }
    }
    let first_ns = items[begin..].iter().map(|(ts_ns, _)| *ts_ns).min();
    let lost = Fields(bundle).find(field::LOST).and_then(Value::number) == Some(1);
    if let Some(first_ns) = first_ns.filter(|_| lost) {
        items.insert(begin, (first_ns, Item::Lost));
    }
}

struct Converter<'p, 'a> {
    symbols: &'p BTreeMap<u64, &'a [u8]>,
    records: Records,
    contexts: Contexts,
}

impl Converter<'_, '_> {
    fn cpu(&mut self, cpu: u32, items: &[(u64, Item<'_>)]) {
        // The thread that the last switch gave the CPU.
        let mut running: Option<Switch<'_>> = None;
        for (ts_ns, item) in items {
            let (name, tid) = match item {
                Item::Lost => {
                    self.records.lose(cpu, None);
                    running = None;
                    continue;
                }
                Item::Event(event) => (event.name, event.tid),
                Item::Switch(_) => ("sched_switch", running.map_or(0, |switch| switch.next_tid as i32)),
                Item::Waking(_) => ("sched_waking", running.map_or(0, |switch| switch.next_tid as i32)),
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
                running = Some(*switch);
            }
        }
    }
}

/// Appends the fields of a message.
fn fill(
    event: &Event<'_>,
    layout: &Layout,
    symbols: &BTreeMap<u64, &[u8]>,
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

fn fill_switch(running: &Switch<'_>, switch: &Switch<'_>, payload: &mut Vec<u8>) -> Option<()> {
    push_name(payload, running.next_comm);
    payload.extend([running.next_tid, running.next_prio, switch.prev_state].into_iter().flat_map(i64::to_le_bytes));
    push_name(payload, switch.next_comm);
    payload.extend([switch.next_tid, switch.next_prio].into_iter().flat_map(i64::to_le_bytes));
    Some(())
}

fn fill_waking(waking: &Waking<'_>, payload: &mut Vec<u8>) -> Option<()> {
    push_name(payload, waking.comm);
    payload.extend([waking.tid, waking.prio, waking.target_cpu].into_iter().flat_map(i64::to_le_bytes));
    Some(())
}
