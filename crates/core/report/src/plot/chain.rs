//! One instance of a chain as a timeline: a lane for each stage, from the stimulus to the end. Together the blocks are the critical path.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing};
use super::layout::{blocks, shortened};
use crate::number;
use archive::chain::{ChainAccount, ChainInstance, ChainShare};
use archive::explanation::{OwnerKind, Segment};
use words::chain::{segment, share_name, shares};
use words::figures::latency;
use words::vocabulary;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 164.0;
const RIGHT: f64 = 944.0;
const TOP: f64 = 26.0;
const LANE: f64 = 24.0;
const LANE_STEP: f64 = 34.0;
const LEGEND_STEP: f64 = 20.0;
/// Most stages in a picture; the table below it has all.
const STAGES_MAX: usize = 24;

/// The worst instance; `None` if the account has no ledger of it.
pub fn draw(account: &ChainAccount) -> Option<Drawing> {
    let instance = account.worst().filter(|worst| !worst.segments.is_empty() && worst.latency_ns() > 0)?;
    let stages = &instance.stages[..instance.stages.len().min(STAGES_MAX)];
    let latency_ns = instance.latency_ns() as f64;
    let bottom = TOP + stages.len() as f64 * LANE_STEP;
    let x = Axis::linear(-0.02 * latency_ns, 1.06 * latency_ns, LEFT, RIGHT);
    let used: Vec<ChainShare> = ChainShare::ALL
        .into_iter()
        .filter(|share| instance.segments.iter().any(|segment| segment.share() == *share))
        .collect();
    let legend = legend_places(&used);
    let rows = legend.last().map_or(0.0, |(_, row)| row + 1.0);
    let mut drawing = Drawing::new(WIDTH, bottom + 36.0 + rows * LEGEND_STEP, label(account, instance));
    for tick in x.ticks(8) {
        drawing.line("grid", x.at(tick), TOP, x.at(tick), bottom);
        drawing.text("tick", x.at(tick), bottom + 16.0, Anchor::Middle, &number::axis_time(tick));
    }
    for (index, stage) in stages.iter().enumerate() {
        let top = TOP + index as f64 * LANE_STEP;
        let name = format!("{} {}", index + 1, stage.thread.comm);
        let name = shortened(&name, LEFT - 8.0).unwrap_or(name);
        drawing.text("lane-label", LEFT - 8.0, top + 16.0, Anchor::End, &name);
        draw_stage(&mut drawing, instance, index, &x, top);
        if index > 0 {
            let given = x.at((stage.start_ns - instance.stimulus_ns) as f64);
            drawing.line("axis", given, top - (LANE_STEP - LANE), given, top);
        }
    }
    if let Some(deadline_ns) = account.deadline_ns.filter(|ns| (*ns as f64) < x.high) {
        let at = x.at(deadline_ns as f64);
        drawing.line("limit", at, TOP - 6.0, at, bottom);
        drawing.text("limit-label", at, TOP - 10.0, Anchor::Middle, "deadline");
    }
    for (share, (left, row)) in used.into_iter().zip(legend) {
        let (key, top) = (key(share), bottom + 34.0 + row * LEGEND_STEP);
        for class in [format!("kind-{key}"), format!("pattern-{key}")] {
            drawing.rect(&class, left, top, 18.0, 12.0);
        }
        drawing.text("tick", left + 24.0, top + 10.0, Anchor::Start, share_name(share));
    }
    Some(drawing)
}

/// The class of a share, as the rows of the table have it.
pub fn key(share: ChainShare) -> &'static str {
    vocabulary::owner_kind_key(looks_like(share))
}

/// The fill of a share is that of the owner of a ledger that resembles it most.
fn looks_like(share: ChainShare) -> OwnerKind {
    match share {
        ChainShare::Running => OwnerKind::Own,
        ChainShare::Runnable => OwnerKind::RtTask,
        ChainShare::Waiting => OwnerKind::Task,
        ChainShare::Hardirq => OwnerKind::Hardirq,
        ChainShare::Softirq => OwnerKind::Softirq,
        ChainShare::KernelThread => OwnerKind::Tool,
        ChainShare::StimulusDelayed => OwnerKind::Nmi,
        ChainShare::Unknown => OwnerKind::Untraced,
    }
}

fn draw_stage(drawing: &mut Drawing, instance: &ChainInstance, stage: usize, x: &Axis, top: f64) {
    let of_stage = instance.segments.iter().filter(|segment| segment.stage == stage);
    let segments: Vec<Segment> = of_stage
        .map(|part| Segment {
            start_ns: part.start_ns - instance.stimulus_ns,
            end_ns: part.end_ns - instance.stimulus_ns,
            kind: looks_like(part.share()),
            name: segment(part)[1].clone(),
        })
        .collect();
    for block in blocks(&segments, x) {
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

fn legend_places(used: &[ChainShare]) -> Vec<(f64, f64)> {
    let (mut left, mut row) = (LEFT, 0.0);
    let place = |share: &ChainShare| {
        let width = 24.0 + share_name(*share).len() as f64 * 6.4 + 20.0;
        if left + width > RIGHT && left > LEFT {
            (left, row) = (LEFT, row + 1.0);
        }
        left += width;
        (left - width, row)
    };
    used.iter().map(place).collect()
}

fn label(account: &ChainAccount, instance: &ChainInstance) -> String {
    format!(
        "Critical path of the worst instance of {}, {}: {}. The tables below hold the same in numbers.",
        account.name.0,
        latency(instance.latency_ns()),
        shares(instance)
    )
}
