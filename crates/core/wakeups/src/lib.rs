//! Wake-ups of the threads of any program, from the kernel's events: while they are recorded, and from a recording.
//!
//! [`thread_events`] reads the few events that concern a wake-up, [`wakeups`] turns these into samples, [`series`] counts the samples
//! of each thread, and [`followed`] combines them; [`chain_watch`] follows chains of them; [`recent`] remembers the worst of the last seconds, and [`stretches`] divide a long run. [`stretch`] reads what a latency tracer of the kernel found by itself.

#![deny(clippy::disallowed_methods)]

pub mod by_tid;
pub mod chain_watch;
pub mod followed;
pub mod pattern;
pub mod recent;
pub mod series;
pub mod stretch;
pub mod stretches;
pub mod thread_events;
pub mod timer_functions;
pub mod wakeups;
pub mod worst;
