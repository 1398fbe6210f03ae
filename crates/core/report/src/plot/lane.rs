//! Parts that every timeline has: the blocks of a lane, and the legend below the lanes.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing};
use super::layout::{blocks, shortened};
use archive::explanation::{OwnerKind, Segment};
use words::vocabulary;

pub const LANE: f64 = 24.0;
pub const LEGEND_STEP: f64 = 20.0;

/// An entry of a legend, and its place.
pub struct LegendEntry {
    kind: OwnerKind,
    word: &'static str,
    left: f64,
    row: f64,
}

/// Places of the entries between two edges: words of different length, wrapped at the right one.
pub fn legend(entries: impl IntoIterator<Item = (OwnerKind, &'static str)>, from: f64, to: f64) -> Vec<LegendEntry> {
    let (mut left, mut row) = (from, 0.0);
    let place = |(kind, word): (OwnerKind, &'static str)| {
        let width = 24.0 + word.len() as f64 * 6.4 + 20.0;
        if left + width > to && left > from {
            (left, row) = (from, row + 1.0);
        }
        left += width;
        LegendEntry { kind, word, left: left - width, row }
    };
    entries.into_iter().map(place).collect()
}

/// Height of a legend.
pub fn legend_height(legend: &[LegendEntry]) -> f64 {
    legend.last().map_or(0.0, |last| last.row + 1.0) * LEGEND_STEP
}

pub fn draw_legend(drawing: &mut Drawing, legend: &[LegendEntry], top: f64) {
    for LegendEntry { kind, word, left, row } in legend {
        let (key, top) = (vocabulary::owner_kind_key(*kind), top + row * LEGEND_STEP);
        for class in [format!("kind-{key}"), format!("pattern-{key}")] {
            drawing.rect(&class, *left, top, 18.0, 12.0);
        }
        drawing.text("tick", left + 24.0, top + 10.0, Anchor::Start, word);
    }
}

pub fn draw_blocks(drawing: &mut Drawing, segments: &[Segment], x: &Axis, top: f64) {
    for block in blocks(segments, x) {
        let key = vocabulary::owner_kind_key(block.kind);
        for class in [format!("block kind-{key}"), format!("pattern-{key}")] {
            drawing.rect(&class, block.x, top, block.width, LANE);
        }
        if let Some(label) = shortened(block.name, block.width) {
            let middle = block.x + block.width / 2.0;
            drawing.text(&format!("block-label on-{key}"), middle, top + 16.0, Anchor::Middle, &label);
        }
    }
}
