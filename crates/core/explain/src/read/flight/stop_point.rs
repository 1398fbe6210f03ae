//! The position of a machine that repeats its course at an instant of a recorded wake-up: the surrounding blocks, the
//! function, and its callers.

use super::Flight;
use super::blocks::{Blocks, Place, Step};
use super::calls::{CallEvent, follow};
use archive::sample::Sample;
use ftrace::flight_record::FlightGap;

/// An instant between two blocks of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopPoint {
    /// Blocks that the machine has executed by then since power-on.
    pub blocks: u64,
    /// Address of the next instruction.
    pub address: u64,
    /// Time from the instant the wake-up was due to this one.
    pub ns_after_due: i64,
    /// The function of that instruction and its callers, innermost first. Empty in a program.
    pub functions: Vec<String>,
    /// The requested instant is before this one, in time in which nothing was executed or recorded.
    pub later_than_asked: bool,
    /// The record, made for the wake-up, ends with it, before the requested instant.
    pub record_ends_before: bool,
}

impl Flight {
    /// The last instant between two blocks that is not after `ns_after_due`; `None` if the record has no blocks.
    pub fn stop_point(&self, sample: &Sample, ns_after_due: i64) -> Option<StopPoint> {
        let blocks = Blocks::of(&self.record, &self.symbols);
        let shift = self.record.instruction_shift;
        // Without a sign of the clock, where the known meter reads it.
        let seen = blocks.seen.unwrap_or(blocks.end.saturating_sub(40)) as i64;
        let after_due = |position: u64| sample.latency_ns.saturating_sub((seen - position as i64) << shift);
        // A machine that is stopped on its way into a halt is before the halt, not after it: the block that woke it has
        // to run.
        let first = if blocks.first > 0 { blocks.first + 1 } else { 1 };
        let behind = blocks.steps.partition_point(|step| after_due(step.position) <= ns_after_due);
        let at = behind.saturating_sub(1).max(first);
        let step = blocks.steps.get(at)?;
        let forgotten: u64 =
            self.record.gaps.iter().map(|gap| if let FlightGap::Forgotten(count) = gap { *count } else { 0 }).sum();
        Some(StopPoint {
            blocks: forgotten + at as u64,
            address: self.record.blocks.get(at)?.address,
            ns_after_due: after_due(step.position),
            functions: functions(&blocks, step),
            later_than_asked: behind <= at && after_due(step.position) > ns_after_due,
            record_ends_before: after_due(blocks.end) < ns_after_due,
        })
    }
}

/// The open calls while a step is executed.
fn functions(blocks: &Blocks, step: &Step) -> Vec<String> {
    let Place::Function(own) = blocks.kinds[step.kind as usize].place else { return Vec::new() };
    let mut open: Option<Vec<u32>> = None;
    follow(blocks, &mut |instant| {
        // Reported before a call is entered or left: the calls open then were open all the way from the step.
        if open.is_none() && instant.position > step.position && instant.what != CallEvent::Comes {
            open = Some(instant.frames.iter().rev().map(|frame| frame.function).collect());
        }
    });
    let mut open = open.unwrap_or_default();
    if open.first() != Some(&own) {
        open.insert(0, own);
    }
    open.into_iter().map(|number| blocks.functions[number as usize].name.clone()).collect()
}
