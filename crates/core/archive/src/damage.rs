//! What can be wrong with an archive itself, and what that means for its run.

use crate::problem::{Code, Definition, ProblemKind};
use crate::reader::SPIKES_MAX;
use std::fmt;

/// A part of an archive that is missing or damaged, or a reason why its run is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    ManifestUnreadable {
        error: String,
    },
    ManifestNewer {
        version: u32,
    },
    RecordingsUnreadable {
        file: &'static str,
        error: String,
    },
    RecordingsNewer {
        file: &'static str,
    },
    StreamUnreadable {
        error: String,
    },
    MessageUnknown {
        why: String,
    },
    BytesDamaged {
        bytes: usize,
    },
    /// More of the stream is damaged than intact, so the rest is not read.
    StreamAbandoned {
        bytes: u64,
    },
    FramesMissing {
        count: u64,
    },
    CutOff,
    /// Not a fault: its writer is alive.
    GoesOn,
    NoTotals,
    TraceMissing {
        spike: u32,
    },
    TracerTextMissing {
        number: u32,
    },
    /// The archive was made anonymous for others.
    Published,
    /// More spikes than a reader keeps at a time.
    SpikesLeftOut {
        count: u64,
    },
    /// How it failed was not recorded.
    RunFailed,
    MeterFailed,
    NoSamples,
    NothingWatched,
    /// A defect of the program that wrote it.
    WriterPanicked,
}

impl Damage {
    /// Whether the missing part may contain wake-ups; traces and files of recordings contain none.
    pub fn may_hold_wake_ups(code: &Code) -> bool {
        let without = [
            "archive.recordings-unreadable",
            "archive.recordings-newer",
            "archive.trace-missing",
            "archive.tracer-text-missing",
            "archive.spikes-left-out",
            "archive.manifest-newer",
        ];
        code.area() == "archive" && !without.contains(&code.as_str())
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ManifestUnreadable { error } => write!(out, "manifest.json: {error}"),
            Self::ManifestNewer { version } => write!(
                out,
                "manifest.json: written by a newer version (archive version {version}), some of it may be unknown here"
            ),
            Self::RecordingsUnreadable { file, error } => write!(out, "{file}: {error}"),
            Self::RecordingsNewer { file } => write!(out, "{file}: written by a newer version"),
            Self::StreamUnreadable { error } => write!(out, "stream.tardy: {error}"),
            Self::MessageUnknown { why } => write!(out, "stream.tardy: {why}"),
            Self::BytesDamaged { bytes } => write!(out, "stream.tardy: {bytes} bytes are damaged"),
            Self::StreamAbandoned { bytes } => {
                write!(out, "stream.tardy: more of it is damaged than not; what comes after {bytes} bytes is not read")
            }
            Self::FramesMissing { count } => write!(out, "stream.tardy: {count} frames are missing"),
            Self::CutOff => out.write_str(
                "stream.tardy: the run has no end; it was cut off, and the last totals are up to ten minutes old",
            ),
            Self::GoesOn => {
                out.write_str("stream.tardy: the run goes on, and the last totals are up to ten minutes old")
            }
            Self::NoTotals => out.write_str("stream.tardy: no thread left any totals"),
            Self::TraceMissing { spike } => write!(out, "spikes/{spike:04}/trace.dat: missing"),
            Self::TracerTextMissing { number } => write!(out, "tracer/{number:04}.txt: missing"),
            Self::Published => {
                out.write_str("published: it has no raw traces, and its explanations are those of who published it")
            }
            Self::SpikesLeftOut { count } => {
                write!(out, "stream.tardy: more than {SPIKES_MAX} spikes; {count} of them are left out")
            }
            Self::RunFailed => out.write_str("the run failed"),
            Self::MeterFailed => out.write_str("the meter could not measure"),
            Self::NoSamples => out.write_str("a measuring thread left no samples"),
            Self::NothingWatched => out.write_str("no watched thread woke up"),
            Self::WriterPanicked => out.write_str("a defect of tardy ended the run"),
        }
    }
}

impl ProblemKind for Damage {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::ManifestUnreadable { .. } => "archive.manifest-unreadable",
            Self::ManifestNewer { .. } => "archive.manifest-newer",
            Self::RecordingsUnreadable { .. } => "archive.recordings-unreadable",
            Self::RecordingsNewer { .. } => "archive.recordings-newer",
            Self::StreamUnreadable { .. } => "archive.stream-unreadable",
            Self::MessageUnknown { .. } => "archive.message-unknown",
            Self::BytesDamaged { .. } => "archive.bytes-damaged",
            Self::StreamAbandoned { .. } => "archive.stream-abandoned",
            Self::FramesMissing { .. } => "archive.frames-missing",
            Self::CutOff => "archive.cut-off",
            Self::GoesOn => "archive.goes-on",
            Self::NoTotals => "archive.no-totals",
            Self::TraceMissing { .. } => "archive.trace-missing",
            Self::TracerTextMissing { .. } => "archive.tracer-text-missing",
            Self::Published => "archive.published",
            Self::SpikesLeftOut { .. } => "archive.spikes-left-out",
            Self::RunFailed => "archive.run-failed",
            Self::MeterFailed => "archive.meter-failed",
            Self::NoSamples => "archive.no-samples",
            Self::NothingWatched => "archive.nothing-watched",
            Self::WriterPanicked => "archive.writer-defect",
        })
    }
}

const COPY_AGAIN: &str = "Copy the archive again from where it was made; what is left of it is shown meanwhile.";
const UPDATE: &str = "Open it with the version of tardy that wrote it, or a newer one.";

/// Every code of this crate.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "archive.manifest-unreadable",
        meaning: "`manifest.json` is missing or is no manifest: settings, target and end of the run are unknown.",
        fix: COPY_AGAIN,
    },
    Definition {
        code: "archive.manifest-newer",
        meaning: "The archive was written by a newer version; parts of it may be unknown to this one.",
        fix: UPDATE,
    },
    Definition {
        code: "archive.recordings-unreadable",
        meaning: "The list of flight recordings cannot be read, so recorded wake-ups are not shown.",
        fix: "Record them again with `tardy virtual record`.",
    },
    Definition {
        code: "archive.recordings-newer",
        meaning: "The list of flight recordings was written by a newer version.",
        fix: UPDATE,
    },
    Definition {
        code: "archive.stream-unreadable",
        meaning: "`stream.tardy` cannot be read: there are no samples.",
        fix: COPY_AGAIN,
    },
    Definition {
        code: "archive.message-unknown",
        meaning: "The stream holds a message that this version does not know.",
        fix: UPDATE,
    },
    Definition {
        code: "archive.bytes-damaged",
        meaning: "Bytes of the stream fail their checksum. Everything before and behind them is used.",
        fix: COPY_AGAIN,
    },
    Definition {
        code: "archive.stream-abandoned",
        meaning: "More bytes of the stream are damaged than sound, so it was not read to its end.",
        fix: COPY_AGAIN,
    },
    Definition {
        code: "archive.frames-missing",
        meaning: "The numbers of the frames leave some out: they were lost on the way to the archive.",
        fix: "Look for what disturbed the line to the target, and run again.",
    },
    Definition {
        code: "archive.cut-off",
        meaning: "The run has no end: host, program or disk stopped while it was written. The last totals may be ten minutes old.",
        fix: "`tardy collect` fetches the rest from a board that went on by itself; otherwise run again.",
    },
    Definition {
        code: "archive.goes-on",
        meaning: "A program is still writing this archive.",
        fix: "Wait for the end of the run to see all of it.",
    },
    Definition {
        code: "archive.no-totals",
        meaning: "No measuring thread left any totals: nothing was measured, or what was measured is lost.",
        fix: "The problems beside this one say why; run again.",
    },
    Definition {
        code: "archive.trace-missing",
        meaning: "The trace of a late wake-up is not in the archive, so it cannot be explained.",
        fix: COPY_AGAIN,
    },
    Definition {
        code: "archive.tracer-text-missing",
        meaning: "The text of a stretch that the kernel's tracer kept is not in the archive.",
        fix: COPY_AGAIN,
    },
    Definition {
        code: "archive.published",
        meaning: "The archive was made anonymous for others with `tardy publish`: raw traces and texts of the target were left out.",
        fix: "Ask who published it for what is missing; figures and explanations are there.",
    },
    Definition {
        code: "archive.spikes-left-out",
        meaning: "The stream holds more late wake-ups at a time than are shown and explained. The histograms count all of them.",
        fix: "Keep fewer: `--snapshots` of `tardy run`.",
    },
    Definition {
        code: "archive.run-failed",
        meaning: "The run failed, and its archive does not hold how.",
        fix: "Run again.",
    },
    Definition {
        code: "archive.meter-failed",
        meaning: "The meter ended without having measured, and gave no reason.",
        fix: "Run again; if it repeats, report it with the archive.",
    },
    Definition {
        code: "archive.no-samples",
        meaning: "At least one measuring thread woke up not once.",
        fix: "Measure for longer than the interval, and look for what kept the CPU.",
    },
    Definition {
        code: "archive.nothing-watched",
        meaning: "The threads to watch were found, and none of them woke up.",
        fix: "Watch for longer, or name the threads that work.",
    },
    Definition {
        code: "archive.writer-defect",
        meaning: "tardy panicked while it wrote the archive. What was written before is shown.",
        fix: "Please report the line that tardy printed, and run again.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_defined() {
        let error = String::new;
        let all = [
            Damage::ManifestUnreadable { error: error() },
            Damage::ManifestNewer { version: 9 },
            Damage::RecordingsUnreadable { file: "f", error: error() },
            Damage::RecordingsNewer { file: "f" },
            Damage::StreamUnreadable { error: error() },
            Damage::MessageUnknown { why: error() },
            Damage::BytesDamaged { bytes: 1 },
            Damage::StreamAbandoned { bytes: 1 },
            Damage::FramesMissing { count: 1 },
            Damage::CutOff,
            Damage::GoesOn,
            Damage::NoTotals,
            Damage::TraceMissing { spike: 1 },
            Damage::TracerTextMissing { number: 1 },
            Damage::Published,
            Damage::SpikesLeftOut { count: 1 },
            Damage::RunFailed,
            Damage::MeterFailed,
            Damage::NoSamples,
            Damage::NothingWatched,
            Damage::WriterPanicked,
        ];
        let codes: Vec<Code> = all.iter().map(ProblemKind::code).collect();
        let defined: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.code).collect();
        assert_eq!(codes.iter().map(Code::as_str).collect::<Vec<_>>(), defined);
    }
}
