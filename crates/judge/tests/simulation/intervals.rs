//! Claims from one run of a machine whose latencies come in bursts and phases.

use crate::machine::{Character, Dice, measure};
use crate::{repeated, share};
use archive::summary::RunSummary;
use judge::figures::quantile_ns;
use judge::limit::{Limit, Rate, Requirement};
use judge::machine::DoubtKind;
use judge::proof::proof;
use judge::verdict::judge;

const HOUR: usize = 3600;
const REPETITIONS: usize = 300;

/// Blocks an hour with a second later than this.
fn bad_per_hour(seconds: &[i64], block_s: usize, latest_ns: i64) -> f64 {
    let blocks = seconds.chunks_exact(block_s);
    let bad = blocks.clone().filter(|block| block.iter().any(|ns| *ns > latest_ns)).count();
    bad as f64 / (blocks.len() * block_s) as f64 * 3600.0
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn claims_from_one_hour_hold() {
    let truth = measure(&mut Dice::new(99), Character::PLAIN, 300 * HOUR, true);
    let p9999 = quantile_ns(&truth.histogram(), 0.9999).expect("it has samples");
    let long = measure(&mut Dice::new(98), Character::PLAIN, 5000 * HOUR, false);
    let limits = [50_000, 60_000, 75_000];
    let hours = repeated(REPETITIONS, |number| {
        let run = measure(&mut Dice::new(5000 + number as u64), Character::PLAIN, HOUR, true).run();
        let summary = RunSummary::of(&run, &[]);
        let bounds = limits.map(|latest_ns| {
            let limit = Limit {
                text: String::new(),
                requirement: Requirement::Latency { latest_ns },
                allow: Some(Rate::parse("1/h").expect("a rate")),
            };
            let judged = judge(&run, &summary, &limit, 0.95, &DoubtKind::ALL);
            let cpu = &judged.cpus[0];
            let block_s = cpu.blocks.expect("a rate is judged by blocks").block_s as usize;
            cpu.high >= bad_per_hour(&long.seconds, block_s, latest_ns)
        });
        let proof = proof(&run, &summary, &[], 0.95).expect("it measured");
        let interval = &proof.cpus[0].quantiles[0];
        assert_eq!(interval.quantile, "p99.99");
        // Ends are rounded up within their bucket.
        let low = interval.low_ns.is_none_or(|ns| ns as f64 * (1.0 - 1e-3) <= p9999);
        let high = interval.high_ns.is_none_or(|ns| p9999 <= ns as f64);
        (bounds, low && high)
    });
    println!("CLAIMS FROM ONE HOUR at 1 kHz with bursts and load phases, {REPETITIONS} hours, nominal 95 %");
    let mut coverage = Vec::new();
    for (at, latest_ns) in limits.iter().enumerate() {
        coverage.push(share(&hours.iter().map(|(bounds, _)| bounds[at]).collect::<Vec<_>>()));
        println!("  upper bound of bad blocks, latency > {} us: {:.3}", latest_ns / 1000, coverage[at]);
    }
    coverage.push(share(&hours.iter().map(|(_, holds)| *holds).collect::<Vec<_>>()));
    println!("  interval of p99.99 (truth {:.2} us): {:.3}", p9999 / 1000.0, coverage[coverage.len() - 1]);
    assert!(coverage.iter().all(|share| *share >= 0.92), "{coverage:?}");
}
