//! Series of runs, and where they changed.

use super::amount;
use crate::amounts::{change, p_value};
use crate::figures::counted;
use claims::history::{ChangePoint, Point, RATIO_MIN, Series};
use claims::metric::Metric;

/// The changes of a series, or why it shows none. `needed`: number of runs that show a large change.
pub fn series(series: &Series, needed: usize) -> String {
    let runs_in_words = counted(series.points.len() as u64, "run");
    let found = match series.changes.len() {
        _ if series.too_few => {
            let verb = if series.points.len() == 1 { "is" } else { "are" };
            return format!(
                "{runs_in_words} {verb} not enough to distinguish a change from chance: at least {needed} are needed, more \
                 for small changes"
            );
        }
        0 => format!("no change found in {runs_in_words}"),
        1 => format!("one change in {runs_in_words}"),
        many => format!("{many} changes in {runs_in_words}"),
    };
    let power = series.detectable.filter(|_| series.changes.is_empty()).map_or(String::new(), |ratio| {
        format!("; a change of {} in mid-series would have been detected with 80 % power", change(ratio.max(RATIO_MIN)))
    });
    let memory = series.autocorrelation.map_or(String::new(), |r| {
        format!(
            "; runs resemble their neighbours (correlation {r:.1}), as on a drifting machine: only an experiment \
             separates a change from that"
        )
    });
    format!("{found}{power}{memory}")
}

/// A change of a figure of these runs.
pub fn change_point(found: &ChangePoint, metric: &Metric, points: &[Point], autocorrelation: Option<f64>) -> String {
    let relative = found.ratio.map_or(String::new(), |ratio| format!(" ({})", change(ratio)));
    // How rare it is depends on the correlation of runs, which few runs show only roughly.
    let rare = autocorrelation.map_or(p_value(found.p_value), |_| "p unknown: runs resemble their neighbours".into());
    let (verb, until) = found.drift_until.map_or(("went", found.at), |until| ("drifted", until));
    format!(
        "{} {verb} from {} to {}{relative} between {} and {}, {rare}.",
        metric.name,
        amount(found.before, &metric.unit),
        amount(found.after, &metric.unit),
        points[found.at - 1].id,
        points[until].id
    )
}
