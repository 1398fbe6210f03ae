//! The worst phases of different wake-ups put together: larger than anything seen, and still no bound.

use super::ExplainedSpike;
use archive::causes::{Composed, ComposedPart};
use archive::explanation::PhaseName;
use archive::watched::WatchedKind;

/// The phases of the way from due to seen. A late arm is the lateness of the wake-up before and would count it twice.
const WAY: [PhaseName; 5] = [
    PhaseName::TimerDelay,
    PhaseName::Handler,
    PhaseName::WakePath,
    PhaseName::SchedulingDelay,
    PhaseName::ReturnToUser,
];

/// `None` when it is not more than what was seen in one wake-up.
pub fn composed(explained: &[ExplainedSpike]) -> Option<Composed> {
    let wake_ups: Vec<&ExplainedSpike> =
        explained.iter().filter(|explained| explained.spike.watched != Some(WatchedKind::Cycle)).collect();
    let parts: Vec<ComposedPart> = WAY.iter().filter_map(|&phase| worst(&wake_ups, phase)).collect();
    let first = parts.first()?.spike;
    if parts.iter().all(|part| part.spike == first) {
        return None;
    }
    let ns = parts.iter().fold(0i64, |sum, part| sum.saturating_add(part.ns));
    // Less than what was seen says nothing: the rest of that wake-up was not recorded.
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
