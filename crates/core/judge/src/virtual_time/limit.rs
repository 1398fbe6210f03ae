//! Whether a limit holds in virtual time. All samples of the seeds are known and reproducible, so there is nothing to
//! estimate: it holds for these seeds or it does not.

use super::SeedRun;
use claims::limit::{Limit, Requirement};
pub use claims::virtual_time::LimitOutcome;

/// Judges the runs of one system. Without any run, the limit does not hold.
pub fn judge_limit(limit: &Limit, runs: &[SeedRun]) -> LimitOutcome {
    let seen: Vec<(u64, i64)> = runs.iter().filter_map(|run| Some((run.seed(), figure(limit, run)?))).collect();
    let latest = match limit.requirement {
        Requirement::Latency { latest_ns } | Requirement::Quantile { latest_ns, .. } => latest_ns,
        Requirement::Missed => 0,
    };
    let broken_in: Vec<u64> = seen.iter().filter(|(_, value)| *value > latest).map(|(seed, _)| *seed).collect();
    let holds = broken_in.is_empty() && !seen.is_empty() && seen.len() == runs.len();
    let worst = seen.iter().max_by_key(|(_, value)| *value);
    let sentence = words::claims::virtual_time::limit(limit, holds, broken_in.len(), runs.len(), worst.copied());
    LimitOutcome { limit: limit.text.clone(), holds, broken_in, sentence }
}

/// The limited figure of one run: a latency in ns, or the number of missed periods.
fn figure(limit: &Limit, run: &SeedRun) -> Option<i64> {
    let mut sorted: Vec<i64> = run.samples.iter().map(|(_, latency_ns)| *latency_ns).collect();
    sorted.sort_unstable();
    match limit.requirement {
        Requirement::Latency { .. } => sorted.last().copied(),
        Requirement::Quantile { q, .. } => {
            // A share is written with few digits; the last bit of a float must not change the rank.
            let rank = (q * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
            sorted.get(rank - 1).copied()
        }
        Requirement::Missed => {
            let missed = run.summary.cpus.iter().map(|cpu| cpu.missed).sum::<Option<u64>>()?;
            i64::try_from(missed).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{Example, runs};
    use super::*;
    use claims::limit::Rate;
    use fixtures::assert_sentence;

    fn outcome(text: &str, sides: &[Example]) -> LimitOutcome {
        let nanoseconds =
            |text: &str| text.strip_suffix("ns").ok_or("no unit")?.parse::<u64>().map_err(|_| "none".to_owned());
        let limit = Limit::parse(text, &Rate::parse("1/h").unwrap(), nanoseconds).unwrap();
        judge_limit(&limit, &runs(sides))
    }

    #[test]
    fn one_sample_of_one_seed_breaks_a_latency_and_not_a_quantile() {
        let late: Vec<i64> = (1..=1000).map(|at| if at == 500 { 90_000 } else { 4000 }).collect();
        let sides = [Example::new("k", 1, &[4000; 1000]), Example::new("k", 2, &late)];
        let broken = outcome("latency < 50000ns", &sides);
        assert_eq!((broken.holds, broken.broken_in.as_slice()), (false, &[2][..]));
        assert_sentence!("virtual-limit-broken", broken.sentence);
        assert!(outcome("latency <= 90000ns", &sides).holds);
        assert!(!outcome("latency < 90000ns", &sides).holds);
        assert!(outcome("p99.9 <= 4000ns", &sides).holds);
        assert!(!outcome("p99.99 <= 4000ns", &sides).holds);
        assert!(!outcome("latency < 50000ns", &[]).holds, "nothing measured shows nothing");
    }
}
