//! Stretches that were kept on request.

use archive::spike::{RequestSource, SaveRequest, Spike};

/// Requests that are listed.
const LISTED_MAX: usize = 3;

/// Who asked, and the reason that was given: `by the program (lost frame)`.
pub fn by_whom(request: Option<&SaveRequest>) -> String {
    let Some(request) = request else { return "on request".into() };
    let source = match &request.by {
        RequestSource::Signal => "by a signal".to_owned(),
        RequestSource::Key => "by a key".to_owned(),
        RequestSource::Program => "by a program".to_owned(),
        RequestSource::Chain(missed) => format!("by the chain {}, which missed its deadline", missed.name),
    };
    match request.reason.as_str() {
        "" => source,
        reason => format!("{source} (\u{201c}{reason}\u{201d})"),
    }
}

/// `spike 12 by the program ("lost frame")`; the last ones, and the number of the others.
pub fn listed(spikes: &[&Spike]) -> Option<String> {
    let last = spikes.iter().rev().take(LISTED_MAX);
    let named: Vec<String> =
        last.map(|spike| format!("spike {} {}", spike.number, by_whom(spike.request.as_ref()))).collect();
    let others = spikes.len().saturating_sub(LISTED_MAX);
    let more = if others > 0 { format!(", and {others} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::sample::Sample;
    use archive::spike::SpikeReason;

    fn spike(number: u32, request: Option<SaveRequest>) -> Spike {
        let sample = Sample { cpu: 0, cycle: 0, due_ns: 0, latency_ns: 1 };
        Spike { request, requested: true, ..Spike::new(number, 0, 1, sample, SpikeReason::Control) }
    }

    #[test]
    fn requests_are_named_with_their_reasons() {
        let by = |by, reason: &str| Some(SaveRequest { by, reason: reason.into() });
        let all = [spike(4, by(RequestSource::Program, "lost frame")), spike(9, by(RequestSource::Signal, ""))];
        let text = listed(&all.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(text, "spike 9 by a signal, spike 4 by a program (\u{201c}lost frame\u{201d})");
        assert_eq!(listed(&[]), None);
        let many: Vec<Spike> = (0..5).map(|number| spike(number, None)).collect();
        assert!(listed(&many.iter().collect::<Vec<_>>()).unwrap().ends_with(", and 2 more"));
    }
}
