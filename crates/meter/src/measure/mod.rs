//! The measurement: one thread per CPU that sleeps, looks at the clock and counts, and the books it counts into.
//!
//! The measuring thread is the only writer of its books; everybody else may read them at any time. It makes one system
//! call a cycle with a timer (the sleep), allocates nothing, takes no lock and calculates in integers only. What it waits for
//! is a [`waiter`], which a method gives it; a [`partner`] is a thread that works for it.

pub mod books;
pub mod cycle;
pub mod dither;
pub mod partner;
pub mod ring;
pub mod start_instant;
pub mod thread;
pub mod waiter;
pub mod worst;
