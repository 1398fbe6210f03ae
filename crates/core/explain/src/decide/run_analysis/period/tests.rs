//! Existing rhythms are found; for random instants none is reported.

use super::*;

const SECOND: i64 = 1_000_000_000;
const MILLISECOND: i64 = 1_000_000;

/// Pseudo-random numbers from 0 to 1 (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, limit: i64) -> i64 {
        (self.roll() * limit as f64) as i64
    }
}

fn sorted(mut instants: Vec<i64>) -> Vec<i64> {
    instants.sort_unstable();
    instants
}

/// `count` of the first `cycles` cycles, each hit at `phase_ns` with a jitter.
fn periodic(dice: &mut Dice, count: usize, cycles: i64, period_ns: i64, jitter_ns: i64) -> Vec<i64> {
    let mut instants = Vec::new();
    while instants.len() < count {
        let instant = 77 * SECOND + dice.below(cycles) * period_ns + 123_456_789 % period_ns + dice.below(jitter_ns);
        if instants.iter().all(|known: &i64| (known - instant).abs() > period_ns / 2) {
            instants.push(instant);
        }
    }
    sorted(instants)
}

fn period(rhythm: Rhythm) -> Period {
    match rhythm {
        Rhythm::Period(period) => period,
        other => panic!("no period: {other:?}"),
    }
}

#[test]
fn a_known_period_needs_few_instants_and_the_longest_that_fits_is_reported() {
    let mut dice = Dice(1);
    let instants = periodic(&mut dice, 8, 100, 4 * SECOND, 2 * MILLISECOND);
    let found = period(rhythm(&instants, 1_000_000, Some(250)));
    assert_eq!(found.period_ns, 4 * SECOND, "{found:?}");
    assert!(found.known_as.contains("watchdog"), "{found:?}");
    assert!((5..=8).contains(&found.times), "{found:?}");
    let distance = (found.phase_ns - (77 * SECOND + 123_456_789) % (4 * SECOND)).abs();
    assert!(distance <= 2 * MILLISECOND, "{distance}");
}

#[test]
fn an_unknown_period_is_scanned_for() {
    let mut dice = Dice(2);
    let instants = periodic(&mut dice, 25, 300, 1_370 * MILLISECOND, 20 * MILLISECOND);
    let found = period(rhythm(&instants, 1_000_000, Some(250)));
    assert!((found.period_ns - 1_370 * MILLISECOND).abs() < MILLISECOND, "{found:?}");
    assert_eq!(found.known_as, "");
    assert!(found.p < LEVEL);
}

#[test]
fn strays_do_not_hide_a_rhythm() {
    let mut dice = Dice(3);
    let mut instants = periodic(&mut dice, 40, 300, SECOND, 30 * MILLISECOND);
    instants.extend((0..10).map(|_| 77 * SECOND + dice.below(300 * SECOND)));
    let found = period(rhythm(&sorted(instants), 1_000_000, None));
    assert_eq!(found.period_ns, SECOND);
}

#[test]
fn bursts_are_no_rhythm_and_few_instants_show_nothing() {
    let mut dice = Dice(4);
    let starts: Vec<i64> = (0..6).map(|_| dice.below(600 * SECOND)).collect();
    let bursts: Vec<i64> = starts.iter().flat_map(|start| (0..30).map(move |at| start + at * MILLISECOND)).collect();
    assert_eq!(rhythm(&sorted(bursts), 1_000_000, Some(1000)), Rhythm::None);
    assert_eq!(rhythm(&[], 1_000_000, None), Rhythm::TooFew);
    assert_eq!(rhythm(&[SECOND; 9], 1_000_000, None), Rhythm::TooFew);
    assert_eq!(rhythm(&[0, SECOND, 2 * SECOND, 3 * SECOND], 1_000_000, None), Rhythm::TooFew);
}

/// Number of random series, out of `runs`, that get a period.
fn periods_found_by_chance(runs: u64, mut row: impl FnMut(&mut Dice) -> Vec<i64>, interval_ns: u64) -> u64 {
    (0..runs)
        .filter(|seed| {
            let instants = sorted(row(&mut Dice(seed * 1_000_003 + 17)));
            matches!(rhythm(&instants, interval_ns, Some(100)), Rhythm::Period(_))
        })
        .count() as u64
}

/// At a level of one thousandth, 60 series of each kind yield 0.06 periods on average; more than 2 occur in one of
/// 20000 such simulations.
#[test]
fn random_instants_have_no_period_at_the_stated_level() {
    chance_shows_no_period(60, 2);
}

/// 5 expected; more than 14 occur in one of 4000 such simulations.
#[test]
#[ignore = "takes minutes"]
fn random_instants_have_no_period_in_a_long_simulation() {
    chance_shows_no_period(5_000, 14);
}

fn chance_shows_no_period(runs: u64, at_most: u64) {
    let interval_ns = 100 * MILLISECOND;
    let uniform = |dice: &mut Dice| {
        let count = 6 + dice.below(30);
        (0..count).map(|_| dice.below(10_000) * interval_ns).collect()
    };
    assert!(periods_found_by_chance(runs, uniform, interval_ns as u64) <= at_most, "on the grid of the samples");
    // New maxima become increasingly rare.
    let records = |dice: &mut Dice| {
        (0..12 + dice.below(12)).map(|_| ((dice.roll() * 10_000f64.ln()).exp() * 1e8) as i64).collect()
    };
    assert!(periods_found_by_chance(runs, records, interval_ns as u64) <= at_most, "ever more seldom");
    let bursts = |dice: &mut Dice| {
        let starts: Vec<i64> = (0..8).map(|_| dice.below(1_000 * SECOND)).collect();
        starts.iter().flat_map(|start| (0..10).map(move |at| start + at * 30 * MILLISECOND)).collect()
    };
    assert!(periods_found_by_chance(runs, bursts, interval_ns as u64) <= at_most, "in bursts");
}

#[test]
fn the_tests_of_uniformity_hold_their_level() {
    let mut dice = Dice(9);
    let (mut rayleigh, mut arc) = (0, 0);
    for _ in 0..20_000 {
        let mut votes = Votes { phases: Vec::new(), sum: (0.0, 0.0) };
        for _ in 0..7 {
            let (sine, cosine) = (dice.roll() * TAU).sin_cos();
            votes.count((cosine, sine));
        }
        rayleigh += u32::from(votes.ln_p_rayleigh() < 0.01f64.ln());
        arc += u32::from(votes.p_arc(0.0) < 0.01);
    }
    // 200 expected, standard deviation 14; Rayleigh's test is an approximation.
    assert!((140..260).contains(&rayleigh), "{rayleigh}");
    assert!((140..260).contains(&arc), "{arc}");
}
