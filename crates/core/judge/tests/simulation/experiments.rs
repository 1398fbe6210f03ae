//! Experiments of two variants: false alarms, coverage and power.

use crate::machine::{Character, Dice, measure};
use crate::tables::{Table, publish};
use crate::{error_most, repeated, share, standard_error};
use claims::figure_name::FigureName;
use judge::coin::Coin;
use judge::experiment::{
    ExperimentResult, Failed, Outcome, PairedRound, Stopping, VariantFigures, experiment, metrics, variant_figures,
};

/// The default number of rounds, and the smaller number for which power is usually stated.
const ROUNDS: usize = 12;
const ROUNDS_FEW: usize = 8;
const RUN_S: usize = 60;
const CONFIDENCE: f64 = 0.95;

/// Differences between runs other than the variant.
#[derive(Clone, Copy)]
struct Session {
    run_effect: bool,
    drift: bool,
}

const SESSIONS: [(&str, Session); 3] = [
    ("no run effect", Session { run_effect: false, drift: false }),
    ("run effect", Session { run_effect: true, drift: false }),
    ("run effect + drift", Session { run_effect: true, drift: true }),
];

fn rounds(seed: u64, session: Session, b: Character, count: usize) -> Vec<PairedRound> {
    let mut dice = Dice::new(seed);
    let mut run = |character: Character, position: usize| -> VariantFigures {
        dice.again(seed, position as u32);
        let share = position as f64 / (2 * count - 1) as f64;
        let character = if session.drift { character.drifted(share) } else { character };
        let character = if session.run_effect { character.with_run_effect(&mut dice) } else { character };
        variant_figures(&measure(&mut dice, character, RUN_S, true).run(), &[]).expect("it has samples")
    };
    let mut round = |number: usize| {
        let mut order = [false, true];
        Coin::of_round(seed, number as u32 + 1).shuffle(&mut order);
        let mut figures = order.map(|is_b| (is_b, VariantFigures::default()));
        for (place, (is_b, made)) in figures.iter_mut().enumerate() {
            *made = run(if *is_b { b } else { Character::PLAIN }, 2 * number + place);
        }
        let b_first = Some(order[0]);
        figures.sort_by_key(|(is_b, _)| *is_b);
        let [(_, a), (_, b)] = figures;
        PairedRound { a, b, b_first }
    };
    (0..count).map(&mut round).collect()
}

fn judged(rounds: &[PairedRound], stopping: Stopping) -> ExperimentResult {
    experiment(rounds, Failed::default(), &metrics((RUN_S * 1000) as f64), CONFIDENCE, stopping)
        .expect("there are rounds")
}

/// Whether an experiment that is evaluated after each round ever decides, including the last round.
fn decided_at_some_round(rounds: &[PairedRound]) -> bool {
    (1..=rounds.len()).any(|looked| {
        matches!(judged(&rounds[..looked], Stopping::UntilDecided).outcome, Outcome::Worse | Outcome::Better)
    })
}

/// All quantiles, including those that resolve badly, each judged as if it were the only one.
fn singly(rounds: &[PairedRound]) -> Vec<(String, ExperimentResult)> {
    let mut every = metrics(1e9);
    every.retain(|metric| metric.name != FigureName::MissedPeriods);
    let one = |metric: judge::experiment::Metric| {
        let result =
            experiment(rounds, Failed::default(), std::slice::from_ref(&metric), CONFIDENCE, Stopping::FixedRounds)
                .expect("there are rounds");
        (metric.name.to_string(), result)
    };
    every.into_iter().map(one).collect()
}

/// The part of an experiment's result that a simulation keeps.
struct Kept {
    found: bool,
    primary: bool,
    evidence: bool,
    singly: Vec<(String, bool, bool)>,
    few: Vec<(String, bool)>,
}

fn kept(rounds: &[PairedRound]) -> Kept {
    let whole = judged(rounds, Stopping::FixedRounds);
    let holds = |result: &ExperimentResult| {
        result.primary.ratio.as_ref().and_then(|ratio| ratio.interval).is_some_and(|interval| interval.contains(1.0))
    };
    // An undecided experiment claims no difference.
    let found = |result: &ExperimentResult| matches!(result.outcome, Outcome::Worse | Outcome::Better);
    Kept {
        found: found(&whole),
        primary: whole.primary.differs,
        evidence: decided_at_some_round(rounds),
        singly: singly(rounds).iter().map(|(name, result)| (name.clone(), found(result), holds(result))).collect(),
        few: singly(&rounds[..ROUNDS_FEW]).iter().map(|(name, result)| (name.clone(), found(result))).collect(),
    }
}

const REPETITIONS: usize = 500;

/// Experiments of a session on two variants that do the same.
fn same(session: usize, first_seed: usize, repetitions: usize) -> Vec<Kept> {
    repeated(repetitions, |number| {
        kept(&rounds((first_seed + number) as u64, SESSIONS[session].1, Character::PLAIN, ROUNDS))
    })
}

/// A way in which an experiment can be wrong, stated to happen in at most 5 % of all.
struct Mistake {
    name: String,
    made: Box<dyn Fn(&Kept) -> bool>,
}

impl Mistake {
    fn new(name: impl Into<String>, made: impl Fn(&Kept) -> bool + 'static) -> Self {
        Self { name: name.into(), made: Box::new(made) }
    }

    fn share(&self, experiments: &[Kept]) -> f64 {
        share(&experiments.iter().map(&self.made).collect::<Vec<_>>())
    }

    /// Prints how often it was made in each session.
    fn shares(&self, sessions: &[Vec<Kept>]) -> Vec<f64> {
        let shares: Vec<f64> = sessions.iter().map(|experiments| self.share(experiments)).collect();
        println!("  {:42} {}", self.name, shares.iter().map(|share| format!("{share:18.3}")).collect::<String>());
        shares
    }
}

/// Every claim of an experiment: of the whole, of its primary figure, and of each quantile judged as if it were the only one.
fn mistakes(names: &[String]) -> Vec<Mistake> {
    let mut all = vec![
        Mistake::new("default experiment, any figure", |kept| kept.found),
        Mistake::new("its primary figure", |kept| kept.primary),
        Mistake::new("--until-decided, looked at each round", |kept| kept.evidence),
    ];
    for (at, name) in names.iter().enumerate() {
        all.push(Mistake::new(format!("{name}, {ROUNDS} rounds"), move |kept| kept.singly[at].1));
        all.push(Mistake::new(format!("{name}, {ROUNDS_FEW} rounds"), move |kept| kept.few[at].1));
        all.push(Mistake::new(format!("{name}, interval of B / A misses 1"), move |kept| !kept.singly[at].2));
    }
    all
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn false_alarms_stay_below_what_is_promised_and_intervals_hold() {
    println!("FALSE ALARMS of experiments on two variants that do the same");
    println!("({REPETITIONS} experiments a column, {ROUNDS} rounds of {RUN_S} s at 1 kHz, nominal 5 %)");
    let columns: Vec<Vec<Kept>> = (0..SESSIONS.len()).map(|at| same(at, 1 + at * REPETITIONS, REPETITIONS)).collect();
    println!("  {:42} {}", "", SESSIONS.map(|(name, _)| format!("{name:>18}")).concat());
    let names: Vec<String> = columns[0][0].singly.iter().map(|(name, ..)| name.clone()).collect();
    let mistakes = mistakes(&names);
    let shares: Vec<Vec<f64>> = mistakes.iter().map(|mistake| mistake.shares(&columns)).collect();
    let mut table = Table::new("two variants that do the same", &SESSIONS.map(|(name, _)| name.to_owned()));
    for (name, shares) in ["12 rounds", "12 rounds, its primary figure", "--until-decided"].iter().zip(&shares) {
        table.row(name, shares.iter().map(|share| format!("{:.1}", share * 100.0)).collect());
    }
    publish("experiments", &table);
    // Of this number of rates chance brings some above two standard errors.
    let most = 0.05 + 3.0 * standard_error(0.05, REPETITIONS);
    let most_of_all = error_most(0.05, SESSIONS.len() * REPETITIONS);
    let above: Vec<(&str, &[f64])> = mistakes
        .iter()
        .zip(&shares)
        .filter(|(_, shares)| {
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            mean > most_of_all || shares.iter().any(|share| *share > most)
        })
        .map(|(mistake, shares)| (mistake.name.as_str(), shares.as_slice()))
        .collect();
    assert!(above.is_empty(), "{above:?} are above {most:.4}, or {most_of_all:.4} in all");
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn changes_are_found_as_often_as_their_size_allows() {
    const REPETITIONS: usize = 100;
    let plain = Character::PLAIN;
    let changes = [
        ("spike size x1.1", Character { spike_size: 1.1, ..plain }),
        ("spike size x1.2", Character { spike_size: 1.2, ..plain }),
        ("spike size x1.4", Character { spike_size: 1.4, ..plain }),
        ("spike size x2", Character { spike_size: 2.0, ..plain }),
        ("spike rate x2", Character { spike_rate: 2.0, ..plain }),
        ("body x1.1", Character { body: 1.1, ..plain }),
        ("new rare mode 150 us, 3 per 10 min", Character { rare_mode: 3.0 / 600.0, ..plain }),
    ];
    println!("POWER with run effect and drift, {ROUNDS} rounds ({ROUNDS_FEW} rounds), {REPETITIONS} experiments each");
    let mut largest = 0.0f64;
    for (at, (name, change)) in changes.into_iter().enumerate() {
        let all = repeated(REPETITIONS, |number| {
            let seed = (1_000_000 * (at + 1) + number) as u64;
            kept(&rounds(seed, SESSIONS[2].1, change, ROUNDS))
        });
        let names: Vec<String> = all[0].singly.iter().map(|(name, ..)| name.clone()).collect();
        if at == 0 {
            println!("  {:36} {}", "", names.iter().map(|name| format!("{name:>14}")).collect::<String>());
        }
        let cell = |at: usize| {
            let whole = share(&all.iter().map(|kept| kept.singly[at].1).collect::<Vec<_>>());
            let few = share(&all.iter().map(|kept| kept.few[at].1).collect::<Vec<_>>());
            largest = largest.max(whole);
            format!("{:>14}", format!("{whole:.2} ({few:.2})"))
        };
        println!("  {name:36} {}", (0..names.len()).map(cell).collect::<String>());
    }
    assert!(largest > 0.9, "an experiment that finds nothing proves nothing");
}
