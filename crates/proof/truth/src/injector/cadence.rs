//! The cycles of a real-time loop that is watched.

use crate::kernel::{name, now_ns, pin, prioritise, sleep_until};
use crate::terms::Terms;
use std::io;

/// Priority of the loop.
pub const PRIORITY: i32 = 80;
/// From one cycle to the next.
pub const INTERVAL_NS: i64 = 1_000_000;

pub struct Cadence {
    next_ns: i64,
}

impl Cadence {
    /// Makes the calling thread the loop.
    pub fn start(terms: &Terms) -> io::Result<Self> {
        name("truth-loop");
        pin(terms.cpu)?;
        prioritise(PRIORITY)?;
        Ok(Self { next_ns: now_ns() })
    }

    /// Sleeps until the next cycle. One that is over already is left out.
    pub fn next(&mut self) {
        self.next_ns = now_ns().max(self.next_ns + INTERVAL_NS);
        sleep_until(self.next_ns);
    }

    /// The same, and a cycle that should have begun already is made up for.
    pub fn next_without_skipping(&mut self) {
        self.next_ns += INTERVAL_NS;
        sleep_until(self.next_ns);
    }

    /// Cycles in which nothing happens.
    pub fn pass(&mut self, ns: i64) {
        let until_ns = now_ns() + ns;
        while now_ns() < until_ns {
            self.next();
        }
    }
}
