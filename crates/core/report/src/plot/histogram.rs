//! Latency histogram, one outline per CPU or of a stimulus board: logarithmic counts over logarithmic latency.

use super::axis::Axis;
use super::bins::binned;
use super::drawing::{Anchor, Drawing};
use crate::number;
use crate::watched::{subject, subjects};
use archive::stimulus::CELL_NS;
use archive::summary::{HistogramBar, ReportData, StimulusBoardSummary};
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

/// The content of a picture.
struct Content<'a> {
    histograms: Vec<&'a [HistogramBar]>,
    names: Vec<String>,
    limit: Option<i64>,
    label: String,
    /// Labels of the axes: the counted things, and the meaning of their latency.
    axes: (&'static str, &'static str),
}

pub fn draw(data: &ReportData) -> Option<Drawing> {
    let names = data.histograms.iter().map(|histogram| vocabulary::series_of_thread(&data.summary, histogram.thread));
    draw_content(&Content {
        histograms: data.histograms.iter().map(|histogram| histogram.bars.as_slice()).collect(),
        names: names.collect(),
        limit: data.summary.settings.as_ref().and_then(|settings| settings.limit_ns),
        label: label(data),
        axes: (vocabulary::sample(&data.summary).many, vocabulary::latency_axis(&data.summary)),
    })
}

/// The cells that a stimulus board sent.
pub fn draw_board(board: &StimulusBoardSummary) -> Option<Drawing> {
    let bars = board_bars(board);
    draw_content(&Content {
        histograms: vec![&bars],
        names: vec![board.board.protocol.to_string()],
        limit: None,
        label: "Histogram of the answers that the stimulus board measured.".into(),
        axes: ("answers", "from the board's edge to the answer"),
    })
}

/// The last cell also has what is longer.
fn board_bars(board: &StimulusBoardSummary) -> Vec<HistogramBar> {
    let cells = &board.board.cells;
    let bar = |(cell, count): (usize, &u32)| {
        let low_ns = cell as i64 * CELL_NS;
        let inside = low_ns + CELL_NS - 1;
        let high_ns = if cell + 1 == cells.len() { board.latency_ns.max.unwrap_or(0).max(inside) } else { inside };
        HistogramBar { low_ns, high_ns, count: u64::from(*count) }
    };
    cells.iter().enumerate().filter(|(_, count)| **count > 0).map(bar).collect()
}

fn draw_content(content: &Content) -> Option<Drawing> {
    let bars = || content.histograms.iter().copied().flatten();
    let low = bars().map(|bar| bar.low_ns).min()?.max(1) as f64;
    let limit = content.limit;
    let high = bars().map(|bar| bar.high_ns).chain(limit).max()?.max(2) as f64;
    let x = Axis::logarithmic(low * 0.9, high * 1.15, LEFT, RIGHT);
    let octaves = (x.high / x.low).log2();
    let lines: Vec<_> = content.histograms.iter().map(|bars| binned(bars, octaves, RIGHT - LEFT)).collect();
    let most = lines.iter().flatten().map(|(_, bin)| bin.count).max()? as f64;
    let y = Axis::logarithmic(BASE, most.max(1.0) * 1.6, BOTTOM, TOP);
    let mut drawing = Drawing::new(WIDTH, HEIGHT, content.label.clone());
    grid(&mut drawing, &x, &y, content.axes);
    for (index, bins) in lines.iter().enumerate() {
        drawing.path(&format!("series series-{}", index % 8), &outline(bins, &x, &y));
    }
    legend(&mut drawing, &content.names);
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
    let word = vocabulary::sample(&data.summary);
    let max = data
        .summary
        .all_cpus
        .max
        .map_or_else(String::new, |max| format!(", the {} at {}", word.worst, number::micros_unit(max)));
    format!(
        "Histogram of {} by latency, {}{max}. The table of each {} holds the same in numbers.",
        word.many,
        subjects(&data.summary, data.histograms.len()),
        subject(&data.summary)
    )
}

fn grid(drawing: &mut Drawing, x: &Axis, y: &Axis, (counted, title): (&str, &str)) {
    for tick in y.ticks(5) {
        drawing.line("grid", LEFT, y.at(tick), RIGHT, y.at(tick));
        drawing.text("tick", LEFT - 8.0, y.at(tick) + 4.0, Anchor::End, &number::axis_count(tick));
    }
    for tick in x.ticks(9) {
        drawing.line("grid", x.at(tick), TOP, x.at(tick), BOTTOM);
        drawing.text("tick", x.at(tick), BOTTOM + 18.0, Anchor::Middle, &number::axis_time(tick));
    }
    drawing.line("axis", LEFT, BOTTOM, RIGHT, BOTTOM);
    drawing.text("axis-title", LEFT, TOP - 24.0, Anchor::Start, counted);
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
