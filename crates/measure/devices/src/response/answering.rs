//! The answering side of a wire: threads that read a stimulus, pass it on, and write the answer.

use super::{Input, Output, Reading};
use meter::kernel::clock;
use meter::measure::partner::{Partner, PartnerContext};
use meter::measure::waiter::{Arrival, Waiter, WaiterCounts};
use meter::methods::stimulus::{LOST_NS, PartnerPlace};
use meter::methods::{Release, ThreadSetup};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release as Publish};

/// Interval at which a thread on a line that is gone checks for the end of the run.
const LOOK_NS: i64 = 100_000_000;

/// How the answer is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answering {
    /// Further threads between input and output.
    pub hops: u64,
    /// A known delay that the answering thread adds, in ns.
    pub delay_ns: i64,
}

impl Answering {
    pub fn new(hops: u64, delay_us: u64) -> Self {
        Self { hops, delay_ns: delay_us as i64 * 1_000 }
    }
}

/// Threads from an input to an output, for a stimulus of this machine.
///
/// # Errors
/// When there are no descriptors left for the pipes between them.
pub fn threads(
    input: Box<dyn Input>,
    output: Box<dyn Output>,
    answering: Answering,
    place: PartnerPlace,
) -> io::Result<Vec<Partner>> {
    let (mut threads, input) = hops(input, answering, place, None)?;
    let delay_ns = if answering.hops == 0 { answering.delay_ns } else { 0 };
    threads.push(forwarder(answering.hops, input, output, delay_ns, place, None));
    Ok(threads)
}

/// A measuring thread that answers the stimuli of another machine. It writes the answer, and a sample is how long the
/// number was on this machine: from the kernel's time stamp of the stimulus, or without one from the instant at which the
/// first thread has read it, until the answer is written.
///
/// # Errors
/// When there are no descriptors left for the pipes between the threads.
pub fn setup(
    cpu: u32,
    input: Box<dyn Input>,
    output: Box<dyn Output>,
    answering: Answering,
    place: PartnerPlace,
) -> io::Result<ThreadSetup> {
    let arrivals = Arc::<Arrivals>::default();
    let (partners, input) = hops(input, answering, place, Some(arrivals.clone()))?;
    let delay_ns = if answering.hops == 0 { answering.delay_ns } else { 0 };
    let over = Arc::<AtomicBool>::default();
    let counts = Arc::<WaiterCounts>::default();
    let first = answering.hops == 0;
    let waiter =
        Residence { input, output, arrivals, first, delay_ns, over: over.clone(), counts: counts.clone(), any: false };
    let release: Release = Box::new(move || over.store(true, Relaxed));
    Ok(ThreadSetup { counts, partners, release: Some(release), ..ThreadSetup::new(cpu, waiter) })
}

/// When each number arrived on this machine.
struct Arrivals([AtomicI64; 256]);

impl Default for Arrivals {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicI64::new(0)))
    }
}

/// Writes the answers, in the measuring thread.
struct Residence {
    input: Box<dyn Input>,
    output: Box<dyn Output>,
    arrivals: Arc<Arrivals>,
    /// It reads from the wire itself.
    first: bool,
    delay_ns: i64,
    over: Arc<AtomicBool>,
    counts: Arc<WaiterCounts>,
    /// A stimulus came.
    any: bool,
}

impl Waiter for Residence {
    #[inline]
    fn wait(&mut self, _due_ns: i64) -> Arrival {
        // Only its thread knows whether the run is over. A machine that never stops sending does not keep it.
        if self.over.load(Relaxed) {
            return Arrival::Ended { skipped: 0 };
        }
        match self.input.read() {
            Reading::Number { number, received_ns } => {
                let arrived_ns = match self.first {
                    true => received_ns.unwrap_or_else(clock::monotonic_ns),
                    false => self.arrivals.0[usize::from(number)].load(Acquire),
                };
                wait_busy(self.delay_ns);
                self.output.write(number);
                self.any = true;
                return Arrival::Stimulus { given_ns: arrived_ns, seen_ns: clock::monotonic_ns(), skipped: 0 };
            }
            Reading::Nothing => {}
            // A line that is gone answers at once.
            Reading::Closed => clock::sleep_until_ns(clock::monotonic_ns() + LOOK_NS),
        }
        Arrival::Undisturbed { until_ns: clock::monotonic_ns() }
    }
}

/// Before the first stimulus and after the last one the other machine may be silent, so only a run without any stimulus
/// is without a signal.
impl Drop for Residence {
    fn drop(&mut self) {
        if !self.any {
            self.counts.count_unanswered();
        }
    }
}

/// The threads before the last one, and where that one reads.
fn hops(
    mut input: Box<dyn Input>,
    answering: Answering,
    place: PartnerPlace,
    arrivals: Option<Arc<Arrivals>>,
) -> io::Result<(Vec<Partner>, Box<dyn Input>)> {
    let mut threads = Vec::new();
    for hop in 0..answering.hops {
        let (next_input, next_output) = io::pipe()?;
        let output = Box::new(Pipe(File::from(OwnedFd::from(next_output))));
        let first = hop == 0;
        let delay_ns = if first { answering.delay_ns } else { 0 };
        threads.push(forwarder(hop, input, output, delay_ns, place, arrivals.clone().filter(|_| first)));
        input = Box::new(Pipe(File::from(OwnedFd::from(next_input))));
    }
    Ok((threads, input))
}

fn forwarder(
    hop: u64,
    input: Box<dyn Input>,
    output: Box<dyn Output>,
    delay_ns: i64,
    place: PartnerPlace,
    arrivals: Option<Arc<Arrivals>>,
) -> Partner {
    Partner {
        name: format!("tardy-answer{hop}"),
        cpus: vec![place.cpu],
        policy: place.policy,
        priority: place.priority,
        body: Box::new(move |context| forward(&context, input, &*output, delay_ns, arrivals.as_deref())),
    }
}

/// Passes every number on, until the run is over or nothing can come any more.
fn forward(
    context: &PartnerContext,
    mut input: Box<dyn Input>,
    output: &dyn Output,
    delay_ns: i64,
    arrivals: Option<&Arrivals>,
) {
    let over_ns = context.schedule.end_ns.saturating_add(LOST_NS);
    let over = || context.stop.load(Relaxed) || clock::monotonic_ns() > over_ns;
    loop {
        match input.read() {
            Reading::Number { number, received_ns } => {
                if let Some(arrivals) = arrivals {
                    let arrived_ns = received_ns.unwrap_or_else(clock::monotonic_ns);
                    arrivals.0[usize::from(number)].store(arrived_ns, Publish);
                }
                wait_busy(delay_ns);
                output.write(number);
            }
            Reading::Nothing => {}
            Reading::Closed => return,
        }
        // Also behind a number: a machine that never stops sending does not keep the thread.
        if over() {
            return;
        }
    }
}

/// A delay without a wake-up at its end, which would add its own latency.
fn wait_busy(delay_ns: i64) {
    if delay_ns > 0 {
        let until_ns = clock::monotonic_ns() + delay_ns;
        while clock::monotonic_ns() < until_ns {}
    }
}

/// Between two answering threads. It closes when the thread before it ends.
struct Pipe(File);

impl Input for Pipe {
    fn read(&mut self) -> Reading {
        let mut number = [0];
        match self.0.read(&mut number) {
            Ok(1) => Reading::Number { number: number[0], received_ns: None },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Reading::Nothing,
            Ok(_) | Err(_) => Reading::Closed,
        }
    }
}

impl Output for Pipe {
    fn write(&self, number: u8) {
        let _ = (&self.0).write(&[number]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meter::measure::schedule::Schedule;
    use std::sync::atomic::AtomicU64;

    /// A wire on which numbers come without end.
    struct Flood;

    impl Input for Flood {
        fn read(&mut self) -> Reading {
            Reading::Number { number: 7, received_ns: None }
        }
    }

    /// Ends the run after some numbers.
    struct Ending {
        written: AtomicU64,
        over: Arc<AtomicBool>,
    }

    impl Output for Arc<Ending> {
        fn write(&self, _number: u8) {
            let written = self.written.fetch_add(1, Relaxed);
            self.over.fetch_or(written == 99, Relaxed);
            assert!(written < 1000, "the end of the run is not seen");
        }
    }

    #[test]
    fn numbers_without_end_keep_no_thread_at_the_end_of_a_run() {
        let ending = Arc::new(Ending { written: AtomicU64::new(0), over: Arc::default() });
        let schedule = Schedule {
            interval_ns: 1_000_000,
            dither: None,
            first_due_ns: 0,
            count_from_ns: 0,
            end_ns: i64::MAX,
            cycles_max: u64::MAX,
            limit_ns: i64::MAX,
            spike_threshold_ns: 0,
            stretches: None,
            traced: false,
        };
        let context = PartnerContext { schedule, stop: ending.over.clone() };
        forward(&context, Box::new(Flood), &ending.clone(), 0, None);
        assert_eq!(ending.written.swap(0, Relaxed), 100);

        ending.over.store(false, Relaxed);
        let mut waiter = Residence {
            input: Box::new(Flood),
            output: Box::new(ending.clone()),
            arrivals: Arc::default(),
            first: true,
            delay_ns: 0,
            over: ending.over.clone(),
            counts: Arc::default(),
            any: false,
        };
        while matches!(waiter.wait(0), Arrival::Stimulus { .. }) {}
        assert_eq!(waiter.wait(0), Arrival::Ended { skipped: 0 });
    }
}
