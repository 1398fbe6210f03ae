//! The measurement: one thread per CPU that sleeps, reads the clock and counts, and its counters.
//!
//! The measuring thread is the only writer of its counters; others may read them at any time. With a timer it makes one
//! system call per cycle (the sleep), allocates nothing, takes no lock and only uses integers. A [`waiter`], provided
//! by a method, is what it waits for; a [`partner`] is a thread that works for it.

pub mod cycle;
pub mod dither;
pub mod loss_counter;
pub mod partner;
pub mod ring;
pub mod schedule;
pub mod start_instant;
pub mod thread;
pub mod thread_record;
pub mod waiter;
