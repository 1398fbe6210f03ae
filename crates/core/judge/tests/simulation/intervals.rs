//! Claims from one run of a machine whose latencies come in bursts and load phases.

use crate::machine::{Character, Dice, measure};
use crate::{error_most, repeated, share};
use archive::summary::RunSummary;
use claims::limit::{Limit, Rate, Requirement};
use judge::blocks::{SecondState, Seconds};
use judge::figures::quantile_ns;
use judge::machine::DoubtKind;
use judge::occasions::{occasion_s, occasions};
use judge::proof::proof;
use judge::verdict::judge;

const HOUR: usize = 3600;
const REPETITIONS: usize = 300;

#[test]
#[ignore = "minutes; make simulate-judge"]
fn claims_from_one_hour_hold() {
    let truth = measure(&mut Dice::new(99), Character::PLAIN, 300 * HOUR, true);
    let p99 = quantile_ns(&truth.histogram(), 0.99).expect("it has samples");
    let long = measure(&mut Dice::new(98), Character::PLAIN, 5000 * HOUR, false);
    let limits = [50_000, 60_000, 75_000];
    let truths = limits.map(|latest_ns| {
        let state = |ns: &i64| if *ns > latest_ns { SecondState::Bad } else { SecondState::Good };
        let seconds = Seconds { states: long.seconds.iter().map(state).collect() };
        occasions(&seconds, occasion_s(1.0)) as f64 / seconds.hours()
    });
    let hours = repeated(REPETITIONS, |number| {
        let run = measure(&mut Dice::new(5000 + number as u64), Character::PLAIN, HOUR, true).run();
        let summary = RunSummary::of(&run, &[]);
        let bounds = [0, 1, 2].map(|at| {
            let limit = Limit {
                text: String::new(),
                requirement: Requirement::Latency { latest_ns: limits[at] },
                allow: Some(Rate::parse("1/h").expect("a rate")),
            };
            let judged = judge(&run, &summary, &limit, 0.95, &DoubtKind::ALL);
            (judged.cpus[0].high < truths[at], judged.cpus[0].low > truths[at])
        });
        let proof = proof(&run, &summary, None, 0.95).expect("it measured");
        let interval = proof.cpus[0].quantiles.iter().find(|interval| interval.quantile == "p99");
        let wrong = interval.is_some_and(|interval| {
            interval.low_ns.is_some_and(|ns| ns as f64 > p99) || interval.high_ns.is_some_and(|ns| p99 > ns as f64)
        });
        (bounds, wrong)
    });
    println!("CLAIMS FROM ONE HOUR at 1 kHz with bursts and load phases, {REPETITIONS} hours, nominal 5 % wrong");
    let mut wrong = Vec::new();
    for (at, latest_ns) in limits.iter().enumerate() {
        wrong.push(share(&hours.iter().map(|(bounds, _)| bounds[at].0).collect::<Vec<_>>()));
        wrong.push(share(&hours.iter().map(|(bounds, _)| bounds[at].1).collect::<Vec<_>>()));
        println!("  bounds of occasions, latency > {} us: {:?}", latest_ns / 1000, &wrong[2 * at..]);
    }
    wrong.push(share(&hours.iter().map(|(_, wrong)| *wrong).collect::<Vec<_>>()));
    println!("  interval of p99 (truth {:.2} us): {:.3}", p99 / 1000.0, wrong[wrong.len() - 1]);
    assert!(wrong.iter().all(|share| *share <= error_most(0.05, REPETITIONS)), "{wrong:?}");
}
