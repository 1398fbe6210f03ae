//! Harm that the primary figure does not show.

use super::*;
use claims::figure_name::FigureName;
use fixtures::assert_sentence;

fn answered(rounds: &[PairedRound], failed: Failed) -> ExperimentResult {
    experiment(rounds, failed, &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap()
}

/// Rounds in which B is a fifth earlier, and misses half of its periods.
fn missing(count: u32) -> Vec<PairedRound> {
    let mut some = rounds(count, 0.8, 4);
    for (at, round) in some.iter_mut().enumerate() {
        let p99_9 = |figures: &VariantFigures| 1.5 * figures.values[&FigureName::P99];
        let (of_a, of_b) = (p99_9(&round.a), p99_9(&round.b));
        round.a.values.insert(FigureName::P99_9, of_a);
        round.b.values.insert(FigureName::P99_9, of_b);
        round.b.values.insert(FigureName::MissedPeriods, 30_000.0 + at as f64);
    }
    some
}

#[test]
fn rounds_too_few_for_missed_periods_are_not_enough_however_much_better_the_rest_is() {
    let answered = |count| {
        experiment(&missing(count), Failed::default(), &metrics(100_000.0), 0.95, Stopping::FixedRounds).unwrap()
    };
    for count in [6, 7] {
        let result = answered(count);
        assert_eq!(result.outcome, Outcome::TooFewRounds, "{count}: {}", result.sentence);
        assert!(result.not_showable.contains(&FigureName::MissedPeriods), "{:?}", result.not_showable);
        assert!(result.sentence.contains("missed periods"), "{}", result.sentence);
    }
    for count in [8, 9, 10, 12] {
        let result = answered(count);
        assert_eq!(result.outcome, Outcome::Worse, "{count}: {}", result.sentence);
        assert!(result.sentence.contains("missed periods"), "{}", result.sentence);
    }
}

#[test]
fn a_variant_that_hangs_is_worse_in_the_headline() {
    let equal = rounds(12, 1.0, 8);
    let hangs = answered(&equal, Failed { a: 0, b: 6 });
    assert_eq!(hangs.outcome, Outcome::Worse);
    assert_sentence!("experiment-b-hangs", hangs.sentence);
    assert_eq!(answered(&equal, Failed { a: 0, b: 5 }).outcome, Outcome::Worse);
    let open = answered(&equal, Failed { a: 0, b: 4 });
    assert_eq!(open.outcome, Outcome::Undecided, "{}", open.sentence);
    assert!(open.sentence.starts_with("4 runs of B and 0 of A failed"), "{}", open.sentence);
    assert_eq!(answered(&equal, Failed { a: 2, b: 1 }).outcome, Outcome::NoDifferenceFound);
    assert_eq!(answered(&equal, Failed { a: 9, b: 0 }).outcome, Outcome::NoDifferenceFound, "B is not worse");
}

/// Rounds of the same variant, whose runs are `later` times as late after a run of B, or the second one of B alone.
fn one_sided(seed: u64, count: u32, later: f64, by_place: bool) -> Vec<PairedRound> {
    let mut coin = Coin::new(seed);
    let mut after_b = false;
    let round = |_| {
        let b_first = coin.next_u64() & 1 == 0;
        let mut p99_ns = [0.0; 2];
        for (place, is_b) in [b_first, !b_first].into_iter().enumerate() {
            let changed = if by_place { is_b && place == 1 } else { after_b };
            p99_ns[usize::from(is_b)] = 50_000.0 * (0.95 + 0.1 * coin.unit()) * if changed { later } else { 1.0 };
            after_b = is_b;
        }
        PairedRound { a: figures(p99_ns[0], &[]), b: figures(p99_ns[1], &[]), b_first: Some(b_first) }
    };
    (0..count).map(round).collect()
}

#[test]
fn a_run_that_changes_the_next_one_makes_neither_variant_better() {
    let series = 60;
    for by_place in [false, true] {
        let results: Vec<ExperimentResult> =
            (0..series).map(|seed| answered(&one_sided(seed, 12, 1.3, by_place), Failed::default())).collect();
        let called = |outcome| results.iter().filter(|result| result.outcome == outcome).count();
        let wrong = called(Outcome::Better) + called(Outcome::Worse);
        assert!(wrong <= 5 && called(Outcome::Undecided) >= 54, "{by_place}: {wrong} {}", called(Outcome::Undecided));
        let one = results.iter().find(|result| result.outcome == Outcome::Undecided).unwrap();
        assert!(one.carry_over.as_ref().is_some_and(|carried| carried.differs));
    }
    let none = (0..series).filter(|seed| {
        let result = answered(&one_sided(*seed, 12, 1.0, false), Failed::default());
        result.carry_over.is_some_and(|carried| carried.differs)
    });
    assert!(none.count() <= 7, "of runs that do not change each other, one in twenty looks as if");
}

#[test]
fn an_order_that_nobody_recorded_is_not_tested() {
    let mut some = one_sided(3, 12, 1.3, false);
    some[4].b_first = None;
    assert_eq!(answered(&some, Failed::default()).carry_over, None);
}

/// Rounds of an unknown order in which B is a fifth later, and some runs of A are four times as late.
fn with_outliers(of_a: &[usize]) -> Vec<PairedRound> {
    let mut some = rounds(12, 1.2, 8);
    some.iter_mut().for_each(|round| round.b_first = None);
    for at in of_a {
        some[*at].a.values.values_mut().for_each(|value| *value *= 4.0);
    }
    some
}

#[test]
fn outlier_runs_of_a_do_not_hide_that_b_is_worse() {
    for of_a in [&[3][..], &[3, 8]] {
        let result = answered(&with_outliers(of_a), Failed::default());
        assert_eq!(result.outcome, Outcome::Worse, "{}", result.sentence);
        let ratio = result.primary.ratio.unwrap();
        assert!(ratio.value > 1.0 && ratio.interval.unwrap().contains(1.2), "{ratio:?}");
    }
    let result = answered(&with_outliers(&[3, 8]), Failed::default());
    assert!(result.primary.a > result.primary.b, "the means deceive");
    assert_sentence!("experiment-outliers", result.sentence);
}
