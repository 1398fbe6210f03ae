//! Change points of series of runs: false alarms, also with correlated neighbours, and power.

use crate::tables::{Table, publish};
use crate::{error_most, repeated, share};
use judge::coin::Coin;
use judge::history::{change_points, detectable_step};

const RISK: f64 = 0.001;
const REPETITIONS: usize = 400;

fn normal(coin: &mut Coin) -> f64 {
    (-2.0 * (1.0 - coin.unit()).ln()).sqrt() * (std::f64::consts::TAU * coin.unit()).cos()
}

/// Neighbouring values are correlated by `memory`.
fn series(seed: u64, runs: usize, memory: f64, step: f64) -> Vec<f64> {
    let mut coin = Coin::new(seed);
    let mut level = normal(&mut coin);
    (0..runs)
        .map(|run| {
            level = memory * level + (1.0 - memory * memory).sqrt() * normal(&mut coin);
            level + if run >= runs / 2 { step } else { 0.0 }
        })
        .collect()
}

fn found(seed: u64, runs: usize, memory: f64, step: f64) -> f64 {
    let found = repeated(REPETITIONS, |number| {
        let seed = seed + number as u64;
        !change_points(&series(seed, runs, memory, step), RISK, seed).is_empty()
    });
    share(&found)
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn changes_are_not_found_in_what_only_drifts_and_found_where_they_are() {
    let lengths = [14, 20, 30, 60];
    let mut table = Table::new("series without a change", &lengths.map(|runs| format!("{runs} runs")));
    let mut alarms = Vec::new();
    for (name, memory) in [("independent", 0.0), ("AR(1) 0.5", 0.5), ("AR(1) 0.7", 0.7)] {
        let shares = lengths.map(|runs| found(1000 * runs as u64, runs, memory, 0.0));
        table.row(name, shares.iter().map(|share| format!("{:.1}", share * 100.0)).collect());
        alarms.extend(shares);
    }
    // Shorter series do not find a step with this power.
    let [_, long @ ..] = lengths;
    let power = long.map(|runs| found(77_000 * runs as u64, runs, 0.0, detectable_step(runs)));
    let sizes =
        long.iter().zip(power).map(|(runs, power)| format!("{:.2}: {:.0}", detectable_step(*runs), power * 100.0));
    let sizes: Vec<String> = std::iter::once("-".to_owned()).chain(sizes).collect();
    table.row("step in standard deviations that is found, and how often", sizes);
    publish("histories", &table);
    // One in a thousand if runs are independent; where they are correlated no p-value is printed, and the stated risk
    // is one in twenty.
    let (independent, alike) = alarms.split_at(lengths.len());
    assert!(independent.iter().all(|share| *share <= error_most(RISK, REPETITIONS)), "{alarms:?}");
    assert!(alike.iter().all(|share| *share <= error_most(0.05, REPETITIONS)), "{alarms:?}");
    let off = 2.0 * (0.8f64 * 0.2 / REPETITIONS as f64).sqrt() + 0.03;
    assert!(power.iter().all(|power| (power - 0.8).abs() <= off), "{power:?}");
}
