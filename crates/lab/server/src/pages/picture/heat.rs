//! A year at a glance: time to the right, latency upwards, and how often as colour.

use super::time::{Events, date_labels, events, kernel_bands, px};
use maud::{Markup, html};
use report::picture::{Axis, axis_time};
use store::queries::board::HistoryPart;

const HEIGHT: f64 = 360.0;
const TOP: f64 = 24.0;
/// Below the picture: kernels, marks of settings, dates.
const BELOW: f64 = 64.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const CLASSES: usize = 9;

/// The picture of the parts of a history, `width` pixels wide; `None` without samples.
pub fn body(parts: &[HistoryPart], what: &Events, width: f64) -> Option<Markup> {
    let (x, y) = axes(parts, width)?;
    let most = parts
        .iter()
        .flat_map(|part| part.outline.bars.iter().map(move |bar| bar.count as f64 / part.samples.max(1) as f64));
    // A share of one in all samples of a part is the palest colour, the largest share the darkest.
    let least = parts.iter().filter(|part| part.samples > 0).map(|part| 1.0 / part.samples as f64).fold(1.0, f64::min);
    let scale = Axis::logarithmic(least, most.fold(least * 10.0, f64::max), 0.0, CLASSES as f64 - 1.0);
    let mut classes: Vec<String> = vec![String::new(); CLASSES];
    for part in parts.iter().filter(|part| part.samples > 0) {
        let (from, to) = (x.at(part.from_unix_ns as f64), x.at(part.until_unix_ns as f64));
        for bar in &part.outline.bars {
            let class = scale.at(bar.count as f64 / part.samples as f64).round() as usize;
            let (top, bottom) = (y.at(bar.high_ns as f64 + 1.0), y.at(bar.low_ns.max(1) as f64));
            let cell = format!("M{from:.1} {top:.1}H{to:.1}V{bottom:.1}H{from:.1}z");
            classes[class.min(CLASSES - 1)].push_str(&cell);
        }
    }
    let bottom = HEIGHT - BELOW;
    Some(html! {
        @for value in y.ticks(6) {
            @let at = y.at(value);
            path.grid d={ "M" (px(LEFT)) " " (px(at)) "H" (px(width - RIGHT)) } {}
            text.tick x=(px(LEFT - 7.0)) y=(px(at + 4.0)) text-anchor="end" { (axis_time(value)) }
        }
        text.axis-title x="2" y="12" { "latency" }
        @for (at, cells) in classes.iter().enumerate().filter(|(_, cells)| !cells.is_empty()) {
            path class={ "heat-" (at + 1) } d=(cells) {}
        }
        path.worst-line d=(worst(parts, &x, &y)) {}
        path.axis d={ "M" (px(LEFT)) " " (px(bottom)) "H" (px(width - RIGHT)) } {}
        (kernel_bands(&what.kernels, &x, bottom + 4.0))
        (events(what, &x, TOP, bottom + 24.0))
        (date_labels(parts.first()?.from_unix_ns, parts.last()?.until_unix_ns, &x, bottom + 42.0))
        @for (at, part) in parts.iter().enumerate() {
            @let (from, to) = (x.at(part.from_unix_ns as f64), x.at(part.until_unix_ns as f64));
            rect.part data-part=(at) x=(px(from)) y=(px(TOP)) width=(px(to - from)) height=(px(bottom - TOP)) {}
        }
    })
}

pub const fn height() -> f64 {
    HEIGHT
}

fn axes(parts: &[HistoryPart], width: f64) -> Option<(Axis, Axis)> {
    let (first, last) = (parts.first()?, parts.last()?);
    let bars = || parts.iter().flat_map(|part| &part.outline.bars);
    let low = bars().map(|bar| bar.low_ns).min()?.max(1) as f64;
    let high = bars().map(|bar| bar.high_ns).max()? as f64;
    let x = Axis::linear(first.from_unix_ns as f64, last.until_unix_ns as f64, LEFT, width - RIGHT);
    Some((x, Axis::logarithmic(low, (high * 1.2).max(low * 4.0), HEIGHT - BELOW, TOP)))
}

/// The largest latency of each part as a line of steps, interrupted where nothing was measured.
fn worst(parts: &[HistoryPart], x: &Axis, y: &Axis) -> String {
    let mut path = String::new();
    let mut goes_on = false;
    for part in parts {
        let Some(max) = part.latency_max_ns else {
            goes_on = false;
            continue;
        };
        let (from, to, at) = (x.at(part.from_unix_ns as f64), x.at(part.until_unix_ns as f64), y.at(max.max(1) as f64));
        path.push_str(&if goes_on { format!("V{at:.1}H{to:.1}") } else { format!("M{from:.1} {at:.1}H{to:.1}") });
        goes_on = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Bar, Outline};

    fn part(at: i64, counts: &[(i64, u64)]) -> HistoryPart {
        let bars =
            counts.iter().map(|(low_ns, count)| Bar { low_ns: *low_ns, high_ns: low_ns + low_ns / 8, count: *count });
        HistoryPart {
            from_unix_ns: at,
            until_unix_ns: at + 1,
            runs: 1,
            samples: counts.iter().map(|(_, count)| count).sum(),
            latency_max_ns: counts.last().map(|(low, _)| *low),
            outline: Outline { bars: bars.collect() },
        }
    }

    #[test]
    fn the_largest_share_is_darkest_and_a_single_sample_palest() {
        let parts = [part(0, &[(1000, 999_999), (90_000, 1)]), part(1, &[]), part(2, &[(1000, 10)])];
        let drawn = body(&parts, &Events::default(), 900.0).unwrap().into_string();
        assert!(drawn.contains("heat-9") && drawn.contains("heat-1"), "{drawn}");
        assert_eq!(drawn.matches("data-part").count(), 3);
        let worst = drawn.split("worst-line\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(worst.matches('M').count(), 2, "a part without runs interrupts the line: {worst}");
    }

    #[test]
    fn any_history_is_drawn_without_infinities_or_not_at_all() {
        assert!(body(&[], &Events::default(), 900.0).is_none());
        assert!(body(&[part(0, &[])], &Events::default(), 900.0).is_none());
        let extreme = [part(i64::MIN, &[(0, u64::MAX / 2)]), part(i64::MAX - 1, &[(i64::MAX / 9 * 8, 1)])];
        let drawn = body(&extreme, &Events::default(), 0.0).unwrap().into_string();
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
