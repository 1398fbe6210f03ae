//! Follows each part of a request: a bio of the kernel, from the block layer to its completion.
//!
//! Events name sectors, not requests. A part is the one that is open and has these sectors; an event that fits none
//! belongs to a request that was submitted before the recording, and changes nothing.

use crate::read::{Event, Extent, Recorded, What};
use archive::storage::StorageDevice;
use std::collections::BTreeMap;

/// Where a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// In the block layer, not yet in a request for the device.
    Block,
    /// In a request that the device does not have.
    Queue,
    Device,
    /// The device has raised its interrupt.
    Interrupted,
    Done,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub extent: Extent,
    /// The thread that submitted it.
    pub tid: i32,
    /// Its stages, each with the instant at which it started; instants do not descend.
    pub stages: Vec<(i64, Stage)>,
    pub merged: bool,
    pub split: bool,
    pub requeued: u32,
    /// It got a request for the device.
    pub got_ns: Option<i64>,
    /// Start of the softirq in which it was completed, if one was seen between interrupt and completion.
    pub softirq_ns: Option<i64>,
    /// The thread that completed it, unless an interrupt did.
    pub completed_by: Option<i32>,
}

impl Part {
    pub fn start_ns(&self) -> i64 {
        self.stages.first().map_or(0, |(at_ns, _)| *at_ns)
    }

    /// `None`: the trace does not show its completion.
    pub fn done_ns(&self) -> Option<i64> {
        self.stages.last().filter(|(_, stage)| *stage == Stage::Done).map(|(at_ns, _)| *at_ns)
    }

    /// When it went on into a queue or to the device.
    pub fn left_block_ns(&self) -> Option<i64> {
        self.stages.iter().find(|(_, stage)| *stage > Stage::Block).map(|(at_ns, _)| *at_ns)
    }

    /// From the interrupt of the device to the completion.
    pub fn interrupted_until_ns(&self) -> Option<(i64, i64)> {
        let at = self.stages.iter().rposition(|(_, stage)| *stage == Stage::Interrupted)?;
        Some((self.stages[at].0, self.stages.get(at + 1)?.0))
    }

    fn stage(&self) -> Stage {
        self.stages.last().map_or(Stage::Block, |(_, stage)| *stage)
    }

    fn enter(&mut self, at_ns: i64, stage: Stage) {
        let at_ns = at_ns.max(self.stages.last().map_or(at_ns, |(last_ns, _)| *last_ns));
        self.stages.push((at_ns, stage));
    }
}

/// An interrupt of the device on a CPU.
#[derive(Debug, Clone, Copy)]
struct Interrupt {
    at_ns: i64,
    cpu: u32,
}

/// How many interrupts are remembered: those between the issue of a request and its completion matter.
const INTERRUPTS_KEPT: usize = 256;
/// How many open parts all events together may be compared with. Recordings of kernels need a few for each event; one from
/// elsewhere may have millions of parts open, and millions of events that fit all of them.
const COMPARISONS_MAX: u64 = 1 << 31;

struct Following<'a> {
    device: &'a StorageDevice,
    parts: Vec<Part>,
    open: Open,
    interrupts: Vec<Interrupt>,
    /// The last start of a block softirq on each CPU.
    softirqs: BTreeMap<u32, i64>,
    comparisons: u64,
}

/// Every part that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Followed {
    /// Ascending by their start.
    pub parts: Vec<Part>,
    /// From this instant on nothing was followed, because it takes too long.
    pub given_up_ns: Option<i64>,
}

/// Follows every part.
pub fn follow(recorded: &Recorded, device: &StorageDevice) -> Followed {
    follow_within(recorded, device, COMPARISONS_MAX)
}

fn follow_within(recorded: &Recorded, device: &StorageDevice, comparisons_max: u64) -> Followed {
    let mut following = Following {
        device,
        parts: Vec::new(),
        open: Open::default(),
        interrupts: Vec::new(),
        softirqs: BTreeMap::new(),
        comparisons: 0,
    };
    let mut gaps = recorded.gaps.iter().peekable();
    let mut given_up_ns = None;
    for event in &recorded.events {
        if following.comparisons > comparisons_max {
            given_up_ns = Some(event.at_ns);
            break;
        }
        while gaps.next_if(|gap_ns| **gap_ns <= event.at_ns).is_some() {
            // What was open may have gone on unseen.
            following.open = Open::default();
        }
        following.take(event);
    }
    Followed { parts: following.parts, given_up_ns }
}

/// Positions of the parts that are not complete.
#[derive(Debug, Default)]
struct Open {
    flushes: Vec<usize>,
    /// By first sector.
    others: BTreeMap<u64, Vec<usize>>,
}

impl Open {
    fn add(&mut self, extent: Extent, at: usize) {
        match extent.is_flush {
            true => self.flushes.push(at),
            false => self.others.entry(extent.sector).or_default().push(at),
        }
    }

    fn remove(&mut self, extent: Extent, at: usize) {
        if extent.is_flush {
            self.flushes.retain(|open| *open != at);
        } else if let Some(same_start) = self.others.get_mut(&extent.sector) {
            same_start.retain(|open| *open != at);
            if same_start.is_empty() {
                self.others.remove(&extent.sector);
            }
        }
    }

    /// Parts that a request may contain.
    fn near(&self, request: Extent) -> Vec<usize> {
        match request.is_flush {
            true => self.flushes.clone(),
            false => self.others.range(request.sector..=request.end()).flat_map(|(_, open)| open).copied().collect(),
        }
    }

    fn all(&self) -> Vec<usize> {
        self.flushes.iter().chain(self.others.values().flatten()).copied().collect()
    }
}

impl Following<'_> {
    /// Changes the open parts that a request may contain and for which the condition holds.
    fn each(&mut self, request: Extent, holds: impl Fn(&Part) -> bool, mut change: impl FnMut(&mut Part)) {
        for at in self.counted(self.open.near(request)) {
            let part = &mut self.parts[at];
            if holds(part) {
                change(part);
            }
        }
    }

    fn counted(&mut self, compared: Vec<usize>) -> Vec<usize> {
        self.comparisons = self.comparisons.saturating_add(compared.len() as u64);
        compared
    }

    fn take(&mut self, event: &Event) {
        let at_ns = event.at_ns;
        match event.what {
            What::Queue(extent) => {
                let mut stages = vec![(at_ns, Stage::Block)];
                if self.device.maps {
                    // What it does with the request is all that is to be known of it.
                    stages.push((at_ns, Stage::Device));
                }
                self.open.add(extent, self.parts.len());
                let tid = event.tid;
                self.parts.push(Part {
                    extent,
                    tid,
                    stages,
                    merged: false,
                    split: false,
                    requeued: 0,
                    got_ns: None,
                    softirq_ns: None,
                    completed_by: None,
                });
            }
            What::Split { sector, at } => self.split(sector, at),
            What::Merge(extent) => self.each(
                extent,
                |part| same_start(part, extent) && part.stage() == Stage::Block,
                |part| {
                    part.merged = true;
                    part.enter(at_ns, Stage::Queue);
                },
            ),
            // A plug holds the request from here until it is inserted or issued.
            What::Get(extent) => self.each(
                extent,
                |part| same_start(part, extent) && part.stage() == Stage::Block && part.got_ns.is_none(),
                |part| part.got_ns = Some(at_ns),
            ),
            What::Insert(extent) => {
                self.each(
                    extent,
                    |part| inside(part, extent) && part.stage() == Stage::Block,
                    |part| part.enter(at_ns, Stage::Queue),
                );
            }
            What::MergeRequests(extent) => {
                self.each(
                    extent,
                    |part| inside(part, extent) && part.stage() < Stage::Device,
                    |part| part.merged = true,
                );
            }
            What::Issue(extent) => self.each(
                extent,
                |part| inside(part, extent) && part.stage() < Stage::Device,
                |part| part.enter(at_ns, Stage::Device),
            ),
            What::Requeue(extent) => self.each(
                extent,
                |part| inside(part, extent) && part.stage() == Stage::Device,
                |part| {
                    part.requeued += 1;
                    part.enter(at_ns, Stage::Queue);
                },
            ),
            What::Complete(extent) => {
                let near = self.open.near(extent);
                self.complete(event, near, |part| inside(part, extent) && part.stage() == Stage::Device)
            }
            What::CompletePart(extent) => self.complete(event, self.open.all(), |part| completes(part, extent)),
            What::Interrupt { number } => {
                if self.device.interrupts.contains(&number) {
                    if self.interrupts.len() == INTERRUPTS_KEPT {
                        self.interrupts.drain(..INTERRUPTS_KEPT / 2);
                    }
                    self.interrupts.push(Interrupt { at_ns, cpu: event.cpu });
                }
            }
            What::BlockSoftirq => {
                self.softirqs.insert(event.cpu, at_ns);
            }
            What::Waking { .. }
            | What::Switch { .. }
            | What::ReclaimBegin
            | What::ReclaimEnd
            | What::Plug
            | What::Unplug
            | What::DirtyThrottling => {}
        }
    }

    fn split(&mut self, sector: u64, at: u64) {
        if self.device.maps {
            // It completes once, when all of it is done.
            for open in self.counted(self.open.all()) {
                let extent = self.parts[open].extent;
                self.parts[open].split |= extent.sector < at && at < extent.end();
            }
            return;
        }
        let start = Extent { sector, sectors: 0, is_flush: false, is_fua: false };
        let found = self.counted(self.open.near(start)).into_iter().find(|open| {
            let part = &self.parts[*open];
            part.extent.sector == sector && sector < at && at < part.extent.end() && part.stage() == Stage::Block
        });
        let Some(found) = found else { return };
        let part = &mut self.parts[found];
        part.split = true;
        let mut rest = part.clone();
        rest.extent = Extent { sector: at, sectors: part.extent.end() - at, ..part.extent };
        part.extent.sectors = at - sector;
        self.open.add(rest.extent, self.parts.len());
        self.parts.push(rest);
    }

    fn complete(&mut self, event: &Event, compared: Vec<usize>, is_done: impl Fn(&Part) -> bool) {
        for at in self.counted(compared) {
            if !is_done(&self.parts[at]) {
                continue;
            }
            let issued_ns = self.parts[at].stages.last().map_or(event.at_ns, |(at_ns, _)| *at_ns);
            if let Some(interrupt_ns) = self.interrupt_of(event, issued_ns) {
                self.parts[at].enter(interrupt_ns, Stage::Interrupted);
                let softirq_ns = self.softirqs.get(&event.cpu).copied();
                self.parts[at].softirq_ns = softirq_ns.filter(|softirq_ns| *softirq_ns >= interrupt_ns);
            }
            self.parts[at].completed_by = (!event.in_interrupt && event.tid > 0).then_some(event.tid);
            self.parts[at].enter(event.at_ns, Stage::Done);
            self.open.remove(self.parts[at].extent, at);
        }
    }

    /// The interrupt that brought a completion: the last one on this CPU since the issue, or the only one at all. Several on
    /// other CPUs do not show which one it was.
    fn interrupt_of(&self, event: &Event, issued_ns: i64) -> Option<i64> {
        let since = || self.interrupts.iter().rev().take_while(|interrupt| interrupt.at_ns >= issued_ns);
        let here = since().find(|interrupt| interrupt.cpu == event.cpu);
        let mut all = since();
        let only = all.next().filter(|_| all.next().is_none());
        here.or(only).map(|interrupt| interrupt.at_ns)
    }
}

fn same_start(part: &Part, extent: Extent) -> bool {
    part.extent.sector == extent.sector && part.extent.is_flush == extent.is_flush
}

/// Whether a request contains a part. The kernel has one flush for all that wait for one.
fn inside(part: &Part, request: Extent) -> bool {
    if part.extent.is_flush || request.is_flush {
        return part.extent.is_flush && request.is_flush;
    }
    part.extent.sectors > 0 && request.sector <= part.extent.sector && part.extent.end() <= request.end()
}

/// Whether a part is done with this completion of a device without requests. Of a part that was split, the kernel has the rest.
fn completes(part: &Part, done: Extent) -> bool {
    if part.extent.is_flush || done.is_flush {
        return part.extent.is_flush && done.is_flush;
    }
    let from_start = part.extent.sector == done.sector;
    let is_rest = part.split && (part.extent.sector..part.extent.end()).contains(&done.sector);
    // A device that worked through it sector by sector has none left.
    let at_end = done.sectors == 0 && part.extent.end() == done.sector;
    at_end || (from_start || is_rest) && part.extent.end() == done.end()
}

/// Parts by the thread that submitted them.
pub fn by_thread(parts: &[Part]) -> BTreeMap<i32, Vec<&Part>> {
    let mut by_thread: BTreeMap<i32, Vec<&Part>> = BTreeMap::new();
    for part in parts {
        by_thread.entry(part.tid).or_default().push(part);
    }
    by_thread
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_ns: i64, what: What) -> Event {
        Event { at_ns, cpu: 0, tid: 1, in_interrupt: false, what }
    }

    #[test]
    fn of_many_parts_and_many_events_that_fit_all_of_them_only_the_first_are_followed() {
        let one = Extent { sector: 5, sectors: 1, is_flush: false, is_fua: false };
        let mut events: Vec<Event> = (0..100).map(|at_ns| event(at_ns, What::Queue(one))).collect();
        events.extend((100..200).map(|at_ns| event(at_ns, What::Issue(one))));
        events.push(event(200, What::Complete(one)));
        let recorded = Recorded { events, ..Recorded::default() };
        let device = StorageDevice::default();
        let all = follow(&recorded, &device);
        assert_eq!((all.given_up_ns, all.parts.iter().filter(|part| part.done_ns() == Some(200)).count()), (None, 100));
        let some = follow_within(&recorded, &device, 1000);
        assert_eq!(
            (some.given_up_ns, some.parts.iter().filter(|part| part.done_ns().is_some()).count()),
            (Some(111), 0)
        );
    }
}
