//! Samples of a thread's stack and the files of its program in, stacks with names of functions out.
//!
//! [`perf_records`] reads the kernel's records, [`unwinding`] turns registers and a copy of the stack into addresses of code,
//! [`code_file`] finds the functions of addresses in an executable, [`function_names`] makes their symbols readable, and [`naming`] combines
//! them. The caller reads the files. This crate does no I/O and reads no clock, and no input makes it fail.

#![deny(clippy::disallowed_methods)]

pub mod code_file;
mod debug_file;
mod files;
pub mod function_names;
pub mod naming;
pub mod perf_records;
mod unwinding;

pub use files::Files;
pub use naming::Naming;
