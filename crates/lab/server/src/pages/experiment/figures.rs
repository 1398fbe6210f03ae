//! The figures of an experiment: both means, the ratio with its interval as numbers and as a picture, and the verdict.

use judge::experiment::{ExperimentResult, MetricResult};
use judge::observer::Estimate;
use maud::{Markup, html};
use words::amounts::{change, p_value, percent};
use words::claims::amount;

const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 16.0;
/// Distance of the ends of the scale from the edges.
const MARGIN: f64 = 5.0;
/// The scale covers at least the ratios from 1 / 1.1 to 1.1, and at most those from 1 / 64 to 64.
const LEAST: f64 = 1.1;
const MOST: f64 = 64.0;

pub fn content(result: &ExperimentResult, worst: Option<&MetricResult>) -> Markup {
    let rows: Vec<&MetricResult> = std::iter::once(&result.primary).chain(&result.secondary).collect();
    let reach = reach(&rows);
    html! {
        h2 { "Figures" }
        p.beside {
            "Means over the rounds. " @if let Some(sentence) = words::claims::experiment::error_shares(result) { (sentence) " " }
            "Bars are intervals at " (percent(result.confidence)) " confidence; the line marks no change."
        }
        div.scroll {
            table.figures.cards.experiment {
                caption.unseen { "Figures of A and B" }
                thead {
                    tr {
                        th scope="col" { "Figure" }
                        th scope="col" { "A" }
                        th scope="col" { "B" }
                        th scope="col" { "B against A" }
                        th.picture aria-label="Interval" scope="col" {}
                        th scope="col" { "p" }
                        th.text scope="col" { "Verdict" }
                    }
                }
                tbody {
                    @for row in &rows {
                        tr.proven[worst.is_some_and(|worst| std::ptr::eq(worst, *row))] {
                            th scope="row" { bdi { (row.metric.name.to_string()) } }
                            td data-name="A" { (amount(row.a, &row.metric.unit)) }
                            td data-name="B" { (amount(row.b, &row.metric.unit)) }
                            td data-name="B against A" { (ratio(row.ratio.as_ref())) }
                            td.picture { (interval(row, reach)) }
                            td data-name="p" { (p_value(row.p_adjusted).trim_start_matches("p = ").trim_start_matches("p ")) }
                            td.text data-name="Verdict" { (verdict(row)) }
                        }
                    }
                }
            }
        }
    }
}

fn ratio(estimate: Option<&Estimate>) -> Markup {
    html! {
        @match estimate {
            None => span.beside { "–" },
            Some(estimate) => {
                (change(estimate.value))
                @if let Some(ends) = &estimate.interval { span.beside { (change(ends.low)) " to " (change(ends.high)) } }
            }
        }
    }
}

fn verdict(row: &MetricResult) -> Markup {
    html! {
        @if !row.differs { span.beside { "not shown to differ" } }
        @else if row.harm().is_some() { span.state data-state="bad" { "worse" } }
        @else { span.state data-state="good" { "better" } }
    }
}

/// The largest ratio that the pictures show, in either direction.
fn reach(rows: &[&MetricResult]) -> f64 {
    let ends = rows.iter().filter_map(|row| row.ratio.as_ref()).flat_map(|ratio| {
        let ends = ratio.interval.map_or((ratio.value, ratio.value), |ends| (ends.low, ends.high));
        [ends.0, ends.1, ratio.value]
    });
    let away = |ratio: f64| if ratio < 1.0 { 1.0 / ratio } else { ratio };
    ends.map(away).filter(|away| away.is_finite()).fold(LEAST, f64::max).min(MOST)
}

/// A ratio that has a place; one that is no number is the smallest.
fn within(ratio: f64) -> f64 {
    if ratio.is_nan() { 1.0 / MOST } else { ratio.clamp(1.0 / MOST, MOST) }
}

/// Where a ratio is, on a scale on which halving and doubling are as far from the middle.
fn place(ratio: f64, reach: f64) -> f64 {
    let share = within(ratio).ln() / reach.ln();
    WIDTH / 2.0 + share.clamp(-1.0, 1.0) * (WIDTH / 2.0 - MARGIN)
}

fn interval(row: &MetricResult, reach: f64) -> Markup {
    let Some(estimate) = &row.ratio else { return html! {} };
    let (low, high) = estimate.interval.map_or((estimate.value, estimate.value), |ends| (ends.low, ends.high));
    let (from, until) = (place(low, reach), place(high, reach));
    let kind = match (row.differs, row.harm()) {
        (false, _) => "none",
        (true, Some(_)) => "bad",
        (true, None) => "good",
    };
    let number = |value: f64| format!("{value:.1}");
    html! {
        svg.interval viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) aria-hidden="true" data-state=(kind) {
            line.no-change x1=(WIDTH / 2.0) x2=(WIDTH / 2.0) y1="0" y2=(HEIGHT) {}
            rect x=(number(from)) y="5" width=(number((until - from).max(1.0))) height="6" rx="3" {}
            circle cx=(number(place(estimate.value, reach))) cy="8" r="4" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_change_is_in_the_middle_and_every_ratio_inside() {
        assert_eq!(place(1.0, 2.0), WIDTH / 2.0);
        assert!((place(2.0, 2.0) - (WIDTH - MARGIN)).abs() < 1e-9 && (place(0.5, 2.0) - MARGIN).abs() < 1e-9);
        for ratio in [0.0, -1.0, f64::INFINITY, f64::NAN, 1e300] {
            let place = place(ratio, 2.0);
            assert!((0.0..=WIDTH).contains(&place), "{ratio} is at {place}");
        }
    }
}
