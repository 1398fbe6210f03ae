//! Corrects p-values for several simultaneous tests.

/// Holm's step-down correction: rejecting at `a`, the probability of any wrong rejection is at most `a`, under any
/// dependence. In the order of the input.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, at) in order.iter().enumerate() {
        largest = largest.max(p_values[*at] * (p_values.len() - rank) as f64);
        adjusted[*at] = largest.min(1.0);
    }
    adjusted
}

/// The same with a larger part of `a` for some tests; the part of a rejected test goes to the rest (Holm 1979).
pub fn weighted_holm(tests: &[(f64, f64)]) -> Vec<f64> {
    let order = ascending(&tests.iter().map(|(p, weight)| p / weight).collect::<Vec<_>>());
    let mut left: f64 = tests.iter().map(|(_, weight)| weight).sum();
    let mut adjusted = vec![0.0; tests.len()];
    let mut largest: f64 = 0.0;
    for at in order {
        let (p, weight) = tests[at];
        largest = largest.max(p * left / weight);
        adjusted[at] = largest.min(1.0);
        left -= weight;
    }
    adjusted
}

/// Benjamini and Hochberg's correction: of the rejections at `a`, at most a share `a` is wrong on average, for
/// independent tests. For lists to investigate, not for claims.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![0.0; p_values.len()];
    let mut smallest: f64 = 1.0;
    for (rank, at) in order.iter().enumerate().rev() {
        smallest = smallest.min(p_values[*at] * p_values.len() as f64 / (rank + 1) as f64);
        adjusted[*at] = smallest;
    }
    adjusted
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(values: &[f64], expected: &[f64]) {
        let close = values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12);
        assert!(close && values.len() == expected.len(), "{values:?}");
    }

    #[test]
    fn the_reference_values_hold() {
        near(&holm(&[0.004, 0.03, 0.012, 0.2]), &[0.016, 0.06, 0.036, 0.2]);
        near(&benjamini_hochberg(&[0.004, 0.03, 0.012, 0.2]), &[0.016, 0.04, 0.024, 0.2]);
    }

    #[test]
    fn weights_share_the_error_and_equal_ones_are_holms() {
        let p = [0.004, 0.03, 0.012, 0.2];
        near(&weighted_holm(&p.map(|p| (p, 0.25))), &holm(&p));
        near(&weighted_holm(&[(0.03, 0.8), (0.004, 0.1), (0.2, 0.1)]), &[0.0375, 0.0375, 0.2]);
        near(&weighted_holm(&[(0.03, 1.0)]), &[0.03]);
        near(&weighted_holm(&[]), &[]);
    }

    #[test]
    fn one_test_needs_no_correction_and_none_gives_none() {
        near(&holm(&[0.03]), &[0.03]);
        near(&benjamini_hochberg(&[0.03]), &[0.03]);
        near(&holm(&[]), &[]);
        near(&holm(&[0.9, 0.8]), &[1.0, 1.0]);
    }
}
