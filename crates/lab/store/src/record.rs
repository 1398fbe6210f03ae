//! A run in the index: condensed once, when it is added, so that no page opens an archive for it.

#[cfg(test)]
mod agreement;

use crate::kernel_line::kernel_line;
use crate::label::{hex, hex_of, label};
use crate::outline::Outline;
use crate::standing::Standing;
use crate::summable::summable;
use account::Account;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::histogram::Histogram;
use archive::summary::{CountedLimit, LatencyFigures, RunSummary, headline};
use claims::figure_name::FigureName;
use judge::history::scenario;
use judge::step::StepVerdict;
use report::conditions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A longer summary is shortened.
const SUMMARY_BYTES_MAX: usize = 64 << 10;
/// A longer fingerprint, or longer settings, are left out.
const DOCUMENT_BYTES_MAX: usize = 256 << 10;
/// Causes of a run that are counted, the most frequent first.
const CAUSES_MAX: usize = 100;
/// Names of the spikes that nothing explains.
pub(crate) const NOT_EXPLAINED: &str = "not explained";
pub(crate) const NO_TRACE: &str = "no trace";

/// The figures of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredFigures {
    pub latency_ns: LatencyFigures,
    /// Figures that `judge` compares in a history; empty if the run is not valid.
    pub compared: BTreeMap<FigureName, f64>,
    pub samples: f64,
}

/// The spikes of one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CauseCount {
    pub spikes: i64,
    pub latency_max_ns: i64,
    /// Time that the cause took of the latencies; of a spike without a cause its whole latency.
    pub lost_ns: i64,
}

/// A document that many runs share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// SHA-256 of the text; empty without one.
    pub name: String,
    pub json: String,
}

impl Document {
    fn of(value: Option<&impl Serialize>) -> Self {
        let json = value.and_then(|value| serde_json::to_string(value).ok());
        let json = json.filter(|json| json.len() <= DOCUMENT_BYTES_MAX);
        json.map_or_else(Self::default, |json| Self { name: hex(json.as_bytes()), json })
    }
}

/// A run as rows of the index.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    pub id: String,
    pub scenario: String,
    pub words: String,
    pub board: String,
    pub load: String,
    pub method: String,
    pub kernel: String,
    pub kernel_line: String,
    pub preemption: String,
    pub environment: Document,
    pub settings: Document,
    pub started_unix_ns: i64,
    pub measured_ns: i64,
    pub state: String,
    pub valid: bool,
    pub degraded: bool,
    pub emulated: bool,
    pub virtual_time: bool,
    pub verdict: StepVerdict,
    pub standing: Standing,
    pub samples: i64,
    pub latency_max_ns: Option<i64>,
    pub limit_ns: Option<i64>,
    pub over_limit: i64,
    pub missed: Option<i64>,
    pub spikes: i64,
    pub worst_cause: Option<String>,
    pub histogram: Histogram,
    pub outline: Outline,
    pub figures: StoredFigures,
    pub summary: String,
    pub causes: BTreeMap<String, CauseCount>,
}

impl RunRecord {
    pub fn of(account: Account) -> Self {
        let (run, summary) = (account.run(), account.summary());
        let mut histogram = Histogram::default();
        headline(run).for_each(|thread| histogram.merge(&thread.histogram));
        let outline = Outline::of(&histogram);
        let total = |count: fn(&archive::sample::Totals) -> u64| {
            headline(run).fold(0, |sum: u64, thread| sum.saturating_add(count(&thread.totals)))
        };
        let limit_ns = summary.settings.as_ref().and_then(|settings| settings.limit_ns);
        let words = scenario(summary);
        let board = label(board(summary));
        let (kernel, preemption) = (label(&conditions::kernel(summary)), label(conditions::preemption(summary)));
        let environment = summary.environment.as_ref();
        let imported = summary.imported.as_ref();
        let spikes = summary.late_spikes().count() as i64;
        let worst = summary.worst_spike();
        let worst_cause = worst.and_then(|worst| cause(account.explanation_of(worst.spike.number)?));
        let history = account.history_figures();
        // An invalid run has no figure, on any page and in any document.
        let figures = StoredFigures {
            latency_ns: if summary.valid { summary.all_cpus.clone() } else { LatencyFigures::default() },
            samples: history.as_ref().map_or(0.0, |history| history.samples),
            compared: history.map(|history| history.values).unwrap_or_default(),
        };
        let verdict = account.verdict();
        Self {
            id: label(&summary.id),
            scenario: hex_of(&[&board, &words]),
            words: label(&words),
            load: label(&conditions::load(summary)),
            method: label(&conditions::method(summary).unwrap_or_else(|| "timer".into())),
            kernel_line: kernel_line(&kernel, environment.is_some_and(|machine| machine.preempt_rt == Some(true))),
            board,
            kernel,
            preemption,
            environment: Document::of(environment),
            settings: Document::of(summary.settings.as_ref()),
            started_unix_ns: summary
                .started_unix_ns
                .or(imported.map(|imported| imported.imported_unix_ns))
                .unwrap_or_default(),
            measured_ns: summary.measured_ns.unwrap_or_default().max(0),
            state: word(&summary.state),
            valid: summary.valid,
            degraded: conditions::reservations(summary).is_some(),
            emulated: summary.emulated,
            virtual_time: summary.virtual_time,
            verdict,
            standing: Standing::of(verdict, CountedLimit::of(summary)),
            samples: signed(total(|totals| totals.cycles)),
            latency_max_ns: figures.latency_ns.max,
            limit_ns,
            over_limit: signed(summary.limited_samples().0),
            missed: imported.is_none().then(|| signed(total(|totals| totals.missed_periods))),
            spikes,
            worst_cause,
            histogram,
            outline,
            figures,
            causes: causes(&account),
            summary: shortened(account.into_summary()),
        }
    }
}

/// The board of a run: its target as the user named it, or the machine's own name.
fn board(summary: &RunSummary) -> &str {
    let hostname = summary.environment.as_ref().map_or("", |environment| environment.hostname.as_str());
    match summary.target.as_str() {
        "" | "local" => hostname,
        target => target,
    }
}

fn cause(explanation: &Explanation) -> Option<String> {
    match (explanation.status, explanation.findings.first()) {
        (ExplanationStatus::Explained, Some(finding)) => Some(label(finding.culprit.id())),
        (ExplanationStatus::NoTrace, _) => None,
        _ => Some(NOT_EXPLAINED.into()),
    }
}

/// The part of the latency that the named cause took.
fn lost_ns(explanation: &Explanation) -> Option<i64> {
    let explained = explanation.status == ExplanationStatus::Explained;
    explanation.findings.first().filter(|_| explained).map(|finding| finding.ns)
}

fn causes(account: &Account) -> BTreeMap<String, CauseCount> {
    let mut causes: BTreeMap<String, CauseCount> = BTreeMap::new();
    for spike in account.summary().late_spikes() {
        let explanation = account.explanation_of(spike.spike.number);
        let cause = explanation.and_then(cause).unwrap_or_else(|| NO_TRACE.into());
        let lost_ns = explanation.and_then(lost_ns).unwrap_or(spike.latency_ns);
        let counted = causes.entry(cause).or_default();
        counted.spikes += 1;
        counted.latency_max_ns = counted.latency_max_ns.max(spike.latency_ns);
        counted.lost_ns = counted.lost_ns.saturating_add(summable(lost_ns));
    }
    let mut ranked: Vec<(String, CauseCount)> = causes.into_iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(count.spikes));
    ranked.into_iter().take(CAUSES_MAX).collect()
}

/// The rest of the summary: without spikes, which are in the archive, and without what has its own columns.
fn shortened(mut summary: RunSummary) -> String {
    summary.archive = String::new();
    summary.spikes.clear();
    summary.counted.clear();
    summary.counters.clear();
    summary.kernel_series.clear();
    summary.latency_traces.clear();
    (summary.environment, summary.settings, summary.effective, summary.storage) = (None, None, None, None);
    let text = |summary: &RunSummary| serde_json::to_string(summary).expect("a summary has only string keys");
    let mut json = text(&summary);
    if json.len() > SUMMARY_BYTES_MAX {
        summary.cpus.clear();
        summary.losses.clear();
        summary.problems.clear();
        summary.gaps.clear();
        json = text(&summary);
    }
    if json.len() > SUMMARY_BYTES_MAX {
        summary.command.clear();
        summary.ingredients.clear();
        summary.invalid_because.clear();
        summary.loads.clear();
        summary.imported = None;
        summary.tracing = None;
        summary.meter_version = None;
        for text in [&mut summary.id, &mut summary.target, &mut summary.tool_version] {
            *text = label(text);
        }
        json = text(&summary);
    }
    json
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A value as serde writes it: one word.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => unreachable!("{other:?} is not a word"),
    }
}

/// The value that [`word`] wrote.
pub fn of_word<T: for<'a> Deserialize<'a>>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}
