//! The sum of the worst phases of different wake-ups: larger than any observed latency, but not a bound.

use super::ExplainedSpike;
use archive::causes::{Composed, ComposedPart};
use archive::explanation::PhaseName;
use archive::watched::WatchedKind;

/// The phases from due to seen. A late arm is the lateness of the previous wake-up and would count it twice.
const WAY: [PhaseName; 5] = [
    PhaseName::TimerDelay,
    PhaseName::Handler,
    PhaseName::WakePath,
    PhaseName::SchedulingDelay,
    PhaseName::ReturnToUser,
];

/// `None` if it is not more than the latency of one wake-up.
pub fn composed(explained: &[ExplainedSpike]) -> Option<Composed> {
    let wake_ups: Vec<&ExplainedSpike> =
        explained.iter().filter(|explained| explained.spike.watched != Some(WatchedKind::Cycle)).collect();
    let parts: Vec<ComposedPart> = WAY.iter().filter_map(|&phase| worst(&wake_ups, phase)).collect();
    let first = parts.first()?.spike;
    if parts.iter().all(|part| part.spike == first) {
        return None;
    }
    let ns = parts.iter().fold(0i64, |sum, part| sum.saturating_add(part.ns));
    // A sum below the observed latency is useless: the rest of that wake-up was not recorded.
    let seen_ns = wake_ups.iter().map(|explained| explained.spike.sample.latency_ns).max()?;
    (ns > seen_ns).then_some(Composed { ns, parts })
}

fn worst(explained: &[&ExplainedSpike], phase: PhaseName) -> Option<ComposedPart> {
    let of = explained.iter().filter_map(|explained| {
        let ns = explained.explanation.phases.iter().find(|known| known.name == phase)?.ns;
        Some(ComposedPart { phase, ns, spike: explained.spike.number })
    });
    of.max_by_key(|part| (part.ns, std::cmp::Reverse(part.spike)))
}
