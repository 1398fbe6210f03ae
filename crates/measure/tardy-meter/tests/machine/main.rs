//! The meter as a process on a real machine: its measurements, and what it leaves behind.

mod faults;
mod interference;
mod interrupted;
mod measuring;
mod methods;
mod originals;
mod process;
mod responses;
mod restoring;
mod tracers;
