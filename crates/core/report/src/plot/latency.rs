//! Latency over time: the worst wake-up of each second on each CPU, with the traced spikes.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing};
use super::histogram::legend;
use crate::number;
use crate::watched::subjects;
use archive::summary::{ReportData, SpikeSummary};
use std::collections::BTreeMap;
use std::fmt::Write;
use words::vocabulary;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 944.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 292.0;

pub fn draw(data: &ReportData) -> Option<Drawing> {
    let seconds = &data.seconds;
    let last = seconds.iter().map(|second| second.second).max()?;
    let limit = data.summary.settings.as_ref().and_then(|settings| settings.limit_ns);
    let marked = marked(data).map(|entry| entry.latency_ns);
    // A second without a wake-up has no latency.
    let measured = seconds.iter().map(|second| second.latency_ns_max).filter(|latency_ns| *latency_ns != 0);
    let low = measured.chain(marked).min().unwrap_or(1).max(1) as f64;
    let high = seconds.iter().map(|second| second.latency_ns_max).chain(limit).max()?.max(2) as f64;
    let x = Axis::linear(0.0, f64::from(last) + 1.0, LEFT, RIGHT);
    let y = Axis::logarithmic(low * 0.8, high * 1.3, BOTTOM, TOP);
    let word = vocabulary::sample(&data.summary);
    let label = format!(
        "The {} {} of each second on {} over {} seconds.",
        word.worst,
        word.one,
        subjects(&data.summary, data.summary.cpus.len()),
        u64::from(last) + 1
    );
    let mut drawing = Drawing::new(WIDTH, HEIGHT, label);
    grid(&mut drawing, &x, &y, vocabulary::latency_axis(&data.summary));
    let mut series: BTreeMap<u32, Vec<Option<i64>>> = BTreeMap::new();
    for second in seconds {
        // Narrower steps are unreadable; a step shows the largest of its seconds.
        let columns = (RIGHT - LEFT) as usize / 3;
        let per_column = (last as usize + 1).div_ceil(columns).max(1);
        let line = series.entry(second.thread).or_insert_with(|| vec![None; (last as usize + 1).div_ceil(per_column)]);
        let column = &mut line[second.second as usize / per_column];
        *column = (*column).max(Some(second.latency_ns_max));
    }
    for (index, line) in series.values().enumerate() {
        drawing.path(&format!("series series-{}", index % 8), &steps(line, f64::from(last) + 1.0, &x, &y));
    }
    let names: Vec<String> = series.keys().map(|thread| vocabulary::series_of_thread(&data.summary, *thread)).collect();
    legend(&mut drawing, &names);
    if let Some(limit) = limit {
        let at = y.at(limit as f64);
        drawing.line("limit", LEFT, at, RIGHT, at);
        drawing.text(
            "limit-label",
            RIGHT - 4.0,
            at - 5.0,
            Anchor::End,
            &format!("limit {}", number::axis_time(limit as f64)),
        );
    }
    marks(&mut drawing, data, &x, &y);
    Some(drawing)
}

fn grid(drawing: &mut Drawing, x: &Axis, y: &Axis, title: &str) {
    for tick in y.ticks(8) {
        drawing.line("grid", LEFT, y.at(tick), RIGHT, y.at(tick));
        drawing.text("tick", LEFT - 8.0, y.at(tick) + 4.0, Anchor::End, &number::axis_time(tick));
    }
    for tick in x.ticks(10) {
        drawing.line("grid", x.at(tick), TOP, x.at(tick), BOTTOM);
        drawing.text("tick", x.at(tick), BOTTOM + 18.0, Anchor::Middle, &format!("{tick}"));
    }
    drawing.line("axis", LEFT, BOTTOM, RIGHT, BOTTOM);
    drawing.text("axis-title", LEFT, TOP - 24.0, Anchor::Start, title);
    drawing.text("axis-title", RIGHT, BOTTOM + 38.0, Anchor::End, "seconds into the run");
}

/// Constant within each column; missing ones leave a gap.
fn steps(line: &[Option<i64>], seconds: f64, x: &Axis, y: &Axis) -> String {
    let width = seconds / line.len() as f64;
    let mut path = String::new();
    let mut drawing = false;
    for (index, value) in line.iter().enumerate() {
        let Some(value) = value else {
            drawing = false;
            continue;
        };
        let (from, to) = (x.at(index as f64 * width), x.at((index + 1) as f64 * width));
        let height = y.at(*value as f64);
        if drawing { write!(path, "V{height:.1}H{to:.1}") } else { write!(path, "M{from:.1} {height:.1}H{to:.1}") }
            .expect("writing to a string succeeds");
        drawing = true;
    }
    path
}

fn marked(data: &ReportData) -> impl Iterator<Item = &SpikeSummary> {
    data.summary.late_spikes()
}

fn marks(drawing: &mut Drawing, data: &ReportData, x: &Axis, y: &Axis) {
    let Some(start_ns) = data.summary.measure_start_ns else { return };
    for entry in marked(data) {
        let seconds = entry.spike.sample.due_ns.saturating_sub(start_ns) as f64 / 1e9;
        if seconds < 0.0 || seconds > x.high {
            continue;
        }
        let (at, tip) = (x.at(seconds), y.at(entry.latency_ns as f64) - 3.0);
        drawing.path("mark", &format!("M{at:.1} {tip:.1}l-4.5 -8h9z"));
    }
}
