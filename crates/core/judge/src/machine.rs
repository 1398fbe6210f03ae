//! Whether latencies of a machine can show at all that a real-time limit holds.

use archive::summary::RunSummary;
use serde::{Deserialize, Serialize};

/// A property of a machine that prevents it from passing a real-time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtKind {
    /// A program emulates the processor.
    Emulated,
    /// A hypervisor schedules its virtual CPUs.
    Virtual,
    Container,
    /// The kernel is not PREEMPT_RT, or this is unknown.
    NonRt,
    /// Nothing is known of the machine.
    Unknown,
}

impl DoubtKind {
    pub const ALL: [Self; 5] = [Self::Emulated, Self::Virtual, Self::Container, Self::NonRt, Self::Unknown];

    /// The kind that a command-line word accepts.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The command-line word that accepts it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Emulated => "emulated",
            Self::Virtual => "virtual",
            Self::Container => "container",
            Self::NonRt => "non-rt",
            Self::Unknown => "unknown",
        }
    }
}

/// A doubt and its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    pub kind: DoubtKind,
    pub text: String,
}

/// Everything that prevents this run from passing a real-time limit.
pub fn doubts(summary: &RunSummary) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut doubt = |kind, text: String| doubts.push(Doubt { kind, text });
    if summary.virtual_time {
        let text = "the figures are virtual time: executed instructions, not time on hardware";
        doubt(DoubtKind::Emulated, text.into());
    } else if summary.emulated {
        doubt(DoubtKind::Emulated, "the machine was emulated: its latencies mean nothing as real-time figures".into());
    }
    let Some(environment) = &summary.environment else {
        doubt(DoubtKind::Unknown, "the machine and its kernel are unknown".into());
        return doubts;
    };
    let named = |value: &Option<String>| value.clone().filter(|name| !name.is_empty() && name != "none");
    if let Some(hypervisor) = named(&environment.virtualisation).filter(|_| !summary.emulated) {
        doubt(DoubtKind::Virtual, format!("this is a virtual machine ({hypervisor}): its host decides when it runs"));
    }
    if let Some(container) = named(&environment.container) {
        doubt(DoubtKind::Container, format!("it ran in a container ({container})"));
    }
    match environment.preempt_rt {
        Some(true) => {}
        Some(false) => doubt(DoubtKind::NonRt, "the kernel is not PREEMPT_RT".into()),
        None => doubt(DoubtKind::NonRt, "the kernel does not say whether it is PREEMPT_RT".into()),
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::environment::Environment;
    use archive::reader::Run;

    fn kinds(emulated: bool, environment: Option<Environment>) -> Vec<DoubtKind> {
        let summary = RunSummary { emulated, environment, ..RunSummary::of(&Run::default(), &[]) };
        doubts(&summary).iter().map(|doubt| doubt.kind).collect()
    }

    #[test]
    fn only_a_real_machine_with_a_real_time_kernel_is_beyond_doubt() {
        let good = Environment {
            preempt_rt: Some(true),
            virtualisation: Some("none".into()),
            container: None,
            ..Environment::default()
        };
        assert_eq!(kinds(false, Some(good.clone())), []);
        assert_eq!(kinds(true, Some(good.clone())), [DoubtKind::Emulated]);
        let guest = Environment { virtualisation: Some("kvm".into()), preempt_rt: None, ..good.clone() };
        assert_eq!(kinds(false, Some(guest)), [DoubtKind::Virtual, DoubtKind::NonRt]);
        let contained = Environment { container: Some("docker".into()), preempt_rt: Some(false), ..good };
        assert_eq!(kinds(false, Some(contained)), [DoubtKind::Container, DoubtKind::NonRt]);
        assert_eq!(kinds(false, None), [DoubtKind::Unknown]);
    }
}
