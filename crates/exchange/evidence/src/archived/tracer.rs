//! The archive of a latency tracer's text: the one stretch that the kernel found longest.

use super::{Archived, Origin};
use crate::problem::{Lack, RecordingProblem};
use archive::environment::Environment;
use archive::layout::FileKind;
use archive::manifest::ImportedFrom;
use archive::message::{Ending, Message, Problem, RunPhase, Severity};
use archive::problem::Remark;
use ftrace::latency_trace::LatencyTrace;
use wakeups::stretch::{kept, stretch};

/// The number of the only stretch.
const NUMBER: u32 = 1;

/// Makes the archive.
pub fn archived(text: &str, origin: Origin<'_>) -> Archived {
    let kept = kept(text);
    let parsed = LatencyTrace::parse(kept);
    let preempt_rt = (!parsed.preemption.is_empty()).then(|| parsed.preemption == "preempt_rt");
    let environment = Environment {
        kernel_release: parsed.release.clone(),
        preempt_rt,
        preemption: Some(parsed.preemption.clone()).filter(|preemption| !preemption.is_empty()),
        ..Environment::default()
    };
    // The text counts from the beginning of the stretch.
    let stretch = stretch(&parsed, NUMBER, 0, kept.len() < text.len());
    let phase = |phase, monotonic_ns| Message::Phase { phase, monotonic_ns };
    let end_ns = stretch.latency_ns;
    let messages = vec![
        Message::Environment(Box::new(environment)),
        phase(RunPhase::Measure, 0),
        phase(RunPhase::Collect, end_ns),
        Message::Problem(Problem::new(Severity::Notice, &RecordingProblem::WholeMicroseconds)),
        Message::LatencyTrace(Box::new(stretch)),
        Message::End { ending: Ending::Complete, monotonic_ns: end_ns },
    ];
    let imported = ImportedFrom {
        tool: "ftrace".into(),
        version: None,
        file_name: origin.file_name.into(),
        format: format!("text of the latency tracer {}", parsed.tracer),
        resolution_ns: 1000,
        imported_unix_ns: origin.imported_unix_ns,
        lost: vec![Remark::new(&Lack::OtherStretches { tracer: parsed.tracer })],
        ..ImportedFrom::default()
    };
    let files = vec![(FileKind::LatencyTrace { number: NUMBER }, kept.as_bytes().to_vec())];
    Archived { hostname: String::new(), imported, messages, files }
}
