//! Measures on the target: one run from its settings to its last message.
//!
//! [`run`] is one run from the settings line to the last message, around a [`session`] that drains a source of samples:
//! the meter's own threads, or those that [`watch`] finds. [`methods`] are the kernel paths that its threads can
//! measure, and [`measure`] is the loop that nothing else may disturb. [`trace`] captures snapshots of spikes,
//! [`kernel_tracer`] runs the kernel's own tracers, [`load_reports`] reports on loads. [`journal`] restores the
//! machine. [`environment`] is the machine's fingerprint, [`facts`] are its settings, and [`apply`] changes them
//! permanently. [`counters`] reads the kernel's counters. [`guest`] is the user space of a virtual machine. [`kernel`]
//! contains thin wrappers of system calls and [`link`] the connection to the host. [`spool`] stores the stream while
//! the host is disconnected, and [`console`] answers if the only connection is a console. `compact` sorts with little
//! code. [`audit`] records what watched threads ask of the kernel, [`interception`] reads the calls that a program
//! records itself, and [`block_path`] records the way of block requests.
//!
//! Every reported problem has a code; [`problem_definitions`] lists them all.
//!
//! A module uses those below it, in this order:
//!
//! ```order
//! guest virtual_time console spool apply run
//! watch session facts
//! audit block_path
//! problem kernel_tracer trace counters methods measure
//! load_reports environment link interception
//! journal cadence gaps kernel codes compact
//! ```

#[macro_use]
mod codes;

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
pub mod spool;
pub mod trace;
pub mod virtual_time;
pub mod watch;

/// Every problem code of this crate, with meaning and fix.
pub fn problem_definitions() -> impl Iterator<Item = &'static archive::problem::Definition> {
    let lists = [
        problem::DEFINITIONS,
        methods::error::DEFINITIONS,
        kernel_tracer::refusal::DEFINITIONS,
        kernel_tracer::interference::DEFINITIONS,
        spool::problem::DEFINITIONS,
    ];
    lists.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn codes_of_problems_are_unique_and_of_one_form() {
        let unique: BTreeSet<&str> = super::problem_definitions().map(|definition| definition.code).collect();
        assert_eq!(unique.len(), super::problem_definitions().count());
        for definition in super::problem_definitions() {
            let form = |letter: char| letter.is_ascii_lowercase() || letter == '-' || letter == '.';
            assert!(definition.code.starts_with("meter.") && definition.code.chars().all(form), "{definition:?}");
            assert!(definition.meaning.ends_with('.'), "{definition:?}");
        }
    }
}
