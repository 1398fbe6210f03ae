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

pub mod serial;
pub mod udp;

use super::stimulus::{self, Exchange, LOST_NS, PartnerPlace, Post, Receive, Received};
use super::{Site, Station};
use crate::kernel::clock;
use crate::measure::partner::{Partner, PartnerContext};
use archive::method::MethodRequest;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What came out of a wire.
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

/// How the answer is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answering {
    /// Further threads between input and output.
    pub hops: u64,
    /// A known delay that the answering thread adds, in ns.
    pub delay_ns: i64,
}

impl Answering {
    pub fn of(request: &MethodRequest) -> Self {
        Self { hops: request.number("hops"), delay_ns: request.number("delay_us") as i64 * 1_000 }
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
pub fn station(site: &Site, cpu: u32, wires: Wires, answering: Answering, stretch: Stretch) -> io::Result<Station> {
    let (policy, priority) = site.below();
    let place = PartnerPlace { cpu: site.partner_cpu(cpu), policy, priority };
    let exchange = Arc::<Exchange>::default();
    let stimulating = Stimulating { output: wires.stimulus, exchange: exchange.clone() };
    let awaiting = Awaiting { input: wires.answer, exchange: exchange.clone(), stretch };
    let mut station = stimulus::station_with(exchange, cpu, place, Arc::new(stimulating), awaiting);
    station.partners.extend(answering_threads(wires.far, answering, place)?);
    Ok(station)
}

fn answering_threads(
    far: (Box<dyn Input>, Box<dyn Output>),
    answering: Answering,
    place: PartnerPlace,
) -> io::Result<Vec<Partner>> {
    let (mut input, output) = far;
    let mut threads = Vec::new();
    for hop in 0..answering.hops {
        let (next_input, next_output) = io::pipe()?;
        let next_output = Pipe(File::from(std::os::fd::OwnedFd::from(next_output)));
        let to = Box::new(next_output);
        threads.push(forwarder(hop, input, to, answering.delay_ns * i64::from(hop == 0), place));
        input = Box::new(Pipe(File::from(std::os::fd::OwnedFd::from(next_input))));
    }
    let delay_ns = if answering.hops == 0 { answering.delay_ns } else { 0 };
    threads.push(forwarder(answering.hops, input, output, delay_ns, place));
    Ok(threads)
}

fn forwarder(hop: u64, input: Box<dyn Input>, output: Box<dyn Output>, delay_ns: i64, place: PartnerPlace) -> Partner {
    Partner {
        name: format!("tardy-answer{hop}"),
        cpus: vec![place.cpu],
        policy: place.policy,
        priority: place.priority,
        body: Box::new(move |context| forward(&context, input, &*output, delay_ns)),
    }
}

/// Passes every number on, until the run is over or nothing can come any more.
fn forward(context: &PartnerContext, mut input: Box<dyn Input>, output: &dyn Output, delay_ns: i64) {
    let over_ns = context.schedule.end_ns.saturating_add(LOST_NS);
    loop {
        match input.read() {
            Reading::Number { number, .. } => {
                wait_busy(delay_ns);
                output.write(number);
            }
            Reading::Nothing if context.stop.load(Relaxed) || clock::monotonic_ns() > over_ns => return,
            Reading::Nothing => {}
            Reading::Closed => return,
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
    use crate::measure::cycle::Schedule;
    use crate::measure::waiter::Arrival;
    use archive::settings::Policy;
    use std::sync::atomic::AtomicBool;
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
        let place = PartnerPlace { cpu: 0, policy: Policy::Other, priority: 0 };
        let exchange = Arc::<Exchange>::default();
        let output = Box::new(ChannelOutput(near_output, |_| 1));
        let stimulating = Stimulating { output, exchange: exchange.clone() };
        let input = Box::new(ChannelInput(near_input));
        let awaiting = Awaiting { input, exchange: exchange.clone(), stretch: Stretch::RoundTrip };
        let mut station = stimulus::station_with(exchange, 0, place, Arc::new(stimulating), awaiting);
        let far: (Box<dyn Input>, Box<dyn Output>) =
            (Box::new(ChannelInput(far_input)), Box::new(ChannelOutput(far_output, copies)));
        station.partners.extend(answering_threads(far, answering, place).unwrap());
        let schedule = Schedule {
            interval_ns: 2 * MS,
            dither: None,
            first_due_ns: 0,
            count_from_ns: 0,
            end_ns: 2 * MS * periods,
            cycles_max: u64::MAX,
            limit_ns: i64::MAX,
            spike_threshold_ns: 0,
            traced: false,
        };
        let (schedule, stop) = (schedule.starting_at(clock::monotonic_ns()), Arc::new(AtomicBool::new(false)));
        let start = |partner: Partner| {
            let context = PartnerContext { schedule, stop: stop.clone() };
            std::thread::spawn(move || (partner.body)(context))
        };
        let threads: Vec<_> = station.partners.into_iter().map(start).collect();
        let mut latencies_ns = Vec::new();
        loop {
            match station.waiter.wait(0) {
                Arrival::Stimulus { given_ns, seen_ns, .. } => latencies_ns.push(seen_ns - given_ns),
                Arrival::Ended => break,
                other => panic!("{other:?}"),
            }
        }
        stop.store(true, Relaxed);
        drop((station.waiter, station.release));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        latencies_ns.sort_unstable();
        let (unanswered, stray) = (station.counts.unanswered.load(Relaxed), station.counts.stray.load(Relaxed));
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
        let counted = measure(40, Answering { hops: 0, delay_ns: 0 }, |number| 1 + u8::from(number == 3));
        assert_eq!((counted.unanswered, counted.stray), (0, 1));
    }

    #[test]
    fn a_lost_answer_is_no_signal_and_the_next_stimulus_has_its_own() {
        let counted = measure(1_000, Answering { hops: 0, delay_ns: 0 }, |number| u8::from(number != 2));
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
