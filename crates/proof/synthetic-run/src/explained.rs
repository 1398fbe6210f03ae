//! Explanations of the spikes, as `tardy explain` would have stored them.

use archive::explanation::{Confidence, Explanation, ExplanationStatus, Finding};

/// An explanation of each spike: latency in nanoseconds and culprit.
pub(crate) fn explanations(spikes: &[(i64, Option<String>)]) -> Vec<Explanation> {
    let explained = |((latency_ns, culprit), spike): (&(i64, Option<String>), u32)| Explanation {
        spike,
        latency_ns: *latency_ns,
        median_ns: 3_000,
        status: match culprit {
            Some(_) => ExplanationStatus::Explained,
            None => ExplanationStatus::NotExplained,
        },
        phases: Vec::new(),
        findings: culprit.iter().map(|culprit| finding(culprit, *latency_ns)).collect(),
        spans: Vec::new(),
        lanes: Vec::new(),
        marks: Vec::new(),
        elsewhere_facts: Vec::new(),
        elsewhere: Vec::new(),
        functions: None,
        own_code: None,
        recording: None,
        caveats: Vec::new(),
    };
    spikes.iter().zip(1..).map(explained).collect()
}

fn finding(culprit: &str, ns: i64) -> Finding {
    Finding {
        sentence: format!("{culprit} kept the CPU for {ns} ns"),
        ..Finding::new(culprit.into(), Confidence::Certain, ns)
    }
}
