//! The limits by which the plan of a run judges it. The archive may be untrusted: what cannot be understood is left out.

use archive::planned::{PlannedLimit, PlannedStep};
use judge::limit::{Limit, Rate};
use judge::machine::DoubtKind;
use words::time::time_ns;

/// The confidence of a verdict for which none is stated, in 0 .. 1.
pub const CONFIDENCE_DEFAULT: f64 = 0.95;

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
