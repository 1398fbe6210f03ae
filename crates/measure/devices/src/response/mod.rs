//! Round trips: a stimulus goes out on a wire, another thread answers, and the answer comes back on the wire.
//!
//! ```text
//! partner           clock, number ──▶ wire ┐
//! answering threads                        └─▶ read, (hops through pipes), write ──▶ wire ┐
//! measuring thread  waits ·······················································└─▶ reads ──▶ clock
//! ```
//!
//! Every stimulus carries a number and every answer repeats it: an answer with another number than that of the stimulus that
//! is open, or a second one with the same number, is stray. [`super::stimulus`] counts stimuli without an answer.

pub mod answering;
pub mod ethernet;
pub mod gpio;
pub mod parallel;
pub mod serial;
pub mod udp;
mod unnumbered;

use answering::Answering;
use archive::method::Role;
use meter::methods::stimulus::{self, Exchange, PartnerPlace, Post, Receive, Received};
use meter::methods::{RunContext, ThreadSetup};
use std::io;
use std::sync::Arc;

/// Answer on a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A number, and when the kernel received it, in ns of CLOCK_MONOTONIC, where it takes that down.
    Number { number: u8, received_ns: Option<i64> },
    /// Nothing for about 100 ms.
    Nothing,
    /// Nothing will come any more.
    Closed,
}

/// The end of a wire where numbers come out. A wait that may be for ever ends about every 100 ms.
pub trait Input: Send {
    fn read(&mut self) -> Reading;
}

/// The end of a wire where numbers go in. What the wire does not take is lost: it shows as no answer.
pub trait Output: Send + Sync {
    fn write(&self, number: u8);
}

/// The stretch of a round trip that is a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// From the stimulus to the answer.
    RoundTrip,
    /// From the kernel's receive time stamp of the answer to the thread that reads it.
    Arrival,
}

/// The CPU of a method with one wire, and so with one thread. Two ends on one machine, each with a meter of its own, use different
/// CPUs where there are several.
fn cpu_of_wire(run: &RunContext, role: Role) -> Option<u32> {
    match role {
        Role::Stimulus => run.measured.last().copied(),
        Role::Both | Role::Answer => run.measured.first().copied(),
    }
}

/// Both ends of a round trip.
pub struct Wires {
    pub stimulus: Box<dyn Output>,
    pub answer: Box<dyn Input>,
    /// Where the answering thread reads and writes.
    pub far: (Box<dyn Input>, Box<dyn Output>),
}

struct Stimulating {
    output: Box<dyn Output>,
    exchange: Arc<Exchange>,
}

impl Post for Stimulating {
    fn post(&self) {
        self.output.write(self.exchange.number() as u8);
    }
}

struct Awaiting {
    input: Box<dyn Input>,
    exchange: Arc<Exchange>,
    stretch: Stretch,
}

impl Receive for Awaiting {
    #[inline]
    fn receive(&mut self) -> Received {
        match self.input.read() {
            Reading::Number { number, .. } if number != self.exchange.number() as u8 => Received::Stray,
            Reading::Number { received_ns, .. } => match (self.stretch, received_ns) {
                (Stretch::RoundTrip, _) => Received::Stimulus,
                (Stretch::Arrival, Some(from_ns)) => Received::From { from_ns },
                (Stretch::Arrival, None) => Received::Broken,
            },
            Reading::Nothing => Received::Idle,
            Reading::Closed => Received::Broken,
        }
    }
}

/// A measuring thread, the partner that gives the stimulus, and the threads that answer it.
///
/// # Errors
/// When there are no descriptors left for the pipes between the answering threads.
pub fn setup(
    cpu: u32,
    wires: Wires,
    stretch: Stretch,
    answering: Answering,
    place: PartnerPlace,
) -> io::Result<ThreadSetup> {
    let mut setup = stimulating(cpu, wires.stimulus, wires.answer, stretch, place);
    let (input, output) = wires.far;
    setup.partners.extend(answering::threads(input, output, answering, place)?);
    Ok(setup)
}

/// The same for a stimulus that another machine answers.
pub fn stimulating(
    cpu: u32,
    output: Box<dyn Output>,
    input: Box<dyn Input>,
    stretch: Stretch,
    place: PartnerPlace,
) -> ThreadSetup {
    let exchange = Arc::<Exchange>::default();
    let stimulating = Stimulating { output, exchange: exchange.clone() };
    let awaiting = Awaiting { input, exchange: exchange.clone(), stretch };
    stimulus::setup_with(exchange, cpu, place, Arc::new(stimulating), awaiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::settings::Policy;
    use meter::kernel::clock;
    use meter::measure::partner::{Partner, PartnerContext};
    use meter::measure::schedule::Schedule;
    use meter::measure::waiter::Arrival;
    use meter::methods::stimulus::LOST_NS;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
    use std::time::Duration;

    const MS: i64 = 1_000_000;

    struct ChannelInput(Receiver<u8>);

    impl Input for ChannelInput {
        fn read(&mut self) -> Reading {
            match self.0.recv_timeout(Duration::from_millis(20)) {
                Ok(number) => Reading::Number { number, received_ns: None },
                Err(RecvTimeoutError::Timeout) => Reading::Nothing,
                Err(RecvTimeoutError::Disconnected) => Reading::Closed,
            }
        }
    }

    /// Sends each number as often as `copies` says.
    struct ChannelOutput(SyncSender<u8>, fn(u8) -> u8);

    impl Output for ChannelOutput {
        fn write(&self, number: u8) {
            for _ in 0..(self.1)(number) {
                let _ = self.0.try_send(number);
            }
        }
    }

    struct Counted {
        latencies_ns: Vec<i64>,
        unanswered: u64,
        stray: u64,
    }

    /// Runs everything without real-time priorities, for `periods` of 2 ms.
    fn measure(periods: i64, answering: Answering, copies: fn(u8) -> u8) -> Counted {
        let ((near_output, far_input), (far_output, near_input)) = (sync_channel(9), sync_channel(9));
        let place = PartnerPlace { cpu: 0, policy: Policy::Other, priority: 0, practises: false };
        let exchange = Arc::<Exchange>::default();
        let output = Box::new(ChannelOutput(near_output, |_| 1));
        let stimulating = Stimulating { output, exchange: exchange.clone() };
        let input = Box::new(ChannelInput(near_input));
        let awaiting = Awaiting { input, exchange: exchange.clone(), stretch: Stretch::RoundTrip };
        let mut setup = stimulus::setup_with(exchange, 0, place, Arc::new(stimulating), awaiting);
        let far: (Box<dyn Input>, Box<dyn Output>) =
            (Box::new(ChannelInput(far_input)), Box::new(ChannelOutput(far_output, copies)));
        setup.partners.extend(answering::threads(far.0, far.1, answering, place).unwrap());
        let schedule = Schedule {
            interval_ns: 2 * MS,
            dither: None,
            first_due_ns: 0,
            count_from_ns: 0,
            end_ns: 2 * MS * periods,
            cycles_max: u64::MAX,
            limit_ns: i64::MAX,
            spike_threshold_ns: 0,
            stretches: None,
            traced: false,
        };
        let (schedule, stop) = (schedule.starting_at(clock::monotonic_ns()), Arc::new(AtomicBool::new(false)));
        let start = |partner: Partner| {
            let context = PartnerContext { schedule, stop: stop.clone() };
            std::thread::spawn(move || (partner.body)(context))
        };
        let threads: Vec<_> = setup.partners.into_iter().map(start).collect();
        let mut latencies_ns = Vec::new();
        loop {
            match setup.waiter.wait(0) {
                Arrival::Answer { given_ns, seen_ns, .. } => latencies_ns.push(seen_ns - given_ns),
                Arrival::Ended { .. } => break,
                other => panic!("{other:?}"),
            }
        }
        stop.store(true, Relaxed);
        drop((setup.waiter, setup.release));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        latencies_ns.sort_unstable();
        let (unanswered, stray) = (setup.counts.unanswered.load(Relaxed), setup.counts.stray.load(Relaxed));
        Counted { latencies_ns, unanswered, stray }
    }

    #[test]
    fn every_hop_passes_every_number_on() {
        for hops in [0, 1, 4] {
            let counted = measure(50, Answering { hops, delay_ns: 0 }, |_| 1);
            assert!(!counted.latencies_ns.is_empty());
            assert_eq!((counted.unanswered, counted.stray), (0, 0), "{hops} hops");
        }
    }

    #[test]
    fn a_known_delay_is_in_every_sample_once() {
        let counted = measure(20, Answering { hops: 3, delay_ns: 10 * MS }, |_| 1);
        assert!(counted.latencies_ns[0] >= 10 * MS, "{:?}", counted.latencies_ns);
    }

    #[test]
    fn a_second_answer_is_stray_and_no_sample() {
        // Fewer stimuli than numbers: only one is doubled.
        let counted = measure(200, Answering { hops: 0, delay_ns: 0 }, |number| 1 + u8::from(number == 3));
        assert_eq!((counted.unanswered, counted.stray), (0, 1));
    }

    #[test]
    fn a_lost_answer_is_no_signal_and_the_next_stimulus_has_its_own() {
        // Fewer stimuli than numbers: only one is lost.
        let counted = measure(700, Answering { hops: 0, delay_ns: 0 }, |number| u8::from(number != 2));
        assert_eq!((counted.unanswered, counted.stray), (1, 0));
        assert!(counted.latencies_ns.len() > 1 && counted.latencies_ns.iter().all(|latency_ns| *latency_ns < LOST_NS));
    }

    #[test]
    fn a_late_answer_is_stray_and_not_taken_for_that_of_the_next_stimulus() {
        let counted = measure(800, Answering { hops: 0, delay_ns: LOST_NS + 200 * MS }, |_| 1);
        assert_eq!(counted.latencies_ns, Vec::<i64>::new());
        assert!(counted.unanswered > 0 && counted.stray > 0, "{} {}", counted.unanswered, counted.stray);
    }

    #[test]
    fn a_cut_wire_is_no_signal_and_ends_with_the_run() {
        let counted = measure(600, Answering { hops: 0, delay_ns: 0 }, |_| 0);
        assert_eq!((counted.latencies_ns.len(), counted.stray), (0, 0));
        assert!(counted.unanswered > 0);
    }
}
