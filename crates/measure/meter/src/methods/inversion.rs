//! `inversion`: how long a thread waits for a mutex that a less urgent one holds while a third, in between, wants the CPU.
//! pi_stress's situation, made again in every period.
//!
//! ```text
//! high (measures)  woken · clock, lock: waits ················ has it, clock
//! middle           woken by high, wants the CPU until high has the mutex
//! low              holds it, wakes high ······ works, unlock ┘
//! ```
//!
//! With priority inheritance low works at the priority of high, and the sample is low's work and two switches. Without it, or
//! with a kernel that gets it wrong, middle keeps the CPU until it gives up: the inversion shows as a sample as long as that.

use super::error::MethodError;
use super::stimulus::{self, Exchange, PartnerPlace, Post, Receive, Received};
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::kernel::mutex::RawMutex;
use crate::kernel::semaphore::PosixSemaphore;
use crate::measure::partner::{Partner, PartnerContext};
use archive::method::inversion::Inversion;
use archive::method::state::Obstacle;
use archive::method::{Method, Protocol};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Middle gives the CPU back after so long even when high still waits.
const MIDDLE_NS: i64 = 20_000_000;
/// High gives up after so long: a deadlock.
const DEADLOCK_NS: i64 = 1_000_000_000;

struct Triangle {
    mutex: RawMutex,
    high: PosixSemaphore,
    middle: PosixSemaphore,
    /// High waits for the mutex.
    waiting: AtomicBool,
    ended: AtomicBool,
    work_ns: i64,
}

impl Triangle {
    fn new(inherits_priority: bool, work_ns: i64) -> io::Result<Self> {
        Ok(Self {
            mutex: RawMutex::new(inherits_priority)?,
            high: PosixSemaphore::new()?,
            middle: PosixSemaphore::new()?,
            waiting: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            work_ns,
        })
    }

    fn end_middle(&self) {
        self.ended.store(true, Release);
        self.middle.post();
    }
}

fn busy_until(wanted: impl Fn(i64) -> bool) {
    while !wanted(clock::monotonic_ns()) {
        std::hint::spin_loop();
    }
}

/// Low.
impl Post for Triangle {
    fn post(&self) {
        self.mutex.lock();
        self.high.post();
        let until_ns = clock::monotonic_ns() + self.work_ns;
        busy_until(|now_ns| now_ns >= until_ns);
        self.mutex.unlock();
    }

    fn end(&self) {
        self.release();
    }

    fn release(&self) {
        self.end_middle();
        self.high.post();
    }
}

struct High {
    triangle: Arc<Triangle>,
    exchange: Arc<Exchange>,
    holds: bool,
}

impl Receive for High {
    fn receive(&mut self) -> Received {
        let triangle = &*self.triangle;
        if std::mem::take(&mut self.holds) {
            triangle.mutex.unlock();
        }
        triangle.high.wait();
        if triangle.ended.load(Acquire) {
            return Received::Broken;
        }
        triangle.waiting.store(true, Release);
        triangle.middle.post();
        // What is measured is the wait for the mutex, not the wake-up before it.
        self.exchange.given_at(clock::monotonic_ns());
        self.holds = triangle.mutex.lock_within(DEADLOCK_NS);
        triangle.waiting.store(false, Release);
        if self.holds { Received::Stimulus } else { Received::Nothing }
    }
}

impl Drop for High {
    fn drop(&mut self) {
        if self.holds {
            self.triangle.mutex.unlock();
        }
        self.triangle.end_middle();
    }
}

/// Wants the CPU whenever high waits.
fn middle(triangle: &Triangle, context: &PartnerContext) {
    while triangle.middle.wait() && !triangle.ended.load(Acquire) && !context.stop.load(Relaxed) {
        let until_ns = clock::monotonic_ns() + MIDDLE_NS;
        busy_until(|now_ns| now_ns >= until_ns || !triangle.waiting.load(Acquire));
    }
}

impl MeasuringMethod for Inversion {
    fn obstacles(&self, _root: &Path) -> Vec<Obstacle> {
        Vec::new()
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let inherits_priority = self.protocol() == Protocol::Inherit;
        let work_ns = self.work() as i64 * 1_000;
        let setup = |cpu: &u32| {
            let refused = |source| MethodError::Refused { method: Method::Inversion, action: "make a mutex", source };
            let triangle = Arc::new(Triangle::new(inherits_priority, work_ns).map_err(refused)?);
            let exchange = Arc::<Exchange>::default();
            let (policy, priority) = run.less_urgent(2);
            let low = PartnerPlace { cpu: *cpu, policy, priority, practises: false };
            let high = High { triangle: triangle.clone(), exchange: exchange.clone(), holds: false };
            let mut setup = stimulus::setup_with(exchange, *cpu, low, triangle.clone(), high);
            let (policy, priority) = run.less_urgent(1);
            setup.partners.push(Partner {
                name: format!("tardy-mid{cpu}"),
                cpus: vec![*cpu],
                policy,
                priority,
                body: Box::new(move |context| middle(&triangle, &context)),
            });
            Ok(setup)
        };
        run.measured.iter().map(setup).collect()
    }
}
