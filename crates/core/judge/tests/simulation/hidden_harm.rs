//! Experiments whose harm is not in the latencies of the runs that count: a variant that dies, runs that change the next
//! one, outlier runs.

use crate::tables::{Table, publish};
use crate::{error_most, repeated, share};
use claims::figure_name::FigureName;
use judge::coin::Coin;
use judge::experiment::{Failed, Outcome, PairedRound, Stopping, VariantFigures, experiment, metrics, void_rounds_max};

const ROUNDS: usize = 12;
const REPETITIONS: usize = 1000;

/// A machine under two variants.
#[derive(Clone, Copy)]
struct Machine {
    /// Latencies of B as a part of A's.
    factor: f64,
    /// Share of A's and of B's runs that die.
    dies: [f64; 2],
    /// Latencies of a run after a run of A, and of B.
    after: [f64; 2],
    /// Latencies of the second run of a round of A, and of B.
    second: [f64; 2],
    /// Share of outlier runs, four times as late.
    outliers: f64,
}

const PLAIN: Machine = Machine { factor: 1.0, dies: [0.0; 2], after: [1.0; 2], second: [1.0; 2], outliers: 0.0 };

fn normal(coin: &mut Coin) -> f64 {
    (-2.0 * (1.0 - coin.unit()).ln()).sqrt() * (std::f64::consts::TAU * coin.unit()).cos()
}

/// A series as `tardy experiment` measures it: a run that dies voids its round, and too many void rounds in a row end it.
struct Series {
    rounds: Vec<PairedRound>,
    failed: Failed,
    complete: bool,
}

fn measured(seed: u64, machine: Machine) -> Series {
    let mut coin = Coin::new(seed);
    let (mut rounds, mut failed, mut before, mut voids) = (Vec::new(), Failed::default(), None, 0);
    while rounds.len() < ROUNDS && voids < void_rounds_max(rounds.len()) {
        let b_first = coin.next_u64() & 1 == 0;
        let mut figures = [None, None];
        for (place, is_b) in [b_first, !b_first].into_iter().enumerate() {
            let variant = usize::from(is_b);
            if coin.unit() < machine.dies[variant] {
                *(if is_b { &mut failed.b } else { &mut failed.a }) += 1;
                break;
            }
            let outlier = if coin.unit() < machine.outliers { 4.0 } else { 1.0 };
            let p99_ns = 50_000.0
                * (0.08 * normal(&mut coin)).exp()
                * if is_b { machine.factor } else { 1.0 }
                * before.map_or(1.0, |was_b: bool| machine.after[usize::from(was_b)])
                * if place == 1 { machine.second[variant] } else { 1.0 }
                * outlier;
            figures[variant] = Some(of(p99_ns, &mut coin));
            before = Some(is_b);
        }
        let [Some(a), Some(b)] = figures else {
            voids += 1;
            continue;
        };
        rounds.push(PairedRound { a, b, b_first: Some(b_first) });
        voids = 0;
    }
    Series { complete: rounds.len() == ROUNDS, rounds, failed }
}

fn of(p99_ns: f64, coin: &mut Coin) -> VariantFigures {
    let mut scatter = |size: f64| size * p99_ns * (0.03 * normal(coin)).exp();
    let values = [
        (FigureName::P50, scatter(0.4)),
        (FigureName::P99, p99_ns),
        (FigureName::Max, scatter(3.0)),
        (FigureName::MissedPeriods, 0.0),
    ];
    VariantFigures { values: values.into(), ..VariantFigures::default() }
}

/// The outcome of each series; `None`: it ended early, and does not show B to be worse.
fn outcomes(kind: usize, machine: Machine) -> Vec<Option<Outcome>> {
    repeated(REPETITIONS, |number| {
        let series = measured((kind * 1_000_000 + number) as u64, machine);
        let result = experiment(&series.rounds, series.failed, &metrics(10_000.0), 0.95, Stopping::FixedRounds)?;
        Some(result.outcome).filter(|outcome| series.complete || *outcome == Outcome::Worse)
    })
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn harm_beside_the_latencies_is_never_called_no_difference() {
    let equal = [
        ("both alike", PLAIN),
        ("both alike, outlier runs", Machine { outliers: 0.1, ..PLAIN }),
        ("second run 20 % later", Machine { second: [1.2; 2], ..PLAIN }),
        ("run after B 20 % later, B like A", Machine { after: [1.0, 1.2], ..PLAIN }),
        ("run after A 20 % later, B like A", Machine { after: [1.2, 1.0], ..PLAIN }),
        ("B 20 % later as second run only", Machine { second: [1.0, 1.2], ..PLAIN }),
        ("both die in 20 % of their runs", Machine { dies: [0.2; 2], ..PLAIN }),
        ("both die in 35 % of their runs", Machine { dies: [0.35; 2], ..PLAIN }),
    ];
    let worse = [
        ("B 20 % later", Machine { factor: 1.2, ..PLAIN }),
        ("B 20 % later, outlier runs", Machine { factor: 1.2, outliers: 0.1, ..PLAIN }),
        ("B dies in 20 % of its runs", Machine { dies: [0.0, 0.2], ..PLAIN }),
        ("B dies in 35 % of its runs", Machine { dies: [0.0, 0.35], ..PLAIN }),
        ("B dies in 35 %, and is 20 % earlier", Machine { dies: [0.0, 0.35], factor: 0.8, ..PLAIN }),
    ];
    let titles = ["B worse", "B better", "no difference", "undecided", "not measured"].map(String::from);
    let mut table = Table::new("12 rounds, scatter of runs 8 %", &titles);
    let mut shares: Vec<(&str, [f64; 5])> = Vec::new();
    for (kind, (name, machine)) in equal.into_iter().chain(worse).enumerate() {
        let all = outcomes(kind, machine);
        let of = |wanted: &dyn Fn(&Option<Outcome>) -> bool| share(&all.iter().map(wanted).collect::<Vec<_>>());
        let row = [
            of(&|outcome| *outcome == Some(Outcome::Worse)),
            of(&|outcome| *outcome == Some(Outcome::Better)),
            of(&|outcome| *outcome == Some(Outcome::NoDifferenceFound)),
            of(&|outcome| matches!(outcome, Some(Outcome::Undecided | Outcome::TooFewRounds))),
            of(&Option::is_none),
        ];
        table.row(name, row.iter().map(|share| format!("{:.1}", share * 100.0)).collect());
        shares.push((name, row));
    }
    publish("harm", &table);
    let most = error_most(0.05, REPETITIONS);
    let wrong: Vec<_> = shares[..equal.len()].iter().filter(|(_, row)| row[0] + row[1] > most).collect();
    assert!(wrong.is_empty(), "{wrong:?} are above {most:.4}");
    let dying: Vec<_> = shares[equal.len() + 2..].iter().filter(|(_, row)| row[1] > 0.05).collect();
    assert!(dying.is_empty(), "{dying:?}");
    let found = |name: &str| shares.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, row)| row[0]);
    let power = [("B 20 % later", 0.88), ("B 20 % later, outlier runs", 0.58), ("B dies in 35 % of its runs", 0.6)];
    assert!(power.iter().all(|(name, least)| found(name) > *least), "{shares:?}");
}
