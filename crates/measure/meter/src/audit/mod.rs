//! Records what the threads of another program ask of the kernel: their system calls, page faults and signals, and when
//! they wait.
//!
//! [`recording`] is the trace instance, which only records these threads; [`proc_scan`] reads from /proc what the trace does
//! not contain: policies, memory, open files. The calls of a program that records them
//! itself come from [`crate::interception`]. Both are read by the main thread of a session and sent as files.

mod listed;
pub mod proc_scan;
pub mod recording;

use archive::audit::AuditedThread;
pub use recording::AuditRecording;

/// Lists the threads of the program at this moment: number, process and name.
pub type ThreadList = Box<dyn FnMut() -> Vec<AuditedThread>>;

/// Events recorded of each thread. Kernels and architectures lack some.
pub const EVENTS: &[(&str, &str)] = &[
    ("raw_syscalls", "sys_enter"),
    ("raw_syscalls", "sys_exit"),
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_process_exit"),
    ("exceptions", "page_fault_user"),
    ("exceptions", "page_fault_kernel"),
    ("signal", "signal_deliver"),
];
