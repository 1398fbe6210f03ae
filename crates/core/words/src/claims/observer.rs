//! The cost of recording.

use super::amount;
use crate::amounts::{change, p_value, percent};
use claims::figure_name::FigureName;
use claims::observer::{FigureCost, Level};

fn recording(level: Level) -> &'static str {
    match level {
        Level::Off => "Recording nothing",
        Level::Events => "Recording events",
        Level::Functions => "Recording events and functions",
    }
}

/// The effect of a level on one figure, from this number of rounds.
pub fn sentence(level: Level, cost: &FigureCost, rounds: usize) -> String {
    let size = amount(cost.difference.value.abs(), &cost.unit);
    let relative = cost.ratio.as_ref().map_or(String::new(), |ratio| format!(" ({})", change(ratio.value)));
    let (figure, effect) = match (&cost.figure, cost.difference.value > 0.0) {
        (FigureName::P50, true) => ("the median wake-up".to_owned(), "later"),
        (FigureName::P50, false) => ("the median wake-up".to_owned(), "earlier"),
        (FigureName::P99, true) => ("the p99 of the wake-ups".to_owned(), "later"),
        (FigureName::P99, false) => ("the p99 of the wake-ups".to_owned(), "earlier"),
        (load, true) => (format!("the {load}"), "faster"),
        (load, false) => (format!("the {load}"), "slower"),
    };
    let begin = recording(level);
    let Some(interval) = cost.difference.interval else {
        let plural = if rounds == 1 { "" } else { "s" };
        return format!(
            "{begin}: {figure} came out {size} {effect}{relative} in {rounds} round{plural}, too few to say more."
        );
    };
    let span = format!(
        "{} interval {} to {}; {rounds} rounds, {}",
        percent(interval.confidence),
        amount(interval.low, &cost.unit),
        amount(interval.high, &cost.unit),
        p_value(cost.p_value)
    );
    if interval.contains(0.0) {
        format!("{begin}: no effect on {figure} was found ({span}).")
    } else {
        format!("{begin} makes {figure} {size} {effect}{relative} ({span}).")
    }
}
