//! Machines under test: copies files to them and runs commands there over a byte stream.
//!
//! [`KnownTarget::find`] turns the name of a target into a value, which knows its kind and opens it. A [`Target`] knows
//! nothing about runs or the meaning of the bytes, and nothing about the backends that implement it: their errors are
//! [`Reason`]s, with their codes beside them. There is one module per kind: [`local`] is this
//! machine, [`board`] one with a shell, [`labgrid`] one of a lab, [`qemu`] a virtual one, [`fake`] a script with its
//! own clock for tests.

pub mod architecture;
pub mod board;
mod boot_words;
mod carried_meters;
pub mod caveat;
mod console;
pub mod fake;
pub mod flight_recorder;
pub mod known_target;
pub mod labgrid;
pub mod library;
pub mod local;
pub mod machine_event;
pub mod meter_places;
pub mod qemu;
pub mod scratch;
pub mod stop;
pub mod target;
pub mod target_file;
mod target_syntax;

pub use boot_words::BootWords;
pub use caveat::Caveat;
pub use known_target::KnownTarget;
pub use machine_event::MachineEvent;
pub use target::{Command, Exit, Output, Outside, Reason, RunningCommand, Target, TargetError};
