//! Why tracing could not be set up or read.

use crate::journal::JournalError;
use crate::journal::trace_leftovers::AppendError;
use ftrace::tracefs::TracefsError;
use std::io;
use std::path::PathBuf;
use wakeups::thread_events::EventLack;

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("failed to {0}")]
    Tracefs(#[from] TracefsError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("failed to write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("failed to open {path}: {source}")]
    Open { path: PathBuf, source: io::Error },
    #[error("failed to write the marker: {0}")]
    Marker(io::Error),
    #[error("failed to read the text of {tracer}: {source}")]
    Text { tracer: &'static str, source: io::Error },
    #[error("failed to start a thread: {0}")]
    Thread(io::Error),
    #[error("its thread died")]
    ThreadDied,
    #[error("the kernel kept swapping the buffers of CPU {cpu} while they were read")]
    Swapping { cpu: u32 },
    #[error("the kernel has no trace instances (CONFIG_TRACING); use --trace off")]
    NoInstances,
    #[error("the kernel has no trace clock `mono` (Linux 4.2 or later has it); use --trace off")]
    NoMonotonicClock,
    #[error("the kernel cannot swap its trace buffers (CONFIG_TRACER_SNAPSHOT is not set); use --trace flip")]
    NoSnapshots,
    #[error(
        "the kernel cannot take snapshots of maxima (needs CONFIG_TRACER_SNAPSHOT and CONFIG_HIST_TRIGGERS); use --trace flip"
    )]
    NoMaxima,
    #[error("{0}; the kernel needs CONFIG_SYNTH_EVENTS to find maxima of other threads, use --trace trigger or flip")]
    NoSyntheticEvents(AppendError),
    #[error("failed to read /proc/kallsyms: {0}")]
    Symbols(io::Error),
    #[error("failed to find hrtimer_wakeup in /proc/kallsyms; as root: echo 1 > /proc/sys/kernel/kptr_restrict")]
    HiddenSymbols,
    #[error("failed to {0}; as root: echo 1 > /proc/sys/kernel/kptr_restrict")]
    TimerFilter(TracefsError),
    #[error("{0}")]
    Events(#[from] EventLack),
}
