//! A stimulus on schedule from one thread to another, and the assignment of answers to stimuli.
//!
//! ```text
//! partner           sleeps ──▶ clock, number ──▶ post ┐                     given_ns
//! measuring thread  waits ····························└─▶ runs ──▶ clock    seen_ns
//! ```
//!
//! The partner keeps the schedule of the measuring thread. It gives no stimulus before the previous one was answered:
//! periods that pass meanwhile, or while the partner itself is late, are missed. A stimulus without an answer within
//! [`LOST_NS`] counts as unanswered. So each counted period is a sample, missed or unanswered.
//!
//! The last post announces that there will be no more, so the measuring thread never waits after the end of a run. It follows the
//! answer to the last stimulus, or its loss: until then it could pass for that answer.

mod exchange;
mod giving;
mod requested;
#[cfg(test)]
mod tests;
mod time;

use super::{RunContext, ThreadSetup};
use crate::kernel::clock;
use crate::measure::partner::{Partner, PartnerContext};
use crate::measure::waiter::{Arrival, Waiter, WaiterCounts};
use archive::method::{Caches, Partner as PartnerCpu};
use archive::settings::Policy;
use exchange::Answered;
pub use exchange::Exchange;
pub use giving::Pace;
use giving::give_on_schedule;
pub use requested::{Requested, setup as requested_setup};
use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{Ordering::Acquire, Ordering::Relaxed};
use time::Monotonic;

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
    /// The answer to the open stimulus, whose sample starts at a time stamp of the kernel that is lost.
    Unstamped,
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
    /// The action that the kernel rejected.
    fn prepare(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called before the thread sleeps, where it requests the stimulus: returns what the last one gave it.
    fn give_back(&mut self) {}

    fn receive(&mut self) -> Received;
}

/// The measuring thread's side.
struct Answering<R> {
    receive: R,
    exchange: Arc<Exchange>,
    counts: Arc<WaiterCounts>,
    /// Periods left out before a stimulus that this side gave up.
    skipped_of_lost: u64,
}

impl<R> Answering<R> {
    fn new(receive: R, exchange: Arc<Exchange>, counts: Arc<WaiterCounts>) -> Self {
        Self { receive, exchange, counts, skipped_of_lost: 0 }
    }

    /// The arrival that ended a wait at this instant; `None`: to wait again.
    #[inline]
    fn arrival(&mut self, received: Received, seen_ns: i64) -> Option<Arrival> {
        if let Some(skipped) = self.exchange.ended() {
            return Some(Arrival::Ended { skipped: skipped + self.skipped_of_lost });
        }
        let from = match received {
            Received::Stimulus if self.exchange.practice.swap(false, Acquire) => return None,
            Received::Stimulus => None,
            Received::From { from_ns } => Some(from_ns),
            Received::Stray => {
                self.counts.count_stray();
                return None;
            }
            Received::Idle => return None,
            Received::Unstamped => {
                self.skipped_of_lost += self.exchange.give_up(|| self.counts.count_unstamped());
                return None;
            }
            Received::Nothing => {
                self.skipped_of_lost += self.exchange.give_up(|| self.counts.count_unanswered());
                return None;
            }
            Received::Broken => return Some(Arrival::Gone),
        };
        match self.exchange.answer() {
            Some(Answered { given_ns, skipped, counted }) => {
                let (given_ns, skipped) = (from.unwrap_or(given_ns), skipped + mem::take(&mut self.skipped_of_lost));
                Some(Arrival::Answer { given_ns, seen_ns, skipped, counted })
            }
            None => {
                self.counts.count_stray();
                None
            }
        }
    }
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
            if let Some(arrival) = self.arrival(received, seen_ns) {
                return arrival;
            }
            strays = if matches!(received, Received::Stray) { strays + 1 } else { 0 };
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
    pub fn of(run: &RunContext, cpu: u32, partner: PartnerCpu) -> Self {
        let (policy, priority) = run.below();
        Self { cpu: run.partner_cpu(cpu, partner), policy, priority, practises: false }
    }

    pub fn with(self, caches: Caches) -> Self {
        Self { practises: caches == Caches::Warm, ..self }
    }
}

/// A measuring thread whose stimulus comes from one partner.
pub fn setup(cpu: u32, partner: PartnerPlace, post: Arc<dyn Post>, receive: impl Receive + 'static) -> ThreadSetup {
    setup_with(Arc::default(), cpu, partner, post, receive)
}

/// The same with an exchange that the receiving side knows, too.
pub fn setup_with(
    exchange: Arc<Exchange>,
    cpu: u32,
    partner: PartnerPlace,
    post: Arc<dyn Post>,
    receive: impl Receive + 'static,
) -> ThreadSetup {
    let counts = Arc::<WaiterCounts>::default();
    let waiter = Answering::new(receive, exchange.clone(), counts.clone());
    let practice = partner.practises.then_some(if partner.cpu == cpu { 0 } else { BETWEEN_CPUS_NS });
    let body = {
        let (post, exchange, counts) = (post.clone(), exchange.clone(), counts.clone());
        move |context: PartnerContext| give_on_schedule(&Monotonic, &context, &*post, &exchange, &counts, practice)
    };
    let release = move || {
        exchange.release();
        post.release();
    };
    let partner = Partner {
        name: format!("tardy-stim{cpu}"),
        cpus: vec![partner.cpu],
        policy: partner.policy,
        priority: partner.priority,
        body: Box::new(body),
    };
    ThreadSetup { counts, partners: vec![partner], release: Some(Box::new(release)), ..ThreadSetup::new(cpu, waiter) }
}
