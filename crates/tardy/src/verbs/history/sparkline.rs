//! A series in one line of a terminal.

use judge::history::Series;
use words::claims::amount;

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The values as bars, a `|` before each change, and a line with the values of the lowest and the highest bar. Of a
/// series longer than `columns`, only the newest runs are drawn. `None` if all values are the same: bars show a difference.
pub fn sparkline(series: &Series, columns: usize) -> Option<(String, String)> {
    let marks = series.changes.len();
    let first = series.points.len().saturating_sub(columns.saturating_sub(marks));
    let shown = &series.points[first..];
    let low = shown.iter().map(|point| point.value).fold(f64::INFINITY, f64::min);
    let high = shown.iter().map(|point| point.value).fold(f64::NEG_INFINITY, f64::max);
    if high <= low || shown.is_empty() {
        return None;
    }
    let bar = |value: f64| {
        let share = (value - low) / (high - low);
        LEVELS[((share * 7.0).round().clamp(0.0, 7.0)) as usize]
    };
    let mut line = String::new();
    for (at, point) in shown.iter().enumerate() {
        if series.changes.iter().any(|change| change.at == first + at) {
            line.push('|');
        }
        line.push(bar(point.value));
    }
    let unit = &series.metric.unit;
    Some((line, format!("▁ {}  █ {}", amount(low, unit), amount(high, unit))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use claims::figure_name::FigureName;
    use claims::unit::Unit;
    use judge::experiment::{Metric, Scale};
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
        assert_eq!(sparkline(&series, 72), Some(("▁▁|█▅".into(), "▁ 1.0 µs  █ 2.0 µs".into())));
        assert_eq!(sparkline(&series, 3).unwrap().0, "|█▁", "the newest runs are drawn");
        series.changes.clear();
        series.points = [0.0, 32_400.0].map(point).into();
        series.metric.unit = Unit::AnHour;
        assert_eq!(sparkline(&series, 72).unwrap().1, "▁ 0 an hour  █ 32 400 an hour");
        for same in [vec![1.0; 3], vec![1.0], Vec::new()] {
            series.points = same.into_iter().map(point).collect();
            assert_eq!(sparkline(&series, 72), None);
        }
    }
}
