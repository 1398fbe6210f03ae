//! Problems that the host finds in a run, and why a run ended early.

use crate::run::phase_title;
use archive::message::RunPhase;
use archive::problem::{Code, Definition, ProblemKind};
use machines::{Caveat, Exit};
use std::fmt;
use std::time::Duration;

/// A problem that the host found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunProblem {
    /// A limit was requested on a target where limits cannot be judged.
    LimitNotJudged(Caveat),
    /// The connection was lost, and the data after this number of bytes was fetched later.
    FetchedLater {
        bytes: u64,
    },
    /// The connection was lost, and the machine does not keep the rest.
    NothingKept {
        machine: String,
    },
    /// The meter could not restore every setting.
    NotPutBack {
        exit: Exit,
    },
    /// It is unknown whether the settings were restored.
    RestoreUnanswered {
        why: String,
    },
    /// The archive could not be written.
    NotWritten {
        why: String,
    },
    /// The console output could not be stored; the run was.
    ConsoleNotWritten {
        why: String,
    },
    /// The connection was lost, and the run continues there.
    LeftBehind,
    /// The meter uses a newer version of the stream.
    NewerStream {
        version: u32,
    },
    /// A second request to stop killed the meter.
    Killed,
    /// The meter was silent.
    Silent {
        phase: Option<RunPhase>,
        limit: Duration,
        last_words: Vec<String>,
    },
    PhaseTooLong {
        phase: Option<RunPhase>,
        limit: Duration,
        last_words: Vec<String>,
    },
    Stopped,
    /// Stopped on a target that sends totals only at the end.
    StoppedBeforeTotals,
    StoppedBySignal,
    /// The meter lost the connection to the host.
    LinkLost,
    CouldNotMeasure {
        last_words: Vec<String>,
    },
    /// Its output was closed although it was still running.
    LineCut {
        phase: Option<RunPhase>,
    },
    MeterDied {
        phase: Option<RunPhase>,
        exit: Option<Exit>,
        last_words: Vec<String>,
    },
}

fn title(phase: Option<RunPhase>) -> &'static str {
    phase.map_or("start", phase_title)
}

/// The last output of a program, as the end of a sentence.
struct LastWords<'a>(&'a [String]);

impl fmt::Display for LastWords<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let last = &words[words.len().saturating_sub(3)..];
        if last.is_empty() { Ok(()) } else { write!(out, "; its last words: {}", last.join(" | ")) }
    }
}

impl fmt::Display for RunProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LimitNotJudged(caveat) => write!(out, "{caveat}; so the limit is not judged"),
            Self::FetchedLater { bytes } => {
                write!(out, "the line was lost during the run; what came after {bytes} bytes was fetched later")
            }
            Self::NothingKept { machine } => write!(
                out,
                "the line was gone before the run ended, and {machine} keeps nothing of the rest: it was thrown away, or \
                 went with a reboot"
            ),
            Self::NotPutBack { exit } => write!(out, "not every setting could be put back ({exit})"),
            Self::RestoreUnanswered { why } | Self::NotWritten { why } => out.write_str(why),
            Self::ConsoleNotWritten { why } => write!(out, "the words of the console are not in the archive: {why}"),
            Self::LeftBehind => out.write_str(
                "the line to the target was lost, and the run goes on there; `tardy collect` with this archive fetches \
                 the rest",
            ),
            Self::NewerStream { version } => write!(
                out,
                "the meter speaks stream version {version}, this tardy understands {}; use the tardy-meter that came with \
                 it",
                archive::STREAM_VERSION
            ),
            Self::Killed => out.write_str(
                "killed by a second request to stop; settings of the target may still be changed, `tardy restore` puts \
                 them back",
            ),
            Self::Silent { phase, limit, last_words } => write!(
                out,
                "the meter said nothing for {} s in phase {}{}",
                limit.as_secs_f64(),
                title(*phase),
                LastWords(last_words)
            ),
            Self::PhaseTooLong { phase, limit, last_words } => write!(
                out,
                "phase {} took longer than {} s{}",
                title(*phase),
                limit.as_secs_f64(),
                LastWords(last_words)
            ),
            Self::Stopped => out.write_str("stopped on request"),
            Self::StoppedBeforeTotals => out.write_str("stopped on request, before the totals arrived"),
            Self::StoppedBySignal => out.write_str("the meter was stopped by a signal"),
            Self::LinkLost => out.write_str("the meter lost the link to the host"),
            Self::CouldNotMeasure { last_words } => {
                write!(out, "the meter could not measure{}", LastWords(last_words))
            }
            Self::LineCut { phase } => {
                write!(out, "the line to the meter was cut in phase {}, and the meter had to be killed", title(*phase))
            }
            Self::MeterDied { phase, exit, last_words } => {
                write!(out, "the meter died in phase {} (", title(*phase))?;
                match exit {
                    Some(exit) => exit.fmt(out)?,
                    None => out.write_str("still alive")?,
                }
                write!(out, "){}", LastWords(last_words))
            }
        }
    }
}

impl ProblemKind for RunProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::LimitNotJudged(_) => "run.limit-not-judged",
            Self::FetchedLater { .. } => "run.fetched-later",
            Self::NothingKept { .. } => "run.nothing-kept",
            Self::NotPutBack { .. } => "run.not-put-back",
            Self::RestoreUnanswered { .. } => "run.restore-unanswered",
            Self::NotWritten { .. } => "run.not-written",
            Self::ConsoleNotWritten { .. } => "run.console-not-written",
            Self::LeftBehind => "run.left-behind",
            Self::NewerStream { .. } => "run.newer-stream",
            Self::Killed => "run.killed",
            Self::Silent { .. } => "run.silent",
            Self::PhaseTooLong { .. } => "run.phase-too-long",
            Self::Stopped => "run.stopped",
            Self::StoppedBeforeTotals => "run.stopped-before-totals",
            Self::StoppedBySignal => "run.stopped-by-signal",
            Self::LinkLost => "run.link-lost",
            Self::CouldNotMeasure { .. } => "run.could-not-measure",
            Self::LineCut { .. } => "run.line-cut",
            Self::MeterDied { .. } => "run.meter-died",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::LimitNotJudged(caveat) => format!("{}, or leave out --limit", caveat.fix()),
            Self::NotPutBack { .. } | Self::RestoreUnanswered { .. } => "run `tardy restore` as root".into(),
            _ => String::new(),
        }
    }
}

/// Every code of this crate.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "run.limit-not-judged",
        meaning: "A latency limit was given for an emulated machine, where no real-time limit can be judged.",
        fix: "Measure on the hardware in question, or leave out --limit.",
    },
    Definition {
        code: "run.fetched-later",
        meaning: "The connection was lost during the run, and the rest was fetched afterwards. Nothing is missing.",
        fix: "Nothing needs fixing.",
    },
    Definition {
        code: "run.nothing-kept",
        meaning: "The connection was lost, and the machine has no longer the rest of the run.",
        fix: "Measure again.",
    },
    Definition {
        code: "run.not-put-back",
        meaning: "A meter that died had changed settings of the machine, and not all could be restored.",
        fix: "Run `tardy restore` as root and follow what it says.",
    },
    Definition {
        code: "run.restore-unanswered",
        meaning: "After the meter died, restoring the machine's settings gave no answer.",
        fix: "Run `tardy restore` as root.",
    },
    Definition {
        code: "run.not-written",
        meaning: "The archive could not be written, so the run was stopped.",
        fix: "Free space on the disk, or write the archive elsewhere.",
    },
    Definition {
        code: "run.console-not-written",
        meaning: "What the machine's console said could not be stored. Nothing else of the run is missing.",
        fix: "Free space on the disk before the next run.",
    },
    Definition {
        code: "run.left-behind",
        meaning: "The connection was lost and did not come back; the run goes on at the machine.",
        fix: "`tardy collect` with the archive fetches the rest.",
    },
    Definition {
        code: "run.newer-stream",
        meaning: "The meter on the machine is newer than this tardy.",
        fix: "Use the tardy-meter that came with this tardy.",
    },
    Definition {
        code: "run.killed",
        meaning: "A second request to stop killed the meter before it had restored the machine's settings.",
        fix: "Run `tardy restore`.",
    },
    Definition {
        code: "run.silent",
        meaning: "The meter sent nothing for longer than it ever should.",
        fix: "Read its last words; a machine that is overloaded by real-time threads starves the meter.",
    },
    Definition {
        code: "run.phase-too-long",
        meaning: "One phase of the run took longer than its limit.",
        fix: "Read the meter's last words; a slow machine needs a longer --timeout.",
    },
    Definition {
        code: "run.stopped",
        meaning: "The run was stopped on request. What was measured is sound.",
        fix: "Nothing needs fixing.",
    },
    Definition {
        code: "run.stopped-before-totals",
        meaning: "The run was stopped where totals come only at the end, so the archive has no totals.",
        fix: "Let the run end by itself; a shorter --duration does.",
    },
    Definition {
        code: "run.stopped-by-signal",
        meaning: "Another program sent the meter a signal to stop. What was measured is sound.",
        fix: "Nothing needs fixing.",
    },
    Definition {
        code: "run.link-lost",
        meaning: "The meter ended because the connection to the host was gone.",
        fix: "Measure again; check the network or the serial line.",
    },
    Definition {
        code: "run.could-not-measure",
        meaning: "The meter refused to measure, or could not.",
        fix: "Follow the meter's last words.",
    },
    Definition {
        code: "run.line-cut",
        meaning: "The meter's output ended although the meter went on, so it was killed.",
        fix: "Measure again; the machine's console log may say why.",
    },
    Definition {
        code: "run.meter-died",
        meaning: "The meter ended without a last message.",
        fix: "Read its last words and the machine's kernel log.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_is_defined_once() {
        let (text, words, limit) = (String::new, Vec::new, Duration::ZERO);
        let kinds = [
            RunProblem::LimitNotJudged(Caveat::Emulated),
            RunProblem::FetchedLater { bytes: 0 },
            RunProblem::NothingKept { machine: text() },
            RunProblem::NotPutBack { exit: Exit::Code(1) },
            RunProblem::RestoreUnanswered { why: text() },
            RunProblem::NotWritten { why: text() },
            RunProblem::ConsoleNotWritten { why: text() },
            RunProblem::LeftBehind,
            RunProblem::NewerStream { version: 2 },
            RunProblem::Killed,
            RunProblem::Silent { phase: None, limit, last_words: words() },
            RunProblem::PhaseTooLong { phase: None, limit, last_words: words() },
            RunProblem::Stopped,
            RunProblem::StoppedBeforeTotals,
            RunProblem::StoppedBySignal,
            RunProblem::LinkLost,
            RunProblem::CouldNotMeasure { last_words: words() },
            RunProblem::LineCut { phase: None },
            RunProblem::MeterDied { phase: None, exit: None, last_words: words() },
        ];
        let codes: BTreeSet<String> = kinds.iter().map(|kind| kind.code().to_string()).collect();
        let defined: BTreeSet<String> = DEFINITIONS.iter().map(|definition| definition.code.to_owned()).collect();
        assert_eq!((codes.len(), defined.len()), (kinds.len(), DEFINITIONS.len()));
        assert_eq!(codes, defined);
    }
}
