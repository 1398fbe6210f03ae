//! Converts output of the capturing thread and of the reader of the kernel's tracers to messages.

use crate::kernel_tracer::tracing::{KernelTracing, TracerOutput};
use crate::link::Link;
use crate::problem::MeterProblem;
use crate::trace::capture::Captured;
use crate::trace::capturing::Capturing;
use crate::trace::stacks::StackCopy;
use archive::message::{FileKind, LossKind, Message, Severity};
use std::io::Write;

/// Sends captures since the last call.
pub fn captured<W: Write>(capturing: &mut Capturing, link: &mut Link<W>) {
    for captured in capturing.received() {
        link.gaps().wait();
        match captured {
            Captured::Spike { mut spike, parts, late, stacks } => {
                spike.late_interrupts = capturing.with_functions(&late);
                if let Some(snapshot) = &mut spike.snapshot {
                    let trace = capturing.trace_dat(&parts);
                    snapshot.trace_bytes = trace.len() as u64;
                    link.file(FileKind::SpikeTrace { spike: spike.number }, &trace);
                    let stack_bytes = stacks.as_ref().map_or(0, StackCopy::bytes);
                    if let Some(file) = stacks.and_then(|stacks| stacks.file(&capturing.symbols())) {
                        link.file(FileKind::SpikeStacks { spike: spike.number }, &file);
                    }
                    capturing.done_with(&parts, stack_bytes);
                }
                link.send(&Message::Spike(spike));
            }
            Captured::Broken { error } => link.problem(Severity::Degraded, &MeterProblem::NoSnapshots(error)),
            Captured::Dropped { number } => {
                link.send(&Message::SpikeDropped { number, why: "larger spikes took its place".into() });
            }
        }
    }
}

/// Sends output of the kernel's own tracers.
pub fn found<W: Write>(tracing: &KernelTracing, link: &mut Link<W>) {
    for found in tracing.received() {
        match found {
            TracerOutput::Latency(copied) => {
                link.file(FileKind::LatencyTrace { number: copied.trace.number }, copied.text.as_bytes());
                link.send(&Message::LatencyTrace(Box::new(copied.trace)));
            }
            TracerOutput::Series(series) => link.send(&Message::KernelSeries(series)),
            TracerOutput::NotKept(count) => {
                link.loss(LossKind::LatencyTraces, count, "above the threshold, not kept (raise --tracer-threshold)");
            }
            TracerOutput::Broken(error) => link.problem(Severity::Degraded, &MeterProblem::TracersUnread(error)),
        }
    }
}
