//! The account of one spike on a page: the owner of the CPU in each phase, the cause, and what to do.

use super::functions;
use super::own_code;
use super::timeline::{self, Canvas};
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use ::account::Account;
use archive::explanation::{Explanation, ExplanationStatus, Finding, Owner};

use archive::method::SampleWord;
use archive::recorded::FlightRecording;
use archive::spike::{Spike, SpikeReason};
use report::account::culprit;
use words::figures::{count, latency, microseconds};
use words::saved;
use words::vocabulary::{by, confidence_phrase, owner_before_name};

const BAR_COLUMNS: i64 = 6;
const EVIDENCE_INDENT: usize = 7;
const NAME_COLUMNS: usize = 31;
/// Columns of the ledger next to the names.
const FIGURES_COLUMNS: usize = 49;
/// Longer names are cut: they do not help the reader.
const NAME_COLUMNS_MAX: usize = 90;

pub fn lay_out(spike: &Spike, account: &Account, canvas: Option<Canvas>, page: &mut Page) {
    let manifest = account.run().manifest.as_ref();
    let settings = manifest.and_then(|manifest| manifest.settings.as_ref());
    let kept = Kept {
        is_imported: manifest.is_some_and(|manifest| manifest.imported.is_some()),
        without_limit: settings.is_some_and(|settings| {
            let cycle_limit_ns = settings.watch.as_ref().and_then(|watch| watch.cycle_limit_ns);
            settings.limit_ns.is_none() && cycle_limit_ns.is_none()
        }),
        of_its_stretch: false,
    };
    let kept = Kept { of_its_stretch: account.run().is_maximum_of_its_stretch_alone(spike), ..kept };
    let explanation = account.explanation_of(spike.number);
    lay_out_explained(spike, explanation, kept, account.sample_word(), canvas, page);
}

/// The run's settings that decide why a spike was kept.
#[derive(Clone, Copy, Default)]
pub struct Kept {
    is_imported: bool,
    /// The watch had no limit, and counted lines.
    without_limit: bool,
    /// An earlier one of the run was larger.
    of_its_stretch: bool,
}

/// The same of a spike without its archive.
pub fn lay_out_explained(
    spike: &Spike,
    explanation: Option<&Explanation>,
    kept: Kept,
    word: SampleWord,
    canvas: Option<Canvas>,
    page: &mut Page,
) {
    let requested = saved::by_whom(spike.request.as_ref());
    let reason = match spike.reason {
        _ if spike.requested => requested.as_str(),
        SpikeReason::NewMaximum if kept.is_imported => "among the worst",
        SpikeReason::NewMaximum if explanation.is_some_and(|known| known.recording.is_some()) => "recorded afterwards",
        SpikeReason::NewMaximum if kept.of_its_stretch => "among the worst of its hour",
        SpikeReason::NewMaximum => "a new maximum",
        SpikeReason::OverLimit if kept.without_limit => "ten times the mean",
        SpikeReason::OverLimit => "over the limit",
        SpikeReason::Control => "an ordinary sample, for comparison",
    };
    let sample = &spike.sample;
    page.heading(&format!(
        "Spike {}: CPU {}, {}, {reason} (cycle {})",
        spike.number,
        sample.cpu,
        by(word, &latency(sample.latency_ns)),
        sample.cycle
    ));
    page.wrapped("", &culprit(explanation));
    if let Some(why) = &spike.snapshot_missing {
        page.wrapped("  ", why);
    }
    let Some(explanation) = explanation else { return };
    if explanation.status != ExplanationStatus::NoTrace {
        if let Some(canvas) = canvas {
            timeline::lay_out(spike, explanation, word, canvas, page);
        }
        ledger(explanation, page);
        if !explanation.elsewhere.is_empty() {
            page.blank();
            explanation.elsewhere.iter().for_each(|sentence| page.wrapped("  ", sentence));
        }
    }
    if let Some(recording) = &explanation.recording {
        page.wrapped("  ", &recorded(recording));
    }
    if let Some(account) = &explanation.functions {
        functions::lay_out(account, page);
    }
    if let Some(own) = &explanation.own_code {
        own_code::lay_out(own, page);
    }
    for (at, finding) in explanation.findings.iter().enumerate() {
        lay_out_finding(at + 1, finding, page);
    }
    if !explanation.caveats.is_empty() {
        page.blank();
        explanation.caveats.iter().for_each(|caveat| page.wrapped("  but ", &caveat.text));
    }
}

/// The evidence for an account in virtual time.
fn recorded(recording: &FlightRecording) -> String {
    format!(
        "Virtual time: one instruction is one nanosecond. Recorded from outside of the machine, in a second run whose {} \
         samples equal the samples of the first: not one nanosecond was added.",
        count(recording.samples_identical)
    )
}

fn ledger(explanation: &Explanation, page: &mut Page) {
    if page.columns() < NAME_COLUMNS + FIGURES_COLUMNS {
        return narrow_ledger(explanation, page);
    }
    let room = (page.columns() - FIGURES_COLUMNS).min(NAME_COLUMNS_MAX);
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Right, Align::Left]);
    table.row(["phase", "who held the CPU", "µs", "share", ""]);
    for phase in &explanation.phases {
        for (at, owner) in phase.owners.iter().enumerate() {
            let title = if at == 0 { phase.name.title().into() } else { String::new() };
            let name = shortened(&titled(owner), room);
            let (share, bar) = share_of(owner.ns, explanation.latency_ns);
            table.row([title, name, microseconds(owner.ns), share, bar]);
        }
    }
    let total: i64 = explanation.phases.iter().map(|phase| phase.ns).sum();
    table.row(["sum".into(), String::new(), microseconds(total), String::new(), String::new()]);
    page.blank();
    page.table(&table);
}

/// One line per phase, with its owners below.
fn narrow_ledger(explanation: &Explanation, page: &mut Page) {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
    table.row(["who held the CPU", "µs", "share"]);
    for phase in &explanation.phases {
        table.row([phase.name.title().to_owned(), microseconds(phase.ns), String::new()]);
        for owner in &phase.owners {
            let name = shortened(&titled(owner), page.columns().saturating_sub(22).max(12));
            table.row([format!("  {name}"), microseconds(owner.ns), share_of(owner.ns, explanation.latency_ns).0]);
        }
    }
    let total: i64 = explanation.phases.iter().map(|phase| phase.ns).sum();
    table.row(["sum".into(), microseconds(total), String::new()]);
    page.blank();
    page.table(&table);
}

/// An owner with its kind; the kind is left out where it repeats the name, as for the idle task.
fn titled(owner: &Owner) -> String {
    match owner_before_name(owner.kind) {
        kind if owner.name.is_empty() || kind == owner.name => kind.to_owned(),
        kind => format!("{kind} {}", owner.name),
    }
}

fn lay_out_finding(number: usize, finding: &Finding, page: &mut Page) {
    page.blank();
    let head =
        format!("  {number}. {} ({}, {})", finding.culprit, confidence_phrase(finding.confidence), latency(finding.ns));
    page.line(&head);
    page.wrapped("     ", &finding.sentence);
    for line in &finding.evidence {
        page.record(EVIDENCE_INDENT, line);
    }
    for (word, text) in [("confirm  ", &finding.confirm), ("fix      ", &finding.fix)] {
        if !text.is_empty() {
            page.wrapped(&format!("     {word}"), text);
        }
    }
}

fn share_of(ns: i64, latency_ns: i64) -> (String, String) {
    if latency_ns <= 0 {
        return (String::new(), String::new());
    }
    let of = |whole: i64| (i128::from(ns) * i128::from(whole) / i128::from(latency_ns)) as i64;
    (format!("{} %", of(100)), "█".repeat(of(BAR_COLUMNS).clamp(0, BAR_COLUMNS) as usize))
}

fn shortened(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room - 1).chain(['…']).collect()
}
