//! Work that disturbs the measurement on purpose: built-in loads, programs of the machine's, and the user's own commands.
//!
//! Every load is a child process of the meter, the *supervisor*: the meter's own executable started as `load NAME`. It
//! forks the workers, counts their progress in memory shared with the meter, and outlives nobody: when the pipe on its
//! standard input closes, because the meter stopped it or died, it kills all its descendants, removes what they left on
//! disk and ends. Loads never run with real-time priority, whatever the meter runs with.
//!
//! Loads inherit the CPU affinity of the thread that starts them: start them before pinning it.

mod alone;
mod builtin;
mod bulk;
mod cache;
mod copy;
mod counters;
mod crew;
mod dentry;
mod draws;
mod exec;
mod family;
mod fault;
mod flock;
mod fork;
mod huge_page;
mod icache;
mod messaging;
mod munmap;
mod ordinary;
mod ping;
mod pipe;
mod place;
mod printk;
mod program;
mod pulse;
mod running;
mod semaphore;
mod spin;
mod supervisor;
pub mod task_stat;
mod timer;
mod tlb;
mod udp;
mod walk;

use archive::settings::{LoadRequest, SettingChange};

pub use alone::run_child;
pub use place::free_bytes;
pub use running::{RunningLoads, check};

/// What a run has to change on the machine so that its loads do what they are for.
pub fn settings_of(requests: &[LoadRequest]) -> Vec<SettingChange> {
    let asked = requests.iter().any(|request| matches!(request, LoadRequest::Builtin { name, .. } if name == "printk"));
    if !asked {
        return Vec::new();
    }
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok();
    printk::settings(&read("printk").unwrap_or_default(), read("printk_devkmsg").as_deref())
}

/// Why a load could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("start a load called `{name}`: there is none; the built-in loads are {}", builtin::names_joined())]
    Unknown { name: String },
    #[error("start the load `{name}`: this machine has no program `{program}`; {fix}")]
    NoProgram { name: String, program: &'static str, fix: &'static str },
    #[error("start the load `{name}`: {why}")]
    CannotRun { name: String, why: String },
    #[error("start a load command: the command line is empty; write what the shell should run")]
    EmptyCommand,
    #[error("share memory with the load `{name}`")]
    Counters { name: String, source: std::io::Error },
    #[error("find a place for the files of the load `{name}`; set TMPDIR to a directory with room")]
    Place { name: String, source: std::io::Error },
    #[error("start the load `{name}` from {executable}")]
    Spawn { name: String, executable: String, source: std::io::Error },
}
