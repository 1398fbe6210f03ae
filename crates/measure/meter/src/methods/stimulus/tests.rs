//! Stimuli and their answers, on real threads and on a scripted clock.

use super::time::Time;
use super::*;
use crate::measure::cycle::Cycles;
use crate::measure::dither::Dither;
use crate::measure::partner::PartnerContext;
use crate::measure::schedule::Schedule;
use crate::measure::thread_record::ThreadRecord;
use proptest::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};

const MS: i64 = 1_000_000;

fn schedule(periods: i64) -> Schedule {
    Schedule {
        interval_ns: MS,
        dither: None,
        first_due_ns: 0,
        count_from_ns: 0,
        end_ns: periods * MS,
        cycles_max: u64::MAX,
        limit_ns: i64::MAX,
        spike_threshold_ns: 0,
        stretches: None,
        traced: false,
    }
}

struct Bell(Mutex<Sender<()>>);

impl Post for Bell {
    fn post(&self) {
        let _ = self.0.lock().unwrap().send(());
    }
}

struct Ear(Receiver<()>);

impl Receive for Ear {
    fn receive(&mut self) -> Received {
        self.0.recv().map_or(Received::Broken, |()| Received::Stimulus)
    }
}

fn answering() -> (Bell, Answering<Ear>) {
    let (output, input) = channel();
    let waiter = Answering::new(Ear(input), Arc::default(), Arc::default());
    (Bell(Mutex::new(output)), waiter)
}

/// Number of samples until the end, and of periods without one.
fn answered(waiter: &mut Answering<Ear>) -> (u64, u64) {
    let (mut samples, mut missed) = (0, 0);
    loop {
        match waiter.wait(0) {
            Arrival::Answer { skipped, .. } => (samples, missed) = (samples + 1, missed + skipped),
            Arrival::Ended { skipped } => return (samples, missed + skipped),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn every_answer_belongs_to_one_stimulus_and_a_second_one_to_none() {
    let (bell, mut waiter) = answering();
    let exchange = waiter.exchange.clone();
    exchange.give(2, true, &Monotonic);
    bell.post();
    let Arrival::Answer { given_ns, seen_ns, skipped, .. } = waiter.wait(0) else { panic!("no stimulus") };
    assert!(given_ns <= seen_ns && skipped == 2);
    bell.post();
    exchange.give(0, true, &Monotonic);
    bell.post();
    bell.post();
    assert!(matches!(waiter.wait(0), Arrival::Answer { .. }));
    exchange.release();
    bell.post();
    assert_eq!(waiter.wait(0), Arrival::Ended { skipped: 0 });
}

#[test]
fn an_answer_whose_stamp_is_lost_closes_its_stimulus_and_counts_as_neither_silence_nor_stray() {
    struct Unstamped(Receiver<()>, u32);
    impl Receive for Unstamped {
        fn receive(&mut self) -> Received {
            self.1 += 1;
            match (self.0.recv(), self.1) {
                (Ok(()), 1) => Received::Unstamped,
                (Ok(()), _) => Received::From { from_ns: 7 },
                (Err(_), _) => Received::Broken,
            }
        }
    }
    let (output, input) = channel();
    let mut waiter = Answering::new(Unstamped(input, 0), Arc::<Exchange>::default(), Arc::default());
    waiter.exchange.give(2, true, &Monotonic);
    output.send(()).unwrap();
    let received = waiter.receive.receive();
    assert_eq!(waiter.arrival(received, 50), None);
    assert!(waiter.exchange.is_answered());
    waiter.exchange.give(1, true, &Monotonic);
    output.send(()).unwrap();
    let received = waiter.receive.receive();
    let next = Arrival::Answer { given_ns: 7, seen_ns: 90, skipped: 3, counted: true };
    assert_eq!(waiter.arrival(received, 90), Some(next), "the periods left out before both are missed");
    let counts = &waiter.counts;
    assert_eq!([&counts.unstamped, &counts.unanswered, &counts.stray].map(|count| count.load(Relaxed)), [1, 0, 0]);
}

#[test]
fn a_line_that_breaks_is_not_the_end_of_the_run() {
    let (bell, mut waiter) = answering();
    drop(bell);
    assert_eq!(waiter.wait(0), Arrival::Gone);
    waiter.exchange.release();
    assert_eq!(waiter.wait(0), Arrival::Ended { skipped: 0 });
}

#[test]
fn a_partner_ends_with_its_schedule_and_releases_the_measuring_thread() {
    let (bell, mut waiter) = answering();
    let (exchange, counts) = (waiter.exchange.clone(), waiter.counts.clone());
    let now_ns = clock::monotonic_ns();
    let context = PartnerContext { schedule: schedule(300).starting_at(now_ns), stop: Arc::default() };
    let partner = std::thread::spawn(move || give_on_schedule(&Monotonic, &context, &bell, &exchange, &counts, None));
    let (samples, missed) = answered(&mut waiter);
    partner.join().unwrap();
    assert!(samples > 0);
    assert_eq!(samples + missed, 300);
    assert_eq!(waiter.counts.unanswered.load(Relaxed), 0);
}

#[test]
fn a_stimulus_for_practice_comes_before_each_one_and_is_no_sample() {
    let (output, input) = channel();
    let rung = Arc::new(AtomicU64::new(0));
    struct Counting(Mutex<Sender<()>>, Arc<AtomicU64>);
    impl Post for Counting {
        fn post(&self) {
            self.1.fetch_add(1, Relaxed);
            let _ = self.0.lock().unwrap().send(());
        }
    }
    let bell = Counting(Mutex::new(output), rung.clone());
    let mut waiter = Answering::new(Ear(input), Arc::default(), Arc::default());
    let (exchange, counts) = (waiter.exchange.clone(), waiter.counts.clone());
    let context = PartnerContext { schedule: schedule(300).starting_at(clock::monotonic_ns()), stop: Arc::default() };
    let partner =
        std::thread::spawn(move || give_on_schedule(&Monotonic, &context, &bell, &exchange, &counts, Some(0)));
    let (samples, missed) = answered(&mut waiter);
    partner.join().unwrap();
    assert!(samples > 0);
    assert_eq!(samples + missed, 300);
    assert_eq!(rung.load(Relaxed), 2 * samples + 1, "two for each sample and one at the end");
    assert_eq!((waiter.counts.unanswered.load(Relaxed), waiter.counts.stray.load(Relaxed)), (0, 0));
}

#[test]
fn a_thread_that_never_answers_is_no_signal_and_ends_no_later() {
    let (bell, waiter) = answering();
    let (exchange, counts) = (waiter.exchange.clone(), waiter.counts.clone());
    let now_ns = clock::monotonic_ns();
    let long = Schedule { interval_ns: 600 * MS, ..schedule(2300) };
    let context = PartnerContext { schedule: long.starting_at(now_ns), stop: Arc::default() };
    give_on_schedule(&Monotonic, &context, &bell, &exchange, &counts, None);
    assert_eq!(counts.unanswered.load(Relaxed), 2, "the one at 0 ms and the one at 1200 ms");
    assert!(clock::monotonic_ns() < now_ns + 2500 * MS);
    drop(waiter);
}

#[test]
fn instants_that_passed_are_left_out_and_counted() {
    let mut pace = Pace::new(schedule(10));
    assert_eq!((pace.advance(10), pace.due_ns), (0, MS));
    assert_eq!((pace.advance(4 * MS + 1), pace.due_ns), (3, 5 * MS));
    assert_eq!((pace.advance(20 * MS), pace.due_ns), (4, 10 * MS));
}

const STEP_NS: i64 = 50;

/// Both threads on one clock: each sleep of the partner is late, and so is each answer, as scripted.
struct Script<'b> {
    now_ns: i64,
    /// How far the next reading of the clock is from this instant.
    step_ns: i64,
    /// Next lateness, `None`: the stimulus is lost.
    latenesses: Box<dyn Iterator<Item = Option<i64>> + Send>,
    /// When the measuring thread sees each post.
    heard_ns: Vec<i64>,
    waiter: Answering<()>,
    cycles: Cycles<'b>,
    ended: bool,
}

impl Script<'_> {
    fn lateness_ns(&mut self) -> Option<i64> {
        self.latenesses.next().flatten()
    }

    /// The measuring thread sees every post that reached it by now.
    fn hear(&mut self) {
        let now_ns = self.now_ns;
        let due = self.heard_ns.iter().copied().filter(|heard_ns| *heard_ns <= now_ns).collect::<Vec<i64>>();
        self.heard_ns.retain(|heard_ns| *heard_ns > now_ns);
        for heard_ns in due {
            match self.waiter.arrival(Received::Stimulus, heard_ns) {
                Some(Arrival::Answer { given_ns, seen_ns, skipped, counted }) if !self.ended => {
                    self.cycles.seen_answer(given_ns, seen_ns, skipped, counted);
                }
                Some(Arrival::Ended { skipped }) if !self.ended => {
                    self.cycles.left_out(skipped);
                    self.ended = true;
                }
                _ => {}
            }
        }
    }
}

struct Scripted<'b>(Mutex<Script<'b>>);

impl Time for Scripted<'_> {
    fn now_ns(&self) -> i64 {
        let mut script = self.0.lock().unwrap();
        // A loop that waits for an answer sees it late, and does not take forever.
        script.now_ns += script.step_ns;
        script.step_ns = (2 * script.step_ns).min(MS / 2);
        script.hear();
        script.now_ns
    }

    fn sleep_until_ns(&self, instant_ns: i64) {
        let mut script = self.0.lock().unwrap();
        script.step_ns = STEP_NS;
        let lateness_ns = script.lateness_ns().unwrap_or(0);
        script.now_ns = script.now_ns.max(instant_ns) + lateness_ns;
        script.hear();
    }
}

impl Post for Scripted<'_> {
    fn post(&self) {
        let mut script = self.0.lock().unwrap();
        script.step_ns = STEP_NS;
        let heard_ns = script.lateness_ns().map(|lateness_ns| script.now_ns + lateness_ns);
        script.heard_ns.extend(heard_ns);
    }

    fn end(&self) {
        let mut script = self.0.lock().unwrap();
        let heard_ns = script.now_ns + script.lateness_ns().unwrap_or(0);
        script.heard_ns.push(heard_ns);
        script.now_ns = heard_ns;
        script.hear();
    }
}

/// Mostly punctual, sometimes late by several periods or for longer than an answer may take, sometimes lost.
fn latenesses() -> impl Strategy<Value = Vec<Option<i64>>> {
    let lateness = prop_oneof![
        8 => (0..MS).prop_map(Some),
        3 => (0..6 * MS).prop_map(Some),
        1 => (0..2 * LOST_NS).prop_map(Some),
        1 => Just(None),
    ];
    prop::collection::vec(lateness, 1..40)
}

proptest! {
    #[test]
    fn every_stimulus_asked_for_is_a_sample_or_missed_or_unanswered(
        latenesses in latenesses(),
        seed in prop::option::of(any::<u64>()),
        interval_ns in 100_000..3 * MS,
        settle_ns in 0..20 * MS,
        offset_ns in 0..3 * MS,
        length_ns in 1..150 * MS,
        practises in any::<bool>(),
    ) {
        let schedule = Schedule {
            interval_ns,
            dither: seed.map(|seed| Dither::new(seed, 1)),
            first_due_ns: 1_000 * MS + offset_ns - settle_ns,
            count_from_ns: 1_000 * MS,
            end_ns: 1_000 * MS + length_ns,
            ..schedule(0)
        };
        let mut pace = Pace::new(schedule);
        let mut asked = u64::from((schedule.count_from_ns..schedule.end_ns).contains(&pace.due_ns));
        asked += pace.advance(i64::MAX);
        let record = ThreadRecord::new(0);
        let script = Script {
            now_ns: 0,
            step_ns: STEP_NS,
            latenesses: Box::new(latenesses.into_iter().cycle()),
            heard_ns: Vec::new(),
            waiter: Answering::new((), Arc::default(), Arc::default()),
            cycles: Cycles::new(schedule, &record, 0, 10),
            ended: false,
        };
        let (exchange, counts) = (script.waiter.exchange.clone(), script.waiter.counts.clone());
        let scripted = Scripted(Mutex::new(script));
        let context = PartnerContext { schedule, stop: Arc::default() };
        give_on_schedule(&scripted, &context, &scripted, &exchange, &counts, practises.then_some(1_000));
        let script = scripted.0.into_inner().unwrap();
        prop_assert!(script.ended);
        script.cycles.finish();
        let (totals, unanswered) = (record.totals(), counts.unanswered.load(Relaxed));
        prop_assert_eq!(totals.cycles + totals.missed_periods + unanswered, asked);
    }
}
