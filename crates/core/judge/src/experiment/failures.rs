//! Runs that failed, by variant: a run that died, hung or was not valid voids its round, and a variant that does so more
//! often is worse, whatever the figures of its other runs.

use super::Stopping;
use crate::sign_test;
use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;
use words::amounts::p_value;
use words::figures::counted;

/// Failed runs that more of B than of A leave open which is worse, if chance may explain them.
const MORE_MIN: u32 = 2;

/// Void rounds, by the variant whose run failed. The coin decides which variant runs first, and a failed run ends its
/// round, so without a difference each is as likely to be of B as of A.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub a: u32,
    pub b: u32,
}

/// As small with at most the same probability however often one looks: the inverse of the mean wealth of gamblers on every
/// share of failures (Ville's inequality).
fn p_after_any_round(a: f64, b: f64) -> f64 {
    let evidence = (a + b) * std::f64::consts::LN_2 + ln_gamma(a + 1.0) + ln_gamma(b + 1.0) - ln_gamma(a + b + 2.0);
    (-evidence).exp().min(1.0)
}

/// Whether one variant fails more often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureResult {
    pub failed: Failed,
    /// Two-sided: of the exact sign test, or of evidence that holds after every round.
    pub p_value: f64,
    pub differs: bool,
    pub sentence: String,
}

impl FailureResult {
    /// `None` if no run failed.
    pub fn of(failed: Failed, risk: f64, stopping: Stopping) -> Option<Self> {
        let Failed { a, b } = failed;
        if a + b == 0 {
            return None;
        }
        let p = match stopping {
            Stopping::FixedRounds => sign_test::p_value(b as usize, a as usize),
            Stopping::UntilDecided => p_after_any_round(f64::from(a), f64::from(b)),
        };
        let mut result = Self { failed, p_value: p, differs: p <= risk, sentence: String::new() };
        result.sentence = result.words();
        Some(result)
    }

    pub fn b_is_worse(&self) -> bool {
        self.differs && self.failed.b > self.failed.a
    }

    /// Whether B failed more often, and chance may explain it.
    pub fn open(&self) -> bool {
        !self.differs && self.failed.b >= self.failed.a + MORE_MIN
    }

    fn words(&self) -> String {
        let Failed { a, b } = self.failed;
        let counts = format!("{} of B and {a} of A failed and made their rounds void", counted(u64::from(b), "run"));
        let p = p_value(self.p_value);
        match (self.differs, b > a) {
            (true, true) => format!("B fails more often: {counts} ({p})."),
            (true, false) => format!("B fails less often: {counts} ({p})."),
            (false, _) => format!("{counts} ({p}: chance may explain the difference)."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_that_fails_more_often_is_worse() {
        let of = |a, b, stopping| FailureResult::of(Failed { a, b }, 0.05, stopping);
        let six = of(0, 6, Stopping::FixedRounds).unwrap();
        assert!(six.b_is_worse() && (six.p_value - 2.0 / 64.0).abs() < 1e-12);
        assert_eq!(
            six.sentence,
            "B fails more often: 6 runs of B and 0 of A failed and made their rounds void (p = 0.0313)."
        );
        assert!(!of(0, 6, Stopping::UntilDecided).unwrap().differs, "it may look after every round");
        assert!(of(0, 8, Stopping::UntilDecided).unwrap().differs);
        let some = of(1, 4, Stopping::FixedRounds).unwrap();
        assert!(some.open() && !some.differs && some.sentence.contains("chance may explain"), "{}", some.sentence);
        let of_a = of(9, 0, Stopping::FixedRounds).unwrap();
        assert!(!of_a.b_is_worse() && !of_a.open() && of_a.differs, "{}", of_a.sentence);
        assert_eq!(of(0, 0, Stopping::FixedRounds), None);
    }
}
