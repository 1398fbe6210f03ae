//! Problems that the host finds in a run, and why a run ended early.

use crate::run::phase_title;
use archive::budget::Excess;
use archive::message::RunPhase;
use archive::problem::{Problem, ProblemKind};
use machines::{Caveat, Exit};
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// A problem that the host found.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum RunProblem {
    /// A limit was requested on a target where limits cannot be judged.
    #[error("{0}; so the limit is not judged")]
    #[problem(
        code = "run.limit-not-judged",
        meaning = "A latency limit was given for an emulated machine, where no real-time limit can be judged.",
        fix_with = or_without_limit(*_0),
        documented_fix = "measure on the hardware in question, or leave out --limit"
    )]
    LimitNotJudged(Caveat),
    /// The connection was lost, and the data after this number of bytes was fetched later.
    #[error("the line was lost during the run; what came after {bytes} bytes was fetched later")]
    #[problem(
        code = "run.fetched-later",
        meaning = "The connection was lost during the run, and the rest was fetched afterwards. Nothing is missing.",
        fix = "",
        documented_fix = "nothing needs fixing"
    )]
    FetchedLater { bytes: u64 },
    /// The connection was lost, and the machine does not keep the rest.
    #[error(
        "the connection was lost before the run ended, and {machine} has no data for the rest: discarded, or lost in a reboot"
    )]
    #[problem(
        code = "run.nothing-kept",
        meaning = "The connection was lost, and the machine has no longer the rest of the run.",
        fix = "",
        documented_fix = "measure again"
    )]
    NothingKept { machine: String },
    /// The meter could not restore every setting.
    #[error("not every setting could be put back ({exit})")]
    #[problem(
        code = "run.not-put-back",
        meaning = "A meter that died had changed settings of the machine, and not all could be restored.",
        fix = "run `tardy target restore` as root",
        documented_fix = "run `tardy target restore` as root and follow what it says"
    )]
    NotPutBack { exit: Exit },
    /// It is unknown whether the settings were restored.
    #[error("{why}")]
    #[problem(
        code = "run.restore-unanswered",
        meaning = "After the meter died, restoring the machine's settings gave no answer.",
        fix = "run `tardy target restore` as root"
    )]
    RestoreUnanswered { why: String },
    /// The archive could not be written.
    #[error("{why}")]
    #[problem(
        code = "run.not-written",
        meaning = "The archive could not be written, so the run was stopped.",
        fix = "",
        documented_fix = "free space on the disk, or write the archive elsewhere"
    )]
    NotWritten { why: String },
    /// The console output could not be stored; the run was.
    #[error("the words of the console are not in the archive: {why}")]
    #[problem(
        code = "run.console-not-written",
        meaning = "The output of the machine's console could not be stored. Nothing else of the run is missing.",
        fix = "",
        documented_fix = "free space on the disk before the next run"
    )]
    ConsoleNotWritten { why: String },
    /// A request to keep the last seconds reaches no meter whose output is stored on its machine.
    #[error("the meter of this target takes no request during a run, so nothing was kept")]
    #[problem(
        code = "run.request-not-passed-on",
        meaning = "SIGUSR1 or Enter asked for the last seconds. The meter of a board works on its own, and hears programs there only.",
        fix = "write `tardy: save REASON` to trace_marker on the target"
    )]
    RequestNotPassedOn,
    /// Executables of the machine could not be fetched.
    #[error(
        "{missing} of {all} programs and libraries of the target were not fetched, such as {such_as}; their functions have no names"
    )]
    #[problem(
        code = "run.programs-not-fetched",
        meaning = "The stacks of a watched program need its executables to get names. Some are too large, the line is too slow for \
                   them, or the target did not send them.",
        fix = "",
        documented_fix = "put the same files, with the same build ids, at the same paths on this machine, and run `tardy explain` again"
    )]
    ProgramsNotFetched { missing: usize, all: usize, such_as: String },
    /// The connection was lost, and the run continues there.
    #[error(
        "lost the connection to the target; the run continues there; `tardy target collect` with this archive fetches the rest"
    )]
    #[problem(
        code = "run.left-behind",
        meaning = "The connection was lost and did not come back; the run continues on the machine.",
        fix = "",
        documented_fix = "`tardy target collect` with the archive fetches the rest"
    )]
    LeftBehind,
    /// The meter sent more than a run with its settings can.
    #[error("the meter sent {_0}; no run with these settings does, so the host ended it")]
    #[problem(
        code = "run.too-much",
        meaning = "The meter sent more than the settings of the run allow: messages, bytes or files. It is defective or not \
                   tardy-meter.",
        fix = "",
        documented_fix = "install the tardy-meter that came with this tardy; on a machine with more than 512 CPUs, name them \
                          with --cpus"
    )]
    TooMuch(Excess),
    /// The first message of the meter never came.
    #[error("the meter's first message is missing, so its version, boot and clock are unknown")]
    #[problem(
        code = "run.no-hello",
        meaning = "The stream of the meter lacks its first message, which names its version, the boot and the clock.",
        fix = "",
        documented_fix = "measure again; check the line to the machine"
    )]
    NoHello,
    /// The meter uses a newer version of the stream.
    #[error(
        "the meter speaks stream version {version}, this tardy understands {}; use the tardy-meter that came with it",
        archive::STREAM_VERSION
    )]
    #[problem(
        code = "run.newer-stream",
        meaning = "The meter on the machine is newer than this tardy.",
        fix = "",
        documented_fix = "use the tardy-meter that came with this tardy"
    )]
    NewerStream { version: u32 },
    /// A second request to stop killed the meter.
    #[error(
        "killed by a second request to stop; settings of the target may still be changed, `tardy target restore` puts them \
         back"
    )]
    #[problem(
        code = "run.killed",
        meaning = "A second request to stop killed the meter before it had restored the machine's settings.",
        fix = "",
        documented_fix = "run `tardy target restore`"
    )]
    Killed,
    /// The meter was silent.
    #[error(
        "no output from the meter for {} s in phase {}{}",
        limit.as_secs_f64(),
        title(*phase),
        LastWords(last_words)
    )]
    #[problem(
        code = "run.silent",
        meaning = "The meter sent nothing for longer than it ever should.",
        fix = "",
        documented_fix = "read its last output; a machine overloaded by real-time threads starves the meter"
    )]
    Silent { phase: Option<RunPhase>, limit: Duration, last_words: Vec<String> },
    #[error("phase {} took longer than {} s{}", title(*phase), limit.as_secs_f64(), LastWords(last_words))]
    #[problem(
        code = "run.phase-too-long",
        meaning = "One phase of the run took longer than its limit.",
        fix = "",
        documented_fix = "read the meter's last output; a slow machine needs a longer --timeout"
    )]
    PhaseTooLong { phase: Option<RunPhase>, limit: Duration, last_words: Vec<String> },
    #[error("stopped on request")]
    #[problem(
        code = "run.stopped",
        meaning = "The run was stopped on request. Its figures are sound.",
        fix = "",
        documented_fix = "nothing needs fixing"
    )]
    Stopped,
    /// Stopped on a target that sends totals only at the end.
    #[error("stopped on request, before the totals arrived")]
    #[problem(
        code = "run.stopped-before-totals",
        meaning = "The run was stopped where totals come only at the end, so the archive has no totals.",
        fix = "",
        documented_fix = "let the run end by itself; a shorter --duration does"
    )]
    StoppedBeforeTotals,
    #[error("the meter was stopped by a signal")]
    #[problem(
        code = "run.stopped-by-signal",
        meaning = "Another program sent the meter a signal to stop. The figures are sound.",
        fix = "",
        documented_fix = "nothing needs fixing"
    )]
    StoppedBySignal,
    /// The meter lost the connection to the host.
    #[error("the meter lost the link to the host")]
    #[problem(
        code = "run.link-lost",
        meaning = "The meter ended because the connection to the host was gone.",
        fix = "",
        documented_fix = "measure again; check the network or the serial line"
    )]
    LinkLost,
    #[error("the meter could not measure{}", LastWords(last_words))]
    #[problem(
        code = "run.could-not-measure",
        meaning = "The meter refused to measure, or could not.",
        fix = "",
        documented_fix = "read the meter's last output"
    )]
    CouldNotMeasure { last_words: Vec<String> },
    /// Its output was closed although it was still running.
    #[error("the line to the meter was cut in phase {}, and the meter had to be killed", title(*phase))]
    #[problem(
        code = "run.line-cut",
        meaning = "The meter closed its output but kept running; it was killed.",
        fix = "",
        documented_fix = "measure again; the machine's console log may say why"
    )]
    LineCut { phase: Option<RunPhase> },
    #[error("the meter died in phase {} ({}){}", title(*phase), state(*exit), LastWords(last_words))]
    #[problem(
        code = "run.meter-died",
        meaning = "The meter ended without a last message.",
        fix = "",
        documented_fix = "read its last output and the machine's kernel log"
    )]
    MeterDied { phase: Option<RunPhase>, exit: Option<Exit>, last_words: Vec<String> },
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
        if last.is_empty() { Ok(()) } else { write!(out, "; its last output: {}", last.join(" | ")) }
    }
}

fn state(exit: Option<Exit>) -> String {
    exit.map_or_else(|| "still alive".to_owned(), |exit| exit.to_string())
}

fn or_without_limit(caveat: Caveat) -> String {
    format!("{}, or leave out --limit", caveat.fix())
}
