//! One figure over a series of runs, with its level before and after each change.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing};
use crate::number;
use claims::unit::Unit;
use judge::experiment::Scale;
use judge::history::Series;
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 944.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 272.0;

/// `None` without runs.
pub fn draw(series: &Series) -> Option<Drawing> {
    let values = || series.points.iter().map(|point| point.value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if series.points.is_empty() || !low.is_finite() || !high.is_finite() {
        return None;
    }
    let x = Axis::linear(-0.5, series.points.len() as f64 - 0.5, LEFT, RIGHT);
    let y = match series.metric.scale {
        Scale::Ratio => Axis::logarithmic(low.max(1.0) * 0.9, high.max(1.0) * 1.1, BOTTOM, TOP),
        Scale::Count => Axis::linear(0.0, high * 1.1, BOTTOM, TOP),
    };
    let title = format!("{}, {}", series.metric.name, series.scenario);
    let mut drawing = Drawing::new(WIDTH, HEIGHT, format!("{title}: {}.", series.sentence));
    for tick in y.ticks(6) {
        let label = if series.metric.unit == Unit::Nanoseconds { number::axis_time(tick) } else { format!("{tick}") };
        drawing.line("grid", LEFT, y.at(tick), RIGHT, y.at(tick));
        drawing.text("tick", LEFT - 8.0, y.at(tick) + 4.0, Anchor::End, &label);
    }
    drawing.line("axis", LEFT, BOTTOM, RIGHT, BOTTOM);
    drawing.text("axis-title", LEFT, TOP - 24.0, Anchor::Start, &title);
    for (anchor, at, point) in
        [(Anchor::Start, LEFT, series.points.first()), (Anchor::End, RIGHT, series.points.last())]
    {
        let started = point.and_then(|point| point.started_unix_ns);
        let when = started.map_or("-".into(), words::calendar::utc);
        drawing.text("tick", at, BOTTOM + 18.0, anchor, &when);
    }
    let mut path = String::new();
    for (at, point) in series.points.iter().enumerate() {
        let (across, up) = (x.at(at as f64), y.at(point.value));
        write!(path, "{}{across:.1} {up:.1}", if at == 0 { 'M' } else { 'L' }).expect("writing to a string succeeds");
        drawing.rect("late", across - 2.0, up - 2.0, 4.0, 4.0);
    }
    drawing.path("series series-0", &path);
    for (number, change) in series.changes.iter().enumerate() {
        let between = x.at(change.at as f64 - 0.5);
        drawing.line("limit", between, TOP, between, BOTTOM);
        // A drift reaches its level at its end.
        let until = change.drift_until.map_or(between, |until| x.at(until as f64 - 0.5));
        let begin = number.checked_sub(1).map_or(LEFT, |before| {
            let before = &series.changes[before];
            x.at(before.drift_until.unwrap_or(before.at) as f64 - 0.5)
        });
        let end = series.changes.get(number + 1).map_or(RIGHT, |next| x.at(next.at as f64 - 0.5));
        drawing.line("instant", begin, y.at(change.before), between, y.at(change.before));
        drawing.line("instant", between, y.at(change.before), until, y.at(change.after));
        drawing.line("instant", until, y.at(change.after), end, y.at(change.after));
    }
    Some(drawing)
}
