//! Experiments: figures, failed runs, carry-over, and what the rounds cannot show.

use super::amount;
use crate::amounts::{change, p_value, percent, rough};
use crate::figures::counted;
use claims::experiment::{CarryOver, ErrorParts, ExperimentResult, Failed, FailureResult, MetricResult, SMALL_CHANGE};
use claims::figure_name::FigureName;

/// The result of one figure. `more`: rounds that find [`SMALL_CHANGE`], where these are too few.
pub fn figure(result: &MetricResult, rounds: usize, more: Option<u64>, confidence: f64) -> String {
    let metric = &result.metric;
    let p = p_value(result.p_adjusted);
    let direction = if result.b_to_a() > 1.0 { "raised" } else { "lowered" };
    let Some(ratio) = &result.ratio else {
        let (a, b) = (rough(result.a), rough(result.b));
        return if result.differs {
            format!("B {direction} {} from {a} to {b} {} ({rounds} rounds, {p}).", metric.name, metric.unit)
        } else {
            format!("No difference found in {}: {a} and {b} {} ({rounds} rounds, {p}).", metric.name, metric.unit)
        };
    };
    let amount = |value: f64| amount(value, &metric.unit);
    let span = ratio.interval.map_or(String::new(), |interval| {
        format!(", {} interval {} to {}", percent(confidence), change(interval.low), change(interval.high))
    });
    if result.differs && result.outliers_move_the_means() {
        return format!(
            "B {direction} {} by at least {:.1} % ({}{span}; {rounds} rounds, {p}). Outlier runs move its means to {} of A and {} of B.",
            metric.name,
            (ratio.value - 1.0).abs() * 100.0,
            change(ratio.value),
            amount(result.a),
            amount(result.b)
        );
    }
    if result.differs {
        return format!(
            "B {direction} {} by {} ({}, from {} to {}{span}; {rounds} rounds, {p}).",
            metric.name,
            amount((result.b - result.a).abs()),
            change(ratio.value),
            amount(result.a),
            amount(result.b)
        );
    }
    let seen = match result.detectable {
        // Equal runs have no scatter to find a change in.
        Some(size) if metric.name != FigureName::Max && size >= 1.0005 => {
            let more = match more {
                Some(more) => format!("; one of {:.0} % needs about {more} rounds", (SMALL_CHANGE - 1.0) * 100.0),
                None => String::new(),
            };
            format!(" A change of {:.1} % would have been found with 80 % probability{more}.", (size - 1.0) * 100.0)
        }
        _ => String::new(),
    };
    format!("No difference found in {} ({}{span}; {rounds} rounds, {p}).{seen}", metric.name, change(ratio.value))
}

/// Which variant fails more often.
pub fn failures(result: &FailureResult) -> String {
    let Failed { a, b } = result.failed;
    let counts = format!("{} of B and {a} of A failed and made their rounds void", counted(u64::from(b), "run"));
    let p = p_value(result.p_value);
    match (result.differs, b > a) {
        (true, true) => format!("B fails more often: {counts} ({p})."),
        (true, false) => format!("B fails less often: {counts} ({p})."),
        (false, _) => format!("{counts} ({p}: chance may explain the difference)."),
    }
}

/// The effect of a run on the next one.
pub fn carry_over(effect: &CarryOver, figure: &FigureName) -> String {
    format!(
        "Runs after a run of B have a {figure} of {} against runs after a run of A ({}): a run changes the next one, or B \
         depends on its place in the round, so no difference between A and B follows. Let the machine settle before each \
         run, such as `--a-before 'sleep 60' --b-before 'sleep 60'`.",
        change(effect.ratio),
        p_value(effect.p_value)
    )
}

/// The figures that this number of rounds cannot show to differ.
pub fn too_few(rounds: usize, hidden: &[&FigureName], needed_rounds: Option<u32>, confidence: f64) -> String {
    let names: Vec<String> = hidden.iter().map(|name| name.to_string()).collect();
    let names = match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => names.concat(),
    };
    let rounds = if rounds == 1 { "1 round shows".to_owned() } else { format!("{rounds} rounds show") };
    let needed = match needed_rounds {
        Some(needed) => format!("{needed} rounds can"),
        None => "use a lower confidence".to_owned(),
    };
    format!("{rounds} no change of {names} with {} confidence, however large it is: {needed}.", percent(confidence))
}

/// How the figures share the allowed error; `None` if there is only one.
pub fn error_shares(result: &ExperimentResult) -> Option<String> {
    let parts = ErrorParts::of(result.secondary.len());
    let error = 1.0 - result.confidence;
    (!result.secondary.is_empty()).then(|| {
        format!(
            "Of experiments without a change, at most {} report one in {}, which was chosen beforehand, and at most {} in any other \
             figure.",
            percent(parts.primary * error),
            result.primary.metric.name,
            percent((1.0 - parts.primary) * error)
        )
    })
}
