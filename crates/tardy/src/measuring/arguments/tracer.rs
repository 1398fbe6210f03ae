//! The options of `tardy run` about the kernel's own tracers.

use crate::exit::UsageError;
use crate::options::quantity::whole_microseconds_ns;
use archive::tracer::{KernelSource, TracerSettings};
use clap::{Args, ValueEnum};

/// Buffer of each CPU. A busy CPU fills 50 to 100 MB/s with functions, so a buffer holds about 40 ms: ample for a late
/// wake-up. Copying a larger buffer takes so long that the next spike is missed.
const BUFFER_KB: u32 = 4096;
/// Entry and exit of a function together take almost three times as much.
const GRAPH_BUFFER_KB: u32 = 8192;

#[derive(Debug, Args)]
pub struct TracerArguments {
    /// Kernel tracer to run: function and function_graph record into the snapshots; wakeup, wakeup_rt, wakeup_dl,
    /// irqsoff, preemptoff and preemptirqsoff keep the longest latencies or sections; timerlat, osnoise and hwlat are
    /// sources
    #[arg(long, value_name = "NAME", help_heading = "Kernel tracers")]
    pub(super) tracer: Option<String>,
    /// Kernel measurement to run as well; may be repeated
    #[arg(long = "source", value_enum, value_name = "NAME", help_heading = "Kernel tracers")]
    pub(super) sources: Vec<SourceName>,
    /// Record only these functions: globs like ext4_*, or :mod:NAME for a module
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',', requires = "tracer", help_heading = "Kernel tracers")]
    pub(super) functions: Vec<String>,
    /// Exclude these functions
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',', requires = "tracer", help_heading = "Kernel tracers")]
    pub(super) functions_not: Vec<String>,
    /// Record the functions of this thread only; may be repeated. Events are recorded for all threads
    #[arg(long = "trace-pid", value_name = "TID", requires = "tracer", value_parser = clap::value_parser!(i32).range(1..), help_heading = "Kernel tracers")]
    pids: Vec<i32>,
    /// Record the functions of their children as well
    #[arg(long, requires = "pids", help_heading = "Kernel tracers")]
    trace_children: bool,
    /// Keep every latency or section longer than TIME [default: each new maximum]
    #[arg(long, value_name = "TIME", value_parser = whole_microseconds_ns, requires = "tracer", help_heading = "Kernel tracers")]
    pub(super) tracer_threshold: Option<u64>,
    /// Record the stack that each timer interrupt of a sleeping thread interrupted
    #[arg(long, help_heading = "Kernel tracers")]
    pub(super) stack: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum SourceName {
    /// Lateness of a timer interrupt, and of the kernel thread it wakes
    Timerlat,
    /// Time that interrupts and threads take from a busy kernel thread
    Osnoise,
    /// Time that is lost while interrupts are off: firmware, hypervisor
    Hwlat,
}

impl SourceName {
    fn source(self) -> KernelSource {
        match self {
            SourceName::Timerlat => KernelSource::Timerlat,
            SourceName::Osnoise => KernelSource::Osnoise,
            SourceName::Hwlat => KernelSource::Hwlat,
        }
    }
}

impl TracerArguments {
    /// The tracer that runs beside the events; a tracer that measures is among [`TracerArguments::sources`].
    pub fn tracer(&self) -> Result<Option<TracerSettings>, UsageError> {
        let name = self.tracer.clone().filter(|name| source_of(name).is_none());
        let narrowed = !self.functions.is_empty() || !self.functions_not.is_empty() || !self.pids.is_empty();
        if name.is_none() && (narrowed || self.tracer_threshold.is_some()) {
            return Err(UsageError(
                "functions, threads and thresholds are for tracers that record; a source has none".into(),
            ));
        }
        if name.is_none() && !self.stack {
            return Ok(None);
        }
        Ok(Some(TracerSettings {
            name: name.unwrap_or_else(|| "nop".into()),
            functions: self.functions.clone(),
            functions_not: self.functions_not.clone(),
            pids: self.pids.clone(),
            children: self.trace_children,
            threshold_ns: self.tracer_threshold.unwrap_or(0),
            stack: self.stack,
        }))
    }

    /// The kernel's own measurements, each once.
    pub fn sources(&self) -> Vec<KernelSource> {
        let mut sources: Vec<KernelSource> = self.sources.iter().map(|name| name.source()).collect();
        sources.extend(self.tracer.as_deref().and_then(source_of));
        let mut once = Vec::new();
        sources.into_iter().for_each(|source| {
            if !once.contains(&source) {
                once.push(source)
            }
        });
        once
    }

    /// Default buffer of each CPU in kB.
    pub fn buffer_kb(&self) -> u32 {
        if self.tracer.as_deref() == Some("function_graph") { GRAPH_BUFFER_KB } else { BUFFER_KB }
    }
}

fn source_of(name: &str) -> Option<KernelSource> {
    SourceName::from_str(name, false).ok().map(SourceName::source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: TracerArguments,
    }

    fn parsed(words: &str) -> TracerArguments {
        Line::try_parse_from(std::iter::once("run").chain(words.split_whitespace())).unwrap().arguments
    }

    #[test]
    fn a_tracer_is_narrowed_and_gets_room() {
        let arguments = parsed(
            "--tracer function --functions ext4_*,:mod:x --functions-not *rcu* --trace-pid 7 --trace-pid 8 --trace-children --stack",
        );
        let expected = TracerSettings {
            name: "function".into(),
            functions: vec!["ext4_*".into(), ":mod:x".into()],
            functions_not: vec!["*rcu*".into()],
            pids: vec![7, 8],
            children: true,
            threshold_ns: 0,
            stack: true,
        };
        assert_eq!(arguments.tracer().unwrap(), Some(expected));
        assert!(parsed("--tracer function_graph").buffer_kb() > arguments.buffer_kb());
    }

    #[test]
    fn a_tracer_that_measures_is_a_source() {
        let arguments = parsed("--tracer timerlat --source hwlat --source timerlat");
        assert_eq!(arguments.tracer().unwrap(), None);
        assert_eq!(arguments.sources(), [KernelSource::Hwlat, KernelSource::Timerlat]);
        assert!(parsed("--tracer timerlat --functions x").tracer().is_err());
    }

    #[test]
    fn a_stack_needs_no_tracer_and_a_threshold_is_whole() {
        assert_eq!(parsed("--stack").tracer().unwrap().unwrap().name, "nop");
        assert_eq!(parsed("").tracer().unwrap(), None);
        assert_eq!(parsed("--tracer irqsoff --tracer-threshold 50us").tracer().unwrap().unwrap().threshold_ns, 50_000);
        let refused = Line::try_parse_from(["run", "--tracer=irqsoff", "--tracer-threshold=1500ns"]).unwrap_err();
        assert!(refused.to_string().contains("whole microseconds"), "{refused}");
    }
}
