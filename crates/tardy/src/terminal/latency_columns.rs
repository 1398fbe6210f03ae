//! The columns of a latency in a table of figures: minimum, mean, quantiles and maximum, in µs.

use archive::summary::LatencyFigures;
use words::figures::microseconds_rough;

pub const HEAD: [&str; 6] = ["min", "mean", "p50", "p99", "p99.9", "max µs"];

/// The cells of a row.
pub fn cells(figures: &LatencyFigures) -> [String; 6] {
    [
        microseconds_rough(figures.min),
        figures.mean.map_or("-".into(), |mean| format!("{:.1}", mean / 1e3)),
        microseconds_rough(figures.p50),
        microseconds_rough(figures.p99),
        microseconds_rough(figures.p99_9),
        microseconds_rough(figures.max),
    ]
}
