//! The causes of a run's late wake-ups in one sentence.

use crate::figures::count;
use archive::causes::RunCauses;
use archive::method::SampleWord;

/// Each cause with the number of its samples, and how many of the captured ones are explained; `None` without a captured one.
pub fn counted(word: SampleWord, causes: &RunCauses) -> Option<String> {
    let spikes = |known: bool| -> u64 {
        causes
            .groups
            .iter()
            .filter(|group| group.culprit.is_some() == known)
            .map(|group| group.spikes.len() as u64)
            .sum()
    };
    let (explained, all) = (spikes(true), spikes(true) + spikes(false));
    let named = causes.groups.iter().filter(|group| group.culprit.is_some());
    let each: Vec<String> =
        named.map(|group| format!("{} {}", count(group.spikes.len() as u64), group.name())).collect();
    let names = if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
    let (explained, captured) = (count(explained), count(all));
    (all > 0).then(|| format!("{explained} of {captured} captured {} {} explained{names}.", word.late, word.many))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::causes::CauseGroup;
    use archive::culprit::Culprit;

    fn group(culprit: Option<Culprit>, spikes: u32) -> CauseGroup {
        CauseGroup {
            culprit,
            title: "not explained".into(),
            spikes: (1..=spikes).collect(),
            latency_ns_max: 1,
            cpus: Vec::new(),
            worst: 0,
            period: None,
            rhythm: String::new(),
        }
    }

    #[test]
    fn unexplained_wake_ups_count_as_captured_only() {
        let groups = vec![group(Some(Culprit::OwnTool), 2), group(Some(Culprit::Workqueue), 1), group(None, 4)];
        let causes = RunCauses { groups, ..RunCauses::default() };
        assert_eq!(
            counted(SampleWord::WAKE_UP, &causes).unwrap(),
            "3 of 7 captured late wake-ups explained: 2 own-tool, 1 workqueue."
        );
        assert_eq!(counted(SampleWord::WAKE_UP, &RunCauses::default()), None);
    }
}
