//! What loads ask of the kernel without a library between, behind safe functions: the only unsafe code of this crate.

pub mod code;
pub mod counters;
pub mod mapping;
pub mod network;
pub mod process;
pub mod scheduling;
pub mod semaphore;
pub mod write_back;
