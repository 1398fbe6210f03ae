//! Results of runs for test systems: cases with an outcome, figures with a unit.
//!
//! A case without a limit is *measured*, never passed: a format without that outcome gets the nearest one that is not
//! "pass". The other outcomes correspond to those of `judge`.

pub(crate) mod naming;

use archive::culprit::Culprit;
use archive::explanation::{Confidence, ExplanationStatus};
use archive::planned::PlannedStep;
use archive::problem::Remark;
use archive::summary::{LatencyFigures, RunSummary, SpikeSummary};
use judge::verdict::{Judgement, Verdict};
use naming::{distinct_names, run_identifier, run_name, word};
use report::watched::subjects;
use words::printable::printable;
use words::vocabulary;

/// The outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    Fail,
    /// Judged, but neither PASS nor FAIL is shown.
    Undecided,
    /// There is no limit.
    Measured,
    /// The run is unusable.
    Error,
}

impl Outcome {
    fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::NotEnoughData | Verdict::NoVerdict => Self::Undecided,
        }
    }
}

/// The kind of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Whether anything usable was measured.
    Measurement,
    /// Whether a limit holds.
    Limit,
}

/// A question that a test system stores under a name, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub question: Question,
    /// Contains only letters, digits, `-` and `_`; the same for the same question in every run.
    pub name: String,
    pub outcome: Outcome,
    /// The answer in a sentence.
    pub sentence: String,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Microseconds,
    Count,
}

impl Unit {
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Count => "count",
        }
    }
}

/// A figure of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// In the form of [`Case::name`]: `cpu0_latency_p99`.
    pub name: String,
    pub value: f64,
    pub unit: Unit,
}

/// A cause that explained spikes of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub culprit: Culprit,
    /// The finding of the worst of its spikes.
    pub sentence: String,
    pub spikes: usize,
    pub latency_ns_max: i64,
    /// The highest confidence of its findings.
    pub confidence: Confidence,
}

/// One run.
#[derive(Debug, Clone)]
pub struct RunResults {
    /// Target and loads, `board3.messaging`, for a step of a plan after the plan's name. It contains letters, digits,
    /// `-`, `_` and `.`; a number makes it unique.
    pub name: String,
    /// The plan whose round the run belongs to; otherwise its own name.
    pub suite: String,
    /// Unique identifier.
    pub id: String,
    /// A warning that belongs before every figure, such as that of an emulated machine.
    pub warning: Option<&'static str>,
    pub cases: Vec<Case>,
    pub figures: Vec<Figure>,
    /// Sorted by their worst spike.
    pub causes: Vec<Cause>,
    /// Latencies in ns of the unexplained spikes, the worst first.
    pub unexplained: Vec<i64>,
    pub judgements: Vec<Judgement>,
    pub summary: RunSummary,
}

impl RunResults {
    /// `summary` contains the explanations, `judgements` one entry per limit.
    pub fn of(summary: RunSummary, planned: Option<&PlannedStep>, judgements: Vec<Judgement>) -> Self {
        let name = run_name(&summary, planned);
        Self {
            suite: name.clone(),
            name,
            id: run_identifier(&summary, started_unix_s(&summary).unwrap_or(0)),
            warning: warning(&summary),
            cases: cases(&summary, &judgements),
            figures: figures(&summary),
            causes: causes(&summary),
            unexplained: unexplained(&summary),
            judgements,
            summary,
        }
    }

    /// The part of the name that distinguishes the run within its suite; `None` if it is the whole suite.
    pub fn within_suite(&self) -> Option<&str> {
        self.name.split_once('.').map(|(_, rest)| rest).filter(|_| self.suite != self.name)
    }

    /// `None` if another tool measured and did not note it.
    pub fn started_unix_s(&self) -> Option<u64> {
        started_unix_s(&self.summary)
    }

    /// See [`Self::started_unix_s`].
    pub fn measured_s(&self) -> Option<f64> {
        let nothing = self.summary.imported.is_none().then_some(0.0);
        self.summary.measured_ns.map(|ns| ns as f64 / 1e9).or(nothing)
    }

    /// Facts about the machine without which nobody can interpret the figures, as names and values.
    pub fn circumstances(&self) -> Vec<(&'static str, String)> {
        let mut list = vec![("run", self.id.clone()), ("target", self.summary.target.clone())];
        if let Some(environment) = &self.summary.environment {
            list.push(("kernel", environment.kernel_release.clone()));
            list.push(("kernel_version", environment.kernel_version.clone()));
            list.push(("architecture", environment.architecture.clone()));
            let optional = [
                ("command_line", &environment.command_line),
                ("preemption", &environment.preemption),
                ("cpu_model", &environment.cpu_model),
                ("clocksource", &environment.clocksource),
                ("virtualisation", &environment.virtualisation),
            ];
            list.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        }
        let clock = match (self.summary.virtual_time, self.summary.emulated) {
            (true, _) => "virtual time",
            (false, true) => "emulated",
            (false, false) => "real",
        };
        list.push(("time", clock.into()));
        list.extend(self.summary.tracing.clone().map(|tracing| ("tracing", tracing)));
        list.extend(self.summary.measured_ns.map(|ns| ("measured_s", format!("{:.3}", ns as f64 / 1e9))));
        list.into_iter().map(|(name, value)| (name, printable(&value))).collect()
    }
}

/// Makes the names of runs unique, in order.
pub fn make_names_distinct(runs: &mut [RunResults]) {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for (run, name) in runs.iter_mut().zip(distinct_names(&names)) {
        if run.suite == run.name {
            run.suite.clone_from(&name);
        }
        run.name = name;
    }
}

/// Puts these runs, the steps of one round, into a suite with the name of their plan, with a number if it is `taken`.
pub fn gather(steps: &mut [RunResults], plan: &str, taken: &[String]) {
    let names = [taken, &[word(plan)]].concat();
    let Some(suite) = distinct_names(&names).pop() else { return };
    steps.iter_mut().for_each(|step| step.suite.clone_from(&suite));
}

fn started_unix_s(summary: &RunSummary) -> Option<u64> {
    let started = summary.started_unix_ns.and_then(|ns| u64::try_from(ns / 1_000_000_000).ok());
    started.or(summary.imported.is_none().then_some(0))
}

pub fn warning(summary: &RunSummary) -> Option<&'static str> {
    match (summary.virtual_time, summary.emulated) {
        (true, _) => Some("virtual time: executed instructions were counted; no real-time figures"),
        (false, true) => Some("emulated machine: these latencies mean nothing as real-time figures"),
        (false, false) => None,
    }
}

fn cases(summary: &RunSummary, judgements: &[Judgement]) -> Vec<Case> {
    let measurement =
        |outcome, sentence| Case { question: Question::Measurement, name: "measurement".into(), outcome, sentence };
    let measurement = if summary.valid {
        let word = vocabulary::sample(summary);
        let maximum = |ns| vocabulary::largest(word, &vocabulary::maximum(summary, ns));
        let worst = summary.all_cpus.max.map_or(String::new(), |ns| format!("; {}", maximum(ns)));
        let sentence = format!("measured on {}{worst}", subjects(summary, summary.cpus.len()));
        measurement(Outcome::Measured, sentence)
    } else {
        let because = printable(&Remark::joined(&summary.invalid_because));
        measurement(Outcome::Error, format!("not valid: {because}"))
    };
    let judged = judgements.iter().map(|judgement| Case {
        question: Question::Limit,
        name: word(&judgement.limit.text.replace("<=", "le").replace('<', "lt")),
        outcome: if summary.valid { Outcome::of(judgement.verdict) } else { Outcome::Error },
        // A run that was stopped early may have been judged by what it had measured.
        sentence: match summary.valid || judgement.verdict == Verdict::NoVerdict {
            true => printable(&judgement.sentence),
            false => format!("not judged: {}", printable(&Remark::joined(&summary.invalid_because))),
        },
    });
    std::iter::once(measurement).chain(judged).collect()
}

fn figures(summary: &RunSummary) -> Vec<Figure> {
    let count = |name: String, value: u64| Figure { name, value: value as f64, unit: Unit::Count };
    let mut figures = latencies("latency", &summary.all_cpus);
    for cpu in &summary.cpus {
        let of = match &cpu.watched {
            None => format!("cpu{}", cpu.cpu),
            Some(_) => format!("thread{}", cpu.thread),
        };
        figures.extend(latencies(&format!("{of}_latency"), &cpu.latency_ns));
        figures.push(count(format!("{of}_cycles"), cpu.cycles));
        figures.extend(cpu.missed.map(|missed| count(format!("{of}_missed"), missed)));
    }
    figures.extend(summary.loads.iter().map(|load| count(format!("load_{}", word(&load.name)), load.progress)));
    figures
}

fn latencies(of: &str, figures: &LatencyFigures) -> Vec<Figure> {
    let ns = |ns: Option<i64>| ns.map(|ns| ns as f64);
    let named = [
        ("min", ns(figures.min)),
        ("mean", figures.mean),
        ("p50", ns(figures.p50)),
        ("p99", ns(figures.p99)),
        ("p99_9", ns(figures.p99_9)),
        ("p99_99", ns(figures.p99_99)),
        ("max", ns(figures.max)),
    ];
    let finite = named.into_iter().filter_map(|(name, ns)| Some((name, ns.filter(|ns| ns.is_finite())?)));
    // Rounded to whole nanoseconds, the resolution of the measurement.
    finite
        .map(|(name, ns)| Figure { name: format!("{of}_{name}"), value: ns.round() / 1e3, unit: Unit::Microseconds })
        .collect()
}

fn causes(summary: &RunSummary) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    // Spikes are sorted by latency, so the first of a cause is its worst wake-up.
    for spike in summary.late_spikes() {
        let Some(explanation) = &spike.explanation else { continue };
        let explained = explanation.status == ExplanationStatus::Explained;
        let Some(finding) = explanation.findings.first().filter(|_| explained) else { continue };
        let culprit = Culprit::from(word(finding.culprit.id()));
        match causes.iter_mut().find(|cause| cause.culprit == culprit) {
            Some(cause) => {
                cause.spikes += 1;
                cause.confidence = cause.confidence.max(finding.confidence);
            }
            None => causes.push(Cause {
                culprit,
                sentence: printable(&finding.sentence),
                spikes: 1,
                latency_ns_max: spike.latency_ns,
                confidence: finding.confidence,
            }),
        }
    }
    causes
}

fn unexplained(summary: &RunSummary) -> Vec<i64> {
    let explained = |spike: &&SpikeSummary| {
        spike.explanation.as_ref().is_some_and(|explanation| explanation.status == ExplanationStatus::Explained)
    };
    summary.late_spikes().filter(|spike| !explained(spike)).map(|spike| spike.latency_ns).collect()
}
