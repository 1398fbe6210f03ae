//! A stimulus that the measuring thread requests, as in the hand-over tests of rt-tests.
//!
//! ```text
//! measuring thread  sleeps ──▶ request ┐  waits ··································└─▶ runs ──▶ clock
//! partner           waits ·············└─▶ runs ──▶ clock, number ──▶ post · waits ┘
//! ```
//!
//! With warm caches, rounds that are not counted go before each one that is, without a sleep between them.
//!
//! The request is a system call of the same kind as the stimulus, so the kernel's part of the timed path is in the caches. The partner
//! has the priority of the measuring thread, so on the same CPU a sample includes the partner's way to its next wait.

use super::exchange::{Answered, Exchange};
use super::time::Monotonic;
use super::{PartnerPlace, Post, Receive, Received};
use crate::kernel::clock;
use crate::measure::partner::{Partner, PartnerContext};
use crate::measure::waiter::{Arrival, Waiter, WaiterCounts};
use crate::methods::{RunContext, ThreadSetup};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

/// Interval at which the measuring thread looks whether its partner waits for the first request.
const FIRST_LOOK_NS: i64 = 100_000;

/// Rounds before one that is counted, with warm caches: as many as signaltest makes between two sleeps.
const PRACTICE: u32 = 15;

/// Both directions of a hand-over: the stimulus, and the request for it.
pub struct Requested<R, A> {
    pub post: Arc<dyn Post>,
    pub receive: R,
    /// Given by the measuring thread.
    pub request: Arc<dyn Post>,
    /// Awaited by the partner.
    pub asked: A,
}

impl<T> Requested<Arc<T>, Arc<T>>
where
    T: Post + 'static,
    Arc<T>: Receive,
{
    /// Where the object that a thread waits for is the one that the other thread posts to.
    pub fn by(stimulus: Arc<T>, request: Arc<T>) -> Self {
        Self { post: stimulus.clone(), receive: stimulus, request: request.clone(), asked: request }
    }
}

#[derive(Default)]
struct Rounds {
    exchange: Exchange,
    /// The partner waits for requests.
    listens: AtomicBool,
    /// There will be no further request.
    over: AtomicBool,
}

/// The measuring thread's side.
struct Requesting<R: Receive> {
    receive: R,
    request: Arc<dyn Post>,
    rounds: Arc<Rounds>,
    counts: Arc<WaiterCounts>,
    prepared: bool,
    /// The partner waited for the first request.
    runs: bool,
    /// Rounds before one that is counted.
    practice: u32,
}

impl<R: Receive> Requesting<R> {
    /// Sleeps until the partner waits; `false`: the run ended before.
    fn partner_listens(&self) -> bool {
        while !self.rounds.listens.load(Acquire) {
            if self.rounds.exchange.ended().is_some() {
                return false;
            }
            clock::sleep_until_ns(clock::monotonic_ns() + FIRST_LOOK_NS);
        }
        true
    }
}

impl<R: Receive> Waiter for Requesting<R> {
    fn prepare(&mut self) -> io::Result<()> {
        self.receive.prepare()?;
        self.prepared = true;
        Ok(())
    }

    #[inline]
    fn wait(&mut self, due_ns: i64) -> Arrival {
        self.receive.give_back();
        if !self.runs && !self.partner_listens() {
            return Arrival::Ended { skipped: 0 };
        }
        self.runs = true;
        clock::sleep_until_ns(due_ns);
        for _ in 0..self.practice {
            match self.round() {
                Arrival::Requested { .. } => self.receive.give_back(),
                other => return other,
            }
        }
        self.round()
    }
}

impl<R: Receive> Requesting<R> {
    /// Requests a stimulus and waits for it.
    #[inline]
    fn round(&mut self) -> Arrival {
        self.request.post();
        loop {
            let received = self.receive.receive();
            let seen_ns = clock::monotonic_ns();
            if self.rounds.exchange.ended().is_some() {
                return Arrival::Ended { skipped: 0 };
            }
            if received != Received::Stimulus {
                return Arrival::Gone;
            }
            match self.rounds.exchange.answer() {
                Some(Answered { given_ns, .. }) => return Arrival::Requested { given_ns, seen_ns },
                None => self.counts.count_stray(),
            }
        }
    }
}

impl<R: Receive> Drop for Requesting<R> {
    fn drop(&mut self) {
        self.receive.give_back();
        self.rounds.over.store(true, Release);
        if self.prepared {
            self.request.post();
        }
    }
}

/// The partner: a stimulus for each request.
fn give_on_request(post: &dyn Post, asked: &mut impl Receive, rounds: &Rounds) {
    post.prepare();
    if asked.prepare().is_err() {
        return;
    }
    rounds.listens.store(true, Release);
    while asked.receive() == Received::Stimulus && !rounds.over.load(Acquire) {
        rounds.exchange.give(0, true, &Monotonic);
        post.post();
    }
    asked.give_back();
}

/// A measuring thread that requests each stimulus from one partner with the same priority.
pub fn setup<R, A>(run: &RunContext, cpu: u32, place: PartnerPlace, hand_over: Requested<R, A>) -> ThreadSetup
where
    R: Receive + 'static,
    A: Receive + 'static,
{
    let Requested { post, receive, request, mut asked } = hand_over;
    let practice = if place.practises { PRACTICE } else { 0 };
    let rounds = Arc::<Rounds>::default();
    let counts = Arc::<WaiterCounts>::default();
    let (policy, priority) = run.less_urgent(0);
    let release = {
        let (post, rounds) = (post.clone(), rounds.clone());
        move || {
            rounds.exchange.release();
            post.release();
        }
    };
    let body = {
        let rounds = rounds.clone();
        move |_: PartnerContext| give_on_request(&*post, &mut asked, &rounds)
    };
    let partner =
        Partner { name: format!("tardy-stim{cpu}"), cpus: vec![place.cpu], policy, priority, body: Box::new(body) };
    let waiter =
        Requesting { receive, request, rounds, counts: counts.clone(), prepared: false, runs: false, practice };
    ThreadSetup { counts, partners: vec![partner], release: Some(Box::new(release)), ..ThreadSetup::new(cpu, waiter) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::thread;

    struct Sending(SyncSender<()>, AtomicU64);

    impl Post for Sending {
        fn post(&self) {
            self.1.fetch_add(1, Relaxed);
            let _ = self.0.send(());
        }
    }

    struct Waiting(Receiver<()>);

    impl Receive for Waiting {
        fn receive(&mut self) -> Received {
            self.0.recv().map_or(Received::Broken, |()| Received::Stimulus)
        }
    }

    #[test]
    fn with_warm_caches_rounds_that_are_no_samples_go_before_each_sample() {
        for practice in [0, PRACTICE] {
            let ((post, receive), (request, asked)) = (sync_channel(9), sync_channel(9));
            let post = Sending(post, AtomicU64::new(0));
            let request = Arc::new(Sending(request, AtomicU64::new(0)));
            let rounds = Arc::<Rounds>::default();
            let partner = {
                let rounds = rounds.clone();
                thread::spawn(move || give_on_request(&post, &mut Waiting(asked), &rounds))
            };
            let counts = Arc::<WaiterCounts>::default();
            let receive = Waiting(receive);
            let mut waiter = Requesting {
                receive,
                request: request.clone(),
                rounds,
                counts,
                prepared: false,
                runs: false,
                practice,
            };
            waiter.prepare().unwrap();
            for samples in 1..=5 {
                assert!(matches!(waiter.wait(clock::monotonic_ns()), Arrival::Requested { .. }));
                assert_eq!(request.1.load(Relaxed), samples * u64::from(practice + 1));
            }
            drop(waiter);
            partner.join().unwrap();
        }
    }
}
