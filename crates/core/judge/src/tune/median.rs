//! The median, which outlier runs hardly move, and its standard error.

/// Scale of normal noise for each median of its magnitudes.
pub(super) const MEDIAN_TO_SCALE: f64 = 1.4826;
/// Standard error of a median, in scales of normal noise, times the root of the number of values.
const MEDIAN_ERROR: f64 = 1.2533;

/// 0 for an empty list.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[half],
        _ => 0.5 * (sorted[half - 1] + sorted[half]),
    }
}

pub(super) fn median_error(values: &[f64]) -> f64 {
    let centre = median(values);
    let magnitudes: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    MEDIAN_ERROR * MEDIAN_TO_SCALE * median(&magnitudes) / (values.len() as f64).sqrt()
}
