//! Events of a run, for presenters: the only interface between running and presentation.

use archive::effective::EffectiveSettings;
use archive::environment::Environment;
use archive::frame::Item;
use archive::histogram::Histogram;
use archive::manifest::RunState;
use archive::message::{FileKind, LoadReport, Loss, LossKind, Message, Problem, RunPhase, ThreadProgress};
use archive::sample::Second;
use archive::spike::Spike;
use archive::watched::WatchedSeries;
use machines::MachineEvent;
use std::fmt;
use std::path::PathBuf;

/// Why the meter is asked to end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Requested,
    NewerStream,
    ArchiveNotWritten,
    Stuck,
    TooMuch,
    OthersEnded,
}

impl fmt::Display for StopReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Requested => "on request",
            Self::NewerStream => "it speaks a newer stream version",
            Self::ArchiveNotWritten => "the archive cannot be written",
            Self::Stuck => "it is stuck",
            Self::TooMuch => "it sent more than its run can",
            Self::OthersEnded => "the other machine has ended",
        })
    }
}

/// One event. Strings in it come from the target and are untrusted.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The archive directory exists; everything from here on is kept.
    Begun {
        directory: PathBuf,
        /// The machine's clock counts instructions.
        virtual_time: bool,
    },
    Phase(RunPhase),
    /// The meter has started.
    Greeted {
        pid: i32,
    },
    Environment(Box<Environment>),
    Effective(Box<EffectiveSettings>),
    Progress {
        threads: Vec<ThreadProgress>,
        snapshots: u32,
    },
    /// State of one thread so far; a later one replaces an earlier one. They become rarer during a run.
    Totals {
        thread: u32,
        /// Of the last sample.
        cpu: u32,
        histogram: Histogram,
        /// Samples later than the limit.
        over_limit: u64,
    },
    /// Samples of complete seconds.
    Seconds(Vec<Second>),
    /// Series of watched threads; a later event about a series replaces an earlier one.
    Watched(Vec<WatchedSeries>),
    Spike(Box<Spike>),
    /// A file of the archive starts, grows, or is complete.
    FileBegun {
        file: u32,
        kind: FileKind,
    },
    FileBytes {
        file: u32,
        offset: u64,
        bytes: Vec<u8>,
    },
    FileComplete {
        file: u32,
    },
    Loads(Vec<LoadReport>),
    Problem(Problem),
    Loss(Loss),
    /// A line that the meter, or a command it started, wrote on a target whose output is shown nowhere else.
    Said {
        line: String,
    },
    /// The connection to the target was lost or restored.
    Line(MachineEvent),
    /// The meter was asked to end early.
    Stopping(StopReason),
    /// The archive is complete, but the target could not be released.
    NotGivenBack(Problem),
    /// Settings that a dead meter left behind were restored; its output.
    Restored {
        lines: Vec<String>,
    },
    Archived {
        directory: PathBuf,
        state: RunState,
    },
}

impl Event {
    /// The event of an item of the meter's stream, if it should be shown.
    pub fn of(item: Item) -> Option<Self> {
        let loss = |kind: LossKind, count: u64, detail: String| Some(Self::Loss(Loss { kind, count, detail }));
        match item {
            Item::Message(message) => Self::of_message(message),
            Item::Chunk { file, offset, data } => Some(Self::FileBytes { file, offset, bytes: data }),
            Item::Unknown { why } => loss(LossKind::Messages, 1, why),
            Item::Garbage { bytes } => loss(LossKind::LineBytes, bytes.len() as u64, "not part of any frame".into()),
            Item::FramesLost { count } => loss(LossKind::Frames, u64::from(count), "their numbers are missing".into()),
        }
    }

    fn of_message(message: Message) -> Option<Self> {
        Some(match message {
            Message::Phase { phase, .. } => Self::Phase(phase),
            Message::Hello { pid, .. } => Self::Greeted { pid },
            Message::Seconds(seconds) => Self::Seconds(seconds),
            Message::Watched(series) => Self::Watched(series),
            Message::Environment(environment) => Self::Environment(environment),
            Message::Effective(effective) => Self::Effective(effective),
            Message::Progress { threads, snapshots } => Self::Progress { threads, snapshots },
            Message::Thread { thread, cpu, histogram, totals, .. } => {
                Self::Totals { thread, cpu, histogram, over_limit: totals.over_limit }
            }
            Message::Spike(spike) => Self::Spike(spike),
            Message::Loads(loads) => Self::Loads(loads),
            Message::Problem(problem) => Self::Problem(problem),
            Message::Loss(loss) => Self::Loss(loss),
            Message::FileBegin { file, kind } => Self::FileBegun { file, kind },
            Message::FileEnd { file, .. } => Self::FileComplete { file },
            Message::PackedSeconds(_)
            | Message::Planned(_)
            | Message::Counters(_)
            | Message::Energy(_)
            | Message::OutputCounts(_)
            | Message::StimulusBoard(_)
            | Message::Role(_)
            | Message::LatencyTrace(_)
            | Message::KernelSeries(_)
            | Message::SpikeDropped { .. }
            | Message::Absences(_)
            | Message::End { .. } => return None,
        })
    }
}
