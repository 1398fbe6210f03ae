//! The result in a few sentences: how late, where, why, whether the figures may be used, and what they do not prove.

use super::super::number;
use super::said;
use crate::account::{measured_by, tracing};
use crate::conditions::{are_known, conditions};
use crate::watched::{KINDS, cycle_judgement, is_recording, is_watch, meaning, verdict, whom};
use archive::explanation::ExplanationStatus;
use archive::message::Severity;
use archive::summary::{CpuSummary, ReportData, RunSummary, SpikeSummary};
use maud::{Markup, html};
use words::figures::latency;
use words::vocabulary;

pub fn answer(data: &ReportData) -> Markup {
    let summary = &data.summary;
    let word = vocabulary::sample(summary);
    let samples = summary.headline_samples();
    html! {
        @if summary.emulated || summary.virtual_time || !summary.valid { (validity(summary)) }
        @match summary.worst() {
            Some((cpu, latency_ns)) if is_watch(summary) => {
                @if is_audit(summary) { (audited()) }
                p.verdict { (said(verdict(summary))) }
                @if !is_audit(summary) { (why(summary, cpu, latency_ns)) }
                (circumstances(summary))
                (watched(summary))
                (limit(summary))
                (cycle_limit(summary))
                (recorded(summary))
                (caution(summary))
            },
            Some((cpu, latency_ns)) => {
                p.verdict {
                    "The " (word.worst) " of " (number::grouped(samples)) " " (word.for_count(samples))
                    @if word.is_wake_up() { " was " } @else { " took " }
                    @if is_least(summary) { "at least " }
                    strong.worst { (number::micros_unit(latency_ns)) }
                    @if word.is_wake_up() { " late" }
                    ", on CPU " (cpu.cpu)
                    @if let Some(at) = instant_of_worst(summary, cpu) { ", " (number::duration(at)) " into the run" }
                    "."
                }
                (why(summary, cpu, latency_ns))
                (circumstances(summary))
                (limit(summary))
                (recorded(summary))
                (caution(summary))
            },
            None => {
                @if is_audit(summary) { (audited()) } @else { p.verdict data-note="nothing-measured" { "Nothing was measured." } }
            },
        }
        @if !summary.emulated && !summary.virtual_time && summary.valid { (validity(summary)) }
    }
}

/// Whether the source may have cut off larger values than the maximum.
fn is_least(summary: &RunSummary) -> bool {
    summary.imported.as_ref().is_some_and(|imported| imported.maximum_truncated)
}

pub fn is_audit(summary: &RunSummary) -> bool {
    summary.settings.as_ref().is_some_and(|settings| settings.audit.is_some())
}

/// Says that findings of an audit are not on this page: the program that reads the recording judges it.
fn audited() -> Markup {
    html! {
        p.validity role="note" data-note="audit" {
            strong { "This is an audit. " }
            "A list of the program's requests to the kernel, with the ones that can cost a deadline: "
            code { "tardy audit --archive RUN" }
            ". The latencies below are a by-product: every recorded call delays its thread, and no trace of a late wake-up is kept."
        }
    }
}

/// The conditions of the figures.
fn circumstances(summary: &RunSummary) -> Markup {
    html! {
        @if are_known(summary) {
            dl.conditions aria-label="Conditions" {
                @for (name, phrase) in conditions(summary) { div { dt { (name) } dd { (said(phrase)) } } }
            }
        }
    }
}

fn validity(summary: &RunSummary) -> Markup {
    let degraded = summary.problems.iter().filter(|problem| problem.severity == Severity::Degraded).count();
    html! {
        @if summary.virtual_time {
            p.validity.invalid role="note" data-note="virtual-time" {
                strong { "These figures are virtual time. " }
                "They count executed instructions, one nanosecond each. They repeat exactly and compare kernels, paths "
                "and settings; they prove no deadline of any hardware."
            }
        } @else if summary.emulated {
            p.validity.invalid role="note" data-note="emulated" {
                strong { "This machine was emulated. " }
                "Its latencies mean nothing as real-time figures, and no limit is judged by them. What ran, in which "
                "order and why is real; how long it took is not."
            }
        }
        @if !summary.valid {
            div.validity.invalid role="note" data-note="invalid" {
                p { strong { "This run is not valid. " } "Its numbers must not be used for what was asked, because:" }
                ul { @for reason in &summary.invalid_because { li { (said(&reason.text)) } } }
            }
        } @else if let Some(imported) = &summary.imported {
            p.validity {
                strong { "Imported" }
                " from " (said(&imported.file_name)) ", "
                (if is_recording(summary) { "recorded" } else { "measured" }) " by " (said(measured_by(imported)))
                ". Nothing in the file speaks against the numbers, but "
                a href="#losses" { "what the source did not keep" }
                " is unknown here, too."
            }
        } @else if !summary.emulated {
            p.validity data-note="valid" {
                "Measured as requested (" (vocabulary::state(summary.state)) ")"
                @if degraded > 0 {
                    ", except that " a href="#losses" {
                        @if degraded == 1 { "one condition differed" }
                        @else { (degraded) " conditions differed" }
                    }
                }
                @if !summary.gaps.is_empty() { ", and " a href="#losses" { "parts of the archive are missing" } }
                "."
            }
        }
    }
}

fn why(summary: &RunSummary, cpu: &CpuSummary, latency_ns: i64) -> Markup {
    let spike = summary.spikes.iter().find(|spike| is_worst(spike, cpu, latency_ns));
    let largest = summary.worst_spike();
    let word = vocabulary::sample(summary);
    html! {
        p.why {
            strong {
                @if is_watch(summary) {
                    "Why the worst, " (latency(latency_ns)) " of " (said(vocabulary::series(cpu))) ": "
                } @else { "Why: " }
            }
            @match (spike, largest) {
                (Some(spike), _) => (cause(spike)),
                (None, Some(other)) => {
                    "no trace of that " (word.one) " was kept. The largest with a trace is "
                    a href={ "#spike-" (other.spike.number) } { (number::micros_unit(other.latency_ns)) } ": " (cause(other))
                },
                (None, None) if summary.imported.is_some() => { "unknown. An imported result holds no traces." },
                (None, None) => {
                    "unknown. No trace of a " (word.late) " " (word.one) " was kept"
                    @if summary.effective.as_ref().is_some_and(|e| e.snapshot_mode == archive::settings::SnapshotMode::Off) {
                        "; tracing was off"
                    }
                    "."
                },
            }
        }
    }
}

fn cause(spike: &SpikeSummary) -> Markup {
    let link = html! { " " a href={ "#spike-" (spike.spike.number) } { "Full account" } "." };
    let Some(explanation) = &spike.explanation else {
        let missing = spike.spike.snapshot_missing.as_deref();
        return html! { "not examined" @if let Some(missing) = missing { ": " (said(missing)) } "." (link) };
    };
    let best = explanation.findings.first();
    html! {
        @match (explanation.status, best) {
            (ExplanationStatus::Explained, Some(finding)) => {
                (said(&finding.sentence)) " (" (vocabulary::confidence(finding.confidence)) ")."
            },
            (ExplanationStatus::NoTrace, _) => "there was no trace to explain it from.",
            (_, Some(finding)) => {
                "not explained. The best hint: " (said(&finding.sentence)) " (" (vocabulary::confidence(finding.confidence)) ")."
            },
            (_, None) => "not explained, and no hint was found.",
        }
        (link)
    }
}

fn limit(summary: &RunSummary) -> Markup {
    let Some(limit_ns) = summary.settings.as_ref().and_then(|settings| settings.limit_ns) else {
        return html! {};
    };
    let word = vocabulary::sample(summary);
    let (over, of) = summary.limited_samples();
    html! {
        p {
            strong { "Limit " (number::axis_time(limit_ns as f64)) ": " }
            (number::grouped(over)) " of " (number::grouped(of)) " " (word.many) " "
            @if over == 1 { "was" } @else { "were" }
            " " (word.later) "."
        }
    }
}

fn cycle_limit(summary: &RunSummary) -> Markup {
    let judgement = cycle_judgement(summary);
    html! { @if !judgement.is_empty() { p { (said(judgement.trim_start())) } } }
}

/// The watched program, and the meaning of a sample.
fn watched(summary: &RunSummary) -> Markup {
    html! {
        p { strong { "Watched: " } (said(whom(summary))) ". The kernel's view: the way back to user space is not in it." }
        ul {
            @for kind in KINDS {
                li { strong { (vocabulary::watched_kind(kind)) } " – " (meaning(kind)) }
            }
        }
    }
}

/// Recording costs time, so the figures include its effect.
fn recorded(summary: &RunSummary) -> Markup {
    html! {
        p { strong { "Tracing: " } (said(tracing(summary))) "." }
    }
}

/// The limits of a maximum, shown with every maximum.
fn caution(summary: &RunSummary) -> Markup {
    let word = vocabulary::sample(summary);
    html! {
        p.caution {
            strong { "No bound. " }
            "A maximum is an observation, not a bound: it is the " (word.worst) " " (word.one) " that happened to occur"
            @if let Some(measured) = summary.measured_ns { " in " (number::duration(measured)) }
            @if summary.imported.is_some() { " under whatever load there was" }
            @else if summary.loads.is_empty() { " without load" } @else { " under this load" }
            ". A longer run, another load or a cause that did not occur can bring a " (word.later) " one."
        }
    }
}

fn instant_of_worst(summary: &RunSummary, cpu: &CpuSummary) -> Option<i64> {
    Some(cpu.worst?.due_ns.saturating_sub(summary.measure_start_ns?)).filter(|at| *at >= 0)
}

fn is_worst(spike: &SpikeSummary, cpu: &CpuSummary, latency_ns: i64) -> bool {
    spike.latency_ns == latency_ns
        && spike.spike.thread == cpu.thread
        && cpu.worst.is_none_or(|worst| worst.cycle == spike.spike.sample.cycle)
}
