//! The columns of a latency in a table of figures: minimum, mean, quantiles and maximum, in µs.

use super::super::number;
use archive::summary::LatencyFigures;
use maud::{Markup, html};

/// The cells of the head.
pub fn head() -> Markup {
    html! {
        @for column in ["min", "mean", "p50", "p99", "p99.9", "max"] { th scope="col" { (column) } }
    }
}

/// The cells of a row.
pub fn cells(figures: &LatencyFigures) -> Markup {
    let mean = figures.mean.map(|mean| mean.round() as i64);
    html! {
        @for ns in [figures.min, mean, figures.p50, figures.p99, figures.p99_9, figures.max] {
            td { (ns.map_or("–".into(), number::micros)) }
        }
    }
}
