//! A test that may be evaluated after every round. The evidence against "the variants do the same" is the wealth of a
//! gambler who bets on the sign of each difference before the coin is tossed. By Ville's inequality, if there is no
//! difference, it ever reaches 1/a with probability at most a.

use crate::median::median_of_sorted;
use crate::sign_flip::Interval;

/// Largest share of its wealth that a gambler bets. Who bets all loses all to one outlier run with the wrong sign.
const STAKE: f64 = 0.9;

/// Boldness of the gamblers; the process is the mean of all of them, on both signs.
const BOLDNESS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// The evidence after each difference, in order.
pub fn evidence(differences: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = Vec::with_capacity(differences.len());
    let mut wealth = [1.0; 2 * BOLDNESS.len()];
    let mut process = Vec::with_capacity(differences.len());
    for difference in differences {
        let at = sizes.partition_point(|size| *size < difference.abs());
        sizes.insert(at, difference.abs());
        let scale = median_of_sorted(&sizes);
        // The size of a difference is known before the coin toss, its sign is not: dividing by sizes does not look
        // ahead.
        let scaled = if scale > 0.0 { difference / scale } else { difference.signum() * f64::from(*difference != 0.0) };
        for (at, gambler) in wealth.iter_mut().enumerate() {
            let side = if at.is_multiple_of(2) { 1.0 } else { -1.0 };
            *gambler *= 1.0 + STAKE * (side * BOLDNESS[at / 2] * scaled).tanh();
        }
        process.push(wealth.iter().sum::<f64>() / wealth.len() as f64);
    }
    process
}

/// A p-value that may be evaluated after every round: under any stopping rule it is at most `a` with probability at
/// most `a` if there is no difference.
pub fn p_value(differences: &[f64]) -> f64 {
    evidence(differences).into_iter().fold(1.0, f64::max).recip()
}

/// All shifts of the differences that the evidence never contradicts, under any stopping rule. `None` if it contradicts
/// none of the shifts tried: the rounds are too few for an interval.
pub fn interval(differences: &[f64], confidence: f64) -> Option<Interval> {
    let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
    let reach = differences.iter().map(|difference| (difference - mean).abs()).fold(0.0, f64::max);
    let allowed = |shift: f64| {
        let shifted: Vec<f64> = differences.iter().map(|difference| difference - shift).collect();
        p_value(&shifted) > 1.0 - confidence
    };
    let end = |sign: f64| -> Option<f64> {
        // Beyond all differences every sign is the same, so nothing changes further out.
        let (mut inside, mut outside) = (mean, mean + sign * 100.0 * reach.max(f64::MIN_POSITIVE));
        if !allowed(mean) || allowed(outside) {
            return None;
        }
        for _ in 0..60 {
            let middle = 0.5 * (inside + outside);
            if allowed(middle) { inside = middle } else { outside = middle }
        }
        Some(outside)
    };
    Some(Interval { low: end(-1.0)?, high: end(1.0)?, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    #[test]
    fn the_reference_values_hold() {
        let process = evidence(&[0.112, 0.087, 0.154, -0.021, 0.098, 0.131, 0.060, 0.045, 0.173, 0.009]);
        let expected = [1.0000, 1.5327, 2.6864, 1.7154, 2.9338, 5.2336, 8.5939, 13.7957, 25.7475, 30.7358];
        let close = process.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 5e-5);
        assert!(close, "{process:?}");
        assert!((evidence(&[1.0; 6])[5] - 15.05).abs() < 0.005);
        assert!((evidence(&[1.0; 8])[7] - 49.84).abs() < 0.005);
    }

    #[test]
    fn the_interval_holds_what_the_evidence_does_not_refute() {
        let differences = [0.112, 0.087, 0.154, -0.021, 0.098, 0.131, 0.060, 0.045, 0.173, 0.009];
        assert!((p_value(&differences) - 1.0 / 30.7358).abs() < 1e-5);
        let interval = interval(&differences, 0.95).unwrap();
        assert!(interval.low > 0.0 && interval.low < 0.0848 && interval.high > 0.0848, "{interval:?}");
        assert_eq!(super::interval(&differences[..4], 0.95), None, "four rounds refute nothing");
    }

    /// One round in eight has an outlier run of the other variant.
    #[test]
    fn outlier_runs_delay_the_evidence_and_do_not_destroy_it() {
        let differences: Vec<f64> =
            (0..40).map(|at| if at % 8 == 5 { -20.0 } else { 1.0 + 0.1 * f64::from(at % 3) }).collect();
        assert!(p_value(&differences) < 1e-3, "{}", p_value(&differences));
    }

    #[test]
    fn nothing_is_no_evidence() {
        assert_eq!(evidence(&[0.0, 0.0]), [1.0, 1.0]);
        assert!(evidence(&[]).is_empty());
    }

    /// Evaluated after each of 20 rounds, it fires in at most one of twenty series without a difference.
    #[test]
    fn looking_often_does_no_harm() {
        let mut coin = Coin::new(3);
        let series = 2000;
        let fired = (0..series)
            .filter(|_| {
                let toss =
                    |coin: &mut Coin| (coin.unit() - 0.5).powi(3) * if coin.next_u64() & 1 == 0 { 1.0 } else { 9.0 };
                let differences: Vec<f64> = (0..20).map(|_| toss(&mut coin)).collect();
                evidence(&differences).iter().any(|evidence| *evidence >= 20.0)
            })
            .count();
        assert!(fired as f64 <= 0.05 * f64::from(series), "{fired} of {series}");
    }
}
