//! Checks that runs used the options of a baseline. A figure with another load or length proves nothing.

use super::SeedRun;
use crate::difference::of_settings;
use archive::settings::RunSettings;
use std::collections::BTreeMap;

/// One sentence for each deviation from the requested settings, with the seeds of the runs concerned. An idle run must
/// have the same settings without the loads.
pub fn otherwise(asked: &RunSettings, runs: &[SeedRun]) -> Vec<String> {
    let mut seeds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for run in runs {
        let Some(settings) = &run.summary.settings else { continue };
        let idle = RunSettings { loads: Vec::new(), ..asked.clone() };
        let (name, asked) = if run.is_idle() { ("idle", &idle) } else { ("loaded", asked) };
        for difference in of_settings(settings, asked) {
            let word = |value: Option<String>| value.unwrap_or_else(|| "none".into());
            let (seen, expected) = (word(difference.a), word(difference.b));
            let sentence = format!("{name}: {} is {seen} in the runs, {expected} in the baseline", difference.what);
            seeds.entry(sentence).or_default().push(run.seed());
        }
    }
    seeds.into_iter().map(|(sentence, seeds)| format!("{sentence} (seeds {seeds:?})")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::{Example, runs};
    use super::*;
    use archive::settings::LoadRequest;
    use fixtures::assert_sentence;

    fn settings() -> RunSettings {
        Example::new("old", 1, &[1]).summary.settings.unwrap()
    }

    #[test]
    fn runs_of_the_options_are_as_asked_whatever_their_seed_and_limit() {
        let mut limited = Example::new("old", 9, &[1]);
        limited.summary.settings.as_mut().unwrap().limit_ns = Some(5);
        let examples = [Example::new("old", 1, &[1]), limited, Example::new("old", 1, &[1]).idle()];
        assert_eq!(otherwise(&settings(), &runs(&examples)), [""; 0]);
    }

    #[test]
    fn another_length_or_load_is_reported_with_its_seeds() {
        let examples = [1, 2].map(|seed| Example::new("old", seed, &[1]));
        let shorter = RunSettings { duration_ns: Some(5), ..settings() };
        let [length] = &otherwise(&shorter, &runs(&examples))[..] else { panic!("the length alone differs") };
        assert_sentence!("baseline-of-another-length", length);
        let loads = vec![LoadRequest::Builtin { name: "copy".into(), workers: 0 }];
        let differences = otherwise(&RunSettings { loads, ..settings() }, &runs(&examples[..1]));
        assert_sentence!("baseline-with-another-load", differences.join("\n"));
    }
}
