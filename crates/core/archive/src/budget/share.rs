//! The shares of a budget, and what an item takes of each.

use crate::frame::Item;
use crate::message::Message;
use std::fmt;

/// The unit of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Share {
    Descriptions,
    Phases,
    ProgressReports,
    Seconds,
    Totals,
    Spikes,
    DroppedSpikes,
    LatencyTraces,
    KernelSeries,
    WatchedSeries,
    LoadReports,
    CounterSeconds,
    /// Of a log that the meter reads.
    CountedLines,
    Problems,
    Losses,
    /// Noise, gaps and unknown messages.
    DamagedStretches,
    DamagedBytes,
    Files,
    OpenFiles,
    FileBytes,
    StreamBytes,
    /// Of figures and texts that a host keeps in memory.
    HeldBytes,
    AfterTheEnd,
    /// Messages that only a host adds.
    MessagesOfTheHost,
}

/// More than a run may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    pub share: Share,
    pub most: u64,
}

impl Share {
    /// Messages and bytes of an item.
    pub(super) fn of(item: &Item) -> Vec<(Self, u64)> {
        match item {
            Item::Message(message) => Self::of_message(message),
            Item::Chunk { .. } => Vec::new(),
            Item::Garbage { bytes } => vec![(Self::DamagedStretches, 1), (Self::DamagedBytes, bytes.len() as u64)],
            Item::Unknown { .. } | Item::FramesLost { .. } => vec![(Self::DamagedStretches, 1)],
        }
    }

    fn of_message(message: &Message) -> Vec<(Self, u64)> {
        let count = |list: usize| list as u64;
        let share = match message {
            Message::Hello { .. } | Message::Environment(_) | Message::Effective(_) | Message::End { .. } => {
                (Self::Descriptions, 1)
            }
            Message::Phase { .. } => (Self::Phases, 1),
            Message::Progress { .. } => (Self::ProgressReports, 1),
            Message::Seconds(seconds) => (Self::Seconds, count(seconds.len()).max(1)),
            Message::Thread { .. } => (Self::Totals, 1),
            Message::Spike(_) => (Self::Spikes, 1),
            Message::SpikeDropped { .. } => (Self::DroppedSpikes, 1),
            Message::LatencyTrace(_) => (Self::LatencyTraces, 1),
            Message::KernelSeries(series) => (Self::KernelSeries, count(series.len()).max(1)),
            Message::Watched(series) => (Self::WatchedSeries, count(series.len()).max(1)),
            Message::Loads(loads) => (Self::LoadReports, count(loads.len()).max(1)),
            Message::Energy(sources) => (Self::LoadReports, count(sources.len()).max(1)),
            Message::Counters(seconds) => (Self::CounterSeconds, count(seconds.len()).max(1)),
            Message::OutputCounts(counts) => (Self::CountedLines, count(counts.lines.len()).max(1)),
            Message::Problem(_) => (Self::Problems, 1),
            Message::Loss(_) => (Self::Losses, 1),
            Message::FileBegin { .. } => (Self::Files, 1),
            Message::FileEnd { .. } => return Vec::new(),
            Message::PackedSeconds(_)
            | Message::Planned(_)
            | Message::Absences(_)
            | Message::StimulusBoard(_)
            | Message::Role(_) => (Self::MessagesOfTheHost, 1),
        };
        vec![share]
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.share, self.most) {
            (Share::FileBytes, 0) => write!(out, "a file that the settings do not ask for"),
            (share, 0) => write!(out, "{share}"),
            (_, most) => write!(out, "more than {most} {}", self.share),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Descriptions => "descriptions of the machine",
            Self::Phases => "phases",
            Self::ProgressReports => "progress reports",
            Self::Seconds => "records of seconds",
            Self::Totals => "totals of threads",
            Self::Spikes => "spikes",
            Self::DroppedSpikes => "dropped spikes",
            Self::LatencyTraces => "latency traces",
            Self::KernelSeries => "series of the kernel",
            Self::WatchedSeries => "watched series",
            Self::LoadReports => "load reports",
            Self::CounterSeconds => "records of counters",
            Self::CountedLines => "counted lines of a log",
            Self::Problems => "problems",
            Self::Losses => "losses",
            Self::DamagedStretches => "damaged stretches",
            Self::DamagedBytes => "damaged bytes",
            Self::Files => "files",
            Self::OpenFiles => "files at once",
            Self::FileBytes => "bytes of files",
            Self::StreamBytes => "bytes of messages",
            Self::HeldBytes => "bytes of figures and texts",
            Self::AfterTheEnd => "messages after its end",
            Self::MessagesOfTheHost => "messages that only a host adds",
        })
    }
}
