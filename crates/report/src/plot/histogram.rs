//! Latency histogram, one outline per CPU: logarithmic counts over logarithmic latency.

use super::axis::Axis;
use super::bins::binned;
use super::drawing::{Anchor, Drawing};
use crate::number;
use archive::summary::{HistogramBar, ReportData};
use std::fmt::Write;
use words::vocabulary;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 944.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 312.0;
/// A count of one must be above the base line.
const BASE: f64 = 0.5;

pub fn draw(data: &ReportData) -> Option<Drawing> {
    let bars = || data.histograms.iter().flat_map(|histogram| &histogram.bars);
    let low = bars().map(|bar| bar.low_ns).min()?.max(1) as f64;
    let limit = data.summary.settings.as_ref().and_then(|settings| settings.limit_ns);
    let high = bars().map(|bar| bar.high_ns).chain(limit).max()?.max(2) as f64;
    let x = Axis::logarithmic(low * 0.9, high * 1.15, LEFT, RIGHT);
    let octaves = (x.high / x.low).log2();
    let lines: Vec<_> =
        data.histograms.iter().map(|histogram| binned(&histogram.bars, octaves, RIGHT - LEFT)).collect();
    let most = lines.iter().flatten().map(|(_, bin)| bin.count).max()? as f64;
    let y = Axis::logarithmic(BASE, most.max(1.0) * 1.6, BOTTOM, TOP);
    let mut drawing = Drawing::new(WIDTH, HEIGHT, label(data));
    grid(&mut drawing, &x, &y, vocabulary::latency_axis(&data.summary));
    for (index, bins) in lines.iter().enumerate() {
        drawing.path(&format!("series series-{}", index % 8), &outline(bins, &x, &y));
    }
    let names = data.histograms.iter().map(|histogram| vocabulary::series_of_thread(&data.summary, histogram.thread));
    legend(&mut drawing, &names.collect::<Vec<_>>());
    if let Some(limit) = limit {
        let at = x.at(limit as f64);
        drawing.line("limit", at, TOP, at, BOTTOM);
        drawing.text(
            "limit-label",
            at - 4.0,
            TOP + 10.0,
            Anchor::End,
            &format!("limit {}", number::axis_time(limit as f64)),
        );
    }
    Some(drawing)
}

fn label(data: &ReportData) -> String {
    let max = data
        .summary
        .all_cpus
        .max
        .map_or_else(String::new, |max| format!(", the latest at {}", number::micros_unit(max)));
    format!(
        "Histogram of wake-up latency, {} CPUs{max}. The table of each CPU holds the same in numbers.",
        data.histograms.len()
    )
}

fn grid(drawing: &mut Drawing, x: &Axis, y: &Axis, title: &str) {
    for tick in y.ticks(5) {
        drawing.line("grid", LEFT, y.at(tick), RIGHT, y.at(tick));
        drawing.text("tick", LEFT - 8.0, y.at(tick) + 4.0, Anchor::End, &number::axis_count(tick));
    }
    for tick in x.ticks(9) {
        drawing.line("grid", x.at(tick), TOP, x.at(tick), BOTTOM);
        drawing.text("tick", x.at(tick), BOTTOM + 18.0, Anchor::Middle, &number::axis_time(tick));
    }
    drawing.line("axis", LEFT, BOTTOM, RIGHT, BOTTOM);
    drawing.text("axis-title", LEFT, TOP - 24.0, Anchor::Start, "wake-ups");
    drawing.text("axis-title", RIGHT, BOTTOM + 38.0, Anchor::End, title);
}

/// Colours and names of the lines, in a row at the top right.
pub fn legend(drawing: &mut Drawing, names: &[String]) {
    /// Width of a sample of the line, and of a letter.
    const SAMPLE: f64 = 32.0;
    const LETTER: f64 = 7.0;
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let step = (SAMPLE + LETTER * longest as f64).max(66.0);
    let (count, fitting) = (names.len(), ((RIGHT - LEFT - 100.0) / step) as usize);
    let shown = count.min(fitting.clamp(1, 12));
    let mut left = RIGHT - shown as f64 * step - if count > shown { 66.0 } else { 0.0 };
    for (index, name) in names.iter().take(shown).enumerate() {
        drawing.line(&format!("series series-{}", index % 8), left, TOP - 28.0, left + 16.0, TOP - 28.0);
        drawing.text("tick", left + 21.0, TOP - 24.0, Anchor::Start, name);
        left += step;
    }
    if count > shown {
        drawing.text("tick", left, TOP - 24.0, Anchor::Start, &format!("+ {} more", count - shown));
    }
}

fn outline(bins: &[(i64, HistogramBar)], x: &Axis, y: &Axis) -> String {
    let mut path = String::new();
    let mut last: Option<(i64, f64)> = None;
    for (place, bar) in bins {
        let from = x.at(bar.low_ns as f64);
        let to = x.at(bar.high_ns.saturating_add(1) as f64).max(from + 1.5);
        let height = y.at(bar.count as f64);
        // Neighbouring bins share an edge; an empty bin between them drops to the base line.
        match last {
            Some((last, end)) if last == place - 1 || from - end < 0.8 => write!(path, "V{height:.1}H{to:.1}"),
            Some(_) => write!(path, "V{BOTTOM}M{from:.1} {BOTTOM}V{height:.1}H{to:.1}"),
            None => write!(path, "M{from:.1} {BOTTOM}V{height:.1}H{to:.1}"),
        }
        .expect("writing to a string succeeds");
        last = Some((*place, to));
    }
    if last.is_some() {
        write!(path, "V{BOTTOM}").expect("writing to a string succeeds");
    }
    path
}
