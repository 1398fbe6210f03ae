//! A board over time: what it was measured with, how its latencies moved, and what changed when they did.

use super::amounts::{figure, rounded};
use super::conditions::{kernel, load};
use super::links::{backfill_address, board_address, decision_address, run_address};
use super::picture::heat;
use super::picture::ridge::{self, Ridge};
use super::picture::time::Events;
use super::{state, turn};
use crate::changes::Found;
use maud::{Markup, html};
use std::collections::BTreeMap;
use store::changes::{Change, Triage};
use store::queries::board::{History, HistoryPart, Scenario};
use store::queries::fleet::{FleetRow, board_standing};
use store::queries::run::RunRow;
use words::calendar::utc;
use words::claims::difference::in_units;
use words::figures::{count, counted, latency};

/// Width of the pictures as drawn; pages scale them.
pub const WIDTH: f64 = 1080.0;
/// Runs in the table; older ones are in the API.
const RUNS_SHOWN: usize = 100;
const DIFFERENCES_SHOWN: usize = 6;
/// Times to choose from, in days; the first is that of all runs.
const TIMES: [(Option<u32>, &str); 5] =
    [(None, "all runs"), (Some(7), "week"), (Some(31), "month"), (Some(92), "quarter"), (Some(366), "year")];

/// Everything that the page shows.
pub struct BoardView<'a> {
    /// The newest state of each scenario.
    pub loads: &'a [FleetRow],
    pub scenarios: &'a [Scenario],
    pub history: &'a History,
    pub parts: &'a [HistoryPart],
    pub events: &'a Events,
    pub found: &'a [Found],
    /// Changes of each figure by the runs; `None` while the index looks for them.
    pub sentences: Option<&'a [(String, String)]>,
    /// `None`: from the first run to the last.
    pub days: Option<u32>,
    /// Kernels that the reader may have measured, around each change.
    pub between: &'a BTreeMap<String, usize>,
    /// The reader may record what a change is.
    pub may_decide: bool,
    /// Options of a command line that name the index.
    pub index: &'a str,
}

pub fn content(view: &BoardView<'_>) -> Markup {
    let scenario = &view.history.scenario;
    let newest = view.history.runs.last().map(|point| &point.run);
    html! {
        p.trail { a href="/fleet" { "Fleet" } }
        h1 { bdi { (scenario.board) } " " (state::chip(board_standing(view.loads))) }
        @if let Some(run) = newest {
            p.lead { (kernel(run)) ", last run " (utc(run.started_unix_ns)) " " (state::of_run(run)) }
        }
        (choices(view))
        section aria-labelledby="time-title" {
            h2 #time-title { "When" }
            @match heat::body(view.parts, view.events, WIDTH) {
                Some(body) => {
                    figure.parts data-picture="heat" {
                        div.picture.scroll { (readable(heat::height(), "How often each latency occurred, over time", &body)) }
                        p.readout aria-live="polite" { span.quiet { "Point at a column, or use the arrow keys, to read its figures." } }
                        figcaption {
                            "Each column is a stretch of time: the more a shade stands out, the more samples had this latency. The line is the largest. \
                             Below it the kernels; a triangle marks changed settings, a number a change of the figures."
                        }
                    }
                },
                None => p.empty { "No valid run in this time." },
            }
            (changes(view))
        }
        section aria-labelledby="shape-title" {
            h2 #shape-title { "How often, how late" }
            @if let Some((body, height)) = ridge::body(&ridges(view.parts, view.events), WIDTH) {
                figure {
                    div.picture.scroll { (picture(height, "Histograms behind each other, the newest in front", &body)) }
                    (kernels(view.events))
                    figcaption { "A histogram for each stretch of time, counts on a logarithmic axis: the newest is in front, the colour is the kernel." }
                }
            }
        }
        (parts_table(view.parts))
        (runs_table(view))
    }
}

/// A picture with links in it: as an image it would hide them.
fn readable(height: f64, label: &str, body: &Markup) -> Markup {
    html! { svg.plot viewBox={ "0 0 " (WIDTH) " " (height) } role="group" aria-label=(label) tabindex="0" { (body) } }
}

fn picture(height: f64, label: &str, body: &Markup) -> Markup {
    html! { svg.plot viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(label) tabindex="0" { (body) } }
}

fn address(view: &BoardView<'_>, scenario: &str, days: Option<u32>) -> String {
    let days = days.map_or_else(String::new, |days| format!("&days={days}"));
    format!("{}?scenario={scenario}{days}", board_address(&view.history.scenario.board))
}

/// Loads and times, as links that stay.
fn choices(view: &BoardView<'_>) -> Markup {
    let chosen = &view.history.scenario.scenario;
    html! {
        nav.choices aria-label="Load and time" {
            @if view.scenarios.len() > 1 {
                ul {
                    @for scenario in view.scenarios {
                        li {
                            a href=(address(view, &scenario.scenario, view.days)) title=(scenario.words) aria-current=[(scenario.scenario == *chosen).then_some("true")] {
                                bdi { (load(&scenario.load)) } ", " bdi { (scenario.method) }
                                @if let Some(row) = view.loads.iter().find(|row| row.scenario == scenario.scenario) { (state::chip(row.standing)) }
                            }
                        }
                    }
                }
            }
            ul {
                @for (days, name) in TIMES {
                    li { a href=(address(view, chosen, days)) aria-current=[(days == view.days).then_some("true")] { (name) } }
                }
            }
        }
        p.note { bdi { (view.history.scenario.words) } }
    }
}

/// The histograms of all stretches, with their kernels.
pub fn ridges<'a>(parts: &'a [HistoryPart], events: &Events) -> Vec<Ridge<'a>> {
    parts.iter().map(|part| Ridge { part, kernel: kernel_of(part, events) }).collect()
}

/// The number of the kernel that was in use when a part began.
fn kernel_of(part: &HistoryPart, events: &Events) -> usize {
    events.kernels.partition_point(|kernel| kernel.from_unix_ns < part.until_unix_ns).saturating_sub(1)
}

fn kernels(events: &Events) -> Markup {
    html! {
        ul.legend {
            @for (at, kernel) in events.kernels.iter().enumerate().rev().take(8) {
                li {
                    svg.swatch viewBox="0 0 18 14" aria-hidden="true" { rect class={ "ridge series-" (at % 8) } x="1" y="1" width="16" height="12" {} }
                    bdi { (kernel.kernel) }
                }
            }
        }
    }
}

/// The change points with what else changed; a change is a hint until an experiment confirms it.
fn changes(view: &BoardView<'_>) -> Markup {
    html! {
        h3 #changes { "Changes" }
        @if view.sentences.is_none() { p.pending role="status" { "Looking for changes …" } }
        @if !view.found.is_empty() {
            ol.changes {
                @for at in view.found.chunk_by(|a, b| a.number == b.number) { (change(at, view)) }
            }
        } @else if let Some(sentences) = view.sentences {
            ul.sentences { @for (figures, sentence) in joined(sentences) { li { b { (figures.join(", ")) } ": " (sentence) "." } } }
            @if sentences.is_empty() { p.empty { "No valid run." } }
        }
    }
}

/// Each sentence once, with the figures that it is about.
fn joined(sentences: &[(String, String)]) -> Vec<(Vec<&str>, &str)> {
    let mut joined: Vec<(Vec<&str>, &str)> = Vec::new();
    for (figure, sentence) in sentences {
        match joined.iter_mut().find(|(_, known)| known == sentence) {
            Some((figures, _)) => figures.push(figure),
            None => joined.push((vec![figure.as_str()], sentence.as_str())),
        }
    }
    joined
}

fn change(found: &[Found], view: &BoardView<'_>) -> Markup {
    let Some(first) = found.first() else { return html! {} };
    let Change { before_digest: before, after_digest: after, until_digest: until, .. } = &first.change;
    html! {
        li.change #{ "change-" (first.number) } value=(first.number) {
            @for found in found {
                p { (found.change.sentence) " " (triage(&found.change, view.index)) }
                @if view.may_decide { (decision(&found.change, view.days)) }
            }
            p.links {
                (utc(first.at_unix_ns)) " · "
                a href=(run_address(before)) { "last before" } " · "
                @if let Some(until) = until {
                    a href=(run_address(after)) { "first of the drift" } " · "
                    a href=(run_address(until)) { "first after" } " · "
                } @else {
                    a href=(run_address(after)) { "first after" } " · "
                }
                a href={ "/compare?a=" (before) "&b=" (first.change.reached()) } { "compare" }
            }
            @if let Some(kernels) = view.between.get(&first.change.change) { (backfill(&first.change, *kernels)) }
            @if !first.change.differences.is_empty() {
                ul.differences {
                    @for (name, difference) in first.change.differences.iter().take(DIFFERENCES_SHOWN).map(in_units) {
                        li {
                            bdi { (name) } ": "
                            del { bdi { (difference.a.as_deref().unwrap_or("-")) } } " → "
                            ins { bdi { (difference.b.as_deref().unwrap_or("-")) } }
                        }
                    }
                    @let more = first.change.differences.len().saturating_sub(DIFFERENCES_SHOWN);
                    @if more > 0 { li { "and " (counted(more as u64, "more difference")) } }
                }
            }
        }
    }
}

/// Decision of people about a change.
fn triage(change: &Change, index: &str) -> Markup {
    let word = change.triage.word();
    html! { span.triage data-triage=(word) title={ "tardy lab store triage " (change.change) " noise " (index) } { (word) } }
}

/// A button for each other decision.
fn decision(change: &Change, days: Option<u32>) -> Markup {
    html! {
        form.decision method="post" action=(decision_address(&change.change)) {
            @if let Some(days) = days { input type="hidden" name="days" value=(days); }
            span { "Mark as" }
            @for triage in Triage::ALL.into_iter().filter(|triage| *triage != change.triage) {
                " " button name="triage" value=(triage.word()) aria-label={ "Mark the change of " (change.figure) " as " (triage.word()) } { (triage.word()) }
            }
        }
    }
}

/// The button that queues the kernels around a change.
fn backfill(change: &Change, kernels: usize) -> Markup {
    html! {
        form.decision method="post" action=(backfill_address(&change.change)) {
            button aria-label={ "Measure " (counted(kernels as u64, "kernel")) " between the two runs of the change of " (change.figure) } {
                "Measure " (counted(kernels as u64, "kernel")) " between"
            }
        }
    }
}

/// The figures of the heat map.
fn parts_table(parts: &[HistoryPart]) -> Markup {
    html! {
        details.parts {
            summary { "The picture in numbers" }
            div.scroll {
                table.figures.cards {
                    caption.unseen { "Stretches of time" }
                    thead { tr { th scope="col" { "From" } th scope="col" { "Runs" } th scope="col" { "Samples" } th scope="col" { "Most often" } th scope="col" { "Largest" } } }
                    tbody {
                        @for (at, part) in parts.iter().enumerate() {
                            tr data-part=(at) {
                                th scope="row" { (utc(part.from_unix_ns)) }
                                td data-name="Runs" { (part.runs) }
                                td data-name="Samples" { (rounded(part.samples)) }
                                td data-name="Most often" { (most_often(part)) }
                                td data-name="Largest" { (figure(part.latency_max_ns)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn most_often(part: &HistoryPart) -> String {
    let most = part.outline.bars.iter().max_by_key(|bar| bar.count);
    most.map_or_else(|| "–".into(), |bar| format!("{} to {}", latency(bar.low_ns), latency(bar.high_ns)))
}

fn runs_table(view: &BoardView<'_>) -> Markup {
    let runs = &view.history.runs;
    html! {
        section aria-labelledby="runs-title" {
            h2 #runs-title { "Runs" }
            @if runs.len() > RUNS_SHOWN || view.history.cut {
                p.note { "The newest " (RUNS_SHOWN) " of " (count(runs.len() as u64)) @if view.history.cut { " or more" } "." }
            }
            div.scroll {
                table.figures.cards.runs {
                    caption.unseen { "Runs, the newest first" }
                    thead {
                        tr {
                            th scope="col" { "Start" }
                            th.text scope="col" { "Kernel" }
                            th.text scope="col" { "State" }
                            th scope="col" { "p50" }
                            th scope="col" { "p99" }
                            th scope="col" { "p99.99" }
                            th scope="col" { "Largest" }
                            th scope="col" { "Over the limit" }
                            th.text scope="col" { "Cause of the largest" }
                        }
                    }
                    tbody { @for point in runs.iter().rev().take(RUNS_SHOWN) { (run_row(&point.run)) } }
                }
            }
        }
    }
}

fn run_row(run: &RunRow) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(run_address(&run.digest)) { (utc(run.started_unix_ns)) } }
            td.text data-name="Kernel" { bdi { (run.kernel) } }
            td.text data-name="State" { (state::of_run(run)) }
            td data-name="p50" { (figure(run.latency_ns.p50)) }
            td data-name="p99" { (figure(run.latency_ns.p99)) }
            td data-name="p99.99" { (figure(run.latency_ns.p99_99)) }
            td.worst data-name="Largest" { (figure(run.latency_max_ns)) }
            td data-name="Over the limit" {
                (state::over_limit(run, |run| html! { @if run.over_limit == 0 { span.beside { "of " (rounded(run.samples)) } } }))
            }
            td.text data-name="Cause of the largest" { @if let Some(cause) = &run.worst_cause { (turn::cause(cause)) } @else { span.beside { "–" } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_about_several_figures_stands_once() {
        let of = |figure: &str, sentence: &str| (figure.to_owned(), sentence.to_owned());
        let sentences = [of("p50", "few"), of("p99", "one change"), of("missed periods", "few")];
        let expected = [(vec!["p50", "missed periods"], "few"), (vec!["p99"], "one change")];
        assert_eq!(joined(&sentences), expected);
    }
}
