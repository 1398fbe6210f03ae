//! The observer effect: what tracing costs a wake-up, from rounds in which every level ran once in random order.

use crate::figure_name::FigureName;
use crate::figures::RunFigures;
use crate::refusal::Refusal;
use crate::sign_flip::{Interval, SignFlip};
use crate::unit::Unit;
use archive::problem::Remark;
use serde::{Deserialize, Serialize};
use words::amounts::{change, p_value, percent};

/// How much is recorded during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing.
    Off,
    /// The events that explanations use: the default of a run.
    Events,
    /// The events and every kernel function.
    Functions,
}

impl Level {
    pub const ALL: [Self; 3] = [Self::Off, Self::Events, Self::Functions];

    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Events => "events",
            Self::Functions => "functions",
        }
    }

    fn recording(self) -> &'static str {
        match self {
            Self::Off => "Recording nothing",
            Self::Events => "Recording events",
            Self::Functions => "Recording events and functions",
        }
    }
}

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

/// A mean over the rounds with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    /// `None` if the rounds are too few for the requested confidence.
    pub interval: Option<Interval>,
}

/// Effect of a level on one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureCost {
    /// The median, the p99, or the work of a load.
    #[serde(with = "crate::figure_name::without_prefix")]
    pub figure: FigureName,
    pub unit: Unit,
    /// Geometric means over the rounds; arithmetic ones if there is no ratio.
    pub off: f64,
    pub traced: f64,
    /// Traced minus off, in `unit`; if there is an interval, it is that of the ratio, applied to `off`.
    pub difference: Estimate,
    /// Geometric mean of traced / off; `None` if a value is not positive and differences are compared instead.
    pub ratio: Option<Estimate>,
    /// P-value of "this level changes nothing", two-sided and exact.
    pub p_value: f64,
    pub sentence: String,
}

/// Cost of a level compared with no tracing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelCost {
    pub level: Level,
    pub figures: Vec<FigureCost>,
}

/// Smallest and largest of the maxima of a level's runs, in ns: descriptive, never tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maxima {
    pub level: Level,
    pub low_ns: i64,
    pub high_ns: i64,
}

/// The result of a series of rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObserverEffect {
    /// Complete rounds.
    pub rounds: u32,
    /// Requested confidence of each single interval, in 0 .. 1.
    pub confidence: f64,
    pub costs: Vec<LevelCost>,
    pub maxima: Vec<Maxima>,
    /// Why there are no intervals, if there are none.
    pub no_interval: Option<Remark>,
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
    cost.sentence = sentence(level, &cost, pairs.len());
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

fn sentence(level: Level, cost: &FigureCost, rounds: usize) -> String {
    let amount = |value: f64| cost.unit.amount(value);
    let size = amount(cost.difference.value.abs());
    let relative = cost.ratio.as_ref().map_or(String::new(), |ratio| format!(" ({})", change(ratio.value)));
    let (what, effect) = match (&cost.figure, cost.difference.value > 0.0) {
        (FigureName::P50, true) => ("the median wake-up".to_owned(), "later"),
        (FigureName::P50, false) => ("the median wake-up".to_owned(), "earlier"),
        (FigureName::P99, true) => ("the p99 of the wake-ups".to_owned(), "later"),
        (FigureName::P99, false) => ("the p99 of the wake-ups".to_owned(), "earlier"),
        (load, true) => (format!("the {load}"), "faster"),
        (load, false) => (format!("the {load}"), "slower"),
    };
    let begin = level.recording();
    let Some(interval) = cost.difference.interval else {
        let plural = if rounds == 1 { "" } else { "s" };
        return format!(
            "{begin}: {what} came out {size} {effect}{relative} in {rounds} round{plural}, too few to say more."
        );
    };
    let span = format!(
        "{} interval {} to {}; {rounds} rounds, {}",
        percent(interval.confidence),
        amount(interval.low),
        amount(interval.high),
        p_value(cost.p_value)
    );
    if interval.contains(0.0) {
        format!("{begin}: no effect on {what} was found ({span}).")
    } else {
        format!("{begin} makes {what} {size} {effect}{relative} ({span}).")
    }
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
