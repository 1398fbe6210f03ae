//! The report in plain HTML: every figure, readable without a script and by a screen reader.
//!
//! This module decides nothing. All text from a target is escaped by maud and wrapped in `bdi`, so that a task name can
//! neither add markup nor change the reading direction of the sentence around it.

mod answer;
mod block_requests;
mod causes;
mod chains;
mod counted;
mod counters;
mod cpus;
mod honesty;
mod judgements;
mod kernel_tracers;
mod latency_columns;
mod ledger;
mod machine;
mod own_code;
mod roles;
mod settings;
mod spikes;
mod stimulus;

use super::number;
use super::plot::{self, Plots};
use crate::Place;
use crate::accounts::Accounts;
use crate::watched::subject;
use archive::message::LossKind;
use archive::method::SampleWord;
use archive::summary::{ReportData, RunSummary};
use judge::verdict::Judgement;
use maud::{Markup, PreEscaped, html};
use words::figures::latency;
use words::printable::short_name;
use words::vocabulary;

/// Title of the page, as HTML text.
pub fn title(data: &ReportData) -> String {
    html! { (machine::target_name(data)) ": " (worst(&data.summary)) ", " (short_name(&data.summary.id)) " – tardy" }
        .into_string()
}

/// The worst latency of the run, without the machine.
fn worst(summary: &RunSummary) -> String {
    let word = vocabulary::sample(summary);
    match summary.worst() {
        // The lateness of its threads is a by-product.
        _ if answer::is_audit(summary) => "audit".into(),
        Some((_, latency_ns)) => {
            let late = if word.is_wake_up() { " late" } else { "" };
            format!("{} {} {}{late}", word.worst, word.one, latency(latency_ns))
        }
        None => "nothing measured".into(),
    }
}

/// The contents of a page.
pub struct Page<'a> {
    pub data: &'a ReportData,
    /// The part that pictures and accounts show.
    pub drawn: &'a ReportData,
    pub accounts: &'a Accounts,
    pub plots: &'a Plots,
    pub judgements: &'a [Judgement],
    pub above: &'a [Place],
}

/// Everything between the skip link and the end of the page.
pub fn body(page: &Page) -> String {
    let Page { data, drawn, accounts, plots, judgements, above } = *page;
    let summary = &data.summary;
    let word = vocabulary::sample(summary);
    html! {
        (PreEscaped(plot::pattern_definitions()))
        header.page {
            p.brand {
                "tardy"
                @for place in above { " › " a href=(place.address) { bdi { (short_name(&place.name)) } } }
            }
            h1 { bdi { (machine::target_name(data)) } ": " (worst(summary)) }
            p.lead {
                "Run " bdi { (short_name(&summary.id)) }
                @if let Some(started) = summary.started_unix_ns { ", " (words::calendar::utc(started)) }
                @if let Some(measured) = summary.measured_ns { ", measured for " (number::duration(measured)) }
                @if let Some(environment) = &summary.environment {
                    @if !environment.kernel_release.is_empty() { ", Linux " bdi { (environment.kernel_release) } }
                }
            }
            nav aria-label="Parts of this report" {
                ol {
                    li { a href="#answer" { "The answer" } }
                    @if causes::is_shown(data) { li { a href="#causes" { "Causes" } } }
                    li { a href="#distribution" { "How often, how late" } }
                    li { a href="#time" { "When" } }
                    @if summary.stimulus_board.is_some() { li { a href="#stimulus-board" { (crate::stimulus::TITLE) } } }
                    @if !summary.roles.is_empty() { li { a href="#roles" { (crate::roles::TITLE) } } }
                    @if summary.storage.is_some() { li { a href="#block-requests" { "Where the time went" } } }
                    @if !summary.chains.is_empty() { li { a href="#chains" { (chains::TITLE) } } }
                    @if plots.counters.is_some() { li { a href="#counters" { "Activity of the machine" } } }
                    @if !summary.counted.is_empty() { li { a href="#counted" { (crate::counted::TITLE) } } }
                    li { a href="#spikes" { "The worst " (word.many) } }
                    li { a href="#machine" { "Machine" } }
                    li { a href="#settings" { "Settings and loads" } }
                    li { a href="#losses" { "Losses and problems" } }
                }
            }
        }
        main {
            section #answer tabindex="-1" aria-labelledby="answer-title" {
                h2 #answer-title { "The answer" }
                (judgements::judgements(judgements))
                (answer::answer(data))
                (cpus::table(summary))
            }
            (causes::section(data))
            (picture("distribution", "How often, how late", &plots.histogram, absent(summary, "The source kept no histogram."), word, html! {
                "Each line is the latency histogram of one " (subject(summary)) ". The counts are on a logarithmic axis, so \
                 that a single " (word.late) " " (word.one) " stays visible beside millions of ordinary ones: look at how far right a line \
                 reaches, and whether it ends in a smooth tail or in an island of its own."
                (not_drawn(summary))
            }))
            (picture("time", "When", &plots.latency, absent(summary, "The source did not keep when each wake-up happened."), word, html! {
                "The " (word.worst) " " (word.one) " of each second, a line for each " (subject(summary)) ". A mark shows a " (word.one) " whose trace was kept; it leads to its \
                 account below. Equal distances between the peaks suggest a periodic cause."
            }))
            (stimulus::section(summary, plots))
            (roles::section(summary))
            (block_requests::section(summary))
            (chains::section(summary, plots))
            (counters::section(summary, plots))
            (counted::section(summary, accounts))
            (spikes::section(&drawn.summary, accounts, plots))
            (kernel_tracers::section(summary))
            (machine::section(summary))
            (settings::section(summary))
            (honesty::section(summary))
        }
        footer.page {
            p {
                "Made by tardy " bdi { (summary.tool_version) }
                @if let Some(version) = &summary.meter_version { " (meter " bdi { (version) } ")" }
                " from the archive " code { bdi { (summary.archive) } }
                ". This file is complete in itself and asks for nothing from outside."
            }
        }
    }
    .into_string()
}

/// Values that the source of an imported run did not record are not in the picture.
fn not_drawn(summary: &RunSummary) -> Markup {
    let lost = |kind| summary.losses.iter().filter(move |loss| loss.kind == kind).map(|loss| loss.count);
    let beyond = lost(LossKind::OverflowValues).chain(lost(LossKind::Values)).fold(0, u64::saturating_add);
    html! {
        @if summary.imported.is_some() && beyond > 0 {
            " " strong { (number::grouped(beyond)) " " (vocabulary::sample(summary).many) " are not drawn:" } " the source did not keep how late they were."
        }
    }
}

/// Why there is nothing to draw: the source of an imported run may not have recorded it.
fn absent(summary: &RunSummary, imported: &'static str) -> &'static str {
    if summary.imported.is_some() { imported } else { "There are no samples to draw." }
}

/// A section whose static picture the script replaces by an interactive one.
fn picture(id: &str, title: &str, still: &Option<String>, absent: &str, word: SampleWord, caption: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            @match still {
                Some(svg) => figure data-picture=(id) data-sample=(word.one) data-samples=(word.many) data-worst=(word.worst) {
                    div.picture { (PreEscaped(svg)) }
                    figcaption { (caption) }
                },
                None => p.empty { (absent) },
            }
        }
    }
}

/// A description list of those entries that have a value.
fn facts(entries: &[(&str, Option<Markup>)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in entries {
                @if let Some(value) = value {
                    div { dt { (name) } dd { (value) } }
                }
            }
        }
    }
}

/// Text from a target, isolated from the text direction around it.
fn said(text: impl AsRef<str>) -> Markup {
    // A percentage stays on one line.
    html! { bdi { (text.as_ref().replace(" %", "\u{a0}%")) } }
}
