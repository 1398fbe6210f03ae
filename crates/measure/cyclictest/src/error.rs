//! Why there is no result, and the corresponding exit status.

use super::cpu_list::CpuListError;
use super::getopt::OptionError;
use super::output_file::OutputError;
use super::request::RequestError;
use super::smi::SmiError;
use archive::nearest::nearest_or;
use ftrace::tracefs::ForeignTracing;
use std::io;
use std::path::PathBuf;

/// A line for standard error; the process exits with [`Self::exit_status`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Option(#[from] OptionError),
    #[error("{0}")]
    Request(#[from] RequestError),
    #[error("-a: {0}")]
    Affinity(CpuListError),
    #[error("--mainaffinity: {0}")]
    MainAffinity(CpuListError),
    #[error(
        "{count} threads need priorities from {highest} to {lowest}, which do not all exist; choose -p from {count} to 99"
    )]
    Priorities { count: u32, highest: i64, lowest: i64 },
    #[error("traces are kept on CLOCK_MONOTONIC; leave out -c 1")]
    RealtimeTrace,
    #[error("there is no tracer {tracer:?}; {}", nearest_or(tracer, there.iter().map(String::as_str), &format!("this kernel has {}", there.join(", "))))]
    UnknownTracer { tracer: String, there: Vec<String> },

    #[error("SMI counter is not supported on this processor; leave out --smi")]
    NoSmiCounter,
    #[error("the allowed CPUs cannot be read: {0}")]
    AllowedCpus(io::Error),
    #[error("signals cannot be watched: {0}")]
    Signals(io::Error),
    #[error("memory cannot be locked: {0}; run as root, raise `ulimit -l`, or leave out -m")]
    MemoryLock(io::Error),
    #[error("no event descriptor: {0}")]
    EventDescriptor(io::Error),
    #[error("standard output: {0}")]
    Stdout(io::Error),
    #[error("--mainaffinity: {0}")]
    BindMain(io::Error),
    #[error("{0}")]
    Output(#[from] OutputError),
    #[error("{0} (--snapshot-dir)")]
    SnapshotDirectory(OutputError),
    #[error(
        "CPU {cpu} has no idle states to forbid ({directory} is missing: a virtual machine, idle=poll or no \
         CONFIG_CPU_IDLE); leave out --deepest-idle-state"
    )]
    NoIdleStates { cpu: u32, directory: String },
    #[error("{0}; run as root")]
    IdleState(String),
    #[error("{0}")]
    Journal(String),
    #[error("--tracemark: failed to {0}; run as root")]
    NoTracefs(String),
    #[error("--tracemark: {}: {source}; run as root", path.display())]
    Tracemark { path: PathBuf, source: io::Error },
    #[error("no tracing: {0}; run as root on a kernel with CONFIG_FTRACE")]
    NoTracing(String),
    #[error("another tool is tracing: {0}; stop it (trace-cmd reset), or use it with -b and --tracemark")]
    ForeignTracing(ForeignTracing),
    #[error(
        "this kernel has no tracer {tracer}: {config} is not set; leave the tracer out, the events are traced anyway"
    )]
    MissingTracer { tracer: String, config: &'static str },
    #[error(
        "this kernel does not run the tracer {tracer} in an instance ({source}): it needs {config} and \
         CONFIG_DYNAMIC_FTRACE; leave the tracer out, the events are traced anyway"
    )]
    RefusedTracer { tracer: String, config: &'static str, source: io::Error },
    #[error("no tracing: {0}")]
    Recorder(String),
    #[error("the recorder did not start: {0}")]
    Capturing(String),
    #[error("{0}")]
    Marker(String),
    #[error("a measuring thread cannot be started: {0}; choose a smaller -t")]
    ThreadStart(io::Error),
    #[error("thread {thread} {source}")]
    ThreadSetup { thread: u32, source: SetupError },
    #[error("a measuring thread died while it was set up")]
    ThreadDied,
}

impl Error {
    /// 2 if the command line asks for something that does not exist or is inconsistent, 3 if the machine cannot be
    /// measured as requested.
    pub fn exit_status(&self) -> i32 {
        match self {
            Self::Option(_)
            | Self::Request(_)
            | Self::Affinity(_)
            | Self::MainAffinity(_)
            | Self::Priorities { .. }
            | Self::RealtimeTrace
            | Self::UnknownTracer { .. } => 2,
            _ => 3,
        }
    }
}

/// Why a thread cannot measure as requested; the text follows the number of the thread.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("could not be pinned to CPU {cpu}: {source}; choose one that is online and in the cpuset of this shell")]
    Pin { cpu: u32, source: io::Error },
    #[error("got no POSIX timer: {0}; raise `ulimit -i`")]
    Timer(io::Error),
    #[error(
        "could not get its priority {priority}: {source}; run as root, raise `ulimit -r`, or setcap \
         cap_sys_nice,cap_ipc_lock+ep on it"
    )]
    Priority { priority: u8, source: io::Error },
    #[error("{0}")]
    Smi(#[from] SmiError),
    #[error("could not read its settings back: {0}")]
    ReadBack(io::Error),
}

/// Why a thread stopped measuring; the text follows the number of the thread.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    #[error("could not continue sleeping: {0}")]
    Sleep(io::Error),
    #[error("lost its timer")]
    NoTimer,
}
