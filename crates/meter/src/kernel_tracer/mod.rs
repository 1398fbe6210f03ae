//! The kernel's own tracers beside the events: those that record functions, those that look for a longest stretch, those
//! that measure.
//!
//! [`catalogue`] knows them by name, [`refusal`] says what a kernel lacks, [`recording`] arms the snapshotter's instances.
//! The others get instances of their own in [`setup`], and one thread, [`tracing`], that reads them: [`latency`] copies
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
