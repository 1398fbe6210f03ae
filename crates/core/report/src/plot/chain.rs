//! One instance of a chain as a timeline: a lane for each stage, from the stimulus to the end. Together the blocks are the critical path.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing};
use super::lane::{LANE, draw_blocks, draw_legend, legend, legend_height};
use super::layout::shortened;
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
const LANE_STEP: f64 = 34.0;
/// Most stages in a picture; the table below it has all.
const STAGES_MAX: usize = 24;

/// The worst instance; `None` if the account has no ledger of it.
pub fn draw(account: &ChainAccount) -> Option<Drawing> {
    let instance = account.worst().filter(|worst| !worst.segments.is_empty() && worst.latency_ns() > 0)?;
    let stages = &instance.stages[..instance.stages.len().min(STAGES_MAX)];
    let latency_ns = instance.latency_ns() as f64;
    let bottom = TOP + stages.len() as f64 * LANE_STEP;
    let x = Axis::linear(-0.02 * latency_ns, 1.06 * latency_ns, LEFT, RIGHT);
    let used =
        ChainShare::ALL.into_iter().filter(|share| instance.segments.iter().any(|segment| segment.share() == *share));
    let legend = legend(used.map(|share| (looks_like(share), share_name(share))), LEFT, RIGHT);
    let mut drawing = Drawing::new(WIDTH, bottom + 36.0 + legend_height(&legend), label(account, instance));
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
    draw_legend(&mut drawing, &legend, bottom + 34.0);
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
    draw_blocks(drawing, &segments, x, top);
}

fn label(account: &ChainAccount, instance: &ChainInstance) -> String {
    format!(
        "Critical path of the worst instance of {}, {}: {}. The tables below hold the same in numbers.",
        account.name.0,
        latency(instance.latency_ns()),
        shares(instance)
    )
}
