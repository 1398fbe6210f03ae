//! Work that disturbs the measurement on purpose: built-in loads and the user's own commands.
//!
//! Every load is a child process of the meter, the *supervisor*: the meter's own executable started as `load NAME`. It
//! forks the workers, counts their progress in memory shared with the meter, and outlives nobody: when the pipe on its
//! standard input closes, because the meter stopped it or died, it kills all its descendants, removes what they left on
//! disk and ends. Loads never run with real-time priority, whatever the meter runs with.
//!
//! Loads inherit the CPU affinity of the thread that starts them: start them before pinning it.

mod alone;
mod builtin;
mod copy;
mod counters;
mod crew;
mod dentry;
mod draws;
mod exec;
mod family;
mod fault;
mod fork;
mod huge_page;
mod messaging;
mod munmap;
mod ordinary;
mod place;
mod pulse;
mod running;
mod spin;
mod supervisor;
mod udp;

pub use alone::run_child;
pub use builtin::{BuiltinLoad, builtin_names};
pub use running::RunningLoads;

/// Why a load could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("start a load called `{name}`: there is none; the built-in loads are {}", builtin::names_joined())]
    Unknown { name: String },
    #[error("start a load command: the command line is empty; write what the shell should run")]
    EmptyCommand,
    #[error("share memory with the load `{name}`")]
    Counters { name: String, source: std::io::Error },
    #[error("find a place for the files of the load `{name}`; set TMPDIR to a directory with room")]
    Place { name: String, source: std::io::Error },
    #[error("start the load `{name}` from {executable}")]
    Spawn { name: String, executable: String, source: std::io::Error },
}
