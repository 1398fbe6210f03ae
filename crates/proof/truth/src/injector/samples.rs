//! Profilers that sample one CPU by timers of their own, far too often, for as long as an injection lasts. When each sample was
//! taken is read from them afterwards: where none was for a while, something else had the CPU.
//!
//! Next to nothing is sampled of a CPU without work, so an ordinary thread computes meanwhile.

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{name, now_ns, pin, prioritise, sleep_until, spin_until};
use crate::performance::Sampler;
use crate::terms::Terms;
use std::sync::mpsc::{Sender, channel};
use std::{io, thread};

/// Each is an event of its own, with a timer of its own.
const EVENTS: usize = 6;
/// The kernel allows no shorter one.
const PERIOD_NS: u64 = 10_000;
/// The kernel defers the sampling timers for as long as the samples before took; a longer pause has another cause.
const PAUSE_NS_MAX: i64 = 100_000;
/// The profilers are switched off in time, however busy the other CPU is.
const PRIORITY: i32 = 20;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    name("truth-samples");
    // The CPU that is to be late must not be the one that switches them off.
    pin(usize::from(terms.cpu == 0)).or_else(|_| pin(terms.cpu))?;
    let samplers = (0..EVENTS).map(|_| Sampler::open(terms.cpu, PERIOD_NS)).collect::<io::Result<Vec<_>>>()?;
    let profiled = profiled(terms.cpu);
    prioritise(PRIORITY)?;
    let length_ns = terms.length_ns;
    Ok(Box::new(move || {
        let begin_ns = now_ns();
        profiled.send(begin_ns + length_ns).map_err(io::Error::other)?;
        samplers.iter().try_for_each(Sampler::switch_on)?;
        sleep_until(begin_ns + length_ns);
        samplers.iter().try_for_each(Sampler::switch_off)?;
        let mut instants: Vec<i64> = samplers.iter().flat_map(Sampler::instants).collect();
        instants.sort_unstable();
        Ok(sampled(&instants))
    }))
}

/// An ordinary thread that computes until the instants that it is sent.
fn profiled(cpu: usize) -> Sender<i64> {
    let (until, asked) = channel();
    thread::spawn(move || {
        name("truth-profiled");
        if pin(cpu).is_ok() {
            while let Ok(until_ns) = asked.recv() {
                spin_until(until_ns);
            }
        }
    });
    until
}

/// The stretches in which samples followed each other.
fn sampled(instants: &[i64]) -> Vec<Stretch> {
    let together = instants.chunk_by(|before_ns, at_ns| at_ns - before_ns <= PAUSE_NS_MAX);
    let ends = together.filter_map(|chunk| Some((*chunk.first()?, *chunk.last()?)));
    ends.filter(|(begin_ns, end_ns)| begin_ns < end_ns)
        .map(|(begin_ns, end_ns)| Stretch::new(begin_ns, end_ns))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_pause_between_samples_belongs_to_something_else() {
        let instants = [0, 12_000, 90_000, 91_000, 500_000, 510_000, 900_000];
        assert_eq!(sampled(&instants), [Stretch::new(0, 91_000), Stretch::new(500_000, 510_000)]);
        assert_eq!(sampled(&[]), []);
    }
}
