//! One late wake-up as a timeline: the phases on top, below them what each CPU did.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing};
use super::lane::{LANE, draw_blocks, draw_legend, legend, legend_height};
use super::layout::shortened;
use crate::number;
use archive::explanation::{Explanation, Lane};
use archive::summary::{RunSummary, SpikeSummary};
use words::vocabulary;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 944.0;
const BAND_TOP: f64 = 26.0;
const BAND: f64 = 20.0;
const LANE_STEP: f64 = 30.0;
/// Most lanes of a static picture, to keep it readable; the interactive one has all.
const LANES_MAX: usize = 16;

pub fn draw(entry: &SpikeSummary, summary: &RunSummary) -> Option<Drawing> {
    let explanation = entry.explanation.as_ref().filter(|explanation| !explanation.lanes.is_empty())?;
    let lanes = ordered(&explanation.lanes, entry.spike.sample.cpu);
    let kinds = vocabulary::OWNER_KINDS
        .into_iter()
        .filter(|kind| lanes.iter().any(|lane| lane.segments.iter().any(|segment| segment.kind == *kind)));
    let legend = legend(kinds.map(|kind| (kind, vocabulary::owner_kind(kind))), LEFT, RIGHT);
    let lanes_top = BAND_TOP + BAND + 10.0;
    let lanes_bottom = lanes_top + lanes.len() as f64 * LANE_STEP;
    let latency = entry.latency_ns.max(1) as f64;
    let x = Axis::linear(-0.2 * latency, 1.15 * latency, LEFT, RIGHT);
    let height = lanes_bottom + 36.0 + legend_height(&legend);
    let mut drawing = Drawing::new(WIDTH, height, label(entry, explanation));
    for tick in x.ticks(8) {
        drawing.line("grid", x.at(tick), BAND_TOP, x.at(tick), lanes_bottom);
        drawing.text("tick", x.at(tick), lanes_bottom + 16.0, Anchor::Middle, &number::axis_time(tick));
    }
    if summary.virtual_time {
        drawing.text("axis-title", LEFT, BAND_TOP - 10.0, Anchor::Start, "virtual time");
    }
    band(&mut drawing, explanation, &x);
    for (index, lane) in lanes.iter().enumerate() {
        draw_lane(&mut drawing, lane, lane.cpu == entry.spike.sample.cpu, &x, lanes_top + index as f64 * LANE_STEP);
    }
    for mark in &explanation.marks {
        let lane = lanes.iter().position(|lane| lane.cpu == mark.cpu);
        if let Some(lane) = lane.filter(|_| (x.low..=x.high).contains(&(mark.at_ns as f64))) {
            draw_mark(&mut drawing, x.at(mark.at_ns as f64), lanes_top + lane as f64 * LANE_STEP);
        }
    }
    let start = vocabulary::sample(summary).start();
    for (value, text) in [(0.0, start.to_owned()), (latency, format!("seen {}", number::axis_time(latency)))] {
        drawing.line("instant", x.at(value), BAND_TOP - 6.0, x.at(value), lanes_bottom);
        drawing.text("instant-label", x.at(value), BAND_TOP - 10.0, Anchor::Middle, &text);
    }
    draw_legend(&mut drawing, &legend, lanes_bottom + 34.0);
    Some(drawing)
}

/// The late CPU first, then its neighbours.
fn ordered(lanes: &[Lane], cpu: u32) -> Vec<&Lane> {
    let mut lanes: Vec<&Lane> = lanes.iter().collect();
    lanes.sort_by_key(|lane| (lane.cpu != cpu, lane.cpu));
    lanes.truncate(LANES_MAX);
    lanes
}

fn label(entry: &SpikeSummary, explanation: &Explanation) -> String {
    let phases: Vec<String> = explanation
        .phases
        .iter()
        .map(|phase| format!("{} {}", phase.name.title(), number::micros_unit(phase.ns)))
        .collect();
    format!(
        "Timeline of a latency of {} on CPU {}: {}. The ledger below holds the same in numbers.",
        number::micros_unit(entry.latency_ns),
        entry.spike.sample.cpu,
        phases.join(", ")
    )
}

fn band(drawing: &mut Drawing, explanation: &Explanation, x: &Axis) {
    for span in &explanation.spans {
        let (from, to) = (x.at(span.start_ns as f64), x.at(span.end_ns as f64));
        if to <= from {
            continue;
        }
        drawing.rect(&format!("phase phase-{}", vocabulary::phase_key(span.name)), from, BAND_TOP, to - from, BAND);
        if let Some(label) = shortened(span.name.title(), to - from) {
            drawing.text("block-label on-phase", (from + to) / 2.0, BAND_TOP + 14.0, Anchor::Middle, &label);
        }
    }
}

/// A mark is at the top of the lane of the CPU that recorded it; the list next to the picture describes it.
fn draw_mark(drawing: &mut Drawing, x: f64, top: f64) {
    drawing.path("mark-tip", &format!("M{x:.2} {top:.2}l-4 -7h8z"));
    drawing.path("mark-stem", &format!("M{x:.2} {top:.2}v{LANE}"));
}

fn draw_lane(drawing: &mut Drawing, lane: &Lane, late: bool, x: &Axis, top: f64) {
    let class = if late { "lane-label late" } else { "lane-label" };
    drawing.text(class, LEFT - 8.0, top + 16.0, Anchor::End, &format!("CPU {}", lane.cpu));
    draw_blocks(drawing, &lane.segments, x, top);
}
