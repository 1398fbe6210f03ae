//! The picture of a wake-up: the activity of each CPU, coarse enough to draw.

use crate::account::ledger::{Answer, Piece};
use crate::cut::phases::Span;
use crate::replay::context::ToolThreads;
use crate::replay::trace::{CpuActivity, Trace};
use archive::explanation::{Lane, PhaseSpan, Segment};

/// Segments per CPU; more cannot be distinguished on a screen.
const SEGMENTS_MAX: usize = 400;

/// Every CPU over the window; on the path of the wake-up the stretches of its ledger, so that silence is visible.
pub fn lanes(trace: &Trace, pieces: &[Piece], tool_threads: &ToolThreads) -> Vec<Lane> {
    trace.cpus.iter().map(|activity| lane(activity, trace, pieces, tool_threads)).collect()
}

fn lane(activity: &CpuActivity, trace: &Trace, pieces: &[Piece], tool_threads: &ToolThreads) -> Lane {
    let silent = |piece: &&Piece| piece.cpu == activity.cpu && !matches!(piece.answer, Answer::Held(_));
    let mut silences = pieces.iter().filter(silent).peekable();
    let mut stretches: Vec<(i64, i64, Answer)> = Vec::new();
    for interval in &activity.intervals {
        let mut cursor_ns = interval.start_ns;
        while let Some(silence) = silences.peek() {
            let start_ns = silence.start_ns.max(cursor_ns);
            let end_ns = silence.end_ns.min(interval.end_ns);
            if start_ns < end_ns {
                stretches.push((cursor_ns, start_ns, Answer::Held(interval.context)));
                stretches.push((start_ns, end_ns, silence.answer));
                cursor_ns = end_ns;
            }
            if silence.end_ns > interval.end_ns {
                break;
            }
            silences.next();
        }
        stretches.push((cursor_ns, interval.end_ns, Answer::Held(interval.context)));
    }
    stretches.retain(|(start_ns, end_ns, _)| start_ns < end_ns);
    let due_ns = trace.window.due_ns;
    let segments = coarsen(stretches).into_iter().map(|(start_ns, end_ns, answer)| Segment {
        start_ns: start_ns - due_ns,
        end_ns: end_ns - due_ns,
        kind: answer.kind(tool_threads, &trace.names),
        name: answer.name(&trace.names),
    });
    Lane { cpu: activity.cpu, segments: segments.collect() }
}

/// Merges adjacent spans of the same phase.
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

/// Merges the shortest stretches into their predecessors until few enough are left.
fn coarsen<A: Copy + PartialEq>(stretches: Vec<(i64, i64, A)>) -> Vec<(i64, i64, A)> {
    if stretches.len() <= SEGMENTS_MAX {
        return stretches;
    }
    let mut lengths: Vec<i64> = stretches.iter().map(|(start, end, _)| end - start).collect();
    let index = lengths.len() - SEGMENTS_MAX;
    let (_, &mut limit_ns, _) = lengths.select_nth_unstable(index);
    // As many of exactly the limit as fit besides the longer ones.
    let longer = stretches.iter().filter(|(start, end, _)| end - start > limit_ns).count();
    let mut equal_left = SEGMENTS_MAX - longer;
    let mut kept: Vec<(i64, i64, A)> = Vec::with_capacity(SEGMENTS_MAX);
    for (start, end, answer) in stretches {
        let equal = end - start == limit_ns && equal_left > 0;
        let keep = end - start > limit_ns || equal;
        match kept.last_mut() {
            Some(last) if last.1 == start && (!keep || last.2 == answer) => last.1 = end,
            _ if keep => {
                equal_left -= usize::from(equal);
                kept.push((start, end, answer));
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
        let kept = coarsen(stretches);
        assert!(kept.len() <= SEGMENTS_MAX);
        assert_eq!(kept.iter().filter(|(_, _, index)| index % 10 == 0).count(), 200);
        assert!(kept.windows(2).all(|pair| pair[0].1 == pair[1].0));
        assert_eq!((kept[0].0, kept[kept.len() - 1].1), (0, cursor));
    }

    #[test]
    fn equal_lengths_stay_within_the_limit() {
        let stretches: Vec<_> =
            (0..5000usize).map(|index| (index as i64 * 10, index as i64 * 10 + 10, index)).collect();
        assert!(coarsen(stretches).len() <= SEGMENTS_MAX);
    }
}
