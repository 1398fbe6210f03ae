//! Measures on the target: one run from its settings to its last message.
//!
//! [`run`] is one run from the settings line to the last message, around a [`session`] that drains a source of samples:
//! the meter's own threads, or those that [`watch`] finds. [`methods`] are the kernel paths that its threads can
//! measure, and [`measure`] is the loop that nothing else may disturb. [`trace`] captures snapshots of spikes,
//! [`kernel_tracer`] runs the kernel's own tracers, [`load_reports`] reports on loads. [`journal`] restores the
//! machine. [`environment`] is the machine's fingerprint, [`facts`] are its settings, and [`apply`] changes them
//! permanently. [`setup`] lets a user measure without root. [`counters`] reads the kernel's counters. [`guest`] is the user space of a virtual machine. [`kernel`]
//! contains thin wrappers of system calls and [`link`] the connection to the host. [`spool`] stores the stream while
//! the host is disconnected, and [`console`] answers if the only connection is a console. `compact` sorts with little
//! code. [`audit`] records what watched threads ask of the kernel, [`interception`] reads the calls that a program
//! records itself, and [`block_path`] records the way of block requests.
//!
//! A module uses those below it, in this order:
//!
//! ```order
//! guest virtual_time console spool apply setup run
//! watch session facts
//! audit block_path
//! problem kernel_tracer trace counters methods measure
//! load_reports environment link interception
//! journal cadence gaps kernel compact
//! ```

pub mod apply;
pub mod audit;
pub mod block_path;
pub mod cadence;
mod compact;
pub mod console;
pub mod counters;
pub mod environment;
pub mod facts;
pub mod gaps;
pub mod guest;
pub mod interception;
pub mod journal;
pub mod kernel;
pub mod kernel_tracer;
pub mod link;
pub mod load_reports;
pub mod measure;
pub mod methods;
pub mod problem;
pub mod run;
pub mod session;
pub mod setup;
pub mod spool;
pub mod trace;
pub mod virtual_time;
pub mod watch;
