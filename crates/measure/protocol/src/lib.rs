//! Protocols between the host and a machine.
//!
//! The messages of a run travel in the frames of [`archive::frame`], which are also the format on disk. This crate
//! contains what exists only on the connection: [`relay`] forwards frames without decoding them, [`console`] carries
//! questions and answers on a line that a kernel also prints to, and [`guest`] defines the messages between a virtual
//! machine and its host. [`latmon`] is what an external board speaks that gives stimuli.

#![deny(clippy::disallowed_methods)]

pub mod console;
pub mod guest;
pub mod latmon;
pub mod relay;
