//! Machines under test: files go there, a command runs there with a byte stream.
//!
//! A [`Target`] knows nothing of runs or of what the bytes mean. One module for each kind: [`local`] is this machine,
//! [`board`] one with a shell, [`labgrid`] one of a lab, [`qemu`] a virtual one, [`fake`] a script with its own clock for
//! tests.

// Stages of tests that other crates include name this crate as they do.
#[cfg(test)]
extern crate self as machines;

pub mod architecture;
pub mod board;
mod console;
pub mod fake;
pub mod flight_recorder;
pub mod labgrid;
pub mod local;
pub mod meter_places;
pub mod problem;
pub mod qemu;
mod scratch;
pub mod stop;
mod target;
pub mod target_file;

pub use problem::{Caveat, News};
pub use target::{Command, Exit, Output, Outside, Reason, RunningCommand, Target, TargetError};
