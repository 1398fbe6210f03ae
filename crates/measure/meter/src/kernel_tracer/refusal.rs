//! Requested tracer features that a kernel lacks, reported before anything is measured.

use super::catalogue::{self, Tracer};
use crate::journal::JournalError;
use crate::trace::error::TraceError;
use archive::problem::Problem;
use ftrace::tracefs::{Instance, Tracefs, TracefsError};
use thiserror::Error;

/// Why a tracer cannot run as requested.
#[derive(Debug, Error, Problem)]
pub enum Refusal {
    #[error("there is no tracer {name:?}")]
    #[problem(
        code = "meter.tracer-unknown",
        meaning = "The kernel tracer that was asked for is not one that tardy knows.",
        fix = "this kernel has {usable}",
        documented_fix = "use one of the tracers that this kernel has"
    )]
    Unknown { name: String, usable: String },
    #[error("this kernel has no tracer {name}: {config} is not set")]
    #[problem(
        code = "meter.tracer-not-built",
        meaning = "The kernel was built without the tracer that was asked for.",
        fix = "use a kernel that has it, or another tracer; this kernel has {usable}",
        documented_fix = "use a kernel that has it, or another tracer"
    )]
    NotBuilt { name: String, config: &'static str, usable: String },
    #[error(
        "Linux {release} runs the tracer {name} in its top-level buffer only, which is not ours to take{}",
        reason(name)
    )]
    #[problem(
        code = "meter.tracer-top-level-only",
        meaning = "This kernel runs the tracer in its top-level buffer only. tardy works in instances of its own and \
                   leaves that buffer to the user.",
        fix_with = since(name),
        documented_fix = "use a later kernel"
    )]
    TopLevelOnly { release: String, name: &'static str },
    #[error("the kernel refused the tracer {name}: failed to {source}")]
    #[problem(
        code = "meter.tracer-refused",
        meaning = "The kernel has the tracer and does not start it.",
        fix = "another program may run a tracer that excludes it: `trace-cmd reset`, and rmdir instances that were \
               left"
    )]
    Refused { name: &'static str, source: TracefsError },
    #[error("the kernel runs either timerlat or osnoise, not both")]
    #[problem(
        code = "meter.tracers-exclude-each-other",
        meaning = "The kernel cannot run timerlat and osnoise at the same time.",
        fix = "measure with one, then with the other"
    )]
    TwoNoiseTracers,
    #[error("function tracing is switched off on this machine")]
    #[problem(
        code = "meter.function-tracing-off",
        meaning = "Function tracing is disabled by a sysctl.",
        fix = "as root: echo 1 > /proc/sys/kernel/ftrace_enabled"
    )]
    FunctionsOff,
    #[error("no function of this kernel matches {option} {pattern}")]
    #[problem(
        code = "meter.no-such-function",
        meaning = "A pattern matches no function that the kernel can trace.",
        fix = "names are in available_filter_functions of tracefs; globs like 'ext4_*', or ':mod:NAME' for a module"
    )]
    NoFunction { option: &'static str, pattern: String },
    #[error("failed to {0}")]
    #[problem(
        code = "meter.no-function-filters",
        meaning = "This kernel cannot trace a choice of functions.",
        fix = "function filters need CONFIG_DYNAMIC_FTRACE"
    )]
    NoFilters(TracefsError),
    #[error("failed to {0}")]
    #[problem(
        code = "meter.no-such-threads",
        meaning = "The kernel did not accept the threads whose functions are traced.",
        fix = "give ids of threads that exist; a process is its threads"
    )]
    Threads(TracefsError),
    #[error("Linux {release} puts stacks into its top-level buffer, where no snapshot has them")]
    #[problem(
        code = "meter.stacks-need-later-kernel",
        meaning = "This kernel writes stacks to its top-level buffer only.",
        fix = "use Linux 5.17 or later, or leave out --stack"
    )]
    StacksElsewhere { release: String },
    #[error("no stacks: {0}")]
    #[problem(
        code = "meter.no-stacks",
        meaning = "The kernel does not record the stack at a timer's expiry.",
        fix = "leave out --stack; it needs CONFIG_STACKTRACE"
    )]
    NoStacks(TraceError),
    #[error("failed to watch tracing_max_latency: {0}")]
    #[problem(
        code = "meter.inotify-refused",
        meaning = "The kernel has no inotify watch left for the maximum of a latency tracer.",
        fix = "raise fs.inotify.max_user_watches"
    )]
    Unwatched(std::io::Error),
    #[error(transparent)]
    #[problem(
        code = "meter.threshold-refused",
        meaning = "The threshold of the latency tracer could not be set.",
        fix = "leave out --tracer-threshold"
    )]
    Threshold(JournalError),
    #[error(transparent)]
    #[problem(
        code = "meter.tracer-setting-refused",
        meaning = "A setting of the timerlat or osnoise tracer could not be changed.",
        fix = "another program may hold this tracer"
    )]
    Setting(JournalError),
    #[error(transparent)]
    #[problem(
        code = "meter.tracer-setup-failed",
        meaning = "The trace instance of a kernel tracer could not be made or read.",
        fix = ""
    )]
    Setup(#[from] TraceError),
}

impl From<TracefsError> for Refusal {
    fn from(error: TracefsError) -> Self {
        Self::Setup(error.into())
    }
}

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Self {
        Self::Setup(error.into())
    }
}

/// The tracer with this name, if this kernel has it.
///
/// # Errors
/// If it does not: the kernel option that adds it, and the available alternatives.
pub fn available(tracefs: &Tracefs, name: &str) -> Result<&'static Tracer, Refusal> {
    among(name, &tracefs.capabilities().tracers)
}

fn among(name: &str, there: &[String]) -> Result<&'static Tracer, Refusal> {
    let usable: Vec<&str> =
        catalogue::TRACERS.iter().map(|tracer| tracer.name).filter(|name| there.iter().any(|it| it == name)).collect();
    let usable = if usable.is_empty() { "no tracer at all".into() } else { usable.join(", ") };
    let Some(tracer) = catalogue::find(name) else {
        return Err(Refusal::Unknown { name: name.to_owned(), usable });
    };
    if there.iter().any(|it| it == name) {
        return Ok(tracer);
    }
    Err(Refusal::NotBuilt { name: name.to_owned(), config: tracer.config, usable })
}

/// Sets the tracer of an instance.
///
/// # Errors
/// If the kernel supports it only in its top-level buffer, or another program runs it already.
pub fn set_in(instance: &Instance, tracer: &Tracer) -> Result<(), Refusal> {
    let name = tracer.name;
    if !instance.tracers().iter().any(|there| there == name) {
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        return Err(Refusal::TopLevelOnly { release, name });
    }
    instance.set_tracer(name).map_err(|source| Refusal::Refused { name, source })
}

/// The kernel before the merge "ftrace updates for v6.11" has a single variable for the return tracer, not one per
/// instance.
fn reason(name: &str) -> &'static str {
    match name {
        "function_graph" => ": before 6.11 the whole kernel has room for one tracer of function returns",
        _ => "",
    }
}

fn since(name: &str) -> &'static str {
    match name {
        "function_graph" => {
            "use Linux 6.11 or later (Debian has 6.12), or --tracer function, which records entries alone"
        }
        "hwlat" | "osnoise" | "timerlat" => "use Linux 5.17 or later",
        _ => "use a later kernel",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::problem::ProblemKind;

    #[test]
    fn a_missing_tracer_is_named_with_its_option_and_the_existing_ones() {
        let there = ["nop", "blk", "function", "wakeup_rt"].map(String::from);
        assert_eq!(among("function", &there).unwrap().name, "function");
        for (name, option) in [
            ("function_graph", "CONFIG_FUNCTION_GRAPH_TRACER"),
            ("irqsoff", "CONFIG_IRQSOFF_TRACER"),
            ("timerlat", "CONFIG_TIMERLAT_TRACER"),
        ] {
            let refusal = among(name, &there).unwrap_err();
            assert!(
                matches!(&refusal, Refusal::NotBuilt { name: missing, config, .. } if missing == name && *config == option)
            );
            assert!(refusal.fix().contains(" function, wakeup_rt"), "{refusal:?}");
        }
        assert!(matches!(among("magic", &there), Err(Refusal::Unknown { .. })));
        assert!(!among("hwlat", &[]).unwrap_err().fix().contains("function, "));
    }
}
