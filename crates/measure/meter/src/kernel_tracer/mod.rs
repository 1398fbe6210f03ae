//! The kernel's own tracers in addition to the events: those that record functions, those that find a longest stretch,
//! those that measure.
//!
//! [`catalogue`] lists them by name, [`refusal`] reports what a kernel lacks, [`recording`] arms the snapshotter's
//! instances. [`setup`] creates instances for the others, and one thread, [`tracing`], reads them: [`latency`] copies
//! the texts of latency tracers, [`source`] counts the records of measuring tracers into [`series`].

pub mod catalogue;
mod channel;
pub mod interference;
pub mod latency;
pub mod recording;
pub mod refusal;
mod series;
pub mod setup;
pub mod source;
pub mod tracing;
