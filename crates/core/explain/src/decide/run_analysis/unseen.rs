//! The chance of a cause that has not been seen: causes seen once, divided by spikes (Good and Turing). An unexplained
//! spike may have a unique cause, and counts as a cause seen once.

use archive::causes::{CauseGroup, NewCause};

/// Maximum probability that the bound is wrong.
const ERROR: f64 = 0.05;

/// `None` if no spike has a known cause.
pub fn new_cause(groups: &[CauseGroup]) -> Option<NewCause> {
    let known = groups.iter().filter(|group| group.culprit.is_some()).map(|group| group.spikes.len());
    let attributed: usize = known.clone().sum();
    let seen_once = known.filter(|spikes| *spikes == 1).count();
    if attributed == 0 {
        return None;
    }
    let unexplained: usize =
        groups.iter().filter(|group| group.culprit.is_none()).map(|group| group.spikes.len()).sum();
    let count = (attributed + unexplained) as f64;
    let chance = (seen_once + unexplained) as f64 / count;
    Some(NewCause {
        attributed: attributed as u32,
        seen_once: seen_once as u32,
        unexplained: unexplained as u32,
        chance,
        chance_max: (chance + margin(count)).min(1.0),
    })
}

/// Maximum amount by which the estimate may be below the truth (McAllester and Schapire 2000).
fn margin(count: f64) -> f64 {
    (2.0 * 2f64.sqrt() + 3f64.sqrt()) * ((3.0 / ERROR).ln() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(culprit: Option<&str>, spikes: u32) -> CauseGroup {
        CauseGroup {
            culprit: culprit.map(Into::into),
            title: String::new(),
            spikes: (0..spikes).collect(),
            latency_ns_max: 0,
            cpus: Vec::new(),
            worst: 0,
            period: None,
            rhythm: String::new(),
        }
    }

    #[test]
    fn causes_seen_once_show_how_many_are_not_seen() {
        let groups = [group(Some("softirq"), 17), group(Some("nmi"), 1), group(Some("timers"), 2), group(None, 9)];
        let found = new_cause(&groups).unwrap();
        assert_eq!((found.attributed, found.seen_once, found.unexplained), (20, 1, 9));
        assert!((found.chance - 10.0 / 29.0).abs() < 1e-12, "each of the nine may have a cause of its own");
        assert_eq!(found.chance_max, 1.0, "twenty spikes bound nothing");
        assert_eq!(new_cause(&[group(None, 9)]), None);
    }

    #[test]
    fn many_spikes_of_one_cause_bound_the_chance() {
        let found = new_cause(&[group(Some("softirq"), 10_000)]).unwrap();
        assert_eq!(found.chance, 0.0);
        // (2 sqrt 2 + sqrt 3) sqrt(ln 60 / 10000)
        assert!((found.chance_max - 0.092_280).abs() < 1e-4, "{}", found.chance_max);
    }
}
