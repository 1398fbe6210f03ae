//! The bookkeeping between reading the clock and arming the next wake-up, driven by instants alone.

use super::schedule::Schedule;
use super::thread_record::{SpikeSignal, ThreadRecord};
use archive::sample::{Sample, Second};
use archive::spike::SpikeReason;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use wakeups::stretches::StretchMaximum;
use wakeups::worst::WorstSamples;

const SECOND_NS: i64 = 1_000_000_000;

/// State of one measuring thread between two wake-ups.
#[derive(Debug)]
pub struct Cycles<'a> {
    schedule: Schedule,
    record: &'a ThreadRecord,
    worst: WorstSamples,
    cpu: u32,
    cycle: u64,
    due_ns: i64,
    previous_seen_ns: Option<i64>,
    second: Second,
    second_end_ns: i64,
    of_stretch: StretchMaximum,
}

impl<'a> Cycles<'a> {
    pub fn new(schedule: Schedule, record: &'a ThreadRecord, cpu: u32, worst_kept: usize) -> Self {
        Self {
            schedule,
            record,
            worst: WorstSamples::with_capacity(worst_kept),
            cpu,
            cycle: 0,
            due_ns: schedule.first_due_ns,
            previous_seen_ns: None,
            second: Second { latency_ns_max: i64::MIN, ..Second::default() },
            second_end_ns: schedule.count_from_ns.saturating_add(SECOND_NS),
            of_stretch: StretchMaximum::new(schedule.stretches),
        }
    }

    /// Does not account for single seconds: for clocks that may be set, whose seconds are not consecutive.
    pub fn without_seconds(mut self) -> Self {
        self.second_end_ns = i64::MAX;
        self
    }

    /// The next instant to wake up at, or `None` if the thread is done.
    #[inline]
    pub fn next_due_ns(&self) -> Option<i64> {
        (self.due_ns < self.schedule.end_ns && self.cycle < self.schedule.cycles_max).then_some(self.due_ns)
    }

    /// Sets the CPU on which the clock was read, for an unbound thread.
    #[inline]
    pub fn moved_to(&mut self, cpu: u32) {
        self.cpu = cpu;
    }

    /// Records the wake-up that was due and was seen at `seen_ns`. Returns whether to mark a spike.
    #[inline]
    pub fn seen(&mut self, seen_ns: i64) -> bool {
        let spike = self.note(seen_ns);
        self.skip_passed(seen_ns);
        spike
    }

    /// Like [`Cycles::seen`] for a sample that starts at a later instant than the one that was due.
    #[inline]
    pub fn seen_requested(&mut self, given_ns: i64, seen_ns: i64) -> bool {
        let spike = self.due_ns >= self.schedule.count_from_ns
            && self.book(Sample { cpu: self.cpu, cycle: self.cycle, due_ns: given_ns, latency_ns: seen_ns - given_ns });
        self.previous_seen_ns = Some(seen_ns);
        self.due_ns = self.due_ns.saturating_add(self.next_interval_ns());
        self.skip_passed(seen_ns);
        spike
    }

    /// Like [`Cycles::seen`] for a periodic timer that reports how many of its expirations were not waited for.
    #[inline]
    pub fn seen_with_overrun(&mut self, seen_ns: i64, overrun: u32) -> bool {
        let spike = self.note(seen_ns);
        self.skip(i64::from(overrun));
        spike
    }

    /// Like [`Cycles::seen`] for a sleep that started after the previous wake-up: there is no schedule to fall behind.
    #[inline]
    pub fn seen_unscheduled(&mut self, due_ns: i64, seen_ns: i64) -> bool {
        self.due_ns = due_ns;
        let spike = self.note(seen_ns);
        self.due_ns = seen_ns.saturating_add(self.schedule.interval_ns);
        spike
    }

    /// Records the answer to a stimulus of another thread, which keeps the schedule; `skipped` stimuli were left out
    /// before.
    #[inline]
    pub fn seen_stimulus(&mut self, given_ns: i64, seen_ns: i64, skipped: u64) -> bool {
        self.count_missed(skipped);
        self.due_ns = given_ns;
        let spike = self.note(seen_ns);
        self.due_ns = given_ns;
        spike
    }

    /// Like [`Cycles::seen_stimulus`], but the other thread also decides which periods count, and ends the schedule.
    #[inline]
    pub fn seen_answer(&mut self, given_ns: i64, seen_ns: i64, skipped: u64, counted: bool) -> bool {
        self.count_missed(skipped);
        let spike = counted
            && self.book(Sample { cpu: self.cpu, cycle: self.cycle, due_ns: given_ns, latency_ns: seen_ns - given_ns });
        self.previous_seen_ns = Some(seen_ns);
        self.due_ns = given_ns.min(self.schedule.end_ns.saturating_sub(1));
        spike
    }

    /// Counts planned stimuli that were left out after the last one.
    pub fn left_out(&mut self, skipped: u64) {
        self.count_missed(skipped);
    }

    /// ThreadRecord a stretch in which the thread was busy. Of one that started before samples count, the rest counts.
    #[inline]
    pub fn seen_busy(&mut self, from_ns: i64, until_ns: i64) -> bool {
        let count_from_ns = self.schedule.count_from_ns;
        self.due_ns = if until_ns > count_from_ns { from_ns.max(count_from_ns) } else { from_ns };
        let spike = self.note(until_ns);
        self.due_ns = until_ns;
        spike
    }

    /// A busy thread got on without a sample until this instant.
    #[inline]
    pub fn undisturbed(&mut self, until_ns: i64) {
        self.due_ns = until_ns;
    }

    #[inline]
    fn note(&mut self, seen_ns: i64) -> bool {
        let due_ns = self.due_ns;
        let spike = due_ns >= self.schedule.count_from_ns
            && self.book(Sample { cpu: self.cpu, cycle: self.cycle, due_ns, latency_ns: seen_ns - due_ns });
        self.previous_seen_ns = Some(seen_ns);
        self.due_ns = due_ns.saturating_add(self.next_interval_ns());
        spike
    }

    #[inline]
    fn next_interval_ns(&mut self) -> i64 {
        match &mut self.schedule.dither {
            Some(dither) => dither.interval_ns(self.schedule.interval_ns),
            None => self.schedule.interval_ns,
        }
    }

    /// Skips the periods that are due by this instant.
    #[inline]
    fn skip_passed(&mut self, seen_ns: i64) {
        if self.schedule.dither.is_some() {
            self.skip_drawn(seen_ns);
        } else if self.due_ns <= seen_ns {
            self.skip((seen_ns - self.due_ns) / self.schedule.interval_ns + 1);
        }
    }

    /// Like [`Cycles::skip`] for random intervals: each missed one is drawn as well, so that later instants do not
    /// depend on the number of missed ones.
    #[inline]
    fn skip_drawn(&mut self, seen_ns: i64) {
        let mut missed = 0;
        while self.due_ns <= seen_ns {
            missed += u64::from((self.schedule.count_from_ns..self.schedule.end_ns).contains(&self.due_ns));
            self.due_ns = self.due_ns.saturating_add(self.next_interval_ns());
        }
        self.count_missed(missed);
    }

    /// Skips periods that passed before a timer could be armed for them. Those due in the counted time count as missed,
    /// whether or not the late wake-up before them was counted.
    #[inline]
    fn skip(&mut self, missed: i64) {
        if missed <= 0 {
            return;
        }
        let Schedule { interval_ns, count_from_ns, end_ns, .. } = self.schedule;
        let due_before = |instant_ns: i64| periods_before(instant_ns, self.due_ns, interval_ns).min(missed);
        let counted = due_before(end_ns) - due_before(count_from_ns);
        self.due_ns = self.due_ns.saturating_add(missed.saturating_mul(interval_ns));
        self.count_missed(counted.max(0) as u64);
    }

    /// After the last requested cycle no period counts as missed.
    #[inline]
    fn count_missed(&mut self, missed: u64) {
        if missed > 0 && self.cycle < self.schedule.cycles_max {
            self.record.count_missed(missed);
            let missed = u32::try_from(missed).unwrap_or(u32::MAX);
            self.second.missed_periods = self.second.missed_periods.saturating_add(missed);
        }
    }

    #[inline]
    fn book(&mut self, sample: Sample) -> bool {
        self.cycle += 1;
        self.turn_second(sample.due_ns);
        let largest = self.record.count(&sample);
        let over_limit = sample.latency_ns > self.schedule.limit_ns;
        if over_limit {
            self.record.count_over_limit();
            self.second.over_limit += 1;
        }
        self.second.cycles += 1;
        self.second.latency_ns_max = self.second.latency_ns_max.max(sample.latency_ns);
        self.worst.offer(sample);
        if !self.schedule.traced {
            return false;
        }
        match self.reason_for_snapshot(&sample, largest, over_limit) {
            None => false,
            Some(reason) => {
                self.record.publish_spike(&SpikeSignal { sample, reason, previous_seen_ns: self.previous_seen_ns });
                // Pairs with the snapshotter, which becomes idle first and then looks for announced spikes.
                !self.record.snapshotter_busy.swap(true, SeqCst)
            }
        }
    }

    #[inline]
    fn reason_for_snapshot(&mut self, sample: &Sample, largest: bool, over_limit: bool) -> Option<SpikeReason> {
        let is_news = self.of_stretch.is_news(sample.seen_ns(), sample.latency_ns);
        if (largest || is_news) && sample.latency_ns >= self.schedule.spike_threshold_ns {
            self.of_stretch.announce(sample.latency_ns);
            return Some(SpikeReason::NewMaximum);
        }
        if over_limit && sample.seen_ns() >= self.record.snapshotter_rests_until_ns.load(Relaxed) {
            return Some(SpikeReason::OverLimit);
        }
        let control = self.record.control_wanted.load(Relaxed)
            && sample.latency_ns <= self.record.control_ceiling_ns.load(Relaxed);
        if control {
            self.record.control_wanted.store(false, Relaxed);
        }
        control.then_some(SpikeReason::Control)
    }

    /// Closes the seconds that ended before `due_ns`. A wake-up belongs to the second in which it was due.
    #[inline]
    fn turn_second(&mut self, due_ns: i64) {
        while due_ns >= self.second_end_ns {
            self.close_second();
            self.second.second += 1;
            self.second_end_ns += SECOND_NS;
        }
    }

    #[inline]
    fn close_second(&mut self) {
        if self.second.cycles == 0 {
            self.second.latency_ns_max = 0;
        }
        if self.second.cycles > 0 || self.second.missed_periods > 0 {
            self.record.publish_second(&self.second);
        }
        let second = self.second.second;
        self.second = Second { second, latency_ns_max: i64::MIN, ..Second::default() };
    }

    /// Ends the measurement: hands over the last second and returns the worst samples, largest first.
    pub fn finish(mut self) -> Vec<Sample> {
        self.close_second();
        self.worst.into_sorted()
    }
}

/// How many of the instants `due_ns`, `due_ns + interval_ns`, ... are before `instant_ns`.
#[inline]
fn periods_before(instant_ns: i64, due_ns: i64, interval_ns: i64) -> i64 {
    if instant_ns <= due_ns { 0 } else { (instant_ns.saturating_sub(due_ns) - 1) / interval_ns + 1 }
}

#[cfg(test)]
mod tests {
    use super::super::dither::Dither;
    use super::*;

    fn schedule() -> Schedule {
        Schedule {
            interval_ns: 1_000_000,
            dither: None,
            first_due_ns: 0,
            count_from_ns: 0,
            end_ns: 3_000_000_000,
            cycles_max: u64::MAX,
            limit_ns: 100_000,
            spike_threshold_ns: 0,
            stretches: None,
            traced: true,
        }
    }

    #[test]
    fn a_stop_of_200_ms_is_one_spike_and_200_missed_periods() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        assert!(cycles.seen(5_000));
        assert_eq!(cycles.next_due_ns(), Some(1_000_000));
        assert!(!cycles.seen(201_300_000), "the snapshotter is busy with the first");
        assert_eq!(cycles.next_due_ns(), Some(202_000_000));
        let totals = record.totals();
        assert_eq!((totals.cycles, totals.missed_periods, totals.latency_ns_max), (2, 200, Some(200_300_000)));
        record.take_spike();
        assert_eq!(record.take_spike().unwrap().previous_seen_ns, Some(5_000));
    }

    #[test]
    fn a_requested_sample_starts_when_it_was_given_and_the_schedule_goes_on_from_what_was_due() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(Schedule { count_from_ns: 500_000, ..schedule() }, &record, 0, 10);
        cycles.seen_requested(600_000, 900_000);
        assert_eq!((record.totals().cycles, cycles.next_due_ns()), (0, Some(1_000_000)), "due while settling");
        cycles.seen_requested(1_200_000, 1_210_000);
        cycles.seen_requested(2_050_000, 5_300_000);
        assert_eq!(cycles.next_due_ns(), Some(6_000_000));
        let totals = record.totals();
        assert_eq!((totals.cycles, totals.missed_periods, totals.latency_ns_max), (2, 3, Some(3_250_000)));
    }

    #[test]
    fn waking_exactly_one_interval_late_misses_the_period_that_is_due_now() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        cycles.seen(1_000_000);
        assert_eq!(cycles.next_due_ns(), Some(2_000_000));
        assert_eq!(record.totals().missed_periods, 1);
    }

    #[test]
    fn a_clock_set_back_is_an_anomaly_and_leaves_the_maximum_alone() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        cycles.seen(70_000);
        cycles.seen(1_000_000 - 4_982_000);
        cycles.seen(2_000_000 + 90_000);
        let totals = record.totals();
        assert_eq!((totals.cycles, totals.clock_anomalies, totals.missed_periods), (3, 1, 0));
        assert_eq!((totals.latency_ns_min, totals.latency_ns_max), (Some(-4_982_000), Some(90_000)));
    }

    #[test]
    fn a_timer_that_goes_on_misses_what_it_says() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        cycles.seen_with_overrun(49_900_000, 49);
        assert_eq!(cycles.next_due_ns(), Some(50_000_000));
        assert_eq!(record.totals().missed_periods, 49);
    }

    #[test]
    fn a_sleep_without_a_schedule_misses_nothing() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        cycles.seen_unscheduled(1_000_000, 51_000_000);
        assert_eq!(cycles.next_due_ns(), Some(52_000_000));
        let totals = record.totals();
        assert_eq!((totals.latency_ns_max, totals.missed_periods), (Some(50_000_000), 0));
    }

    #[test]
    fn a_stimulus_starts_its_own_sample_and_the_ones_left_out_are_missed() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        cycles.seen_stimulus(1_000_700, 1_004_700, 0);
        cycles.seen_stimulus(5_000_200, 5_003_200, 3);
        let totals = record.totals();
        assert_eq!((totals.cycles, totals.missed_periods), (2, 3));
        assert_eq!((totals.latency_ns_min, totals.latency_ns_max), (Some(3_000), Some(4_000)));
        assert_eq!(totals.worst.map(|worst| worst.due_ns), Some(1_000_700));
        assert!(cycles.next_due_ns().is_some(), "only the other thread knows when the schedule ends");
    }

    #[test]
    fn a_busy_thread_misses_nothing_and_ends_with_the_schedule() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        cycles.seen_busy(0, 50);
        cycles.seen_busy(50, 2_999_999_950);
        assert!(cycles.next_due_ns().is_some());
        cycles.seen_busy(2_999_999_950, 3_000_000_000);
        assert_eq!(cycles.next_due_ns(), None);
        assert_eq!((record.totals().cycles, record.totals().missed_periods), (3, 0));
    }

    #[test]
    fn a_gap_that_started_while_settling_counts_from_where_samples_count() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(Schedule { count_from_ns: 1_000, ..schedule() }, &record, 0, 10);
        cycles.seen_busy(100, 900);
        cycles.undisturbed(950);
        assert_eq!(record.totals().cycles, 0);
        cycles.seen_busy(950, 5_000);
        assert_eq!((record.totals().cycles, record.totals().latency_ns_max), (1, Some(4_000)));
        cycles.undisturbed(3_000_000_000);
        assert_eq!(cycles.next_due_ns(), None);
    }

    #[test]
    fn drawn_instants_do_not_depend_on_how_many_were_missed() {
        let dithered = Schedule { dither: Some(Dither::new(7, 0)), ..schedule() };
        let instants = |latency_ns: i64| {
            let record = ThreadRecord::new(0);
            let mut cycles = Cycles::new(dithered, &record, 0, 10);
            let mut due = Vec::new();
            while let Some(due_ns) = cycles.next_due_ns() {
                due.push(due_ns);
                cycles.seen(due_ns + latency_ns);
            }
            (due, record.totals())
        };
        let (every, punctual) = instants(5_000);
        let (some, late) = instants(4_300_000);
        assert_eq!((punctual.missed_periods, every.len() as u64), (0, punctual.cycles));
        assert!(some.len() < every.len() / 4 && some.iter().all(|instant| every.contains(instant)));
        assert_eq!(late.cycles + late.missed_periods, every.len() as u64);
    }

    #[test]
    fn seconds_are_cut_by_due_instants() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        while let Some(due) = cycles.next_due_ns() {
            cycles.seen(due + if due == 1_500_000_000 { 150_000 } else { 10 });
        }
        assert_eq!(cycles.finish()[0].latency_ns, 150_000);
        let seconds: Vec<Second> = std::iter::from_fn(|| record.take_second(0)).collect();
        assert_eq!(
            seconds.iter().map(|s| (s.second, s.cycles, s.over_limit)).collect::<Vec<_>>(),
            [(0, 1000, 0), (1, 1000, 1), (2, 1000, 0)]
        );
        assert_eq!(seconds[1].latency_ns_max, 150_000);
    }

    #[test]
    fn the_settling_stretch_is_not_counted() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(Schedule { count_from_ns: 2_000_000, ..schedule() }, &record, 0, 10);
        assert!(!cycles.seen(900_000));
        assert!(!cycles.seen(1_900_000));
        assert_eq!(record.totals().cycles, 0);
        cycles.seen(2_000_100);
        assert_eq!(record.totals().cycles, 1);
    }

    #[test]
    fn only_records_limits_and_wished_controls_are_captured() {
        let record = ThreadRecord::new(0);
        let mut cycles = Cycles::new(schedule(), &record, 0, 10);
        let mut is_marked = |seen_ns| {
            record.snapshotter_busy.store(false, Relaxed);
            cycles.seen(seen_ns)
        };
        assert!(is_marked(50_000));
        assert!(!is_marked(1_000_000 + 40_000));
        assert!(is_marked(2_000_000 + 200_000));
        assert!(is_marked(3_000_000 + 150_000));
        record.snapshotter_rests_until_ns.store(i64::MAX, Relaxed);
        assert!(!is_marked(4_000_000 + 150_000));
        record.control_wanted.store(true, Relaxed);
        record.control_ceiling_ns.store(45_000, Relaxed);
        assert!(!is_marked(5_000_000 + 46_000));
        assert!(is_marked(6_000_000 + 44_000));
        assert!(!is_marked(7_000_000 + 44_000));
        record.snapshotter_busy.store(true, Relaxed);
        assert!(!cycles.seen(8_000_000 + 300_000), "announced, not marked");
        let reasons: Vec<SpikeReason> = std::iter::from_fn(|| record.take_spike()).map(|spike| spike.reason).collect();
        assert_eq!(
            reasons,
            [
                SpikeReason::NewMaximum,
                SpikeReason::NewMaximum,
                SpikeReason::OverLimit,
                SpikeReason::Control,
                SpikeReason::NewMaximum
            ]
        );
    }
}
