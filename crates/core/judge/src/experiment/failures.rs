//! Runs that failed, by variant: a run that died, hung or was not valid voids its round, and a variant that does so more
//! often is worse, whatever the figures of its other runs.

use super::Stopping;
use crate::sign_test;
use claims::experiment::{Failed, FailureResult};
use statrs::function::beta::{beta_reg, ln_beta};

/// Failed runs that more of B than of A leave open which is worse, if chance may explain them.
const MORE_MIN: u32 = 2;
/// Share of the allowed error for "B fails more often", which an experiment asks; "less often" has the rest.
const MORE_PART: f64 = 0.8;

/// Number of void rounds in a row that ends a series: the next would be void, too. It does not depend on whose runs failed,
/// for the sign test. Runs that failed only sometimes before may do so by chance.
pub fn void_rounds_max(complete_rounds: usize) -> usize {
    if complete_rounds == 0 { 3 } else { 6 }
}

/// Two exact tests, of "B fails more often" and of "less often", with their shares of the error.
fn p_of_sign_test(a: u32, b: u32) -> f64 {
    let part = if b > a { MORE_PART } else { 1.0 - MORE_PART };
    (sign_test::p_value(b as usize, a as usize) / 2.0 / part).min(1.0)
}

/// As small with at most the same probability however often one looks: the inverse of the mean wealth of gamblers on every
/// share of failures (Ville's inequality).
fn p_after_any_round(a: u32, b: u32) -> f64 {
    let wealth = MORE_PART * wealth(b.into(), a.into()) + (1.0 - MORE_PART) * wealth(a.into(), b.into());
    wealth.recip().min(1.0)
}

/// Mean wealth of gamblers on shares above one half of the failures.
fn wealth(of_these: f64, of_others: f64) -> f64 {
    let (these, others) = (of_these + 1.0, of_others + 1.0);
    let above_half = beta_reg(others, these, 0.5);
    ((of_these + of_others + 1.0) * std::f64::consts::LN_2 + ln_beta(these, others)).exp() * above_half
}

/// `None` if no run failed.
pub fn failures(failed: Failed, risk: f64, stopping: Stopping) -> Option<FailureResult> {
    let Failed { a, b } = failed;
    if a + b == 0 {
        return None;
    }
    let p = match stopping {
        Stopping::FixedRounds => p_of_sign_test(a, b),
        Stopping::UntilDecided => p_after_any_round(a, b),
    };
    let mut result = FailureResult { failed, p_value: p, differs: p <= risk, sentence: String::new() };
    result.sentence = words::claims::experiment::failures(&result);
    Some(result)
}

/// Whether B failed more often, and chance may explain it.
pub fn open(result: &FailureResult) -> bool {
    !result.differs && result.failed.b >= result.failed.a + MORE_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::assert_sentence;

    #[test]
    fn a_variant_that_fails_more_often_is_worse() {
        let of = |a, b, stopping| failures(Failed { a, b }, 0.05, stopping);
        let five = of(0, 5, Stopping::FixedRounds).unwrap();
        assert!(five.b_is_worse() && (five.p_value - 1.0 / 32.0 / 0.8).abs() < 1e-12);
        assert_sentence!("failures-of-b", five.sentence);
        assert!(!of(0, 6, Stopping::UntilDecided).unwrap().differs, "it may look after every round");
        assert!(of(0, 7, Stopping::UntilDecided).unwrap().differs);
        let some = of(1, 4, Stopping::FixedRounds).unwrap();
        assert!(open(&some) && !some.differs, "{}", some.sentence);
        assert_sentence!("failures-by-chance", some.sentence);
        let of_a = of(9, 0, Stopping::FixedRounds).unwrap();
        assert!(!of_a.b_is_worse() && !open(&of_a) && of_a.differs, "{}", of_a.sentence);
        assert_eq!(of(0, 0, Stopping::FixedRounds), None);
    }

    /// A coin decides whose run fails; the shares of all counts that are called different add up to the error.
    #[test]
    fn equal_variants_fail_more_or_less_often_as_seldom_as_promised() {
        for failed in 1..=40u32 {
            let chance = |b: u32| {
                (0..b)
                    .fold(0.5f64.powi(failed as i32), |chance, at| chance * f64::from(failed - at) / f64::from(at + 1))
            };
            let wrong =
                |b: &u32| failures(Failed { a: failed - b, b: *b }, 0.05, Stopping::FixedRounds).unwrap().differs;
            let error: f64 = (0..=failed).filter(wrong).map(chance).sum();
            assert!(error <= 0.05 + 1e-12, "{failed}: {error}");
        }
    }

    #[test]
    fn evidence_after_any_round_is_a_fair_game() {
        for (a, b) in [(0, 0), (2, 5), (7, 0)] {
            let next = 0.5 * (p_after_any_round(a + 1, b).recip() + p_after_any_round(a, b + 1).recip());
            let now = MORE_PART * wealth(b.into(), a.into()) + (1.0 - MORE_PART) * wealth(a.into(), b.into());
            assert!(next >= now - 1e-9, "{a} {b}: {now} {next}");
            let wealth_next = 0.5 * (wealth(f64::from(b) + 1.0, a.into()) + wealth(b.into(), f64::from(a) + 1.0));
            assert!((wealth_next - wealth(b.into(), a.into())).abs() < 1e-9 * wealth_next);
        }
    }
}
