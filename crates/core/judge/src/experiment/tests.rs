//! Experiments on simulated rounds.

mod harm;

use super::*;
use crate::coin::Coin;
use crate::figures::LoadRate;
use claims::figure_name::FigureName;
use fixtures::assert_sentence;

fn figures(p99_ns: f64, culprits: &[&str]) -> VariantFigures {
    let values = [
        (FigureName::P99, p99_ns),
        (FigureName::P50, 0.4 * p99_ns),
        (FigureName::Max, 9.0 * p99_ns),
        (FigureName::MissedPeriods, 3.0),
    ];
    VariantFigures {
        values: values.into(),
        loads: Vec::new(),
        culprits: culprits.iter().map(|name| (*name).into()).collect(),
    }
}

/// Rounds in which B is `factor` times A, with a scatter of 10 %.
fn rounds(count: u32, factor: f64, seed: u64) -> Vec<PairedRound> {
    let mut coin = Coin::new(seed);
    let mut scatter = || 0.9 + 0.2 * coin.unit();
    let round = |number| PairedRound {
        a: figures(50_000.0 * scatter(), &["steal"]),
        b: figures(50_000.0 * factor * scatter(), if factor > 1.2 { &["steal", "fair-server"] } else { &["steal"] }),
        b_first: Some(Coin::of_round(seed, number).next_u64() & 1 == 0),
    };
    (0..count).map(round).collect()
}

fn result(count: u32, factor: f64) -> ExperimentResult {
    experiment(&rounds(count, factor, 8), Failed::default(), &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap()
}

#[test]
fn the_highest_quantile_that_resolves_is_primary() {
    let primary = |samples: f64| metrics(samples)[0].name.clone();
    assert_eq!(
        [10.0, 5_000.0, 300_000.0, 5e6].map(|samples| primary(samples).to_string()),
        ["p50", "p99", "p99.9", "p99.999"]
    );
    let all = metrics(5_000.0);
    let names: Vec<String> = all.iter().map(|metric| metric.name.to_string()).collect();
    assert_eq!(names, ["p99", "p50", "max", "missed periods"]);
}

#[test]
fn a_change_is_found_with_its_size_and_its_cause() {
    let result = result(12, 1.5);
    assert_eq!(result.outcome, Outcome::Worse);
    let ratio = result.primary.ratio.clone().unwrap();
    assert!(ratio.interval.unwrap().contains(1.5), "{ratio:?}");
    assert!(result.sentence.starts_with("B raised p99 by "), "{}", result.sentence);
    let new = &result.culprits[0];
    assert_eq!((new.culprit.id(), new.a, new.b, new.differs), ("fair-server", 0, 12, true));
    assert!((new.p_adjusted - 2.0 * 2.0 / 4096.0).abs() < 1e-12);
    assert!(!result.culprits[1].differs);
    assert!(result.evidence.iter().any(|evidence| *evidence >= 20.0), "{:?}", result.evidence);
    let missed = result.secondary.iter().find(|metric| metric.metric.name == FigureName::MissedPeriods).unwrap();
    assert_eq!((missed.p_value, missed.differs), (1.0, false));
}

#[test]
fn no_difference_says_what_would_have_been_seen() {
    let result = result(12, 1.0);
    assert_eq!(result.outcome, Outcome::NoDifferenceFound, "{}", result.sentence);
    assert_sentence!("experiment-no-difference", result.sentence);
    let detectable = result.primary.detectable.unwrap();
    assert!((1.02..1.15).contains(&detectable), "{detectable}");
}

#[test]
fn the_work_of_loads_is_compared_where_all_runs_counted_it() {
    let mut some = rounds(10, 1.0, 3);
    for (at, round) in some.iter_mut().enumerate() {
        for (figures, rate) in [(&mut round.a, 1000.0), (&mut round.b, 900.0 + at as f64)] {
            let load = |name: &str, unit: &str| LoadRate { name: name.into(), unit: unit.into(), per_second: rate };
            figures.loads = vec![load("messaging", "messages"), load("command", "CPU ticks")];
            figures.values.extend(["messaging", "command"].map(|name| (FigureName::Load(name.into()), rate)));
        }
    }
    let secondary = |rounds: &[PairedRound]| {
        experiment(rounds, Failed::default(), &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap().secondary
    };
    let result = secondary(&some);
    let load = result.last().unwrap();
    assert_eq!((load.of_load(), load.differs), (Some("messaging"), true));
    assert_sentence!("experiment-load-lowered", load.sentence);
    let mut mixed = some.clone();
    mixed[5].b.loads[0].unit = "bytes".into();
    assert!(secondary(&mixed).iter().all(|metric| metric.of_load().is_none()), "units must be alike");
    some[3].b.values.remove(&FigureName::Load("messaging".into()));
    assert!(secondary(&some).iter().all(|metric| metric.of_load().is_none()));
}

#[test]
fn few_rounds_have_no_verdict() {
    let result = result(5, 1.5);
    assert_eq!(result.outcome, Outcome::TooFewRounds);
    assert_sentence!("experiment-too-few-rounds", result.sentence);
    assert!(experiment(&[], Failed::default(), &metrics(1e6), 0.95, Stopping::FixedRounds).is_none());
}

#[test]
fn the_headline_is_the_worst_row_that_is_shown() {
    let mut some = rounds(12, 1.0, 5);
    for (at, round) in some.iter_mut().enumerate() {
        round.b.values.insert(FigureName::MissedPeriods, 50_000.0 + at as f64);
    }
    let missed = experiment(&some, Failed::default(), &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap();
    assert_eq!(missed.outcome, Outcome::Worse);
    assert_sentence!("experiment-missed-raised", missed.sentence);
    for round in &mut some {
        round.b.values.insert(FigureName::MissedPeriods, 3.0);
        let ten_times = 10.0 * round.a.values[&FigureName::Max];
        round.b.values.insert(FigureName::Max, ten_times);
    }
    let max = experiment(&some, Failed::default(), &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap();
    assert_eq!(max.outcome, Outcome::Worse);
    assert_sentence!("experiment-max-raised", max.sentence);
    for round in &mut some {
        let better = 0.5 * round.a.values[&FigureName::P99];
        round.b.values.insert(FigureName::P99, better);
    }
    let both = experiment(&some, Failed::default(), &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap();
    assert_eq!(both.outcome, Outcome::Worse, "what is better does not hide what is worse");
}

#[test]
fn until_decided_has_one_budget_for_all_looks() {
    // One sign short of unanimous: the fixed test rejects, the evidence over all rounds does not.
    let differences = [1.0, 1.2, 0.9, -0.1, 1.1, 1.0, 1.3, 0.8];
    let round = |difference: &f64| PairedRound {
        a: figures(50_000.0, &[]),
        b: figures(50_000.0 * (0.1 * difference).exp(), &[]),
        b_first: None,
    };
    let some: Vec<PairedRound> = differences[..7].iter().map(round).collect();
    let primary = &metrics(10_000.0)[..1];
    let fixed = experiment(&some, Failed::default(), primary, 0.95, Stopping::FixedRounds).unwrap();
    let looking = experiment(&some, Failed::default(), primary, 0.95, Stopping::UntilDecided).unwrap();
    assert!(fixed.primary.p_value <= 0.05 && looking.primary.p_value > 0.05, "{fixed:?}");
    assert_eq!((fixed.outcome, looking.outcome), (Outcome::Worse, Outcome::NoDifferenceFound));
    assert_eq!(looking.primary.detectable, None);
}

/// Experiments on two equal variants may find a difference in one of twenty.
#[test]
fn false_alarms_stay_below_what_is_promised() {
    let series = 400;
    let found = (0..series)
        .filter(|seed| {
            let result = experiment(
                &rounds(10, 1.0, 1000 + seed),
                Failed::default(),
                &metrics(10_000.0),
                0.95,
                Stopping::FixedRounds,
            )
            .unwrap();
            result.outcome != Outcome::NoDifferenceFound
        })
        .count();
    let most = 0.05 + 2.5 * (0.05f64 * 0.95 / series as f64).sqrt();
    assert!(found as f64 <= most * series as f64, "{found} of {series}");
}
