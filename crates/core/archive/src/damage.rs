//! Damage of an archive itself, and its consequences for the run.

use crate::problem::{Code, Problem};
use thiserror::Error;

/// A part of an archive that is missing or damaged, or a reason why its run is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum Damage {
    #[error("manifest.json: {error}")]
    #[problem(
        code = "archive.manifest-unreadable",
        meaning = "`manifest.json` is missing or is not a manifest: settings, target and end of the run are unknown.",
        fix = COPY_AGAIN
    )]
    ManifestUnreadable { error: String },
    #[error("manifest.json: written by a newer version (archive version {version}), some of it may be unknown here")]
    #[problem(
        code = "archive.manifest-newer",
        meaning = "The archive was written by a newer version; parts of it may be unknown to this one.",
        fix = UPDATE
    )]
    ManifestNewer { version: u32 },
    #[error("{file}: {error}")]
    #[problem(
        code = "archive.recordings-unreadable",
        meaning = "The list of flight recordings cannot be read, so recorded wake-ups are not shown.",
        fix = "record them again with `tardy virtual record`"
    )]
    RecordingsUnreadable { file: &'static str, error: String },
    #[error("{file}: written by a newer version")]
    #[problem(
        code = "archive.recordings-newer",
        meaning = "The list of flight recordings was written by a newer version.",
        fix = UPDATE
    )]
    RecordingsNewer { file: &'static str },
    #[error("stream.tardy: {error}")]
    #[problem(
        code = "archive.stream-unreadable",
        meaning = "`stream.tardy` cannot be read: there are no samples.",
        fix = COPY_AGAIN
    )]
    StreamUnreadable { error: String },
    #[error("stream.tardy: {why}")]
    #[problem(
        code = "archive.message-unknown",
        meaning = "The stream holds a message that this version does not know.",
        fix = UPDATE
    )]
    MessageUnknown { why: String },
    #[error("stream.tardy: {bytes} bytes are damaged")]
    #[problem(
        code = "archive.bytes-damaged",
        meaning = "Bytes of the stream fail their checksum. Everything before and behind them is used.",
        fix = COPY_AGAIN
    )]
    BytesDamaged { bytes: usize },
    /// More of the stream is damaged than intact, so the rest is not read.
    #[error("stream.tardy: mostly corrupt; reading stopped at byte {bytes}")]
    #[problem(
        code = "archive.stream-abandoned",
        meaning = "More bytes of the stream are damaged than sound, so it was not read to its end.",
        fix = COPY_AGAIN
    )]
    StreamAbandoned { bytes: u64 },
    #[error("stream.tardy: {count} frames are missing")]
    #[problem(
        code = "archive.frames-missing",
        meaning = "The numbers of the frames leave some out: they were lost on the way to the archive.",
        fix = "look for what disturbed the line to the target, and run again"
    )]
    FramesMissing { count: u64 },
    #[error("stream.tardy: the run has no end; it was cut off, and the last totals are up to ten minutes old")]
    #[problem(
        code = "archive.cut-off",
        meaning = "The run has no end: host, program or disk stopped while it was written. The last totals may be ten \
                   minutes old.",
        fix = "`tardy target collect` fetches the rest from a board that kept measuring; otherwise run again"
    )]
    CutOff,
    /// Not a fault: its writer is alive.
    #[error("stream.tardy: the run is still active; its last totals are up to ten minutes old")]
    #[problem(
        code = "archive.goes-on",
        meaning = "A program is still writing this archive.",
        fix = "wait for the end of the run to see all of it"
    )]
    GoesOn,
    #[error("stream.tardy: no thread left any totals")]
    #[problem(
        code = "archive.no-totals",
        meaning = "No measuring thread left any totals: nothing was measured, or what was measured is lost.",
        fix = "the problems beside this one say why; run again"
    )]
    NoTotals,
    #[error("spikes/{spike:04}/trace.dat: missing")]
    #[problem(
        code = "archive.trace-missing",
        meaning = "The trace of a late wake-up is not in the archive, so it cannot be explained.",
        fix = COPY_AGAIN
    )]
    TraceMissing { spike: u32 },
    #[error("tracer/{number:04}.txt: missing")]
    #[problem(
        code = "archive.tracer-text-missing",
        meaning = "The text of a stretch that the kernel's tracer kept is not in the archive.",
        fix = COPY_AGAIN
    )]
    TracerTextMissing { number: u32 },
    /// The archive was made anonymous for others.
    #[error("published: raw traces removed; explanations come from the publisher")]
    #[problem(
        code = "archive.published",
        meaning = "The archive was made anonymous for others with `tardy lab publish`: raw traces and texts of the target \
                   were left out.",
        fix = "ask who published it for what is missing; figures and explanations are there"
    )]
    Published,
    /// More spikes than a reader keeps at a time.
    #[error("stream.tardy: {count} smaller spikes are left out")]
    #[problem(
        code = "archive.spikes-left-out",
        meaning = "The stream holds more late wake-ups than are shown and explained; the worst ones are. The histograms \
                   count all of them.",
        fix = "keep fewer: `--snapshots` of `tardy run`"
    )]
    SpikesLeftOut { count: u64 },
    /// Records beside the figures, of which a reader keeps a limited number.
    #[error("stream.tardy: {count} more {part}, which are left out")]
    #[problem(
        code = "archive.records-left-out",
        meaning = "The stream holds more records of one kind than are shown. The figures count all wake-ups.",
        fix = "look for what made the target repeat itself; the first ones are shown"
    )]
    RecordsLeftOut { part: String, count: u64 },
    /// Figures of which a reader keeps a limited number.
    #[error("stream.tardy: {count} more {part}, which are left out")]
    #[problem(
        code = "archive.figures-left-out",
        meaning = "The stream holds more figures than a run with its settings has, so the figures shown are not all.",
        fix = COPY_AGAIN
    )]
    FiguresLeftOut { part: String, count: u64 },
    /// How it failed was not recorded.
    #[error("the run failed")]
    #[problem(
        code = "archive.run-failed",
        meaning = "The run failed; the archive does not record why.",
        fix = "run again"
    )]
    RunFailed,
    #[error("the meter could not measure")]
    #[problem(
        code = "archive.meter-failed",
        meaning = "The meter ended without having measured, and gave no reason.",
        fix = "run again; if it repeats, report it with the archive"
    )]
    MeterFailed,
    #[error("a latency tracer keeps the longest stretch, and no samples")]
    #[problem(
        code = "archive.one-stretch",
        meaning = "The text of a latency tracer has one stretch: it shows no distribution, and judges no limit.",
        fix = ""
    )]
    OneStretch,
    #[error("a measuring thread left no samples")]
    #[problem(
        code = "archive.no-samples",
        meaning = "At least one measuring thread never woke up.",
        fix = "measure for longer than the interval, and look for what kept the CPU"
    )]
    NoSamples,
    #[error("no watched thread woke up")]
    #[problem(
        code = "archive.nothing-watched",
        meaning = "The threads to watch were found, and none of them woke up.",
        fix = "watch for longer, or name the threads that work"
    )]
    NothingWatched,
    /// A defect of the program that wrote it.
    #[error("a defect of tardy ended the run")]
    #[problem(
        code = "archive.writer-defect",
        meaning = "tardy panicked while it wrote the archive. The data written before is shown.",
        fix = "",
        documented_fix = "please report the line that tardy printed, and run again"
    )]
    WriterPanicked,
}

impl Damage {
    /// Whether the missing part may contain wake-ups; traces and files of recordings contain none.
    pub fn may_hold_wake_ups(code: &Code) -> bool {
        let without = [
            Self::RECORDINGS_UNREADABLE,
            Self::RECORDINGS_NEWER,
            Self::TRACE_MISSING,
            Self::TRACER_TEXT_MISSING,
            Self::SPIKES_LEFT_OUT,
            Self::RECORDS_LEFT_OUT,
            Self::MANIFEST_NEWER,
        ];
        code.area() == "archive" && !without.iter().any(|damage| *code == damage.code)
    }
}

const COPY_AGAIN: &str = "copy the archive again from the machine that made it; tardy shows the readable part";
const UPDATE: &str = "open it with the version of tardy that wrote it, or a newer one";
