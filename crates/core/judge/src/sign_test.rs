//! The exact sign test: whether chance explains how many of some moved the same way.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Two-sided p-value of two counts that a fair coin makes equal on average.
pub fn p_value(one_way: usize, other_way: usize) -> f64 {
    let moved = (one_way + other_way) as u64;
    let fewer = one_way.min(other_way) as u64;
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
