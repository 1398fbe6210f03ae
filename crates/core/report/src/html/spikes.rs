//! The worst wake-ups, each with finding, picture, ledger and the data of its snapshot.

use super::super::number;
use super::super::plot::Plots;
use super::own_code::own_code;
use super::{facts, ledger, said};
use crate::accounts::Accounts;
use archive::culprit::Culprit;
use archive::explanation::{Explanation, ExplanationStatus, Finding};
use archive::functions::{FunctionAccount, HeldLock, MaskedStretch};
use archive::method::SampleWord;
use archive::spike::{Snapshot, Spike};
use archive::summary::{RunSummary, SpikeSummary};
use maud::{Markup, PreEscaped, html};
use words::{saved, vocabulary};

/// Number of accounts that are initially open, the worst of each cause; the others open on demand. Paper shows the open ones,
/// and all in a table.
const OPEN: usize = 3;

pub fn section(summary: &RunSummary, accounts: &Accounts, plots: &Plots) -> Markup {
    let word = vocabulary::sample(summary);
    let (controls, spikes): (Vec<_>, Vec<_>) = summary.spikes.iter().partition(|entry| !entry.late);
    html! {
        section #spikes aria-labelledby="spikes-title" {
            h2 #spikes-title { "The worst " (word.many) }
            @if spikes.is_empty() {
                p.empty { "No trace of a " (word.late) " " (word.one) " was kept, so there is nothing to account for." }
            } @else {
                p {
                    "Each account follows one " (word.late) " " (word.one) " from "
                    @if word.is_wake_up() { "the instant it was due" } @else { "its start" }
                    " to the instant its thread saw the clock. Times are relative to "
                    @if word.is_wake_up() { "due" } @else { "the start" }
                    ". The picture shows every CPU; the ledger gives each nanosecond of the \
                     late CPU to exactly one owner."
                }
                (on_paper(summary, &spikes))
                @for (spike, open) in spikes.iter().zip(opened(&spikes)) { (account(summary, spike, open, plots)) }
                @if accounts.left_out > 0 {
                    p.left-out {
                        "The page leaves out " (number::grouped(accounts.left_out as u64)) " smaller " (word.late) " " (word.many)
                        ". " code { "tardy explain --worst N" } " shows the N worst."
                    }
                }
            }
            @if !controls.is_empty() {
                div.on-screen {
                    h3 { "Ordinary " (word.many) ", for comparison" }
                    p { "Work that always runs also shows here. Work that shows only above is a suspect." }
                    @for control in &controls { (account(summary, control, false, plots)) }
                }
            }
        }
    }
}

/// Which accounts are open: the worst of each cause is as informative as ten of them.
fn opened(spikes: &[&SpikeSummary]) -> Vec<bool> {
    let cause = |spike: &SpikeSummary| {
        let explanation = spike.explanation.as_ref()?;
        let explained = explanation.status == ExplanationStatus::Explained;
        explanation.findings.first().filter(|_| explained).map(|finding| finding.culprit.clone())
    };
    let mut shown: Vec<Option<Culprit>> = Vec::new();
    let open = spikes.iter().map(|spike| {
        let cause = cause(spike);
        let open = shown.len() < OPEN && !shown.contains(&cause);
        if open {
            shown.push(cause);
        }
        open
    });
    open.collect()
}

/// One line for each account, where those that are closed cannot be opened.
fn on_paper(summary: &RunSummary, spikes: &[&SpikeSummary]) -> Markup {
    let word = vocabulary::sample(summary);
    html! {
        div.on-paper {
            p { "Paper has each " (word.late) " " (word.one) " as a line, and the accounts of those that were open on the screen. The file has all." }
            table {
                caption { (word.capital()) " with a trace" }
                thead {
                    tr {
                        th.number scope="col" { "µs" }
                        th scope="col" { "CPU" }
                        th.number scope="col" { "at" }
                        th scope="col" { "Cause" }
                    }
                }
                tbody {
                    @for entry in spikes {
                        tr {
                            th.number scope="row" { (number::micros(entry.latency_ns)) }
                            td { (entry.spike.sample.cpu) }
                            td.number { @if let Some(at) = instant(summary, entry) { (number::duration(at)) } }
                            td { (in_a_line(entry)) }
                        }
                    }
                }
            }
        }
    }
}

fn in_a_line(entry: &SpikeSummary) -> Markup {
    let Some(explanation) = &entry.explanation else { return html! { "not examined" } };
    let best = explanation.findings.first();
    html! {
        @match (explanation.status, best) {
            (ExplanationStatus::Explained, Some(finding)) => {
                (said(&finding.sentence)) " (" (vocabulary::confidence(finding.confidence)) ")"
            },
            (ExplanationStatus::NotExplained, Some(finding)) => { "not explained; best hint: " (said(&finding.sentence)) },
            (status, _) => (vocabulary::status(status)),
        }
    }
}

/// When the wake-up was due, from the beginning of the run.
fn instant(summary: &RunSummary, entry: &SpikeSummary) -> Option<i64> {
    let start_ns = summary.measure_start_ns?;
    Some(entry.spike.sample.due_ns.saturating_sub(start_ns)).filter(|at| *at >= 0)
}

fn account(summary: &RunSummary, entry: &SpikeSummary, open: bool, plots: &Plots) -> Markup {
    let spike = &entry.spike;
    let explanation = entry.explanation.as_ref();
    html! {
        details.spike id={ "spike-" (spike.number) } open[open] {
            summary {
                h3 {
                    span.size { (number::micros_unit(entry.latency_ns)) }
                    " on CPU " (spike.sample.cpu)
                    @if let Some(at) = instant(summary, entry) { span.when { " at " (number::duration(at)) } }
                }
                @if let Some(explanation) = explanation { " " (headline(explanation)) }
            }
            @match explanation {
                Some(explanation) => (explained(entry, explanation, plots, vocabulary::sample(summary))),
                None => p.empty {
                    "Not examined"
                    @if let Some(missing) = &spike.snapshot_missing { ": " (said(missing)) }
                    "."
                },
            }
            (recording(entry, vocabulary::sample(summary)))
        }
    }
}

fn headline(explanation: &Explanation) -> Markup {
    html! {
        span class={ "badge status-" (vocabulary::status(explanation.status).replace(' ', "-")) } {
            (vocabulary::status(explanation.status))
        }
        @if explanation.status == ExplanationStatus::Explained {
            @if let Some(finding) = explanation.findings.first() { span.culprit { (said(&finding.sentence)) } }
        }
    }
}

fn explained(entry: &SpikeSummary, explanation: &Explanation, plots: &Plots, word: SampleWord) -> Markup {
    let number = entry.spike.number;
    html! {
        @match explanation.status {
            ExplanationStatus::Explained => {},
            ExplanationStatus::NotExplained => p.caution {
                strong { "Not explained. " }
                "No cause was found that accounts for at least 70" (number::THIN) "% of the time beyond the ordinary "
                (number::micros_unit(explanation.median_ns)) "; the findings below are hints."
            },
            ExplanationStatus::NoTrace => p.caution {
                strong { "No trace. " }
                "There was nothing to explain it from"
                @if let Some(missing) = &entry.spike.snapshot_missing { ": " (said(missing)) }
                "."
            },
        }
        @for finding in &explanation.findings { (self::finding(finding, explanation.latency_ns, word)) }
        @if let Some(still) = plots.spikes.get(&number) {
            figure data-picture="spike" data-spike=(number) data-start=(word.start()) {
                div.picture { (PreEscaped(still)) }
                figcaption { "CPU " (entry.spike.sample.cpu) " and its neighbours around the " (word.one) " of thread " (entry.spike.tid) "." }
            }
        }
        (elsewhere(explanation))
        @if !explanation.phases.is_empty() { (ledger::table(explanation, word)) }
        @if let Some(recording) = &explanation.recording {
            p.recorded {
                strong { "Virtual time. " }
                "One instruction is one nanosecond. Recorded from outside of the machine, in a second run whose "
                (number::grouped(recording.samples_identical)) " samples equal the samples of the first: not one nanosecond was added."
            }
        }
        @if let Some(functions) = &explanation.functions { (self::functions(functions)) }
        @if let Some(own) = &explanation.own_code { (own_code(own)) }
        @if !explanation.caveats.is_empty() {
            div.caveats {
                h4 { "Limits of this account" }
                ul { @for caveat in &explanation.caveats { li { (said(&caveat.text)) } } }
            }
        }
    }
}

/// The marks of the picture in words, and what the other CPUs did.
fn elsewhere(explanation: &Explanation) -> Markup {
    html! {
        @if !explanation.elsewhere.is_empty() {
            div.elsewhere {
                h4 { "On other CPUs" }
                ul { @for sentence in &explanation.elsewhere { li { (said(sentence)) } } }
            }
        }
        @if !explanation.marks.is_empty() {
            details.marks {
                summary { "Marks in the picture (" (explanation.marks.len()) ")" }
                ol {
                    @for mark in &explanation.marks {
                        li { (number::micros_unit(mark.at_ns)) ", CPU " (mark.cpu) ": " (said(&mark.text)) }
                    }
                }
            }
        }
    }
}

fn finding(finding: &Finding, latency_ns: i64, word: SampleWord) -> Markup {
    html! {
        div class={ "finding confidence-" (vocabulary::confidence(finding.confidence)) } {
            h4 { (said(&finding.sentence)) }
            p.weight {
                span.badge { (vocabulary::confidence(finding.confidence)) }
                " " (vocabulary::confidence_meaning(finding.confidence))
                "; accounts for " (number::micros_unit(finding.ns)) " (" (number::percent(finding.ns, latency_ns)) ")"
            }
            dl {
                @if !finding.fix.is_empty() { div { dt { "Fix" } dd { (said(&finding.fix)) } } }
                @if !finding.confirm.is_empty() { div { dt { "Confirm" } dd { (said(&finding.confirm)) } } }
                @if !finding.evidence.is_empty() {
                    div {
                        dt { "Evidence" }
                        dd {
                            span.legible { "time after " (word.start()) ", CPU, state of the kernel, who ran: what happened" }
                            ul.evidence { @for line in &finding.evidence { li { code { (said(line)) } } } }
                        }
                    }
                }
            }
        }
    }
}

/// In which function each owner was, and which sections had interrupts or preemption disabled.
fn functions(account: &FunctionAccount) -> Markup {
    let masked = [("interrupts off", &account.irqs_off), ("preemption off", &account.preempt_off)];
    if account.held.is_empty() && masked.iter().all(|(_, stretch)| stretch.is_none()) {
        return html! {};
    }
    html! {
        div.functions {
            h4 { "Functions" }
            dl {
                @for held in &account.held {
                    div {
                        dt { (said(&held.name)) ", " (number::micros_unit(held.owner_ns)) }
                        dd {
                            @match held.ns {
                                Some(ns) if held.last_entered => {
                                    "no function was entered for " (number::micros_unit(ns)) " after "
                                },
                                Some(ns) => { (number::micros_unit(ns)) " of it in " },
                                None => { "a stack trace shows it in " },
                            }
                            code { (said(held.chain.join(" < "))) }
                        }
                    }
                }
                @for (what, stretch) in masked {
                    @if let Some(stretch) = stretch { div { dt { "Longest with " (what) } dd { (masked_stretch(stretch)) } } }
                }
                @if let Some(lock) = &account.lock { div { dt { "Lock held longest" } dd { (held_lock(lock)) } } }
            }
        }
    }
}

fn held_lock(lock: &HeldLock) -> Markup {
    html! {
        (number::micros_unit(lock.late_ns)) " of the lateness, by " (said(&lock.thread)) ", taken by "
        code { (said(&lock.taker)) } " with " code { (said(&lock.by)) } " (" (number::micros_unit(lock.start_ns)) "), "
        @if lock.releaser.is_empty() { "held at the end of the record" }
        @else { "given back by " code { (said(&lock.releaser)) } " (" (number::micros_unit(lock.end_ns)) ")" }
    }
}

fn masked_stretch(stretch: &MaskedStretch) -> Markup {
    html! {
        (number::micros_unit(stretch.ns())) " (" (number::micros_unit(stretch.ns_max)) " at most) by " (said(&stretch.thread))
        ", from " code { (said(&stretch.first)) } " (" (number::micros_unit(stretch.start_ns)) ") to "
        code { (said(&stretch.last)) } " (" (number::micros_unit(stretch.end_ns)) ")"
    }
}

fn kept_as(spike: &Spike) -> Markup {
    match spike.requested {
        true => html! { "kept " (said(saved::by_whom(spike.request.as_ref()))) },
        false => html! { (vocabulary::reason(spike.reason)) },
    }
}

fn recording(entry: &SpikeSummary, word: SampleWord) -> Markup {
    let spike = &entry.spike;
    html! {
        details.recording {
            summary { "Sample and recording" }
            (facts(&[
                ("Kept as", Some(html! { (kept_as(spike)) ", number " (spike.number) })),
                ("Thread", Some(html! { (spike.thread) " (thread id " (spike.tid) "), cycle " (number::grouped(spike.sample.cycle)) })),
                (if word.is_wake_up() { "Due" } else { "Start" }, Some(html! { (number::micros_unit(spike.sample.due_ns)) " on CLOCK_MONOTONIC" })),
                ("Cycle before seen", spike.previous_seen_ns.map(|seen| html! {
                    (number::micros_unit(seen.saturating_sub(spike.sample.due_ns))) " relative to " (word.start())
                })),
                ("Ordinary latency", entry.explanation.as_ref().filter(|e| e.median_ns > 0).map(|e| html! {
                    (number::micros_unit(e.median_ns)) " (median of this CPU)"
                })),
                ("No snapshot", spike.snapshot_missing.as_ref().map(said)),
            ]))
            @if let Some(snapshot) = &spike.snapshot { (recorded(snapshot, spike.sample.due_ns, spike.number, word)) }
        }
    }
}

fn recorded(snapshot: &Snapshot, due_ns: i64, number: u32, word: SampleWord) -> Markup {
    let relative = |at: Option<i64>| at.map_or("–".into(), |at| number::micros(at.saturating_sub(due_ns)));
    html! {
        (facts(&[
            ("Snapshot", Some(html! { (vocabulary::snapshot_mode(snapshot.mode)) ", " (number::grouped(snapshot.trace_bytes)) " bytes" })),
            ("Frozen", Some(html! { (number::micros_unit(snapshot.frozen_ns.saturating_sub(due_ns))) " relative to " (word.start()) })),
            ("Swap took", Some(html! { (number::micros_unit(i64::try_from(snapshot.swap_ns).unwrap_or(i64::MAX))) })),
            ("Kernel put aside until", snapshot.put_aside_ns.map(|ns| html! { (number::micros_unit(ns.saturating_sub(due_ns))) " relative to " (word.start()) })),
            ("Recorder blind for", Some(html! { (number::micros_unit(i64::try_from(snapshot.blind_ns).unwrap_or(i64::MAX))) })),
            (if word.is_wake_up() { "Due to seen covered" } else { "Start to seen covered" }, Some(html! { @if snapshot.window_covered { "yes" } @else { "no" } })),
            ("Steal time since the last snapshot", snapshot.steal_ns.map(|ns| html! { (number::micros_unit(i64::try_from(ns).unwrap_or(i64::MAX))) })),
        ]))
        @if !snapshot.coverage.is_empty() {
            div.scroll tabindex="0" role="region" aria-labelledby={ "coverage-" (number) } {
                table {
                    caption id={ "coverage-" (number) } { "Contents of the trace buffers, in µs relative to " (word.start()) }
                    thead {
                        tr {
                            th scope="col" { "CPU" }
                            th.number scope="col" { "oldest event" }
                            th.number scope="col" { "newest event" }
                            th.number scope="col" { "overwritten" }
                            th.number scope="col" { "dropped" }
                        }
                    }
                    tbody {
                        @for coverage in &snapshot.coverage {
                            tr {
                                th scope="row" { (coverage.cpu) }
                                td.number { (relative(coverage.oldest_ns)) }
                                td.number { (relative(coverage.newest_ns)) }
                                td.number { (number::grouped(coverage.overwritten)) }
                                td.number.nonzero[coverage.dropped > 0] { (number::grouped(coverage.dropped)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
