//! Steps of a plan that measure too short to show that a limit holds: said before the measurement, by the arithmetic that
//! judges it afterwards.

use super::checked::{CheckedPlan, CheckedStep};
use judge::length::needed;
use std::collections::BTreeSet;
use std::fmt;
use words::amounts::{hours_more, percent};
use words::figures::duration;
use words::printable::printable;

/// A limit that its steps cannot pass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TooShort {
    limit: String,
    measured_ns: u64,
    /// In ms; `None` if no length is enough.
    needed_ms: Option<u64>,
    confidence: String,
}

impl fmt::Display for TooShort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, measured_ns, needed_ms, confidence } = self;
        match needed_ms {
            Some(ms) => write!(
                out,
                "`{limit}` cannot pass: it takes {} without a late wake-up at {confidence} confidence, and a step measures {}",
                hours_more(*ms as f64 / 3.6e6),
                duration(i64::try_from(*measured_ns).unwrap_or(i64::MAX))
            ),
            None => write!(out, "`{limit}` cannot pass: no measurement is long enough to show it"),
        }
    }
}

/// The limits of a plan that cannot pass, each once for every length of its steps.
pub fn too_short(plan: &CheckedPlan) -> BTreeSet<TooShort> {
    plan.steps.iter().flat_map(|step| of_step(step, plan.confidence)).collect()
}

/// Warns of each limit that cannot pass, before anything is measured.
pub fn warn(plan: &CheckedPlan) {
    too_short(plan).iter().for_each(|limit| complain!("tardy: {}", printable(&limit.to_string())));
}

fn of_step(step: &CheckedStep, confidence: f64) -> Vec<TooShort> {
    // A step without an end measures for as long as the user wants.
    let Some(measured_ns) = step.duration_ns() else { return Vec::new() };
    let of_limit = |limit: &claims::limit::Limit| {
        let lengths = needed(limit, step.settings.interval_ns, confidence).lengths;
        let needed_hours = lengths.first().filter(|length| length.events == 0).map(|length| length.hours);
        let enough = needed_hours.is_some_and(|hours| hours <= measured_ns as f64 / 3.6e12);
        (!enough).then(|| TooShort {
            limit: limit.text.clone(),
            measured_ns,
            needed_ms: needed_hours.map(|hours| (hours * 3.6e6).ceil() as u64),
            confidence: percent(confidence),
        })
    };
    step.limits_as_read().filter_map(|(_, limit)| of_limit(limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::checked::{Overrides, PlanHost};
    use super::*;
    use fixtures::assert_sentence;
    use fixtures::repository::repository_path;
    use std::fs;

    fn checked(text: &str) -> CheckedPlan {
        CheckedPlan::read("plan", text, &Overrides::default(), PlanHost::Other).unwrap()
    }

    #[test]
    fn limits_that_take_longer_than_the_step_are_named_once() {
        let plan = "loads = ['none', 'messaging']\n[measurement]\nduration = '60s'\ninterval = '1ms'\n\
                    [[limits]]\nlimit = 'p99 < 10ms, disturbance < 1s'\n[[limits]]\nlimit = 'p90 < 10ms, disturbance < 1s'\n\
                    [[limits]]\nlimit = 'latency < 1ms'\nallow = 'never'\n";
        let found = too_short(&checked(plan));
        let limits: Vec<(&str, bool)> =
            found.iter().map(|short| (short.limit.as_str(), short.needed_ms.is_some())).collect();
        assert_eq!(limits, [("latency < 1ms", false), ("p99 < 10ms, disturbance < 1s", true)]);
        let said: Vec<String> = found.iter().map(TooShort::to_string).collect();
        assert_sentence!("plan-too-short", said.join("\n"));
    }

    #[test]
    fn shipped_plans_measure_long_enough_for_their_limits() {
        let mut plans = 0;
        for entry in fs::read_dir(repository_path("plans")).unwrap() {
            let path = entry.unwrap().path();
            let plan = checked(&fs::read_to_string(&path).unwrap());
            assert_eq!(too_short(&plan), BTreeSet::new(), "{}", path.display());
            plans += 1;
        }
        assert!(plans > 3);
    }
}
