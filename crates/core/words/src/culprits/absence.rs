//! The evidence that a CPU did not run, as a line.

use crate::figures::latency;
use crate::holders::task;
use crate::trace_event::relative;
use archive::culprit::{AbsenceSign, CpuAbsence, ObservedSpan};

pub fn line(absence: &CpuAbsence) -> String {
    let (cpu, from, to) = (absence.cpu, relative(absence.start_ns), relative(absence.end_ns));
    match &absence.shown_by {
        AbsenceSign::EmulatorStopped(span) => on_host(cpu, "was stopped", span),
        AbsenceSign::Preempted(span) => on_host(cpu, "waited for a CPU of the host", span),
        AbsenceSign::StealClockOfOthers { missing_ns } => format!(
            "from {from} to {to} CPU {cpu} recorded nothing; {} of steal time, the most possible, was accounted since another CPU \
             last updated its rq clock",
            latency(*missing_ns)
        ),
        AbsenceSign::StealClock { thread, start_ns, end_ns, ran_ns } => {
            let passed_ns = end_ns.saturating_sub(*start_ns);
            format!(
                "from {} to {} {} passed on CPU {cpu} and {} was charged {}: the steal clock left out {}",
                relative(*start_ns),
                relative(*end_ns),
                latency(passed_ns),
                task(thread),
                latency(*ran_ns),
                latency(passed_ns.saturating_sub(*ran_ns))
            )
        }
        AbsenceSign::StealCount { start_ns, end_ns, stolen_ns } => format!(
            "from {} to {} the hypervisor counts {} as stolen from CPU {cpu}, which recorded nothing for {} of it",
            relative(*start_ns),
            relative(*end_ns),
            latency(*stolen_ns),
            latency(absence.end_ns.saturating_sub(absence.start_ns))
        ),
        AbsenceSign::OtherCpuExecuted { of, events } => {
            format!("CPU {of} recorded {events} events from {from} to {to}, CPU {cpu} none: only one runs at a time")
        }
    }
}

fn on_host(cpu: u32, what: &str, span: &ObservedSpan) -> String {
    format!(
        "observed on the host: CPU {cpu} {what} for {}, from {} to {}, each to within {}",
        latency(span.end_ns.saturating_sub(span.start_ns)),
        relative(span.start_ns),
        relative(span.end_ns),
        latency(span.slack_ns)
    )
}
