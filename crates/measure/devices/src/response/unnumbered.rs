//! Wires that carry no numbers: an edge is the answer to the stimulus given last, and a second one is a stray answer.

use super::{Input, Output, Reading};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering::Relaxed};

/// So often a wait for an edge ends to see whether the run is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Answer on a wire without numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// When the kernel saw it, in ns of CLOCK_MONOTONIC, where it takes that down.
    Seen { at_ns: Option<i64> },
    /// The wait ended without one.
    Nothing,
    /// Nothing will come any more.
    Closed,
}

pub trait Edges: Send {
    fn wait(&mut self) -> Edge;
}

pub trait Pulses: Send + Sync {
    /// Gives an edge; the byte is for wires that can carry it beside the edge.
    fn pulse(&self, number: u8);
}

/// The stimulus given last.
#[derive(Debug, Default)]
struct Sent {
    number: AtomicU8,
    /// When, in ns of CLOCK_MONOTONIC.
    at_ns: AtomicI64,
}

struct NumberedInput<E> {
    edges: E,
    /// `None`: the other machine gives the stimuli, and they are counted.
    sent: Option<Arc<Sent>>,
    counted: u8,
}

impl<E: Edges> Input for NumberedInput<E> {
    #[inline]
    fn read(&mut self) -> Reading {
        let at_ns = match self.edges.wait() {
            Edge::Seen { at_ns } => at_ns,
            Edge::Nothing => return Reading::Nothing,
            Edge::Closed => return Reading::Closed,
        };
        let number = match &self.sent {
            None => {
                self.counted = self.counted.wrapping_add(1);
                self.counted
            }
            Some(sent) => {
                let number = sent.number.load(Relaxed);
                // An edge from before the stimulus answers an earlier one.
                let early = at_ns.is_some_and(|at_ns| at_ns < sent.at_ns.load(Relaxed));
                number.wrapping_sub(u8::from(early))
            }
        };
        Reading::Number { number, received_ns: at_ns }
    }
}

struct NumberedOutput<P> {
    pulses: P,
    sent: Arc<Sent>,
}

impl<P: Pulses> Output for NumberedOutput<P> {
    fn write(&self, number: u8) {
        self.sent.at_ns.store(meter::kernel::clock::monotonic_ns(), Relaxed);
        self.sent.number.store(number, Relaxed);
        self.pulses.pulse(number);
    }
}

/// Both ends of the wire as the machine has them that gives the stimulus.
pub fn stimulating(edges: impl Edges + 'static, pulses: impl Pulses + 'static) -> (Box<dyn Input>, Box<dyn Output>) {
    let sent = Arc::<Sent>::default();
    let input = NumberedInput { edges, sent: Some(sent.clone()), counted: 0 };
    (Box::new(input), Box::new(NumberedOutput { pulses, sent }))
}

/// The same on the machine that answers.
pub fn answering(edges: impl Edges + 'static, pulses: impl Pulses + 'static) -> (Box<dyn Input>, Box<dyn Output>) {
    let input = NumberedInput { edges, sent: None, counted: 0 };
    (Box::new(input), Box::new(NumberedOutput { pulses, sent: Arc::default() }))
}

/// Waits until a device can be read, for as long as [`Edge::Nothing`] allows; `None`: it can.
#[inline]
pub fn readable(device: impl AsFd) -> Option<Edge> {
    let mut waiting = [PollFd::new(&device, PollFlags::IN)];
    match poll(&mut waiting, Some(&LOOK)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Some(Edge::Nothing),
        Ok(_) => None,
        Err(_) => Some(Edge::Closed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meter::kernel::clock;
    use std::sync::mpsc::{Receiver, Sender, channel};

    struct Wire(Receiver<Option<i64>>);

    impl Edges for Wire {
        fn wait(&mut self) -> Edge {
            self.0.recv().map_or(Edge::Closed, |at_ns| Edge::Seen { at_ns })
        }
    }

    struct Far(std::sync::Mutex<Vec<u8>>);

    impl Pulses for Arc<Far> {
        fn pulse(&self, number: u8) {
            self.0.lock().unwrap().push(number);
        }
    }

    fn wire() -> (Sender<Option<i64>>, Wire, Arc<Far>) {
        let (edges, wire) = channel();
        (edges, Wire(wire), Arc::new(Far(Vec::new().into())))
    }

    fn number(reading: Reading) -> Option<u8> {
        match reading {
            Reading::Number { number, .. } => Some(number),
            Reading::Nothing | Reading::Closed => None,
        }
    }

    #[test]
    fn an_edge_answers_the_stimulus_given_last_unless_it_is_older() {
        let (edges, wire, far) = wire();
        let (mut input, output) = stimulating(wire, far.clone());
        output.write(7);
        edges.send(None).unwrap();
        assert_eq!(number(input.read()), Some(7));
        let before_ns = clock::monotonic_ns();
        output.write(8);
        edges.send(Some(before_ns - 1)).unwrap();
        assert_eq!(number(input.read()), Some(7), "late for 7, and no answer to 8");
        edges.send(Some(clock::monotonic_ns())).unwrap();
        assert_eq!(number(input.read()), Some(8));
        assert_eq!(*far.0.lock().unwrap(), [7, 8]);
        drop(edges);
        assert_eq!(input.read(), Reading::Closed);
    }

    #[test]
    fn stimuli_of_another_machine_are_counted() {
        let (edges, wire, far) = wire();
        let (mut input, _) = answering(wire, far);
        edges.send(None).unwrap();
        edges.send(Some(5)).unwrap();
        assert_eq!((number(input.read()), number(input.read())), (Some(1), Some(2)));
    }
}
