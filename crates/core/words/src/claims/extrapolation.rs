//! The extrapolation of a thread's largest latency.

use crate::amounts::{hours, percent, time};
use claims::extrapolation::Extrapolation;

/// The result, or the reason for its refusal. `others`: number of the largest latencies that may have another cause.
pub fn sentence(result: &Extrapolation, measured_ns: Option<i64>, others: usize, confidence: f64) -> String {
    let cpu = result.cpu;
    let Some(estimate) = &result.estimate else {
        let why = result.refusal.as_ref().map_or("", |why| why.text.as_str());
        return format!("CPU {cpu}: extrapolation refused: {why}.");
    };
    let end = |value: Option<f64>| value.map_or("anything".into(), time);
    let median = estimate.median_maximum_ns;
    let tail = match estimate.shape.high {
        Some(high) if high < 0.0 => " The tail looks bounded.",
        _ => "",
    };
    format!(
        "CPU {cpu}: if the same mechanisms keep acting under the same load, the largest latency in {} is below {} with \
         probability one half ({} interval {} to {}, from the {} largest latencies, all over {}).{tail} The interval allows \
         that up to {others} of the largest have another cause. One that scatters far more than the rest may lead beyond it. This says nothing about causes that did not \
         occur during the {} of the test.",
        hours(result.horizon_hours),
        time(median.value),
        percent(confidence),
        end(median.low),
        end(median.high),
        estimate.peaks,
        time(estimate.threshold_ns),
        hours(measured_ns.unwrap_or(0) as f64 / 3.6e12)
    )
}
