//! The kernel's own tracers beside the events: those that record functions, those that look for a longest stretch, those
//! that measure.
//!
//! [`catalogue`] knows them by name, [`refusal`] says what a kernel lacks, [`recording`] arms the recorder's instances.

pub mod catalogue;
pub mod recording;
pub mod refusal;
