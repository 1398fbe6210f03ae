//! Safe functions for direct system calls of loads: the only unsafe code of this crate.

pub mod code;
pub mod counters;
pub mod mapping;
pub mod network;
pub mod process;
pub mod scheduling;
pub mod semaphore;
pub mod write_back;
