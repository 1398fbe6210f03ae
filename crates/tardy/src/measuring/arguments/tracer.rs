//! The options of `tardy run` about the kernel's own tracers.

use super::declared::{Contradiction, key, no_key, options};
use crate::options::choice::one_of;
use crate::options::quantity::whole;
use crate::options::quantity::whole_microseconds_ns;
use archive::choice::Choice;
use archive::settings::RunSettings;
use archive::tracer::{KernelSource, TracerSettings};
use runner::plan::options::Place::Trace;

const OF_ONE_BOOT: &str = "thread numbers hold for one boot of one machine";

options! {
    pub struct TracerArguments, "Kernel tracers" {
        /// Kernel tracer to run: function and function_graph record into the snapshots; wakeup, wakeup_rt, wakeup_dl,
        /// irqsoff, preemptoff and preemptirqsoff keep the longest latencies or sections; timerlat, osnoise and hwlat are
        /// sources
        #[arg(long, value_name = "NAME")]
        tracer: Option<String> => Rare, key(Trace);
        /// Kernel measurement to run as well; may be repeated
        #[arg(long = "source", value_parser = one_of::<KernelSource>(), value_name = "NAME")]
        sources: Vec<KernelSource> => Rare, key(Trace);
        /// Record only these functions: globs like ext4_*, or :mod:NAME for a module
        #[arg(long, value_name = "GLOB,...", value_delimiter = ',', requires = "tracer")]
        functions: Vec<String> => Rare, key(Trace);
        /// Exclude these functions
        #[arg(long, value_name = "GLOB,...", value_delimiter = ',', requires = "tracer")]
        functions_not: Vec<String> => Rare, key(Trace);
        /// Record the functions of this thread only; may be repeated. Events are recorded for all threads
        #[arg(long = "trace-pid", value_name = "TID", requires = "tracer", value_parser = whole::<i32>(1..))]
        pids: Vec<i32> => Rare, no_key(OF_ONE_BOOT);
        /// Record the functions of their children as well
        #[arg(long, requires = "pids")]
        trace_children: bool => Rare, no_key(OF_ONE_BOOT);
        /// Keep every latency or section longer than TIME [default: each new maximum]
        #[arg(long, value_name = "TIME", value_parser = whole_microseconds_ns, requires = "tracer")]
        tracer_threshold: Option<u64> => Rare, key(Trace);
        /// Record the stack that each timer interrupt of a sleeping thread interrupted
        #[arg(long)]
        stack: bool => Rare, key(Trace);
    }
}

impl TracerArguments {
    pub fn apply(&self, settings: &mut RunSettings) -> Result<(), Contradiction> {
        settings.sources = self.sources();
        settings.trace.tracer = self.tracer()?;
        Ok(())
    }

    /// The tracer that runs beside the events; a tracer that measures is among [`TracerArguments::sources`].
    fn tracer(&self) -> Result<Option<TracerSettings>, Contradiction> {
        let name = self.tracer.clone().filter(|name| KernelSource::of_word(name).is_none());
        let narrowed = !self.functions.is_empty() || !self.functions_not.is_empty() || !self.pids.is_empty();
        if name.is_none() && (narrowed || self.tracer_threshold.is_some()) {
            let why = "functions, threads and thresholds are for tracers that record; a source has none";
            return Err(Contradiction::new("tracer", why));
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
    fn sources(&self) -> Vec<KernelSource> {
        let of_tracer = self.tracer.as_deref().and_then(KernelSource::of_word);
        let mut once = Vec::new();
        for source in self.sources.iter().copied().chain(of_tracer) {
            if !once.contains(&source) {
                once.push(source);
            }
        }
        once
    }
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
    fn a_tracer_is_narrowed() {
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
