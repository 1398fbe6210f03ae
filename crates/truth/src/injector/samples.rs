//! Profilers that sample one CPU by timers of their own, far too often, for as long as an injection lasts.

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{name, now_ns, pin, sleep_until};
use crate::performance::Sampler;
use crate::terms::Terms;
use std::io;

/// Each is an event of its own, with a timer of its own.
const EVENTS: usize = 4;
/// The kernel allows no shorter one.
const PERIOD_NS: u64 = 10_000;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    name("truth-samples");
    // The CPU that is to be late must not be the one that switches them off.
    pin(usize::from(terms.cpu == 0)).or_else(|_| pin(terms.cpu))?;
    let samplers = (0..EVENTS).map(|_| Sampler::open(terms.cpu, PERIOD_NS)).collect::<io::Result<Vec<_>>>()?;
    let length_ns = terms.length_ns;
    Ok(Box::new(move || {
        let begin_ns = now_ns();
        samplers.iter().try_for_each(Sampler::switch_on)?;
        sleep_until(begin_ns + length_ns);
        samplers.iter().try_for_each(Sampler::switch_off)?;
        Ok(vec![Stretch::new(begin_ns, now_ns())])
    }))
}
