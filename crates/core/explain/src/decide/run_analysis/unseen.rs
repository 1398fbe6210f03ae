//! The chance of a cause that has not been seen, from the occasions on which each cause came.

use super::ExplainedSpike;
use archive::causes::{NewCause, OCCASION_S};
use archive::culprit::Culprit;
use std::collections::BTreeMap;

/// `None` if no spike has a known cause.
pub fn new_cause(explained: &[ExplainedSpike]) -> Option<NewCause> {
    let mut causes: BTreeMap<&Culprit, Vec<i64>> = BTreeMap::new();
    let mut unexplained = 0;
    for one in explained {
        match one.culprit() {
            Some(culprit) => causes.entry(culprit).or_default().push(one.spike.sample.due_ns),
            None => unexplained += 1,
        }
    }
    let occasions: Vec<u32> = causes.into_values().map(occasions_at).collect();
    NewCause::of(&occasions, unexplained)
}

fn occasions_at(mut instants: Vec<i64>) -> u32 {
    instants.sort_unstable();
    let (mut count, mut ends) = (0, i64::MIN);
    for instant in instants {
        if instant >= ends {
            (count, ends) = (count + 1, instant.saturating_add(i64::from(OCCASION_S) * 1_000_000_000));
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_seen_once_show_how_many_are_not_seen() {
        let found = NewCause::of(&[17, 1, 2], 9).unwrap();
        assert_eq!((found.attributed, found.seen_once, found.unexplained), (20, 1, 9));
        assert!((found.chance - 10.0 / 29.0).abs() < 1e-12, "each of the nine may have a cause of its own");
        assert_eq!(found.chance_max, 1.0, "twenty occasions bound nothing");
        assert_eq!(NewCause::of(&[], 9), None);
    }

    #[test]
    fn many_occasions_of_one_cause_bound_the_chance() {
        let found = NewCause::of(&[10_000], 0).unwrap();
        assert_eq!(found.chance, 0.0);
        assert!((found.chance_max - 0.092_280).abs() < 1e-4, "{}", found.chance_max);
    }

    #[test]
    fn spikes_of_one_cause_soon_after_another_are_one_occasion() {
        let minutes = |list: &[i64]| occasions_at(list.iter().map(|minute| minute * 60_000_000_000).collect());
        assert_eq!([minutes(&[1, 3, 2, 9]), minutes(&[1, 12, 40]), minutes(&[])], [1, 3, 0]);
    }
}
