//! The clock by which a partner gives its stimuli.

use crate::kernel::clock;

/// The partner's clock.
pub trait Time {
    fn now_ns(&self) -> i64;

    fn sleep_until_ns(&self, instant_ns: i64);
}

/// CLOCK_MONOTONIC.
pub struct Monotonic;

impl Time for Monotonic {
    #[inline]
    fn now_ns(&self) -> i64 {
        clock::monotonic_ns()
    }

    #[inline]
    fn sleep_until_ns(&self, instant_ns: i64) {
        clock::sleep_until_ns(instant_ns);
    }
}
