//! An experiment: what is injected where, and which culprit is right.

mod list;

pub use list::EXPERIMENTS;

use crate::place::Place;
use archive::culprit::Culprit;

/// The meaning of a logged length for the time that the culprit had the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// It had the CPU from begin to end, for as long as was requested.
    Requested,
    /// It had the CPU from begin to end, for as long as that took.
    Exact,
    /// It had it from begin to end, and others of its kind may have had it longer.
    AtLeast,
    /// It had it repeatedly between begin and end, or others had their turns there as well.
    AtMost,
}

/// One injector with its options, on the places where it can make a CPU late.
#[derive(Debug, PartialEq, Eq)]
pub struct Experiment {
    pub name: &'static str,
    /// The method of the injector, for the document.
    pub how: &'static str,
    /// Command of the injector, with its own options.
    pub injector: &'static str,
    /// Experiments that the injector draws from, for each injection one.
    pub parts: &'static [&'static str],
    /// Each of them is right.
    pub culprits: &'static [Culprit],
    /// Culprits that the injector also brings about where it writes nothing down.
    pub by_itself: &'static [Culprit],
    pub length: Length,
    pub places: &'static [Place],
    /// Length where nothing is emulated; see [`Place::longer`].
    pub length_us: u64,
    pub pause_us: u64,
    /// The latency from which a wake-up is captured, where nothing is emulated.
    pub limit_us: i64,
    /// Set apart from other experiments with the same injector by what is drawn.
    pub seed: u64,
    /// Whether the injector needs the kernel module.
    pub module: bool,
    /// Whether an ordinary thread measures, and no real-time one.
    pub ordinary: bool,
    /// Name of the injector's thread whose cycles are watched, instead of a measurement beside it.
    pub watched: Option<&'static str>,
    /// Whether the virtual machine is stopped from outside, for the length of an injection.
    pub stopped: bool,
}

impl Experiment {
    /// Injections of how many kinds it makes.
    pub fn kinds(&self) -> u64 {
        self.parts.len().max(1) as u64
    }

    /// The length that the injector is asked for at a place, in µs; of a mix the mean.
    pub fn length_us_at(&self, place: Place) -> u64 {
        let parts: Vec<u64> = self.drawn_from().map(|part| part.length_us_at(place)).collect();
        match parts.len() as u64 {
            0 => self.length_us * place.longer(),
            count => parts.iter().sum::<u64>() / count,
        }
    }

    /// The experiments of a mix.
    pub fn drawn_from(&self) -> impl Iterator<Item = &'static Experiment> {
        self.parts.iter().filter_map(|name| find(name))
    }

    /// Whether the injector brings a culprit about where it writes nothing down.
    pub fn brings_about(&self, culprit: &Culprit) -> bool {
        self.by_itself.contains(culprit) || self.drawn_from().any(|part| part.brings_about(culprit))
    }

    /// Words of the injector at a place.
    pub fn command_at(&self, place: Place) -> String {
        let parts: Vec<String> = self.drawn_from().map(|part| part.as_part_at(place)).collect();
        if parts.is_empty() { self.injector.into() } else { format!("{} --parts {}", self.injector, parts.join(",")) }
    }

    /// As the injector of a mix reads it.
    fn as_part_at(&self, place: Place) -> String {
        let words: Vec<&str> = self.injector.split(' ').collect();
        let option = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1).copied()
        };
        let (kind, threads) = (option("--kind").unwrap_or(""), option("--threads").unwrap_or("0"));
        format!("{}:{}:{kind}:{threads}:{}", self.name, words[0], self.length_us_at(place))
    }
}

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_asked_for_with_every_part() {
        let mixes: Vec<&Experiment> = EXPERIMENTS.iter().filter(|experiment| !experiment.parts.is_empty()).collect();
        assert!(!mixes.is_empty());
        for mix in mixes {
            assert_eq!(mix.drawn_from().count(), mix.parts.len(), "{}: a part is no experiment", mix.name);
            assert!(mix.drawn_from().all(|part| part.places.contains(&Place::Here) && part.watched == mix.watched));
        }
        let command = find("mix-watched-1").unwrap().command_at(Place::Here);
        assert!(command.starts_with("mix --parts page-faults:page-faults::0:2500,inversion:"), "{command}");
        assert!(command.ends_with(",pipeline-eventfd:pipeline:eventfd:8:2500"), "{command}");
    }
}
