//! Deadline chains: from a stimulus through several threads to an end, by the wake-ups in a recording.
//!
//! [`declaration`] reads the TOML of a chain. [`recorded`] turns a recording into what each thread did, what woke it (`waker`) and what
//! had each CPU. `route` follows one wake-up back to the stage before it or to the stimulus, `links` connects these to instances,
//! `walk` tiles each instance with segments, and `findings` compares the instances stage by stage. [`account()`] does all of that;
//! [`discover`] proposes chains instead.
//!
//! Nothing here does I/O or reads a clock, and no events make it fail.

#![deny(clippy::disallowed_methods)]

mod account;
pub mod declaration;
pub mod discover;
pub mod event_name;
mod findings;
mod life;
mod links;
pub mod recorded;
mod route;
mod waker;
mod walk;

pub use account::account;
