//! Whether `tardy` names causes that are known, because they were made.
//!
//! An injector makes a CPU late on purpose and writes down when. A run measures meanwhile; each of its spikes then either
//! overlaps an injection or does not, whatever anybody says of its cause. `verdicts` compares that with what `tardy
//! explain` says, and `table` counts.
//!
//! Injectors are in `injector/`, one file each, and are a program of their own, without libraries, for machines that have
//! nothing else. `experiments` lists what is injected where.

#![cfg(feature = "laboratory")]

pub mod document;
pub mod experiments;
mod host;
pub mod injection;
pub mod laboratory;
pub mod place;
pub mod stopper;
pub mod table;
pub mod verdicts;
