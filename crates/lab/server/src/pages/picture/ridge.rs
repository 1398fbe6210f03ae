//! Histograms behind each other, newest in front: how the distribution moved over time.

use super::time::px;
use maud::{Markup, html};
use report::picture::{Axis, axis_time};
use store::queries::board::HistoryPart;
use words::calendar::utc;

const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 70.0;
const BELOW: f64 = 40.0;
/// Height of the highest histogram, and distance between two, in pixels.
const PEAK: f64 = 58.0;
const STEP: f64 = 9.0;
/// Histograms with a date beside them, and the least distance of two dates, in pixels.
const DATED: usize = 12;
const DATE_HEIGHT: f64 = 14.0;

/// A histogram with the number of the kernel that it was measured on, which determines its colour.
pub struct Ridge<'a> {
    pub part: &'a HistoryPart,
    pub kernel: usize,
}

/// The picture, `width` pixels wide, and its height; `None` without samples.
pub fn body(ridges: &[Ridge<'_>], width: f64) -> Option<(Markup, f64)> {
    let ridges: Vec<&Ridge> = ridges.iter().filter(|ridge| ridge.part.samples > 0).collect();
    let bars = || ridges.iter().flat_map(|ridge| &ridge.part.outline.bars);
    let low = bars().map(|bar| bar.low_ns).min()?.max(1) as f64;
    let high = bars().map(|bar| bar.high_ns).max()? as f64;
    let most = bars().map(|bar| bar.count as f64).fold(10.0, f64::max);
    let x = Axis::logarithmic(low * 0.9, (high * 1.1).max(low * 4.0), LEFT, width - RIGHT);
    let rise = Axis::logarithmic(0.7, most, 0.0, PEAK);
    let bottom = TOP + STEP * ridges.len().saturating_sub(1) as f64;
    let stride = ridges.len().div_ceil(DATED).max((DATE_HEIGHT / STEP).ceil() as usize);
    let drawn = html! {
        @for value in x.ticks(((width - LEFT - RIGHT) / 95.0).max(2.0) as usize) {
            path.grid d={ "M" (px(x.at(value))) " " (px(TOP - PEAK)) "V" (px(bottom)) } {}
            text.tick x=(px(x.at(value))) y=(px(bottom + 17.0)) text-anchor="middle" { (axis_time(value)) }
        }
        text.axis-title x=(px(width - RIGHT)) y=(px(bottom + 34.0)) text-anchor="end" { "latency" }
        // The oldest is at the back.
        @for (at, ridge) in ridges.iter().enumerate() {
            @let base = TOP + STEP * at as f64;
            path class={ "ridge series-" (ridge.kernel % 8) } d=(outline(ridge.part, &x, &rise, base)) {}
            @if at % stride == 0 { text.tick x=(px(LEFT - 8.0)) y=(px(base + 3.0)) text-anchor="end" { (utc(ridge.part.from_unix_ns).split(' ').next().unwrap_or_default()) } }
        }
    };
    Some((drawn, bottom + BELOW))
}

/// The histogram as a closed path on its base line.
fn outline(part: &HistoryPart, x: &Axis, rise: &Axis, base: f64) -> String {
    let mut path = format!("M{:.1} {base:.1}", x.from);
    let mut end = None;
    for bar in &part.outline.bars {
        let (from, to) = (x.at(bar.low_ns.max(1) as f64), x.at(bar.high_ns as f64 + 1.0));
        if end.is_none_or(|end: i64| end.saturating_add(1) < bar.low_ns) {
            path.push_str(&format!("V{base:.1}H{from:.1}"));
        }
        path.push_str(&format!("V{:.1}H{to:.1}", base - rise.at(bar.count as f64)));
        end = Some(bar.high_ns);
    }
    path.push_str(&format!("V{base:.1}H{:.1}", x.to));
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Bar, Outline};

    #[test]
    fn dates_beside_histograms_do_not_overprint_each_other() {
        let bars = vec![Bar { low_ns: 1000, high_ns: 1100, count: 5 }];
        let part = HistoryPart { samples: 5, outline: Outline { bars }, ..HistoryPart::default() };
        for number in [1, 7, 12, 13, 61] {
            let ridges: Vec<Ridge<'_>> = (0..number).map(|_| Ridge { part: &part, kernel: 0 }).collect();
            let drawn = body(&ridges, 800.0).unwrap().0.into_string();
            let dated = drawn.split("<text class=\"tick\"").filter(|text| text.contains(">1970-01-01<"));
            let heights = dated.map(|text| text.split("y=\"").nth(1).unwrap().split('"').next().unwrap());
            let heights: Vec<f64> = heights.map(|height| height.parse().unwrap()).collect();
            assert!(
                !heights.is_empty() && heights.windows(2).all(|pair| pair[1] - pair[0] >= DATE_HEIGHT),
                "{heights:?}"
            );
        }
    }

    #[test]
    fn gaps_between_modes_reach_the_base_line() {
        let bars = vec![Bar { low_ns: 1000, high_ns: 1100, count: 5 }, Bar { low_ns: 9000, high_ns: 9900, count: 1 }];
        let part = HistoryPart { samples: 6, outline: Outline { bars }, ..HistoryPart::default() };
        let (drawn, height) = body(&[Ridge { part: &part, kernel: 9 }], 800.0).unwrap();
        let drawn = drawn.into_string();
        let path = drawn.split("ridge series-1\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches(&format!("V{TOP:.1}")).count(), 3, "{path}");
        assert!(height > TOP && body(&[], 800.0).is_none());
    }
}
