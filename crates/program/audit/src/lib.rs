//! From what the threads of a program asked of the kernel to the habits that will cost them a deadline.
//!
//! [`read`] turns the recorded pages, or the calls that a program recorded itself, into [`activity`]: each thread's system
//! calls, faults and signals in order of time.
//! [`cycles`] finds where a thread's loop starts and ends, [`places`] what an address or an open file is,
//! [`naming`] names addresses, and [`rules`] looks for habits in the loop alone. [`report`] is the result.
//!
//! [`injection`] parses rules that delay or refuse calls.
//!
//! Nothing here reads a clock or a file, and no function fails because of what a target recorded.

#![deny(clippy::disallowed_methods)]

pub mod activity;
mod calls;
mod condense;
pub mod cycles;
mod decode;
pub mod frame;
pub mod injection;
pub mod library;
mod lost;
pub mod naming;
mod pages;
pub mod places;
pub mod read;
pub mod report;
pub mod rules;
mod stacks;
pub mod system_calls;
