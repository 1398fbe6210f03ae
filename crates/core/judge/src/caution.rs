//! Reasons against comparing two runs, or two systems.

use crate::refusal::Refusal;
use archive::problem::Problem;
pub use claims::run_name::RunName;
use thiserror::Error;

/// Something the user must know when comparing two runs.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum Caution {
    #[error("run {run} is not valid: {reasons}")]
    #[problem(same_as = Refusal::InvalidRun)]
    InvalidRun { run: RunName, reasons: String },
    #[error("run {0} is in virtual time: executed instructions, not time on hardware")]
    #[problem(same_as = Refusal::VirtualTime)]
    VirtualTime(RunName),
    #[error("run {0} was emulated: its latencies mean nothing as real-time figures")]
    #[problem(same_as = Refusal::Emulated)]
    Emulated(RunName),
    #[error("run {run} measured with less than was requested: {reasons}")]
    #[problem(
        code = "judge.reduced-run",
        meaning = "A run could not measure as requested, for example without a real-time policy, so its latencies are others.",
        fix = "measure it again with the missing privileges"
    )]
    Reduced { run: RunName, reasons: String },
    #[error("run {0} was imported: its tool may count something else as latency")]
    #[problem(
        code = "judge.imported",
        meaning = "A run was imported; its tool may count something else as latency.",
        fix = "measure both runs with the same program"
    )]
    Imported(RunName),
    #[error(
        "run A recorded {} and run B {}: recording costs time, so the latencies also differ by that",
        named(.a),
        named(.b)
    )]
    #[problem(
        code = "judge.different-recording",
        meaning = "The runs recorded different traces, and recording costs time.",
        fix = "measure both with the same `--trace` and `--tracer`"
    )]
    Recording { a: Option<String>, b: Option<String> },
    #[error(
        "run A measured by the method {a} and run B by {b}: they measure different paths, and their latencies do not compare"
    )]
    #[problem(
        code = "judge.different-methods",
        meaning = "The runs measured different paths through the kernel, so their latencies do not compare.",
        fix = "measure both with the same `--method`"
    )]
    Methods { a: String, b: String },
    #[error("run {longer} is at least twice as long: its maximum may be larger for that reason alone")]
    #[problem(
        code = "judge.different-length",
        meaning = "One run is at least twice as long and has the larger maximum, which may have no other reason.",
        fix = "compare runs of the same length"
    )]
    Length { longer: RunName },
    #[error("the loads did different work, so their figures do not compare")]
    #[problem(
        code = "judge.different-loads",
        meaning = "The sides ran different loads.",
        fix = "run both with the same loads"
    )]
    Work,
    #[error("run {0} kept no spikes, so causes do not compare")]
    #[problem(
        code = "judge.no-spikes",
        meaning = "A run kept no spikes, so it has no causes to compare.",
        fix = "measure both with traces"
    )]
    NoSpikes(RunName),
    #[error("run {0} has no late wake-up with a trace, so its causes are unknown")]
    #[problem(
        code = "judge.no-traces",
        meaning = "A run has no late wake-up with a trace, so its causes are not known.",
        fix = "measure both with traces"
    )]
    NoTraces(RunName),
    #[error("the runs differ in {0}: a cause may come or go for that reason alone")]
    #[problem(
        code = "judge.different-circumstances",
        meaning = "The runs differ in load, interval, CPUs, priority or the like, which alone may make a cause come \
                   or go.",
        fix = "measure both with the same settings"
    )]
    Circumstances(String),
    #[error("the lengths of the runs are unknown, so rates do not compare")]
    #[problem(same_as = Refusal::LengthUnknown)]
    LengthUnknown,
    #[error("only one side has {0}; left out")]
    #[problem(
        code = "judge.unpaired-seed",
        meaning = "Only one side has a run of this seed; it is left out.",
        fix = "run both sides with the same seeds"
    )]
    Unpaired(String),
    #[error("build inputs missing in one archive: whether both ran the same system is unknown")]
    #[problem(
        code = "judge.ingredients-unknown",
        meaning = "An archive does not say what its virtual machine was made of.",
        fix = "record it again with this version"
    )]
    IngredientsUnknown,
    #[error("the sides ran different loads: a difference need not come from the kernel")]
    #[problem(same_as = Work)]
    Loads,
    #[error(
        "late wake-ups are explained in {a} of {of} runs of A and {b} of {of} of B: causes are compared only among those; \
         `tardy virtual record` explains the late wake-ups of a run"
    )]
    #[problem(
        code = "judge.partly-explained",
        meaning = "Only some of the runs have explained late wake-ups, so causes are compared only among those.",
        fix = "run `tardy virtual record` for the others"
    )]
    PartlyExplained { a: usize, b: usize, of: usize },
}

fn named(recorded: &Option<String>) -> &str {
    recorded.as_deref().unwrap_or("something unknown")
}
