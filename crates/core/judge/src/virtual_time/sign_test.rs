//! The exact sign test for any number of seeds: whether chance explains how many moved the same way.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Two-sided p-value of `longer` seeds against `shorter` ones; seeds that did not move do not count.
pub fn p_value(longer: usize, shorter: usize) -> f64 {
    let moved = (longer + shorter) as u64;
    let fewer = longer.min(shorter) as u64;
    match Binomial::new(0.5, moved) {
        Ok(coin) if moved > 0 => (2.0 * coin.cdf(fewer)).min(1.0),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_a_fair_coin() {
        let close = |p: f64, expected: f64| assert!((p - expected).abs() < 1e-12, "{p} {expected}");
        close(p_value(16, 0), 2.0 / 65_536.0);
        close(p_value(0, 8), 2.0 / 256.0);
        close(p_value(7, 1), 2.0 * 9.0 / 256.0);
        close(p_value(5, 5), 1.0);
        close(p_value(0, 0), 1.0);
    }
}
