//! Makes pages of the samples in a perf.data file.

use super::attribute::Attribute;
use super::packed::unpacked;
use super::sample::{is_identified, sample, stamp};
pub use super::session::is_one;
use super::session::{Record, Session};
use crate::archived::environment::UNNAMED;
use crate::problem::Refusal;
use crate::records::{About, CPUS_MAX, Pages, Room};
use ftrace::metadata::Metadata;
use ftrace::page::RawRecord;
use ftrace::page::writer::PageWriter;
use ftrace::trace_dat::tracing_data;
use std::collections::BTreeMap;

/// A record of a CPU, or the number of lost ones.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Event(&'a [u8]),
    Lost(u64),
}

type ByCpu<'a> = BTreeMap<u32, Vec<(u64, Item<'a>)>>;

/// A perf.data file as pages. `bytes_max`: limit of what it unpacks to.
///
/// # Errors
/// [`Refusal::NoTracepoints`] if it does not have the raw data of tracepoints; [`Refusal::TooSparse`].
pub fn convert(bytes: &[u8], bytes_max: usize) -> Result<Pages, Refusal> {
    let mut session = Session::of(bytes);
    let (metadata, _) = tracing_data(session.tracing_data);
    let plain = unpacked(std::mem::take(&mut session.packed), bytes_max);
    let mut inside = Session { order: session.order, ..Session::default() };
    inside.walk(&plain);
    let mut by_cpu = ByCpu::new();
    for record in session.records.iter().chain(&inside.records) {
        place(record, &session, &mut by_cpu);
    }
    if metadata.formats.iter().next().is_none() || !has_events(&by_cpu) {
        return Err(Refusal::NoTracepoints);
    }
    session.names.append(&mut inside.names);
    written(&session, metadata, by_cpu, Room::of(bytes.len() + plain.len()))
}

fn has_events(by_cpu: &ByCpu<'_>) -> bool {
    by_cpu.values().flatten().any(|(_, item)| matches!(item, Item::Event(_)))
}

/// The description of the event that a sample is of.
fn attribute_of<'s>(body: &[u8], session: &'s Session<'_>) -> Option<&'s Attribute> {
    let first = session.attributes.first()?;
    let id = session.byte_order().u64_at(body, 0).filter(|_| is_identified(first));
    let number = id.and_then(|id| session.by_id.get(&id));
    number.map_or(Some(first), |number| session.attributes.get(*number))
}

fn place<'a>(record: &Record<'a>, session: &Session<'_>, by_cpu: &mut ByCpu<'a>) {
    let order = session.byte_order();
    match record {
        Record::Sample(body) => {
            let of = attribute_of(body, session).filter(|of| of.is_tracepoint);
            let sample = of.and_then(|of| sample(body, of, order)).filter(|sample| sample.cpu < CPUS_MAX);
            if let Some(sample) = sample {
                by_cpu.entry(sample.cpu).or_default().push((sample.ts_ns, Item::Event(sample.raw)));
            }
        }
        Record::Lost { count, body } => {
            let stamp = session.attributes.first().and_then(|of| stamp(body, of, order));
            if let Some((ts_ns, cpu)) = stamp.filter(|(_, cpu)| *cpu < CPUS_MAX) {
                by_cpu.entry(cpu).or_default().push((ts_ns, Item::Lost(*count)));
            }
        }
    }
}

fn pages(mut items: Vec<(u64, Item<'_>)>, metadata: &Metadata, room: &mut Room) -> Vec<u8> {
    // Buffers of several events, one after another.
    items.sort_by_key(|(ts_ns, _)| *ts_ns);
    let mut writer = PageWriter::new(metadata.layout);
    for (ts_ns, item) in items {
        room.write(&mut writer, |pages| match item {
            Item::Event(payload) => pages.push(RawRecord { ts_ns, payload }),
            Item::Lost(count) => pages.lose(Some(count)),
        });
    }
    writer.finish()
}

fn written(session: &Session<'_>, metadata: Metadata, by_cpu: ByCpu<'_>, mut room: Room) -> Result<Pages, Refusal> {
    let name = |(tid, name): (&u32, &&[u8])| format!("{tid} {}\n", String::from_utf8_lossy(name));
    let pages: Vec<_> = by_cpu.into_iter().map(|(cpu, items)| (cpu, pages(items, &metadata, &mut room))).collect();
    room.check()?;
    let hostname = if session.hostname.is_empty() { UNNAMED } else { &session.hostname };
    let uname = format!("Linux {hostname} {} {}", session.release, session.architecture);
    let about = About {
        clock: session.attributes.first().map_or("", Attribute::clock_name),
        uname: if session.release.is_empty() { "" } else { &uname },
        version: &format!("{} perf", session.version),
        saved_cmdlines: &session.names.iter().map(name).collect::<String>(),
    };
    Ok(Pages::new(metadata, pages, about))
}
