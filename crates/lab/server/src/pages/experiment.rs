//! Experiments: which figures two ways to run differ in, the worst proven one first, with the rounds behind them.

mod figures;

use super::amounts::figure;
use super::as_html;
use super::command::{command, out};
use super::conditions::kernel;
use super::layout::{Page, Refresh};
use super::links::{experiment_address, run_address};
use super::turn;
use crate::experiments::{ExperimentSeries, Round, SeriesState, Side, all, rounds_in_index, with_key};
use crate::guard::Identity;
use crate::problem::Refusal;
use crate::site::Site;
use axum::Router;
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, PreEscaped, html};
use std::sync::Arc;
use words::amounts::percent;
use words::calendar::utc;
use words::figures::{count, counted};

const ADDRESS: &str = "/experiments";

pub fn router() -> Router<Arc<Site>> {
    Router::new().route(ADDRESS, get(show_all)).route("/experiments/{key}", get(show_one))
}

async fn show_all(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
) -> Result<Response, Refusal> {
    let found = all(&site).await?;
    let page = Page { title: "Experiments", here: ADDRESS, identity: &identity, refresh: Refresh::Never };
    Ok(as_html(&page.around(list(&found, site.directory()))))
}

async fn show_one(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(key): Path<String>,
) -> Result<Response, Refusal> {
    let series = with_key(&site, key).await?;
    let rounds = rounds_in_index(&site, &series).await?;
    let page = Page { title: &series.name, here: ADDRESS, identity: &identity, refresh: Refresh::Never };
    Ok(as_html(&page.around(content(&series, &rounds))))
}

fn list(found: &[ExperimentSeries], directory: &std::path::Path) -> Markup {
    let first = "tardy experiment --a '' --b '--cpu-dma-latency 0'";
    let shared = "-- --duration 60s --load messaging";
    html! {
        h1 { "Experiments" }
        p.lead { "Two ways to run, measured alternately in random order: is B worse than A?" }
        @if found.is_empty() {
            p.empty { "This lab's directory holds no experiment. One that compares this machine with and without its deep idle states:" }
            (command(&format!("{first} {} {shared}", out(directory, "idle-states"))))
        } @else {
            div.scroll {
                table.figures.cards.experiments {
                    caption.unseen { "Experiments, newest first" }
                    thead {
                        tr {
                            th.text scope="col" { "Experiment" }
                            th.text scope="col" { "Verdict" }
                            th.text scope="col" { "A" }
                            th.text scope="col" { "B" }
                            th scope="col" { "Rounds" }
                        }
                    }
                    tbody { @for series in found { (listed(series)) } }
                }
            }
        }
    }
}

fn listed(series: &ExperimentSeries) -> Markup {
    let (words, state) = series.verdict();
    let complete = series.result.as_ref().map_or(0, |result| result.rounds);
    html! {
        tr {
            th.text scope="row" {
                a href=(experiment_address(&series.key)) { bdi { (series.name) } }
                span.beside { (utc(series.started_unix_ns)) }
            }
            td.text data-name="Verdict" {
                span.state data-state=(state) { (words) }
                @if let Some(sentence) = series.proof() { span.beside { bdi { (sentence) } } }
            }
            td.text data-name="A" { (options(&series.a)) }
            td.text data-name="B" { (options(&series.b)) }
            td data-name="Rounds" { (complete) " of " (series.rounds_asked) }
        }
    }
}

fn options(side: &Side) -> Markup {
    html! { @if side.options.is_empty() { span.beside { "shared options only" } } @else { code { bdi { (side.options) } } } }
}

fn content(series: &ExperimentSeries, rounds: &[Round]) -> Markup {
    let (words, state) = series.verdict();
    let result = series.result.as_ref();
    let worst = series.worst();
    html! {
        p.trail { a href=(ADDRESS) { "Experiments" } }
        h1 { bdi { (series.name) } }
        p.headline {
            span.state data-state=(state) { (words) }
            @if let Some(result) = result { " " bdi { (series.proof().unwrap_or(&result.sentence)) } }
        }
        @if let (Some(result), Some(worst)) = (result, worst) {
            @if worst.metric != result.primary.metric { p data-note="primary-figure" { "The figure chosen beforehand: " bdi { (result.primary.sentence) } } }
        }
        (cautions(series))
        h2 { "A and B" }
        div.scroll {
            table.sides {
                caption.unseen { "The two ways to run" }
                thead { tr { td {} th scope="col" { "A" } th scope="col" { "B" } } }
                tbody {
                    tr { th scope="row" { "Options" } td { (options(&series.a)) } td { (options(&series.b)) } }
                    @if series.a.before.is_some() || series.b.before.is_some() {
                        tr { th scope="row" { "Before each run" } td { (before(&series.a)) } td { (before(&series.b)) } }
                    }
                    tr { th scope="row" { "Target" } td { bdi { (series.a.target) } } td { bdi { (series.b.target) } } }
                    tr { th scope="row" { "Kernel" } td { (kernels(rounds, 0)) } td { (kernels(rounds, 1)) } }
                }
            }
        }
        @if let Some(result) = result {
            (figures::content(result, worst))
            (causes(result))
        }
        h2 { "Rounds" }
        @if rounds.is_empty() { p.empty { "No round is complete yet." } } @else { (rounds_table(rounds)) }
        @if series.rounds.len() > rounds.len() { p.beside { "and " (counted((series.rounds.len() - rounds.len()) as u64, "more round")) } }
    }
}

/// Limits of the verdict.
fn cautions(series: &ExperimentSeries) -> Markup {
    html! {
        @match (series.virtual_time, series.emulated) {
            (true, _) => p.caution { strong { "Virtual time: " } "the clock counted instructions, so a real machine has other latencies." },
            (false, true) => p.caution { strong { "Emulated: " } "latencies of an emulated machine mean nothing as real-time figures." },
            (false, false) => {},
        }
        @match series.state {
            SeriesState::Complete => {},
            SeriesState::Running => p.caution { "The rounds are incomplete: still running, or cut off." },
            SeriesState::Interrupted => p.caution { "Stopped early; " code { "tardy experiment --resume DIR" } " continues it." },
            SeriesState::Failed => p.caution { strong { "Failed: " } bdi { (series.problem.as_deref().unwrap_or("unknown")) } },
        }
        @if series.voids > 0 {
            p { (counted(series.voids, "round")) " discarded" @if let Some(why) = &series.void_because { "; the last one: " bdi { (why) } } "." }
        }
    }
}

fn before(side: &Side) -> Markup {
    html! { @match &side.before { Some(command) => code { bdi { (command) } }, None => span.beside { "–" } } }
}

/// The kernels that one side ran on, by the index.
fn kernels(rounds: &[Round], side: usize) -> Markup {
    let mut found: Vec<String> = Vec::new();
    for run in rounds.iter().filter_map(|round| round[side].as_ref()) {
        let kernel = kernel(run).into_string();
        if !found.contains(&kernel) {
            found.push(kernel);
        }
    }
    html! {
        @if found.is_empty() { span.beside { "not in the index yet" } }
        @for (at, kernel) in found.iter().enumerate() { @if at > 0 { "; " } (PreEscaped(kernel)) }
    }
}

fn causes(result: &judge::experiment::ExperimentResult) -> Markup {
    html! {
        h2 { "Causes of late samples" }
        @if result.culprits.is_empty() { p.empty { "No explained spike in any round." } } @else {
            p.beside { "Runs in which each cause occurred, of " (count(result.rounds.into())) " of each way." }
            div.scroll {
                table.figures.cards {
                    caption.unseen { "Runs with each cause" }
                    thead { tr { th scope="col" { "Cause" } th scope="col" { "A" } th scope="col" { "B" } th.text scope="col" { "Verdict" } } }
                    tbody {
                        @for culprit in &result.culprits {
                            tr {
                                th scope="row" { (turn::cause(culprit.culprit.id())) }
                                td data-name="A" { (culprit.a) }
                                td data-name="B" { (culprit.b) }
                                td.text data-name="Verdict" { @if culprit.differs { "differs at " (percent(result.confidence)) " confidence" } @else { span.beside { "not shown to differ" } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn rounds_table(rounds: &[Round]) -> Markup {
    html! {
        div.scroll {
            table.figures.cards {
                caption.unseen { "The largest latency of each run" }
                thead { tr { th scope="col" { "Round" } th scope="col" { "A, largest" } th scope="col" { "B, largest" } th.text scope="col" aria-label="Comparison" {} } }
                tbody {
                    @for (index, round) in rounds.iter().enumerate() {
                        tr {
                            th scope="row" { span.card-name { "Round " } (index + 1) }
                            @for (run, name) in round.iter().zip(["A, largest", "B, largest"]) {
                                td data-name=(name) {
                                    @match run {
                                        Some(run) => a href=(run_address(&run.digest)) { (figure(run.latency_max_ns)) },
                                        None => span.beside { "not in the index yet" },
                                    }
                                }
                            }
                            td.text {
                                @if let [Some(a), Some(b)] = round { a href={ "/compare?a=" (a.digest) "&b=" (b.digest) } aria-label={ "Compare the runs of round " (index + 1) } { "compare" } }
                            }
                        }
                    }
                }
            }
        }
    }
}
