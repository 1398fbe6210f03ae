//! Work that deliberately disturbs the measurement: built-in loads, programs of the target, and the user's commands.
//!
//! Every load is a child process of the meter, the *supervisor*: the meter's own executable started as `load NAME`. It
//! forks the workers and counts their progress in memory shared with the meter. When the pipe on its standard input
//! closes, because the meter stopped it or died, it kills all its descendants, removes their files and exits. Loads
//! never run with real-time priority, whatever the meter runs with.
//!
//! Loads inherit the CPU affinity of the thread that starts them: start them before pinning it.

#![deny(unsafe_code)]

mod builtin;
mod bulk;
mod cache;
mod copy;
mod dentry;
mod draws;
mod exec;
mod fault;
mod flock;
mod fork;
mod huge_page;
mod icache;
#[allow(unsafe_code)]
mod kernel;
mod messaging;
mod munmap;
mod ordinary;
mod ping;
mod pipe;
mod place;
mod printk;
pub mod problem;
mod process_tree;
mod program;
mod running;
mod semaphore;
mod spin;
mod stall;
mod subcommand;
mod supervisor;
pub mod task_stat;
mod timer;
mod tlb;
mod udp;
mod walk;
mod workers;

use archive::settings::{LoadRequest, SettingChange};

pub use place::free_bytes;
pub use problem::LoadError;
pub use running::{Report, RunningLoads, check};
pub use subcommand::run_child;

/// Settings that a run must change on the machine for its loads to be effective.
pub fn settings_of(requests: &[LoadRequest]) -> Vec<SettingChange> {
    let asked = requests.iter().any(|request| matches!(request, LoadRequest::Builtin { name, .. } if name == "printk"));
    if !asked {
        return Vec::new();
    }
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok();
    printk::settings(&read("printk").unwrap_or_default(), read("printk_devkmsg").as_deref())
}
