//! The median, which outlier runs hardly move, and its standard error.

/// Scale of normal noise for each median of its magnitudes.
pub(crate) const MEDIAN_TO_SCALE: f64 = 1.4826;
/// Standard error of a median, in scales of normal noise, times the root of the number of values.
const MEDIAN_ERROR: f64 = 1.2533;

/// 0 for an empty list.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The same of values in ascending order.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[half],
        _ => 0.5 * (sorted[half - 1] + sorted[half]),
    }
}

/// Standard error of the median, from the scatter around it.
pub fn median_error(values: &[f64]) -> f64 {
    let centre = median(values);
    let magnitudes: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    MEDIAN_ERROR * MEDIAN_TO_SCALE * median(&magnitudes) / (values.len() as f64).sqrt()
}
