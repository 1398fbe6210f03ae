//! The options that say what must hold, and the limits they name.

use super::exit::UsageError;
use super::observe::confidence;
use super::plan::checked::limits_of;
use super::quantity::time_ns;
use crate::text::figures::latency;
use archive::reader::Run;
use clap::{Args, ValueEnum};
use judge::limit::{Limit, Rate, Requirement};
use judge::machine::DoubtKind;

/// What must hold, how often it may be broken, how sure the verdict must be, and which doubts about the machine count.
#[derive(Debug, Clone, Args)]
pub struct LimitArguments {
    /// What must hold: 'latency < 100us', 'p99.9 < 50us', 'missed < 1/h'; may be repeated [default: the limits of the
    /// run's plan, or its --limit]
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<String>,
    /// How often a latency may be exceeded on each CPU, like 1/h, 3/day or never
    #[arg(long, value_name = "RATE", default_value = "1/h", value_parser = Rate::parse)]
    allow: Rate,
    /// Confidence of the verdict, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    pub confidence: f64,
    /// Let such a machine pass a limit all the same
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    accept: Vec<AcceptName>,
}

/// A limit with what it allows.
pub fn described(limit: &Limit) -> String {
    match (&limit.requirement, &limit.allow) {
        (Requirement::Latency { .. }, Some(rate)) => {
            format!("{}, exceeded at most {} on each CPU", limit.text, rate.text)
        }
        _ => limit.text.clone(),
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AcceptName {
    /// A program imitated the processor
    Emulated,
    /// A virtual machine
    Virtual,
    Container,
    /// A kernel that is not PREEMPT_RT
    NonRt,
    /// A machine of which nothing is known
    Unknown,
}

impl AcceptName {
    fn kind(self) -> DoubtKind {
        match self {
            Self::Emulated => DoubtKind::Emulated,
            Self::Virtual => DoubtKind::Virtual,
            Self::Container => DoubtKind::Container,
            Self::NonRt => DoubtKind::NonRt,
            Self::Unknown => DoubtKind::Unknown,
        }
    }
}

impl LimitArguments {
    /// The limits that were typed.
    ///
    /// # Errors
    /// When one of them is no limit.
    pub fn typed(&self) -> Result<Vec<Limit>, UsageError> {
        self.limits.iter().map(|text| Limit::parse(text, &self.allow, time_ns).map_err(UsageError)).collect()
    }

    /// The limits that were typed, or else those of the run's plan, or else the one it was measured with.
    ///
    /// # Errors
    /// When one that was typed is no limit.
    pub fn of(&self, run: &Run) -> Result<Vec<Limit>, UsageError> {
        let typed = self.typed()?;
        if let Some(planned) = run.planned.as_ref().filter(|_| typed.is_empty()) {
            return Ok(limits_of(&planned.limits));
        }
        let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
        match settings.and_then(|settings| settings.limit_ns) {
            Some(latest_ns) if typed.is_empty() => Ok(vec![Limit {
                text: format!("latency <= {}", latency(latest_ns)),
                requirement: Requirement::Latency { latest_ns },
                allow: Some(self.allow.clone()),
            }]),
            _ => Ok(typed),
        }
    }

    /// Doubts about the machine that do not keep it from passing.
    pub fn accepted(&self) -> Vec<DoubtKind> {
        self.accept.iter().map(|name| name.kind()).collect()
    }
}
