//! The cost of the kernel's tracer for a run in virtual time that was repeated with it, to the nanosecond, and the instant
//! at which the two runs diverge.

pub use claims::virtual_time::{TracedWakeUp, TracingCost};
use std::collections::BTreeMap;

/// One of the first this many wake-ups of each run must be in both.
const FIRST_WAKE_UPS: usize = 4;

/// Compares two runs of one seed, the second traced, by due instant and latency of every sample, in ns. `late` are the
/// indices of wake-ups to report. The seed determines the instants from the first one on, so wake-ups are paired by
/// their time after the first wake-up of their run. `None` if no wake-up is in both.
pub fn tracing_cost(samples: &[(i64, i64)], traced: &[(i64, i64)], late: &[u64]) -> Option<TracingCost> {
    let by_due: BTreeMap<i64, i64> = traced.iter().copied().collect();
    let began_later_ns = began_later_ns(samples, traced, &by_due)?;
    let wake_up = |cycle: usize| {
        let (due_ns, latency_ns) = *samples.get(cycle)?;
        Some(TracedWakeUp {
            cycle: cycle as u64,
            latency_ns,
            traced_ns: by_due.get(&due_ns.saturating_add(began_later_ns)).copied(),
        })
    };
    let all: Vec<TracedWakeUp> = (0..samples.len()).filter_map(wake_up).collect();
    let pairs: Vec<(i64, i64)> = all.iter().filter_map(|of| Some((of.latency_ns, of.traced_ns?))).collect();
    let (plain, with) = (sorted(pairs.iter().map(|of| of.0)), sorted(pairs.iter().map(|of| of.1)));
    let middle = pairs.len().checked_sub(1)? / 2;
    let late = late.iter().filter_map(|cycle| wake_up(usize::try_from(*cycle).ok()?)).collect();
    let mut cost = TracingCost {
        pairs: pairs.len(),
        began_later_ns,
        median_ns: plain[middle],
        median_traced_ns: with[middle],
        least_ns: plain[0],
        least_traced_ns: with[0],
        parted_at: all.into_iter().find(|of| of.traced_ns.is_some_and(|traced_ns| traced_ns < of.latency_ns)),
        late,
        sentences: Vec::new(),
    };
    cost.sentences = words::claims::virtual_time::tracing_cost(&cost);
    Some(cost)
}

/// The shift by which most wake-ups of one run are in the other: the first of either may have been missed.
fn began_later_ns(samples: &[(i64, i64)], traced: &[(i64, i64)], by_due: &BTreeMap<i64, i64>) -> Option<i64> {
    let firsts = samples.iter().take(FIRST_WAKE_UPS);
    let shifts = firsts.flat_map(|own| traced.iter().take(FIRST_WAKE_UPS).filter_map(|of| of.0.checked_sub(own.0)));
    let pairs = |shift: i64| {
        samples.iter().filter(|of| of.0.checked_add(shift).is_some_and(|due_ns| by_due.contains_key(&due_ns))).count()
    };
    shifts.max_by_key(|shift| (pairs(*shift), std::cmp::Reverse(shift.abs())))
}

fn sorted(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::assert_sentence;

    fn run(latencies: &[i64]) -> Vec<(i64, i64)> {
        latencies.iter().enumerate().map(|(at, ns)| (at as i64 * 1_000_000, *ns)).collect()
    }

    #[test]
    fn a_course_that_lines_up_shows_the_price_of_each() {
        let cost = tracing_cost(&run(&[3000, 3010, 9000]), &run(&[49_000, 49_020, 61_000]), &[2]).unwrap();
        assert_eq!((cost.median_ns, cost.median_traced_ns, cost.parted_at), (3010, 49_020, None));
        assert_sentence!("tracing-cost", cost.sentences.join("\n"));
    }

    #[test]
    fn an_earlier_wake_up_is_another_course_and_prices_end_there() {
        let mut traced = run(&[49_000, 50_000, 45_000, 0]);
        traced.truncate(3);
        let cost = tracing_cost(&run(&[3000, 3010, 900_000, 4000]), &traced, &[1, 2, 3, 99]).unwrap();
        assert_eq!(cost.parted_at.map(|of| of.cycle), Some(2));
        assert_sentence!("tracing-cost-parted", cost.sentences.join("\n"));
        assert_eq!((cost.late.len(), cost.pairs), (3, 3));
    }

    #[test]
    fn a_run_that_began_later_and_missed_its_first_is_paired_all_the_same() {
        // Unequal intervals, as a seed produces them.
        let plain: Vec<(i64, i64)> = (0..20).map(|at: i64| (at * 1_000_000 + at * at * 700, 3000)).collect();
        let traced: Vec<(i64, i64)> = plain[1..].iter().map(|(due, ns)| (due + 300_000_000, ns + 40_000)).collect();
        let cost = tracing_cost(&plain, &traced, &[0, 5]).unwrap();
        assert_eq!((cost.pairs, cost.began_later_ns, cost.late[0].traced_ns), (19, 300_000_000, None));
        assert_sentence!("tracing-cost-later", cost.sentences[0]);
        assert_eq!(cost.late[1].traced_ns, Some(43_000));
    }

    #[test]
    fn runs_without_wake_ups_are_not_compared() {
        assert_eq!(tracing_cost(&run(&[1]), &[], &[0]), None);
        assert_eq!(tracing_cost(&[], &[], &[]), None);
    }
}
