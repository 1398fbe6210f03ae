//! A series in one line of a terminal.

use judge::history::Series;
use judge::unit::Unit;
use words::figures::latency;

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The values as bars, a `|` before each change, and a line with the values of the lowest and the highest bar. Of a
/// series longer than `columns`, only the latest runs are drawn.
pub fn sparkline(series: &Series, columns: usize) -> (String, String) {
    let marks = series.changes.len();
    let first = series.points.len().saturating_sub(columns.saturating_sub(marks));
    let shown = &series.points[first..];
    let low = shown.iter().map(|point| point.value).fold(f64::INFINITY, f64::min);
    let high = shown.iter().map(|point| point.value).fold(f64::NEG_INFINITY, f64::max);
    let bar = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        LEVELS[((share * 7.0).round().clamp(0.0, 7.0)) as usize]
    };
    let mut line = String::new();
    for (at, point) in shown.iter().enumerate() {
        if series.changes.iter().any(|change| change.at == first + at) {
            line.push('|');
        }
        line.push(bar(point.value));
    }
    let amount = |value: f64| match &series.metric.unit {
        Unit::Nanoseconds => latency(value.round() as i64),
        unit => format!("{value:.1} {unit}"),
    };
    let scale = if shown.is_empty() { String::new() } else { format!("▁ {}  █ {}", amount(low), amount(high)) };
    (line, scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::experiment::{Metric, Scale};
    use judge::figure_name::FigureName;
    use judge::history::{ChangePoint, Point};

    #[test]
    fn bars_follow_the_values_and_changes_are_marked() {
        let point = |value: f64| Point { archive: String::new(), id: String::new(), started_unix_ns: None, value };
        let change = ChangePoint {
            at: 2,
            drift_until: None,
            before: 1.0,
            after: 2.0,
            ratio: None,
            p_value: 0.0,
            differences: Vec::new(),
            sentence: String::new(),
        };
        let mut series = Series {
            scenario: String::new(),
            metric: Metric { name: FigureName::P99, unit: Unit::Nanoseconds, scale: Scale::Ratio },
            points: [1000.0, 1000.0, 2000.0, 1500.0].map(point).into(),
            changes: vec![change],
            detectable: None,
            autocorrelation: None,
            too_few: false,
            sentence: String::new(),
        };
        assert_eq!(sparkline(&series, 72), ("▁▁|█▅".into(), "▁ 1.0 µs  █ 2.0 µs".into()));
        assert_eq!(sparkline(&series, 3).0, "|█▁", "the latest runs are drawn");
        (series.points, series.changes) = (Vec::new(), Vec::new());
        assert_eq!(sparkline(&series, 72), (String::new(), String::new()));
    }
}
