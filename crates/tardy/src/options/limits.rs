//! The options that state requirements, and the limits they name.

use super::quantity::{QuantityError, time_ns};
use crate::exit::UsageError;
use account::planned::{self, ALLOW_DEFAULT, CONFIDENCE_DEFAULT};
use archive::reader::Run;
use claims::limit::{Limit, Rate, Requirement};
use clap::{Args, ValueEnum};
use judge::machine::DoubtKind;

/// Limits that must hold, and how they are claimed.
#[derive(Debug, Clone, Args)]
pub struct LimitArguments {
    /// Limit that must hold: 100us, 'latency < 100us', 'p99.9 < 50us', 'missed < 1/h'; may be repeated [default: the limits of the
    /// run's plan, or its --limit]
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<String>,
    #[command(flatten)]
    claim: ClaimArguments,
}

/// How often a limit may be broken, how sure the verdict must be, and which doubts about the machine count.
#[derive(Debug, Clone, Args)]
pub struct ClaimArguments {
    /// How often a latency may be exceeded on each CPU, like 1/h, 3/day or never
    #[arg(long, value_name = "RATE", default_value = ALLOW_DEFAULT, value_parser = Rate::parse, allow_hyphen_values = true)]
    allow: Rate,
    /// Confidence of the verdict, in percent [default: from the run's plan, or 95]
    #[arg(long, value_name = "PERCENT", value_parser = confidence)]
    confidence: Option<f64>,
    /// Let this kind of machine pass a limit [default: those that the run's plan accepts]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    accept: Vec<AcceptName>,
}

/// A confidence as typed, in percent; returns it in 0 .. 1.
///
/// # Errors
/// Describes the expected form.
pub fn confidence(text: &str) -> Result<f64, QuantityError> {
    let percent: f64 = text.trim().trim_end_matches('%').trim_end().parse().map_err(|_| QuantityError::Percentage)?;
    planned::confidence(percent).ok_or(QuantityError::Confidence)
}

/// A limit with the rate that it allows.
pub fn described(limit: &Limit) -> String {
    match (&limit.requirement, &limit.allow) {
        (Requirement::Latency { .. }, Some(rate)) if rate.per_hour <= 0.0 => {
            format!("{}, never exceeded on any CPU", limit.text)
        }
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

impl ClaimArguments {
    /// The limit that no wake-up is later than this, as often as allowed.
    pub fn on_latency(&self, latest_ns: i64) -> Limit {
        planned::on_latency(latest_ns, &self.allow)
    }

    /// The confidence of the command line, in 0 .. 1, for judgements without the plan of a run.
    pub fn confidence(&self) -> f64 {
        self.confidence.unwrap_or(CONFIDENCE_DEFAULT)
    }

    /// Doubts about the machine that do not prevent a pass.
    pub fn accepted(&self) -> Vec<DoubtKind> {
        self.accept.iter().map(|name| name.kind()).collect()
    }
}

impl LimitArguments {
    /// As the command line `--limit LIMIT --allow RATE --confidence PERCENT` would be.
    ///
    /// # Errors
    /// Describes the expected form.
    pub fn asked(limit: Option<&str>, allow: Option<&str>, percent: Option<&str>) -> Result<Self, UsageError> {
        let allow = Rate::parse(allow.unwrap_or(ALLOW_DEFAULT)).map_err(|why| UsageError(why.to_string()))?;
        let confidence = percent.map(confidence).transpose().map_err(|why| UsageError(why.to_string()))?;
        let claim = ClaimArguments { allow, confidence, accept: Vec::new() };
        Ok(Self { limits: limit.map(str::to_owned).into_iter().collect(), claim })
    }

    /// The limits of the command line.
    ///
    /// # Errors
    /// If one of them is invalid.
    pub fn typed(&self) -> Result<Vec<Limit>, UsageError> {
        self.limits
            .iter()
            .map(|text| Limit::parse(text, &self.claim.allow, time_ns).map_err(|error| UsageError(error.to_string())))
            .collect()
    }

    /// Whether the command line has a limit, a confidence or an accepted machine.
    pub fn is_typed(&self) -> bool {
        !self.limits.is_empty() || self.claim.confidence.is_some() || !self.claim.accept.is_empty()
    }

    /// The limits of the command line, or else of the run's plan, or else the limit that the run was measured with.
    ///
    /// # Errors
    /// If a limit of the command line is invalid.
    pub fn of(&self, run: &Run) -> Result<Vec<Limit>, UsageError> {
        let typed = self.typed()?;
        Ok(if typed.is_empty() { planned::limits_of(run, &self.claim.allow) } else { typed })
    }

    /// The confidence of the command line, in 0 .. 1, for judgements without the plan of a run.
    pub fn confidence(&self) -> f64 {
        self.claim.confidence()
    }

    /// The confidence of the command line, or else of the run's plan, in 0 .. 1.
    pub fn confidence_of(&self, run: &Run) -> f64 {
        self.claim.confidence.unwrap_or_else(|| run.planned.as_ref().map_or(CONFIDENCE_DEFAULT, planned::confidence_of))
    }

    /// Doubts about the machine that do not prevent a pass, from the command line, or else from the run's plan.
    pub fn accepted_of(&self, run: &Run) -> Vec<DoubtKind> {
        match &run.planned {
            Some(planned) if self.claim.accept.is_empty() => planned::accepted(planned),
            _ => self.claim.accepted(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::planned::PlannedStep;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        limits: LimitArguments,
    }

    fn typed(words: &[&str]) -> LimitArguments {
        Line::try_parse_from([&["judge"], words].concat()).unwrap().limits
    }

    fn run_of_a_plan(confidence_percent: f64) -> Run {
        let planned = PlannedStep {
            plan: "x".into(),
            text: String::new(),
            step: 1,
            steps: 1,
            target: "local".into(),
            kernel: None,
            load: "none".into(),
            variant: None,
            repetition: 1,
            limits: Vec::new(),
            confidence_percent,
            accept: vec!["virtual".into(), "nonsense".into()],
        };
        Run { planned: Some(planned), ..Run::default() }
    }

    #[test]
    fn what_a_plan_said_holds_until_something_else_is_typed() {
        let run = run_of_a_plan(99.0);
        assert_eq!((typed(&[]).confidence_of(&run), typed(&[]).accepted_of(&run)), (0.99, vec![DoubtKind::Virtual]));
        let other = typed(&["--confidence", "90", "--accept", "non-rt"]);
        assert_eq!((other.confidence_of(&run), other.accepted_of(&run)), (0.9, vec![DoubtKind::NonRt]));
        assert_eq!(typed(&[]).confidence_of(&run_of_a_plan(f64::NAN)), 0.95);
        assert_eq!((typed(&[]).confidence_of(&Run::default()), typed(&[]).confidence()), (0.95, 0.95));
        assert!(typed(&[]).accepted_of(&Run::default()).is_empty());
    }

    #[test]
    fn confidences_are_percentages() {
        assert_eq!((confidence("95"), confidence("99.9 %")), (Ok(0.95), Ok(0.999)));
        for text in ["0.95", "100", "", "x", "nan", "49"] {
            assert!(confidence(text).is_err(), "{text}");
        }
    }
}
