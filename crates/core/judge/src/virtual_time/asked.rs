//! Checks that runs used the options of a baseline. A figure with another load or length proves nothing.

use super::SeedRun;
use crate::difference::of_settings;
use archive::settings::RunSettings;
use claims::baseline::{Deviation, Guest};
use claims::difference::Difference;

/// Each deviation from the requested settings, with the seeds of the runs concerned. An idle run must have the same settings
/// without the loads.
pub fn otherwise(asked: &RunSettings, runs: &[SeedRun]) -> Vec<Deviation> {
    let mut found: Vec<(Guest, Difference, Vec<u64>)> = Vec::new();
    for run in runs {
        let Some(settings) = &run.summary.settings else { continue };
        let idle = RunSettings { loads: Vec::new(), ..asked.clone() };
        let (guest, asked) = if run.is_idle() { (Guest::Idle, &idle) } else { (Guest::Loaded, asked) };
        for difference in of_settings(settings, asked) {
            match found.iter_mut().find(|(of, other, _)| (*of, other) == (guest, &difference)) {
                Some((.., seeds)) => seeds.push(run.seed()),
                None => found.push((guest, difference, vec![run.seed()])),
            }
        }
    }
    found.sort_by_key(|(guest, ..)| *guest);
    found.into_iter().map(|(guest, difference, seeds)| Deviation::Setting { guest, difference, seeds }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::{Example, runs};
    use super::*;
    use archive::settings::LoadRequest;
    use fixtures::assert_sentence;
    use words::claims::virtual_time::deviation as said;

    fn settings() -> RunSettings {
        Example::new("old", 1, &[1]).summary.settings.unwrap()
    }

    #[test]
    fn runs_of_the_options_are_as_asked_whatever_their_seed_and_limit() {
        let mut limited = Example::new("old", 9, &[1]);
        limited.summary.settings.as_mut().unwrap().limit_ns = Some(5);
        let examples = [Example::new("old", 1, &[1]), limited, Example::new("old", 1, &[1]).idle()];
        assert_eq!(otherwise(&settings(), &runs(&examples)), []);
    }

    #[test]
    fn another_length_or_load_is_reported_with_its_seeds() {
        let examples = [1, 2].map(|seed| Example::new("old", seed, &[1]));
        let shorter = RunSettings { duration_ns: Some(5), ..settings() };
        let [length] = &otherwise(&shorter, &runs(&examples))[..] else { panic!("the length alone differs") };
        assert_sentence!("baseline-of-another-length", said(length));
        let loads = vec![LoadRequest::Builtin { name: "copy".into(), workers: 0 }];
        let differences = otherwise(&RunSettings { loads, ..settings() }, &runs(&examples[..1]));
        assert_sentence!("baseline-with-another-load", differences.iter().map(said).collect::<Vec<_>>().join("\n"));
    }
}
