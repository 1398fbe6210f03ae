//! Bounds of the mean of independent shares, each between 0 and 1, for any distribution: the wealth of gamblers who bet
//! against a hypothetical mean. If the true mean is the one they bet against, their wealth ever reaches 1/a with
//! probability at most a (Waudby-Smith and Ramdas 2024). If no share is above 0, the boldest gambler gives the rule of
//! three.
//!
//! The bounded quantity is the share of wake-ups over a latency in a stretch of time: from none to all of them may be
//! late.

/// Parts of the capital, with the boldness of each when betting on "less than the mean"; 1 is the boldest bet that a
/// share of 1 does not bankrupt. Most of the capital is on the bet that suits a run that is nearly always on time.
const BELOW: [(f64, f64); 6] = [(0.8, 1.0), (0.04, 0.75), (0.04, 0.5), (0.04, 0.3), (0.04, 0.15), (0.04, 0.05)];
/// The same for "more than the mean": boldness halves down to one in four thousand.
const ABOVE_BOLDNESS: usize = 12;

/// Number of occurrences of each share. The numbers may be fractions, to represent a longer run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shares {
    pub counts: Vec<(f64, f64)>,
}

impl Shares {
    /// Number of shares.
    pub fn count(&self) -> f64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// The same shares in a run `factor` times as long.
    pub fn scaled(&self, factor: f64) -> Self {
        Self { counts: self.counts.iter().map(|(share, count)| (*share, count * factor)).collect() }
    }

    /// Upper bound of the mean at a one-sided confidence.
    pub fn at_most(&self, confidence: f64) -> f64 {
        crossing(|mean| self.show_less(mean, confidence))
    }

    /// Whether the shares show, at a one-sided confidence, that their mean is less than `mean`.
    pub fn show_less(&self, mean: f64, confidence: f64) -> bool {
        let bet = |boldness: f64| self.log_wealth(|share| boldness * (mean - share) / (1.0 - mean));
        log_sum(BELOW.iter().map(|(part, boldness)| part.ln() + bet(*boldness))) >= -(1.0 - confidence).ln()
    }

    /// Lower bound of the mean at a one-sided confidence.
    pub fn at_least(&self, confidence: f64) -> f64 {
        crossing(|mean| !self.show_more(mean, confidence))
    }

    /// Whether the shares show, at a one-sided confidence, that their mean is more than `mean`.
    pub fn show_more(&self, mean: f64, confidence: f64) -> bool {
        if self.counts.iter().all(|(share, count)| *share <= 0.0 || *count <= 0.0) {
            return false;
        }
        let part = -(ABOVE_BOLDNESS as f64).ln();
        let bet = |halves: usize| self.log_wealth(|share| 0.5f64.powi(halves as i32) * (share / mean - 1.0));
        log_sum((0..ABOVE_BOLDNESS).map(|halves| part + bet(halves))) >= -(1.0 - confidence).ln()
    }

    /// Logarithm of the product of 1 + gain over all shares.
    fn log_wealth(&self, gain: impl Fn(f64) -> f64) -> f64 {
        let logarithms = self.counts.iter().filter(|(_, count)| *count > 0.0).map(|(share, count)| {
            let gain = gain(*share);
            if gain <= -1.0 { f64::NEG_INFINITY } else { count * gain.ln_1p() }
        });
        logarithms.sum()
    }
}

/// Logarithm of the sum of the exponentials of `logarithms`.
fn log_sum(logarithms: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = logarithms.collect();
    let largest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_finite() { largest + all.iter().map(|one| (one - largest).exp()).sum::<f64>().ln() } else { largest }
}

/// The smallest mean in 0 ..= 1 for which a monotonic condition holds. The search is logarithmic, to resolve small
/// means.
fn crossing(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (-40.0, 0.0);
    for _ in 0..60 {
        let middle: f64 = 0.5 * (low + high);
        if holds(middle.exp()) { high = middle } else { low = middle }
    }
    let mean = high.exp();
    if high <= -39.9 { 0.0 } else { mean }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::probability;
    use crate::coin::Coin;

    fn shares(counts: &[(f64, f64)]) -> Shares {
        Shares { counts: counts.to_vec() }
    }

    #[test]
    fn without_a_late_stretch_it_is_the_rule_of_three() {
        for stretches in [100.0, 3_600.0, 86_400.0] {
            let bound = shares(&[(0.0, stretches)]).at_most(0.95);
            let exact = probability(0.0, stretches, 0.95).1;
            assert!(exact <= bound && bound < 1.08 * exact, "{bound} {exact}");
        }
        assert_eq!(shares(&[(0.0, 100.0)]).at_least(0.95), 0.0);
        assert_eq!(shares(&[]).at_most(0.95), 1.0);
    }

    #[test]
    fn small_shares_cost_what_they_are_and_whole_stretches_much_more() {
        // 1e-4 of the wake-ups, each in another stretch.
        let spread = shares(&[(0.0, 3240.0), (0.001, 360.0)]).at_most(0.95);
        assert!((9e-4..1e-3).contains(&spread), "{spread}");
        let whole = shares(&[(0.0, 3599.0), (1.0, 1.0)]).at_most(0.95);
        assert!((1.3e-3..3e-3).contains(&whole), "{whole}");
        let low = shares(&[(0.0, 3580.0), (1.0, 20.0)]).at_least(0.95);
        assert!((2e-3..20.0 / 3600.0).contains(&low), "{low}");
        assert_eq!(shares(&[(1.0, 50.0)]).at_most(0.95), 1.0);
    }

    type Draw = fn(&mut Coin) -> f64;

    /// Shares of several distributions: either bound may be wrong in one of twenty.
    #[test]
    fn bounds_cover_what_they_promise() {
        let mut coin = Coin::new(5);
        let kinds: [(&str, f64, Draw); 4] = [
            ("all or nothing", 0.01, |coin| f64::from(u8::from(coin.unit() < 0.01))),
            ("ten of a thousand", 2e-4, |coin| if coin.unit() < 0.02 { 0.01 } else { 0.0 }),
            ("anything", 0.005, |coin| if coin.unit() < 0.01 { coin.unit() } else { 0.0 }),
            ("always some", 0.1, |coin| 0.2 * coin.unit()),
        ];
        for (name, mean, draw) in kinds {
            let tests = 400;
            let (mut below, mut above) = (0, 0);
            for _ in 0..tests {
                let counts = Shares { counts: (0..300).map(|_| (draw(&mut coin), 1.0)).collect() };
                below += u32::from(counts.at_most(0.95) < mean);
                above += u32::from(counts.at_least(0.95) > mean);
            }
            let most = (0.05 + 2.0 * (0.05f64 * 0.95 / f64::from(tests)).sqrt()) * f64::from(tests);
            assert!(f64::from(below) <= most && f64::from(above) <= most, "{name}: {below} and {above} of {tests}");
        }
    }
}
