//! A test that may be looked at after every round: evidence against "the variants do the same" as the wealth of a gambler
//! who bets on the sign of each difference before the coin is tossed. By Ville's inequality it ever reaches 1/a with
//! probability at most a, if there is nothing to be found.

/// How boldly the gamblers bet; the process is the mean of all of them, on either sign.
const BOLDNESS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// The evidence after each of the differences, in their order.
pub fn evidence(differences: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = Vec::with_capacity(differences.len());
    let mut wealth = [1.0; 2 * BOLDNESS.len()];
    let mut process = Vec::with_capacity(differences.len());
    for difference in differences {
        let at = sizes.partition_point(|size| *size < difference.abs());
        sizes.insert(at, difference.abs());
        let scale = median(&sizes);
        // The size of a difference is known before the coin, the sign is not: dividing by sizes is no look ahead.
        let scaled = if scale > 0.0 { difference / scale } else { difference.signum() * f64::from(*difference != 0.0) };
        for (at, gambler) in wealth.iter_mut().enumerate() {
            let side = if at.is_multiple_of(2) { 1.0 } else { -1.0 };
            *gambler *= 1.0 + (side * BOLDNESS[at / 2] * scaled).tanh();
        }
        process.push(wealth.iter().sum::<f64>() / wealth.len() as f64);
    }
    process
}

fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { 0.5 * (sorted[half - 1] + sorted[half]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    #[test]
    fn the_reference_values_hold() {
        let process = evidence(&[0.112, 0.087, 0.154, -0.021, 0.098, 0.131, 0.060, 0.045, 0.173, 0.009]);
        let expected = [1.0000, 1.6577, 3.0820, 1.8283, 3.2764, 6.1320, 10.4714, 17.4471, 34.2530, 41.4819];
        let close = process.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 5e-5);
        assert!(close, "{process:?}");
        assert!((evidence(&[1.0; 6])[5] - 20.12).abs() < 0.005);
        assert!((evidence(&[1.0; 8])[7] - 73.79).abs() < 0.005);
    }

    #[test]
    fn nothing_is_no_evidence() {
        assert_eq!(evidence(&[0.0, 0.0]), [1.0, 1.0]);
        assert!(evidence(&[]).is_empty());
    }

    /// Looked at after every one of 20 rounds it fires in at most one of twenty series without a difference.
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
