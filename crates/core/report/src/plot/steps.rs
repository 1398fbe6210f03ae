//! The figures of each step of a series of runs, and how late the periods were before and after all of them.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing};
use super::layout::shortened;
use crate::number;
use archive::histogram::{Histogram, bucket_low_ns};
use claims::unit::Unit;
use judge::median::median;
use std::fmt::Write;
use words::claims::amount;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 260.0;
const RIGHT: f64 = 930.0;
const ROW: f64 = 34.0;
const TOP: f64 = 44.0;

/// Runs with the same settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub name: String,
    /// The figure of each run.
    pub figures: Vec<f64>,
    /// Of every period of all of them; empty for a step whose curve is not drawn.
    pub lateness: Histogram,
}

impl Step {
    /// `None` without a run.
    pub fn median(&self) -> Option<f64> {
        (!self.figures.is_empty()).then(|| median(&self.figures))
    }
}

/// A row for each step: its runs, and their median. `None` without a positive figure.
pub fn figures(steps: &[Step], title: &str, unit: Unit) -> Option<Drawing> {
    let shown: Vec<&Step> = steps.iter().filter(|step| step.median().is_some()).collect();
    let values = || shown.iter().flat_map(|step| &step.figures).copied().filter(|value| *value > 0.0);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if !low.is_finite() || high <= 0.0 {
        return None;
    }
    let bottom = TOP + ROW * shown.len() as f64;
    let described: Vec<String> =
        shown.iter().filter_map(|step| Some(format!("{} {}", step.name, amount(step.median()?, &unit)))).collect();
    let mut drawing = Drawing::new(WIDTH, bottom + 52.0, format!("{title} of each step: {}.", described.join(", ")));
    let x = Axis::logarithmic(low * 0.9, high * 1.1, LEFT, RIGHT);
    for tick in x.ticks(6) {
        let label = if unit == Unit::Nanoseconds { number::axis_time(tick) } else { format!("{tick}") };
        drawing.line("grid", x.at(tick), TOP, x.at(tick), bottom);
        drawing.text("tick", x.at(tick), bottom + 18.0, Anchor::Middle, &label);
    }
    drawing.line("axis", LEFT, bottom, RIGHT, bottom);
    drawing.text(
        "axis-title",
        RIGHT,
        bottom + 40.0,
        Anchor::End,
        &format!("{title} of each run; the line is the median"),
    );
    for (at, step) in shown.iter().enumerate() {
        let middle = TOP + ROW * (at as f64 + 0.5);
        drawing.text("axis-title", LEFT - 12.0, middle + 4.0, Anchor::End, &name_within(&step.name, LEFT - 12.0));
        for value in &step.figures {
            drawing.rect("late", x.at(*value) - 2.5, middle - 2.5, 5.0, 5.0);
        }
        if let Some(median) = step.median() {
            drawing.line("instant", x.at(median), middle - 13.0, x.at(median), middle + 13.0);
        }
    }
    Some(drawing)
}

/// From one name of the legend to the next.
const LEGEND_STEP: f64 = 330.0;

fn name_within(name: &str, width: f64) -> String {
    shortened(name, width).unwrap_or_default()
}

/// The share of periods that were later than each latency. `None` without periods.
pub fn shares(steps: &[Step]) -> Option<Drawing> {
    const HEIGHT: f64 = 380.0;
    const LEFT: f64 = 80.0;
    const BOTTOM: f64 = 328.0;
    let shown: Vec<&Step> = steps.iter().filter(|step| step.lateness.total() > 0).collect();
    let ends = || shown.iter().flat_map(|step| step.lateness.buckets.iter().map(|(bucket, _)| *bucket as usize));
    let (low, high) = (ends().min()?, ends().max()?);
    let fewest = shown.iter().map(|step| 1.0 / step.lateness.total() as f64).fold(1.0, f64::min);
    let x = Axis::logarithmic(bucket_low_ns(low).max(1) as f64, bucket_low_ns(high).max(2) as f64, LEFT, RIGHT);
    let y = Axis::logarithmic(fewest, 1.0, BOTTOM, TOP);
    let names: Vec<&str> = shown.iter().map(|step| step.name.as_str()).collect();
    let mut drawing = Drawing::new(
        WIDTH,
        HEIGHT,
        format!("Share of periods later than each latency, on logarithmic axes: {}.", names.join(", ")),
    );
    for tick in y.ticks(6) {
        drawing.line("grid", LEFT, y.at(tick), RIGHT, y.at(tick));
        drawing.text("tick", LEFT - 8.0, y.at(tick) + 4.0, Anchor::End, &words::amounts::percent(tick));
    }
    for tick in x.ticks(8) {
        drawing.text("tick", x.at(tick), BOTTOM + 18.0, Anchor::Middle, &number::axis_time(tick));
    }
    drawing.line("axis", LEFT, BOTTOM, RIGHT, BOTTOM);
    drawing.text("axis-title", RIGHT, BOTTOM + 40.0, Anchor::End, "later than");
    for (at, step) in shown.iter().enumerate() {
        drawing.path(&format!("series series-{}", at % 8), &descent(&step.lateness, &x, &y));
        let left = LEFT + 20.0 + LEGEND_STEP * at as f64;
        drawing.line(&format!("series series-{}", at % 8), left, TOP - 20.0, left + 16.0, TOP - 20.0);
        drawing.text("tick", left + 21.0, TOP - 16.0, Anchor::Start, &name_within(&step.name, LEGEND_STEP - 21.0));
    }
    Some(drawing)
}

/// A descending staircase from all periods to the last one.
fn descent(lateness: &Histogram, x: &Axis, y: &Axis) -> String {
    let all = lateness.total() as f64;
    let mut later = lateness.total();
    let mut path = String::new();
    for (bucket, count) in &lateness.buckets {
        let across = x.at(bucket_low_ns(*bucket as usize).max(1) as f64);
        let up = y.at(later as f64 / all);
        let next = if path.is_empty() { format!("M{across:.1} {up:.1}") } else { format!("H{across:.1}") };
        later = later.saturating_sub(*count);
        write!(path, "{next}V{:.1}", y.at(later as f64 / all)).expect("writing to a string succeeds");
    }
    path
}
