//! A stimulus on schedule from one thread to another, and the assignment of answers to stimuli.
//!
//! ```text
//! partner           sleeps ──▶ clock, number ──▶ post ┐                     given_ns
//! measuring thread  waits ····························└─▶ runs ──▶ clock    seen_ns
//! ```
//!
//! The partner keeps the schedule of the measuring thread. It gives no stimulus before the previous one was answered:
//! periods that pass meanwhile, or while the partner itself is late, are missed. A stimulus without an answer within
//! [`LOST_NS`] counts as unanswered. The last post announces that there will be no more, so the measuring thread never
//! waits after the end of a run.

use super::{Site, Station};
use crate::kernel::clock;
use crate::measure::cycle::Schedule;
use crate::measure::partner::{Partner, PartnerContext};
use crate::measure::waiter::{Arrival, Waiter, WaiterCounts};
use archive::settings::Policy;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Strays in succession that no partner sends: another machine floods the line.
const FLOOD: u32 = 256;
/// Rest after each of them.
const FLOOD_REST_NS: i64 = 1_000_000;

/// A stimulus without an answer for this time is lost.
pub const LOST_NS: i64 = 1_000_000_000;

/// Time for a thread on another CPU to wait again after it was woken.
const BETWEEN_CPUS_NS: i64 = 50_000;

/// Gives a stimulus: one system call that wakes the thread in [`Receive::receive`].
pub trait Post: Send + Sync {
    /// Called once in the partner, before the first stimulus.
    fn prepare(&self) {}

    fn post(&self);

    /// The last call in the partner: ends the wait of the measuring thread.
    fn end(&self) {
        self.post();
    }

    /// Ends the wait from any thread, because the partner did not; called repeatedly.
    fn release(&self) {
        self.post();
    }
}

/// How a wait for a stimulus ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    Stimulus,
    /// A stimulus whose sample starts at another instant than the one at which it was given.
    From {
        from_ns: i64,
    },
    /// An answer to another stimulus than the one that is open.
    Stray,
    /// The wait ended only to see whether the run is over.
    Idle,
    /// The method's own time limit has passed.
    Nothing,
    /// The stimulus can no longer arrive.
    Broken,
}

/// Waits for a stimulus, in the measuring thread.
pub trait Receive: Send {
    /// See [`Waiter::prepare`].
    ///
    /// # Errors
    /// What the kernel rejected.
    fn prepare(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self) -> Received;
}

/// State of the current stimulus, shared by both threads.
#[derive(Debug, Default)]
pub struct Exchange {
    given_ns: AtomicI64,
    /// Number of planned stimuli left out before it.
    skipped: AtomicU64,
    /// Number of the last stimulus given, from 1.
    given: AtomicU64,
    /// Number of the last one that was answered, or given up.
    answered: AtomicU64,
    /// There will be no further stimulus.
    ended: AtomicBool,
    /// The measuring thread has ended.
    over: AtomicBool,
    /// The stimulus on its way is not counted.
    practice: AtomicBool,
}

impl Exchange {
    fn is_answered(&self) -> bool {
        self.given.load(Relaxed) == self.answered.load(Acquire)
    }

    /// Gives the stimulus another instant than that of [`Exchange::give`], in the thread that knows better.
    #[inline]
    pub fn given_at(&self, given_ns: i64) {
        self.given_ns.store(given_ns, Relaxed);
    }

    /// Number of the stimulus given last, from 1. An answer that carries its number differs from a late one.
    pub fn number(&self) -> u64 {
        self.given.load(Acquire)
    }

    /// Records the instant; the stimulus itself must follow at once.
    #[inline]
    fn give(&self, skipped: u64) {
        self.skipped.store(skipped, Relaxed);
        let number = self.given.load(Relaxed) + 1;
        self.given_ns.store(clock::monotonic_ns(), Relaxed);
        self.given.store(number, Release);
    }

    fn give_up(&self) {
        self.answered.store(self.given.load(Relaxed), Release);
    }

    /// The stimulus answered at this instant; `None` if there is none.
    #[inline]
    fn answer(&self, seen_ns: i64) -> Option<Arrival> {
        let given = self.given.load(Acquire);
        if given == self.answered.load(Relaxed) {
            return None;
        }
        let (given_ns, skipped) = (self.given_ns.load(Relaxed), self.skipped.load(Relaxed));
        self.answered.store(given, Release);
        Some(Arrival::Stimulus { given_ns, seen_ns, skipped })
    }
}

/// The measuring thread's side.
struct Answering<R> {
    receive: R,
    exchange: Arc<Exchange>,
    counts: Arc<WaiterCounts>,
}

impl<R: Receive> Waiter for Answering<R> {
    fn prepare(&mut self) -> io::Result<()> {
        self.receive.prepare()
    }

    #[inline]
    fn wait(&mut self, _due_ns: i64) -> Arrival {
        let mut strays = 0_u32;
        loop {
            let received = self.receive.receive();
            let seen_ns = clock::monotonic_ns();
            if self.exchange.ended.load(Acquire) {
                return Arrival::Ended;
            }
            let is_stray = matches!(received, Received::Stray);
            match received {
                Received::Stimulus if self.exchange.practice.swap(false, Acquire) => {}
                Received::Stimulus => match self.exchange.answer(seen_ns) {
                    Some(arrival) => return arrival,
                    None => self.counts.count_stray(),
                },
                Received::From { from_ns } => match self.exchange.answer(seen_ns) {
                    Some(Arrival::Stimulus { skipped, .. }) => {
                        return Arrival::Stimulus { given_ns: from_ns, seen_ns, skipped };
                    }
                    _ => self.counts.count_stray(),
                },
                Received::Stray => self.counts.count_stray(),
                Received::Idle => {}
                Received::Nothing if self.exchange.is_answered() => {}
                Received::Nothing => {
                    self.exchange.give_up();
                    return Arrival::NoSignal;
                }
                Received::Broken => return Arrival::Gone,
            }
            strays = if is_stray { strays + 1 } else { 0 };
            if strays == FLOOD {
                // The partner may share this CPU, below this thread: it ends the run.
                strays = 0;
                clock::sleep_until_ns(seen_ns + FLOOD_REST_NS);
            }
        }
    }
}

impl<R> Drop for Answering<R> {
    fn drop(&mut self) {
        self.exchange.over.store(true, Relaxed);
    }
}

/// CPU and scheduling of the partner.
#[derive(Debug, Clone, Copy)]
pub struct PartnerPlace {
    pub cpu: u32,
    pub policy: Policy,
    pub priority: u8,
    /// Gives a stimulus that is not counted before each one that is, which leaves the code and data of both in the caches.
    pub practises: bool,
}

impl PartnerPlace {
    /// The usual one for this measured CPU.
    pub fn of(site: &Site, cpu: u32) -> Self {
        let (policy, priority) = site.below();
        let practises = site.request().value("caches") == Some("warm");
        Self { cpu: site.partner_cpu(cpu), policy, priority, practises }
    }
}

/// A station whose stimulus comes from one partner.
pub fn station(cpu: u32, partner: PartnerPlace, post: Arc<dyn Post>, receive: impl Receive + 'static) -> Station {
    station_with(Arc::default(), cpu, partner, post, receive)
}

/// The same with an exchange that the receiving side knows, too.
pub fn station_with(
    exchange: Arc<Exchange>,
    cpu: u32,
    partner: PartnerPlace,
    post: Arc<dyn Post>,
    receive: impl Receive + 'static,
) -> Station {
    let counts = Arc::<WaiterCounts>::default();
    let waiter = Answering { receive, exchange: exchange.clone(), counts: counts.clone() };
    let practice = partner.practises.then_some(if partner.cpu == cpu { 0 } else { BETWEEN_CPUS_NS });
    let body = {
        let (post, exchange, counts) = (post.clone(), exchange.clone(), counts.clone());
        move |context: PartnerContext| give_on_schedule(&context, &*post, &exchange, &counts, practice)
    };
    let release = move || {
        exchange.ended.store(true, Release);
        post.release();
    };
    let partner = Partner {
        name: format!("tardy-stim{cpu}"),
        cpus: vec![partner.cpu],
        policy: partner.policy,
        priority: partner.priority,
        body: Box::new(body),
    };
    Station { counts, partners: vec![partner], release: Some(Box::new(release)), ..Station::new(cpu, waiter) }
}

/// Gives a stimulus that is not counted, and waits until the measuring thread waits again; `false`: it did not take it.
fn practise(post: &dyn Post, exchange: &Exchange, rest_ns: i64) -> bool {
    let given_ns = clock::monotonic_ns();
    exchange.practice.store(true, Release);
    post.post();
    while exchange.practice.load(Acquire) {
        if clock::monotonic_ns() > given_ns + LOST_NS || exchange.over.load(Relaxed) {
            return false;
        }
    }
    let taken_ns = clock::monotonic_ns();
    while clock::monotonic_ns() < taken_ns + rest_ns {}
    true
}

/// The partner: a stimulus at every instant of the schedule, as long as the previous one was answered. With `practice` each has
/// one before it that is not counted, and that many ns after it.
fn give_on_schedule(
    context: &PartnerContext,
    post: &dyn Post,
    exchange: &Exchange,
    counts: &WaiterCounts,
    practice: Option<i64>,
) {
    let over = || context.stop.load(Relaxed) || exchange.over.load(Relaxed);
    let mut pace = Pace::new(context.schedule);
    let mut skipped = 0;
    let mut given_ns = i64::MIN;
    post.prepare();
    while !over() && pace.due_ns < context.schedule.end_ns {
        clock::sleep_until_ns(pace.due_ns);
        if over() {
            break;
        }
        let now_ns = clock::monotonic_ns();
        if !exchange.is_answered() && now_ns.saturating_sub(given_ns) > LOST_NS {
            counts.count_unanswered();
            exchange.give_up();
        }
        if exchange.is_answered() {
            if practice.is_some_and(|rest_ns| !practise(post, exchange, rest_ns)) {
                counts.count_unanswered();
            }
            given_ns = now_ns;
            exchange.give(std::mem::take(&mut skipped));
            post.post();
        } else {
            skipped += u64::from(pace.is_counted());
        }
        skipped += pace.advance(clock::monotonic_ns());
    }
    exchange.ended.store(true, Release);
    post.end();
}

/// The consecutive instants of a schedule.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    schedule: Schedule,
    pub due_ns: i64,
}

impl Pace {
    pub fn new(schedule: Schedule) -> Self {
        Self { schedule, due_ns: schedule.first_due_ns }
    }

    fn is_counted(&self) -> bool {
        (self.schedule.count_from_ns..self.schedule.end_ns).contains(&self.due_ns)
    }

    /// Advances to the next instant after now; returns how many counted ones were skipped.
    pub fn advance(&mut self, now_ns: i64) -> u64 {
        let mut left_out = 0;
        loop {
            let interval_ns = match &mut self.schedule.dither {
                Some(dither) => dither.interval_ns(self.schedule.interval_ns),
                None => self.schedule.interval_ns,
            };
            self.due_ns = self.due_ns.saturating_add(interval_ns.max(1));
            if self.due_ns > now_ns || self.due_ns >= self.schedule.end_ns {
                return left_out;
            }
            left_out += u64::from(self.is_counted());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
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
        let waiter = Answering { receive: Ear(input), exchange: Arc::default(), counts: Arc::default() };
        (Bell(Mutex::new(output)), waiter)
    }

    #[test]
    fn every_answer_belongs_to_one_stimulus_and_a_second_one_to_none() {
        let (bell, mut waiter) = answering();
        let exchange = waiter.exchange.clone();
        exchange.give(2);
        bell.post();
        let Arrival::Stimulus { given_ns, seen_ns, skipped } = waiter.wait(0) else { panic!("no stimulus") };
        assert!(given_ns <= seen_ns && skipped == 2);
        bell.post();
        exchange.give(0);
        bell.post();
        bell.post();
        assert!(matches!(waiter.wait(0), Arrival::Stimulus { .. }));
        exchange.ended.store(true, Release);
        bell.post();
        assert_eq!(waiter.wait(0), Arrival::Ended);
    }

    #[test]
    fn a_line_that_breaks_is_not_the_end_of_the_run() {
        let (bell, mut waiter) = answering();
        drop(bell);
        assert_eq!(waiter.wait(0), Arrival::Gone);
        waiter.exchange.ended.store(true, Release);
        assert_eq!(waiter.wait(0), Arrival::Ended);
    }

    #[test]
    fn a_partner_ends_with_its_schedule_and_releases_the_measuring_thread() {
        let (bell, mut waiter) = answering();
        let (exchange, counts) = (waiter.exchange.clone(), waiter.counts.clone());
        let now_ns = clock::monotonic_ns();
        let context = PartnerContext { schedule: schedule(300).starting_at(now_ns), stop: Arc::default() };
        let partner = std::thread::spawn(move || give_on_schedule(&context, &bell, &exchange, &counts, None));
        let mut seen = 0;
        let mut skipped_all = 0;
        while let Arrival::Stimulus { skipped, .. } = waiter.wait(0) {
            seen += 1;
            skipped_all += skipped;
        }
        partner.join().unwrap();
        assert!(seen > 0 && seen + skipped_all <= 300, "{seen} {skipped_all}");
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
        let mut waiter = Answering { receive: Ear(input), exchange: Arc::default(), counts: Arc::default() };
        let (exchange, counts) = (waiter.exchange.clone(), waiter.counts.clone());
        let context =
            PartnerContext { schedule: schedule(300).starting_at(clock::monotonic_ns()), stop: Arc::default() };
        let partner = std::thread::spawn(move || give_on_schedule(&context, &bell, &exchange, &counts, Some(0)));
        let mut samples = 0;
        while let Arrival::Stimulus { .. } = waiter.wait(0) {
            samples += 1;
        }
        partner.join().unwrap();
        assert!(samples > 0);
        // The waiter may be late for the last one: at the end it counts no more.
        let rung = rung.load(Relaxed);
        assert!([samples, samples + 1].map(|given| 2 * given + 1).contains(&rung), "{rung} for {samples} samples");
        assert_eq!((waiter.counts.unanswered.load(Relaxed), waiter.counts.stray.load(Relaxed)), (0, 0));
    }

    #[test]
    fn a_thread_that_never_answers_is_no_signal_and_ends_no_later() {
        let (bell, waiter) = answering();
        let (exchange, counts) = (waiter.exchange.clone(), waiter.counts.clone());
        let now_ns = clock::monotonic_ns();
        let long = Schedule { interval_ns: 600 * MS, ..schedule(2300) };
        let context = PartnerContext { schedule: long.starting_at(now_ns), stop: Arc::default() };
        give_on_schedule(&context, &bell, &exchange, &counts, None);
        assert_eq!(counts.unanswered.load(Relaxed), 1);
        drop(waiter);
    }

    #[test]
    fn instants_that_passed_are_left_out_and_counted() {
        let mut pace = Pace::new(schedule(10));
        assert_eq!((pace.advance(10), pace.due_ns), (0, MS));
        assert_eq!((pace.advance(4 * MS + 1), pace.due_ns), (3, 5 * MS));
        assert_eq!((pace.advance(20 * MS), pace.due_ns), (4, 10 * MS));
    }
}
