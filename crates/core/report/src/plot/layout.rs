//! Converts stretches of a lane to blocks of a picture.

use super::axis::Axis;
use archive::explanation::{OwnerKind, Segment};

/// A block of a lane. Stretches too narrow to see are joined; the longest of them defines the block's appearance.
#[derive(Debug, PartialEq)]
pub struct Block<'a> {
    pub x: f64,
    pub width: f64,
    pub kind: OwnerKind,
    pub name: &'a str,
}

/// Narrowest block, in pixels.
const NARROW: f64 = 1.0;

struct Joined<'a> {
    from: f64,
    to: f64,
    longest: &'a Segment,
}

/// Blocks of the stretches inside the axis, ascending.
pub fn blocks<'a>(segments: &'a [Segment], axis: &Axis) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut joined: Option<Joined> = None;
    for segment in segments {
        let (start, end) = (segment.start_ns as f64, segment.end_ns as f64);
        if end <= axis.low || start >= axis.high || end <= start {
            continue;
        }
        let (from, to) = (axis.at(start), axis.at(end));
        let apart = joined
            .as_ref()
            .is_some_and(|open| from - open.to > NARROW || to - from >= NARROW || open.to - open.from >= NARROW);
        if apart {
            blocks.extend(joined.take().map(block));
        }
        match &mut joined {
            Some(open) => {
                open.to = to;
                if length(segment) > length(open.longest) {
                    open.longest = segment;
                }
            }
            None => joined = Some(Joined { from, to, longest: segment }),
        }
    }
    blocks.extend(joined.map(block));
    blocks
}

fn length(segment: &Segment) -> i64 {
    segment.end_ns.saturating_sub(segment.start_ns)
}

fn block(joined: Joined<'_>) -> Block<'_> {
    let width = (joined.to - joined.from).max(NARROW);
    Block { x: joined.from, width, kind: joined.longest.kind, name: &joined.longest.name }
}

/// The part of a text that fits a width. Letters are about 6.6 px wide on average.
pub fn shortened(text: &str, width: f64) -> Option<String> {
    let room = ((width - 8.0) / 6.6).max(0.0) as usize;
    if text.chars().count() <= room {
        return Some(text.to_owned());
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    (room >= 5).then(|| format!("{}…", kept.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(start_ns: i64, end_ns: i64, kind: OwnerKind) -> Segment {
        Segment { start_ns, end_ns, kind, name: format!("{start_ns}") }
    }

    #[test]
    fn narrow_stretches_join_under_the_longest() {
        let axis = Axis::linear(0.0, 1000.0, 0.0, 100.0);
        let segments = [
            segment(0, 500, OwnerKind::Task),
            segment(500, 502, OwnerKind::Hardirq),
            segment(502, 508, OwnerKind::Softirq),
            segment(600, 900, OwnerKind::Idle),
            segment(2000, 3000, OwnerKind::Idle),
        ];
        let blocks = blocks(&segments, &axis);
        let kinds: Vec<_> = blocks.iter().map(|block| (block.kind, block.x, block.width)).collect();
        assert_eq!(
            kinds,
            [(OwnerKind::Task, 0.0, 50.0), (OwnerKind::Softirq, 50.0, 1.0), (OwnerKind::Idle, 60.0, 30.0)]
        );
    }

    #[test]
    fn stretches_are_cut_at_the_edges() {
        let axis = Axis::linear(0.0, 100.0, 0.0, 100.0);
        let segments =
            [segment(-50, 10, OwnerKind::Task), segment(90, i64::MAX, OwnerKind::Idle), segment(5, 5, OwnerKind::Own)];
        let widths: Vec<_> = blocks(&segments, &axis).iter().map(|block| block.width).collect();
        assert_eq!(widths, [10.0, 10.0]);
    }

    #[test]
    fn long_names_are_cut_visibly() {
        assert_eq!(shortened("kworker/0:1-12", 200.0).as_deref(), Some("kworker/0:1-12"));
        assert_eq!(shortened("kworker/0:1-12", 62.0).as_deref(), Some("kworker…"));
        assert_eq!(shortened("kworker/0:1-12", 30.0), None);
    }
}
