//! The kernel's counters over time: one low panel for each kind of figure, over the same seconds as the latency.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing};
use archive::counters::CounterSecond;
use archive::summary::ReportData;
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 944.0;
const PANEL_HEIGHT: f64 = 60.0;
const PANEL_STEP: f64 = 104.0;
const TOP: f64 = 36.0;
/// Most lines of one panel; those with the highest peaks are drawn.
const LINES_MAX: usize = 8;

/// Figures that share an axis: their prefix, the panel's title, and the distinguishing part of the name.
struct Panel {
    begin: &'static str,
    title: &'static str,
    /// Drawn even if it is always zero.
    always: bool,
}

const PANELS: [Panel; 8] = [
    Panel { begin: "context switches", title: "context switches a second", always: true },
    Panel { begin: "interrupts of ", title: "interrupts a second", always: true },
    Panel { begin: "softirqs ", title: "softirqs a second", always: true },
    Panel { begin: "page faults", title: "page faults a second", always: true },
    Panel { begin: "forced switches", title: "forced switches of the measuring threads a second", always: false },
    Panel { begin: "stolen time", title: "time the host took, % of a CPU", always: false },
    Panel { begin: "pressure on ", title: "tasks waited, % of the time", always: false },
    Panel { begin: "major page faults", title: "page faults that waited for a device, a second", always: false },
];

/// One line: its values over time, absent where the kernel provided none.
struct Line {
    name: String,
    values: Vec<Option<f64>>,
    max: f64,
}

pub fn draw(data: &ReportData) -> Option<Drawing> {
    let seconds = &data.counters;
    let start_ns = data.summary.measure_start_ns.or(seconds.first().map(|second| second.from_ns))?;
    let end_ns = seconds.last()?.until_ns;
    // The axis of the latency above ends with the last second that has a wake-up.
    let latest = data.seconds.iter().map(|second| f64::from(second.second) + 1.0).fold(0.0, f64::max);
    let high = latest.max(end_ns.saturating_sub(start_ns) as f64 / 1e9);
    let x = Axis::linear(0.0, high, LEFT, RIGHT);
    let panels: Vec<(&Panel, Vec<Line>)> = PANELS
        .iter()
        .map(|panel| (panel, lines(seconds, panel)))
        .filter(|(panel, lines)| !lines.is_empty() && (panel.always || lines.iter().any(|line| line.max > 0.0)))
        .collect();
    let names: Vec<&str> = panels.iter().map(|(panel, _)| panel.title).collect();
    let label = format!("Counters of the kernel over {high:.0} seconds: {}.", names.join("; "));
    let mut drawing = Drawing::new(WIDTH, TOP + PANEL_STEP * panels.len() as f64 + 12.0, label);
    for (place, (panel, lines)) in panels.iter().enumerate() {
        let top = TOP + PANEL_STEP * place as f64;
        panel_at(&mut drawing, panel, lines, top, &x, |second| {
            let at = |ns: i64| x.at(ns.saturating_sub(start_ns) as f64 / 1e9);
            (at(seconds[second].from_ns), at(seconds[second].until_ns))
        });
    }
    (!panels.is_empty()).then_some(drawing)
}

fn panel_at(
    drawing: &mut Drawing,
    panel: &Panel,
    lines: &[Line],
    top: f64,
    x: &Axis,
    span: impl Fn(usize) -> (f64, f64),
) {
    let bottom = top + PANEL_HEIGHT;
    let high = lines.iter().map(|line| line.max).fold(0.0, f64::max);
    let y = Axis::linear(0.0, if high > 0.0 { high * 1.05 } else { 1.0 }, bottom, top);
    for tick in y.ticks(3) {
        drawing.line("grid", LEFT, y.at(tick), RIGHT, y.at(tick));
        drawing.text("tick", LEFT - 8.0, y.at(tick) + 4.0, Anchor::End, &short(tick));
    }
    for tick in x.ticks(10) {
        drawing.line("grid", x.at(tick), top, x.at(tick), bottom);
        drawing.text("tick", x.at(tick), bottom + 15.0, Anchor::Middle, &format!("{tick}"));
    }
    drawing.line("axis", LEFT, bottom, RIGHT, bottom);
    drawing.text("axis-title", LEFT, top - 10.0, Anchor::Start, panel.title);
    let mut right = RIGHT;
    for (index, line) in lines.iter().enumerate() {
        drawing.path(&format!("series series-{}", index % 8), &steps(&line.values, &y, &span));
    }
    if lines.len() > 1 {
        // From right to left, each name with a sample of its line.
        for (index, line) in lines.iter().enumerate().rev() {
            right -= line.name.chars().count() as f64 * 7.6 + 4.0;
            drawing.text("legend", right, top - 10.0, Anchor::Start, &line.name);
            drawing.line(&format!("series series-{}", index % 8), right - 18.0, top - 14.0, right - 5.0, top - 14.0);
            right -= 30.0;
        }
    }
}

/// The figures of a panel; if there are too many, those with the highest peaks.
fn lines(seconds: &[CounterSecond], panel: &Panel) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, second) in seconds.iter().enumerate() {
        for figure in second.figures().into_iter().filter(|figure| figure.name.starts_with(panel.begin)) {
            let name = figure.name.strip_prefix(panel.begin).unwrap_or_default().trim().to_owned();
            let line = match lines.iter().position(|line| line.name == name) {
                Some(place) => &mut lines[place],
                None => {
                    lines.push(Line { name, values: vec![None; seconds.len()], max: 0.0 });
                    lines.last_mut().expect("a line was just added")
                }
            };
            line.values[index] = Some(figure.value);
            line.max = line.max.max(figure.value);
        }
    }
    if lines.len() > 1 {
        lines.retain(|line| line.max > 0.0);
    }
    if lines.len() > LINES_MAX {
        let mut peaks: Vec<f64> = lines.iter().map(|line| line.max).collect();
        peaks.sort_by(|one, other| other.total_cmp(one));
        let least = peaks[LINES_MAX - 1];
        lines.retain(|line| line.max >= least);
        lines.truncate(LINES_MAX);
    }
    lines
}

/// Constant within each stretch; missing ones leave a gap.
fn steps(values: &[Option<f64>], y: &Axis, span: &impl Fn(usize) -> (f64, f64)) -> String {
    let mut path = String::new();
    let mut drawing = false;
    for (index, value) in values.iter().enumerate() {
        let Some(value) = value else {
            drawing = false;
            continue;
        };
        let ((from, to), height) = (span(index), y.at(*value));
        if drawing { write!(path, "V{height:.1}H{to:.1}") } else { write!(path, "M{from:.1} {height:.1}H{to:.1}") }
            .expect("writing to a string succeeds");
        drawing = true;
    }
    path
}

/// An abbreviated number: 1200000 is 1.2M.
fn short(value: f64) -> String {
    let (value, unit) = match value {
        value if value >= 1e6 => (value / 1e6, "M"),
        value if value >= 1e3 => (value / 1e3, "k"),
        value => (value, ""),
    };
    let text = format!("{value:.2}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.5, 20.0, 1500.0, 2e6].map(short), ["0", "0.5", "20", "1.5k", "2M"]);
    }

    #[test]
    fn a_gap_interrupts_the_line() {
        let y = Axis::linear(0.0, 10.0, 10.0, 0.0);
        let path = steps(&[Some(1.0), None, Some(2.0), Some(3.0)], &y, &|index| (index as f64, index as f64 + 1.0));
        assert_eq!(path, "M0.0 9.0H1.0M2.0 8.0H3.0V7.0H4.0");
    }
}
