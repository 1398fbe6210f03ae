//! Keeps the worst spikes of a run, and counts the others.

use super::Run;
use crate::spike::{Coverage, Interrupted, LateInterrupt, SPIKES_MAX, Spike, SpikeReason};
use std::cmp::Reverse;
use std::collections::HashSet;

/// A machine with hundreds of CPUs has a list of as many buffers in each spike.
const BYTES_MAX: usize = 24 << 20;
/// With half as many again, the smallest leave, so that one pass serves many spikes.
const WAITING: usize = SPIKES_MAX / 2;
/// Ordinary samples, which the spikes are compared with, are kept whatever their latency.
const CONTROLS_MAX: usize = 100;
/// Numbers of spikes without room, so that one that is dropped later is not counted as left out.
const NUMBERS_MAX: usize = 1 << 20;

/// The spikes that were left out, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LeftOutSpikes {
    /// In memory, of the spikes that are kept.
    bytes: usize,
    /// A spike of this latency, or of a smaller one, has no room.
    floor_ns: Option<i64>,
    numbers: HashSet<u32>,
}

impl LeftOutSpikes {
    fn leave_out(&mut self, number: u32) {
        if self.numbers.len() < NUMBERS_MAX {
            self.numbers.insert(number);
        }
    }

    /// Whether a spike that the meter drops was left out before.
    pub(super) fn forget(&mut self, number: u32) -> bool {
        self.numbers.remove(&number)
    }

    fn has_room(&self, spike: &Spike) -> bool {
        spike.reason == SpikeReason::Control || self.floor_ns.is_none_or(|floor_ns| spike.sample.latency_ns > floor_ns)
    }
}

impl Run {
    pub(super) fn add_spike(&mut self, spike: Spike) {
        let room = &mut self.room.spikes;
        if room.has_room(&spike) {
            room.bytes += bytes(&spike);
            self.spikes.push(spike);
        } else {
            room.leave_out(spike.number);
            self.spikes_left_out += 1;
        }
    }

    /// Leaves out the smallest spikes once many wait for it.
    pub(super) fn leave_out_small_spikes_of_many(&mut self) {
        if self.spikes.len() > SPIKES_MAX + WAITING || self.room.spikes.bytes > BYTES_MAX + BYTES_MAX / 2 {
            self.leave_out_small_spikes();
        }
    }

    /// Leaves out the smallest spikes over the bounds. The rest stays in order.
    pub(super) fn leave_out_small_spikes(&mut self) {
        let room = &mut self.room.spikes;
        if self.spikes.len() <= SPIKES_MAX && room.bytes <= BYTES_MAX {
            return;
        }
        let controls = self.spikes.iter().enumerate().filter(|(_, spike)| spike.reason == SpikeReason::Control);
        let controls: HashSet<usize> = controls.map(|(place, _)| place).take(CONTROLS_MAX).collect();
        let mut ranked: Vec<usize> = (0..self.spikes.len()).collect();
        // Of equal ones the first is kept.
        ranked.sort_by_key(|place| (!controls.contains(place), Reverse(self.spikes[*place].sample.latency_ns)));
        let (mut kept, mut used) = (vec![false; ranked.len()], 0);
        for place in ranked.into_iter().take(SPIKES_MAX) {
            let needed = bytes(&self.spikes[place]);
            if used + needed > BYTES_MAX {
                break;
            }
            used += needed;
            kept[place] = true;
        }
        room.bytes = used;
        let mut kept = kept.into_iter();
        self.spikes.retain(|spike| {
            let stays = kept.next().unwrap_or(false);
            if !stays {
                room.leave_out(spike.number);
                room.floor_ns = room.floor_ns.max(Some(spike.sample.latency_ns));
                self.spikes_left_out += 1;
            }
            stays
        });
    }
}

/// Bytes in memory.
fn bytes(spike: &Spike) -> usize {
    let snapshot = spike.snapshot.as_ref().map_or(0, |snapshot| snapshot.coverage.len() * size_of::<Coverage>());
    let late = spike.late_interrupts.iter().map(|late| {
        let text = match &late.interrupted {
            Interrupted::UserSpace => 0,
            Interrupted::Kernel { function, code_before } => {
                function.as_ref().map_or(0, String::len) + code_before.len()
            }
        };
        size_of::<LateInterrupt>() + text
    });
    let missing = spike.snapshot_missing.as_ref().map_or(0, String::len);
    size_of::<Spike>() + snapshot + late.sum::<usize>() + missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Item;
    use crate::message::Message;
    use crate::sample::Sample;

    fn spike(number: u32, latency_ns: i64) -> Spike {
        let sample = Sample { cpu: 0, cycle: number.into(), due_ns: i64::from(number) * 1000, latency_ns };
        Spike::new(number, 0, 1, sample, SpikeReason::OverLimit)
    }

    fn of(spike: Spike) -> Message {
        Message::Spike(Box::new(spike))
    }

    fn dropped(number: u32) -> Message {
        Message::SpikeDropped { number, why: String::new() }
    }

    /// As a file is read: in pieces.
    fn read(messages: Vec<Message>) -> Run {
        let mut run = Run::default();
        let mut messages = messages.into_iter().map(Item::Message).peekable();
        while messages.peek().is_some() {
            run.take(messages.by_ref().take(100).collect());
        }
        run.leave_out_small_spikes();
        run
    }

    /// A latency that is different for each number, in no order.
    fn mixed(number: u32) -> i64 {
        i64::from(number.wrapping_mul(2_654_435_761))
    }

    #[test]
    fn the_worst_are_kept_in_order_and_the_others_counted() {
        let count = 45_000;
        let run = read((0..count).map(|number| of(spike(number, mixed(number)))).collect());
        let mut all: Vec<i64> = (0..count).map(mixed).collect();
        all.sort_unstable_by_key(|latency_ns| Reverse(*latency_ns));
        let mut kept: Vec<i64> = run.spikes.iter().map(|spike| spike.sample.latency_ns).collect();
        assert!(run.spikes.is_sorted_by_key(|spike| spike.number));
        kept.sort_unstable_by_key(|latency_ns| Reverse(*latency_ns));
        assert_eq!(kept, all[..SPIKES_MAX]);
        assert_eq!(run.spikes_left_out, u64::from(count) - SPIKES_MAX as u64);
    }

    #[test]
    fn a_dropped_spike_is_not_counted_as_left_out() {
        let spikes = (0..20_000).map(|number| of(spike(number, mixed(number))));
        let run = read(spikes.chain((0..20_000).step_by(2).map(dropped)).collect());
        assert!(run.spikes.iter().all(|spike| spike.number % 2 == 1));
        assert_eq!(run.spikes.len() as u64 + run.spikes_left_out, 10_000);
    }

    #[test]
    fn ordinary_samples_stay_for_the_comparison() {
        let control = Spike { reason: SpikeReason::Control, ..spike(0, 1) };
        let run = read([of(control)].into_iter().chain((1..30_000).map(|number| of(spike(number, 1000)))).collect());
        assert_eq!((run.spikes.len(), run.spikes[0].reason), (SPIKES_MAX, SpikeReason::Control));
    }

    #[test]
    fn spikes_of_many_buffers_are_bounded_in_bytes() {
        let coverage = Coverage { cpu: 0, oldest_ns: None, newest_ns: None, overwritten: 0, dropped: 0 };
        let wide = |number| Spike {
            snapshot_missing: Some("x".repeat(size_of_val(&coverage) * 512)),
            ..spike(number, i64::from(number))
        };
        let run = read((0..9000).map(|number| of(wide(number))).collect());
        assert!(run.spikes.iter().map(bytes).sum::<usize>() <= BYTES_MAX, "{}", run.spikes.len());
        assert_eq!(run.spikes.last().map(|spike| spike.number), Some(8999));
        assert_eq!(run.spikes.len() as u64 + run.spikes_left_out, 9000);
    }
}
