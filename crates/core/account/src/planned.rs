//! The limits by which the plan of a run judges it. The archive may be untrusted: what cannot be understood is left out.

use archive::planned::{PlannedLimit, PlannedStep};
use archive::reader::Run;
use claims::limit::{Limit, Rate, Requirement};
use judge::machine::DoubtKind;
use words::figures::latency;
use words::time::time_ns;

/// The confidence of a verdict for which none is stated, in 0 .. 1.
pub const CONFIDENCE_DEFAULT: f64 = 0.95;

/// How often a latency may be exceeded on each CPU where that is not stated.
pub const ALLOW_DEFAULT: &str = "1/h";

/// The limits of the run's plan, or else the limit that the run was measured with, which may be exceeded as often as `allow`.
pub fn limits_of(run: &Run, allow: &Rate) -> Vec<Limit> {
    if let Some(planned) = &run.planned {
        return limits(&planned.limits);
    }
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    settings.and_then(|settings| settings.limit_ns).map(|latest_ns| on_latency(latest_ns, allow)).into_iter().collect()
}

/// The limit that no wake-up is later than this, as often as allowed.
pub fn on_latency(latest_ns: i64, allow: &Rate) -> Limit {
    Limit {
        text: format!("latency <= {}", latency(latest_ns)),
        requirement: Requirement::Latency { latest_ns },
        allow: Some(allow.clone()),
    }
}

/// The limits of a plan.
pub fn limits(limits: &[PlannedLimit]) -> Vec<Limit> {
    let read = |limit: &PlannedLimit| Limit::parse(&limit.limit, &Rate::parse(&limit.allow).ok()?, time_ns).ok();
    limits.iter().filter_map(read).collect()
}

/// A confidence in percent as one in 0 .. 1; `None` if no verdict can have it.
pub fn confidence(percent: f64) -> Option<f64> {
    (50.0..=99.9999).contains(&percent).then(|| (percent * 1e6).round() / 1e8)
}

/// The confidence that a plan asks for, in 0 .. 1.
pub fn confidence_of(planned: &PlannedStep) -> f64 {
    confidence(planned.confidence_percent).unwrap_or(CONFIDENCE_DEFAULT)
}

/// The doubts about a machine that do not prevent a pass.
pub fn accepted(planned: &PlannedStep) -> Vec<DoubtKind> {
    planned.accept.iter().filter_map(|word| DoubtKind::of_word(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidences_from_an_archive_are_percentages_or_none() {
        assert_eq!([95.0, 99.9].map(confidence), [Some(0.95), Some(0.999)]);
        for percent in [0.95, 49.0, 100.0, f64::NAN, f64::INFINITY] {
            assert_eq!(confidence(percent), None, "{percent}");
        }
    }

    #[test]
    fn limits_that_cannot_be_read_are_left_out() {
        let planned = |limit: &str, allow: &str| PlannedLimit { limit: limit.into(), allow: allow.into() };
        let read = limits(&[
            planned("latency < 100us", "1/h"),
            planned("latency < 100", "1/h"),
            planned("latency < 100us", "often"),
            planned("", ""),
        ]);
        assert_eq!(read.iter().map(|limit| limit.text.as_str()).collect::<Vec<_>>(), ["latency < 100us"]);
    }
}
