//! The observer effect: what tracing costs a wake-up, from rounds in which every level ran once in random order.

use crate::figures::RunFigures;
use crate::refusal::Refusal;
use crate::sign_flip::{Interval, SignFlip};
use archive::problem::Remark;
use claims::figure_name::FigureName;
pub use claims::interval::Estimate;
pub use claims::observer::{FigureCost, Level, LevelCost, Maxima, ObserverEffect};
use claims::unit::Unit;
use serde::{Deserialize, Serialize};

/// The figures of one complete round: one run at each level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub runs: Vec<(Level, RunFigures)>,
}

impl Round {
    fn of(&self, level: Level) -> Option<&RunFigures> {
        self.runs.iter().find(|(name, _)| *name == level).map(|(_, figures)| figures)
    }
}

/// Compares every level with [`Level::Off`]. Incomplete rounds are ignored, and those beyond
/// [`crate::sign_flip::PAIRS_MAX`] are left out; `None` without a complete round.
pub fn observer_effect(rounds: &[Round], levels: &[Level], confidence: f64) -> Option<ObserverEffect> {
    let complete = |round: &&Round| levels.iter().all(|level| round.of(*level).is_some());
    let rounds: Vec<&Round> = rounds.iter().filter(complete).take(crate::sign_flip::PAIRS_MAX).collect();
    if rounds.is_empty() || !levels.contains(&Level::Off) {
        return None;
    }
    let traced = levels.iter().copied().filter(|level| *level != Level::Off);
    let probe = SignFlip::of(&vec![0.0; rounds.len()]).ok()?;
    Some(ObserverEffect {
        rounds: rounds.len() as u32,
        confidence,
        costs: traced.map(|level| level_cost(&rounds, level, confidence)).collect(),
        maxima: levels.iter().filter_map(|level| maxima(&rounds, *level)).collect(),
        no_interval: probe.interval(confidence).err().map(|few| {
            Remark::new(&Refusal::TooFewRounds {
                rounds: rounds.len(),
                confidence_max: few.confidence_max,
                confidence,
                rounds_needed: few.rounds_needed,
            })
        }),
    })
}

fn maxima(rounds: &[&Round], level: Level) -> Option<Maxima> {
    let all = || rounds.iter().filter_map(|round| Some(round.of(level)?.max_ns));
    Some(Maxima { level, low_ns: all().min()?, high_ns: all().max()? })
}

/// One figure of each pair of runs, off and traced.
type Pairs = Vec<(f64, f64)>;

fn level_cost(rounds: &[&Round], level: Level, confidence: f64) -> LevelCost {
    let pairs = |figure: &dyn Fn(&RunFigures) -> Option<f64>| -> Option<Pairs> {
        rounds.iter().map(|round| Some((figure(round.of(Level::Off)?)?, figure(round.of(level)?)?))).collect()
    };
    let mut figures = Vec::new();
    let mut add = |figure: FigureName, unit: Unit, pairs: Option<Pairs>| {
        figures.extend(pairs.and_then(|pairs| figure_cost(level, figure, unit, &pairs, confidence)));
    };
    add(FigureName::P50, Unit::Nanoseconds, pairs(&|figures| Some(figures.p50_ns)));
    add(FigureName::P99, Unit::Nanoseconds, pairs(&|figures| Some(figures.p99_ns)));
    let loads = rounds[0].of(Level::Off).map_or(&[][..], |figures| &figures.loads);
    for (at, load) in loads.iter().enumerate() {
        // Two loads may have the same name; their position distinguishes them.
        let rate =
            |figures: &RunFigures| figures.loads.get(at).filter(|other| other.name == load.name).map(|l| l.per_second);
        add(FigureName::Load(load.name.clone()), Unit::work(&load.unit), pairs(&rate));
    }
    LevelCost { level, figures }
}

fn figure_cost(level: Level, figure: FigureName, unit: Unit, pairs: &Pairs, confidence: f64) -> Option<FigureCost> {
    let positive = pairs.iter().all(|(off, traced)| *off > 0.0 && *traced > 0.0);
    let mut cost = if positive {
        by_ratio(figure, unit, pairs, confidence)?
    } else {
        by_difference(figure, unit, pairs, confidence)?
    };
    cost.sentence = words::claims::observer::sentence(level, &cost, pairs.len());
    Some(cost)
}

/// Latencies and rates scatter in proportion to their size, so their logarithms are compared. The geometric mean
/// converts the result to the figure's unit.
fn by_ratio(figure: FigureName, unit: Unit, pairs: &Pairs, confidence: f64) -> Option<FigureCost> {
    let logarithms: Vec<f64> = pairs.iter().map(|(off, traced)| (traced / off).ln()).collect();
    let test = SignFlip::of(&logarithms).ok()?;
    let off = (pairs.iter().map(|(off, _)| off.ln()).sum::<f64>() / pairs.len() as f64).exp();
    let mapped = |map: &dyn Fn(f64) -> f64| Estimate {
        value: map(test.mean()),
        interval: test.interval(confidence).ok().map(|interval| Interval {
            low: map(interval.low),
            high: map(interval.high),
            confidence,
        }),
    };
    Some(FigureCost {
        figure,
        unit,
        off,
        traced: off * test.mean().exp(),
        difference: mapped(&|logarithm| off * logarithm.exp_m1()),
        ratio: Some(mapped(&f64::exp)),
        p_value: test.p_value(),
        sentence: String::new(),
    })
}

fn by_difference(figure: FigureName, unit: Unit, pairs: &Pairs, confidence: f64) -> Option<FigureCost> {
    let differences: Vec<f64> = pairs.iter().map(|(off, traced)| traced - off).collect();
    let test = SignFlip::of(&differences).ok()?;
    let count = pairs.len() as f64;
    Some(FigureCost {
        figure,
        unit,
        off: pairs.iter().map(|(off, _)| off).sum::<f64>() / count,
        traced: pairs.iter().map(|(_, traced)| traced).sum::<f64>() / count,
        difference: Estimate { value: test.mean(), interval: test.interval(confidence).ok() },
        ratio: None,
        p_value: test.p_value(),
        sentence: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use crate::figures::LoadRate;
    use fixtures::assert_sentence;

    fn figures(p50_ns: f64, max_ns: i64, rate: f64) -> RunFigures {
        let load = LoadRate { name: "messaging".into(), unit: "messages".into(), per_second: rate };
        RunFigures { cycles: 10, p50_ns, p99_ns: 2.0 * p50_ns, max_ns, loads: vec![load] }
    }

    /// Rounds in which events cost 3000 ns and a tenth of the load, while the machine drifts.
    fn rounds(count: u32) -> Vec<Round> {
        let mut coin = Coin::new(5);
        let round = |number: u32| {
            let base = 30_000.0 + 500.0 * f64::from(number) + 200.0 * coin.unit();
            let max_ns = 1_000_000 + i64::from(number) * 1000;
            Round {
                runs: vec![
                    (Level::Events, figures(base + 3000.0 + 100.0 * coin.unit(), 2 * max_ns, 900.0)),
                    (Level::Off, figures(base, max_ns, 1000.0)),
                ],
            }
        };
        (0..count).map(round).collect()
    }

    #[test]
    fn a_cost_is_found_with_its_size() {
        let effect = observer_effect(&rounds(8), &[Level::Off, Level::Events], 0.95).unwrap();
        assert_eq!((effect.rounds, effect.no_interval.clone(), effect.costs.len()), (8, None, 1));
        let median = &effect.costs[0].figures[0];
        let interval = median.difference.interval.unwrap();
        assert!(interval.low >= 2900.0 && interval.high <= 3200.0, "{interval:?}");
        assert_eq!(median.p_value, 2.0 / 256.0);
        assert!((median.traced - median.off - median.difference.value).abs() < 1e-6);
        assert_sentence!("observer-median", median.sentence);
        let load = &effect.costs[0].figures[2];
        assert!((load.difference.value + 100.0).abs() < 1e-9);
        assert_sentence!("observer-load", load.sentence);
        assert_eq!(effect.maxima[0], Maxima { level: Level::Off, low_ns: 1_000_000, high_ns: 1_007_000 });
    }

    #[test]
    fn few_rounds_give_figures_and_no_interval() {
        let effect = observer_effect(&rounds(3), &[Level::Off, Level::Events], 0.95).unwrap();
        let no_interval = effect.no_interval.unwrap();
        assert_eq!(no_interval.code, "judge.too-few-rounds");
        assert_sentence!("observer-too-few-rounds", no_interval.text);
        let median = &effect.costs[0].figures[0];
        assert_eq!((median.difference.interval, median.p_value), (None, 0.25));
        assert_sentence!("observer-few-rounds", median.sentence);
    }

    #[test]
    fn an_effect_that_is_not_there_is_not_found() {
        let flat = |number: u32| {
            let sign = if number.is_multiple_of(2) { 1.0 } else { -1.0 };
            let base = 30_000.0;
            Round {
                runs: vec![(Level::Off, figures(base, 1, 1.0)), (Level::Events, figures(base + sign * 50.0, 1, 1.0))],
            }
        };
        let rounds: Vec<Round> = (0..8).map(flat).collect();
        let effect = observer_effect(&rounds, &[Level::Off, Level::Events], 0.95).unwrap();
        let median = &effect.costs[0].figures[0];
        let interval = median.difference.interval.unwrap();
        assert!(interval.low <= 0.0 && 0.0 <= interval.high, "{interval:?}");
        assert_sentence!("observer-no-effect", median.sentence);
    }

    #[test]
    fn incomplete_rounds_do_not_count() {
        let mut some = rounds(2);
        some[1].runs.pop();
        assert_eq!(observer_effect(&some, &[Level::Off, Level::Events], 0.95).unwrap().rounds, 1);
        assert_eq!(observer_effect(&some[1..], &[Level::Off, Level::Events], 0.95), None);
        assert_eq!(observer_effect(&[], &Level::ALL, 0.95), None);
    }
}
