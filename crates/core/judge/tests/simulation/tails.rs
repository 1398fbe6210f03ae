//! Extrapolation: how often its interval contains the truth, and what it refuses.

use crate::machine::{Character, Dice, measure};
use crate::{error_most, repeated, share};
use judge::coin::Coin;
use judge::extremes::extrapolation::of_seconds;
use statrs::distribution::{ContinuousCDF, Normal};

const REPETITIONS: usize = 300;
const TEST_S: usize = 3600;
const HORIZON_S: f64 = 36_000.0;
const PER_SECOND: f64 = 1000.0;
const CONFIDENCE: f64 = 0.95;

/// The latency in µs that a sample exceeds with this probability.
type Tail = fn(f64) -> f64;

fn normal(exceeded: f64) -> f64 {
    -Normal::standard().inverse_cdf(exceeded)
}

/// Tails for which extrapolation is designed.
const REGULAR: [(&str, Tail); 6] = [
    ("exponential", |p| -8.0 * p.ln()),
    ("heavy, xi = +0.2", |p| 8.0 * (p.powf(-0.2) - 1.0) / 0.2),
    ("bounded, xi = -0.2", |p| 8.0 * (1.0 - p.powf(0.2)) / 0.2),
    ("lognormal", |p| 5.0 * (0.5 * normal(p)).exp()),
    ("normal", |p| 20.0 + 3.0 * normal(p)),
    ("Weibull 0.6", |p| 2.0 * (-p.ln()).powf(1.0 / 0.6)),
];

/// The largest value of each second of a test.
fn maxima(coin: &mut Coin, tail: Tail) -> Vec<f64> {
    let exceeded = |coin: &mut Coin| -((1.0 - coin.unit()).ln() / PER_SECOND).exp_m1();
    (0..TEST_S).map(|_| tail(exceeded(coin).max(1e-300))).collect()
}

struct Coverage {
    estimates: usize,
    holds: f64,
    below: f64,
    reason: String,
}

fn coverage_of(seed: u64, truth: f64, seconds: impl Fn(&mut Coin) -> Vec<f64> + Sync) -> Coverage {
    let answers = repeated(REPETITIONS, |number| {
        of_seconds(&seconds(&mut Coin::of_round(seed, number as u32)), HORIZON_S, CONFIDENCE).1
    });
    let intervals: Vec<_> = answers.iter().flatten().map(|estimate| estimate.median_maximum_ns).collect();
    let low = |ends: &judge::extremes::Profile| ends.low.is_none_or(|low| low <= truth);
    let high = |ends: &judge::extremes::Profile| ends.high.is_none_or(|high| truth <= high);
    let reason = answers.into_iter().find_map(Result::err).map_or_else(String::new, |refusal| refusal.to_string());
    Coverage {
        estimates: intervals.len(),
        holds: share(&intervals.iter().map(|ends| low(ends) && high(ends)).collect::<Vec<_>>()),
        below: share(&intervals.iter().map(|ends| !high(ends)).collect::<Vec<_>>()),
        reason,
    }
}

impl Coverage {
    /// Fails if fewer intervals hold the truth than two standard errors below the level allow.
    fn assert_holds(&self, name: &str) {
        let most = error_most(1.0 - CONFIDENCE, self.estimates);
        assert!(1.0 - self.holds <= most, "{name}: {} of {} estimates hold the truth", self.holds, self.estimates);
    }
}

fn print(name: &str, measured: &Coverage) {
    let refused = REPETITIONS - measured.estimates;
    let (holds, below) = if measured.estimates == 0 {
        ("-".to_owned(), "-".to_owned())
    } else {
        (format!("{:.3}", measured.holds), format!("{:.3}", measured.below))
    };
    println!("  {name:36} {holds:>8} {below:>12} {refused:>8}  {}", measured.reason);
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn estimates_hold_the_truth_and_other_tails_are_refused() {
    println!("EXTRAPOLATION from 1 h at 1 kHz to 10 h, {REPETITIONS} tests each, nominal 95 %");
    println!("  {:36} {:>8} {:>12} {:>8}  first reason", "tail", "coverage", "end < truth", "refused");
    let rarest = std::f64::consts::LN_2 / (PER_SECOND * HORIZON_S);
    for (at, (name, tail)) in REGULAR.into_iter().enumerate() {
        let measured = coverage_of(at as u64 + 1, tail(rarest), |coin| maxima(coin, tail));
        print(name, &measured);
        measured.assert_holds(name);
        assert!(measured.estimates * 2 > REPETITIONS, "{name} is refused too often");
    }
    let machine = |coin: &mut Coin| -> Vec<f64> {
        let counted = measure(&mut Dice::new(coin.next_u64()), Character::PLAIN, TEST_S, true);
        counted.seconds.iter().map(|ns| *ns as f64).collect()
    };
    let mut largest = repeated(2000, |number| {
        let hours = measure(&mut Dice::new(1_000_000 + number as u64), Character::PLAIN, HORIZON_S as usize, false);
        hours.seconds.into_iter().max().unwrap_or(0)
    });
    largest.sort_unstable();
    let bursts = coverage_of(50, largest[largest.len() / 2] as f64, machine);
    print("bursts and load phases", &bursts);
    bursts.assert_holds("bursts and load phases");
    let exponential = REGULAR[0].1;
    let rounded =
        coverage_of(60, exponential(rarest), |coin| maxima(coin, exponential).iter().map(|us| us.round()).collect());
    print("exponential, rounded to 1 us", &rounded);
    let second_mode = coverage_of(61, f64::NAN, |coin| {
        let mut seconds = maxima(coin, exponential);
        for second in seconds.iter_mut() {
            if coin.unit() < 0.01 {
                *second = 400.0 + 4.0 * coin.unit();
            }
        }
        seconds
    });
    print("second mode, 36 events in the test", &second_mode);
    // Between three and four events of another cause in the test, above nearly everything else and close together.
    for (at, centre) in [100.0, 130.0, 160.0].into_iter().enumerate() {
        let few = coverage_of(70 + at as u64, exponential(rarest).max(centre + 2.0), |coin| {
            let mut seconds = maxima(coin, exponential);
            for second in seconds.iter_mut() {
                if coin.unit() < 1e-3 {
                    *second = second.max(centre + 4.0 * (coin.unit() - 0.5));
                }
            }
            seconds
        });
        let name = format!("mode of 1e-6 at {centre:.0} us");
        print(&name, &few);
        if few.estimates > 0 {
            few.assert_holds(&name);
        }
    }
    let hidden = coverage_of(62, 300.0, |coin| maxima(coin, exponential));
    print("a mode of 300 us that stayed away", &hidden);
    assert_eq!(rounded.estimates, 0, "rounded latencies must be refused");
    assert!(second_mode.estimates * 50 <= REPETITIONS, "a second mode must be refused");
}
