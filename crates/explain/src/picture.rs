//! The picture of a wake-up: what each CPU did, coarse enough to draw.

use crate::holder::Household;
use crate::scene::Scene;
use crate::span::Span;
use archive::explanation::{Lane, PhaseSpan, Segment};

/// Segments a CPU; more cannot be told apart on a screen.
const SEGMENTS_MAX: usize = 400;

pub fn lanes(scene: &Scene, household: &Household) -> Vec<Lane> {
    let due_ns = scene.window.due_ns;
    let lane = |story: &crate::scene::CpuStory| {
        let stretches: Vec<(i64, i64, usize)> = story
            .intervals
            .iter()
            .enumerate()
            .map(|(index, interval)| (interval.start_ns, interval.end_ns, index))
            .collect();
        let segments = coarsen(stretches, |a, b| story.intervals[a].holder == story.intervals[b].holder)
            .into_iter()
            .map(|(start_ns, end_ns, index)| {
                let holder = story.intervals[index].holder;
                Segment {
                    start_ns: start_ns - due_ns,
                    end_ns: end_ns - due_ns,
                    kind: household.kind(holder, &scene.names),
                    name: holder.name(&scene.names),
                }
            })
            .collect();
        Lane { cpu: story.cpu, segments }
    };
    scene.cpus.iter().map(lane).collect()
}

/// Neighbouring spans of one phase become one.
pub fn phase_spans(spans: &[Span], due_ns: i64) -> Vec<PhaseSpan> {
    let mut merged: Vec<PhaseSpan> = Vec::new();
    for span in spans {
        let (start_ns, end_ns) = (span.start_ns - due_ns, span.end_ns - due_ns);
        match merged.last_mut() {
            Some(last) if last.name == span.phase && last.end_ns == start_ns => last.end_ns = end_ns,
            _ => merged.push(PhaseSpan { name: span.phase, start_ns, end_ns }),
        }
    }
    merged
}

/// Lets the neighbour before them swallow the shortest stretches until few enough are left.
fn coarsen(stretches: Vec<(i64, i64, usize)>, same: impl Fn(usize, usize) -> bool) -> Vec<(i64, i64, usize)> {
    if stretches.len() <= SEGMENTS_MAX {
        return stretches;
    }
    let mut lengths: Vec<i64> = stretches.iter().map(|(start, end, _)| end - start).collect();
    let index = lengths.len() - SEGMENTS_MAX;
    let (_, &mut limit_ns, _) = lengths.select_nth_unstable(index);
    // As many of exactly the limit as there is room for beside the longer ones.
    let longer = stretches.iter().filter(|(start, end, _)| end - start > limit_ns).count();
    let mut equal_left = SEGMENTS_MAX - longer;
    let mut kept: Vec<(i64, i64, usize)> = Vec::with_capacity(SEGMENTS_MAX);
    for (start, end, holder) in stretches {
        let equal = end - start == limit_ns && equal_left > 0;
        let keep = end - start > limit_ns || equal;
        match kept.last_mut() {
            Some(last) if last.1 == start && (!keep || same(last.2, holder)) => last.1 = end,
            _ if keep => {
                equal_left -= usize::from(equal);
                kept.push((start, end, holder));
            }
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_stretches_survive_and_swallow_the_rest() {
        let mut stretches = Vec::new();
        let mut cursor = 0;
        for index in 0..2000usize {
            let length = if index % 10 == 0 { 100 } else { 1 };
            stretches.push((cursor, cursor + length, index));
            cursor += length;
        }
        let kept = coarsen(stretches, |_, _| false);
        assert_eq!(kept.len(), 200);
        assert!(kept.windows(2).all(|pair| pair[0].1 == pair[1].0));
        assert_eq!((kept[0].0, kept[199].1), (0, cursor));
    }

    #[test]
    fn equal_lengths_stay_within_the_limit() {
        let stretches: Vec<_> =
            (0..5000usize).map(|index| (index as i64 * 10, index as i64 * 10 + 10, index)).collect();
        assert!(coarsen(stretches, |_, _| false).len() <= SEGMENTS_MAX);
    }
}
