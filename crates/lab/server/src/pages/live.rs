//! Runs in progress: a list, and one with its histogram, the maximum of each CPU and its newest spikes. Without a script the
//! page loads again every few seconds; with one, its content arrives as events.

use super::amounts::{ago, figure, rounded};
use super::as_html;
use super::command::{command, out};
use super::layout::{Page, Refresh};
use super::links::{board_address, events_address, live_address};
use crate::api::live::states;
use crate::data::now_unix_ns;
use crate::guard::Identity;
use crate::live::{LiveRun, newest};
use crate::problem::Refusal;
use crate::site::Site;
use archive::message::RunPhase;
use axum::Router;
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use report::picture::{Axis, axis_time};
use std::sync::Arc;
use words::figures::{count, counted, duration, latency, set_duration};

const WIDTH: f64 = 1080.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BELOW: f64 = 40.0;

pub fn router() -> Router<Arc<Site>> {
    Router::new().route("/live", get(list)).route("/live/{run}", get(one))
}

async fn list(State(site): State<Arc<Site>>, Extension(identity): Extension<Identity>) -> Response {
    let runs = states(&site).await;
    let page = Page { title: "Live", here: "/live", identity: &identity, refresh: Refresh::WithoutScript };
    as_html(&page.around(html! {
        h1 { "Live" }
        div #live-runs {
            @if runs.is_empty() {
                p.empty { "No run in progress in this directory. A measurement that writes here is shown while it runs:" }
                (command(&format!("tardy run --duration 10min {}", out(site.directory(), "now"))))
            } @else {
                ul.live-list { @for run in &runs { li { (line(run)) } } }
            }
        }
    }))
}

fn line(run: &LiveRun) -> Markup {
    html! {
        a href=(live_address(&run.run)) { bdi { (run.board) } } " "
        span.beside { "Linux " bdi { (run.kernel) } ", " @for load in &run.loads { bdi { (load) } ", " } (rounded(run.samples)) " samples, largest " }
        (figure(run.latency_ns_max))
        (progress(run, now_unix_ns()))
    }
}

/// How far a run of a known length is, and the time left.
fn progress(run: &LiveRun, now_unix_ns: i64) -> Markup {
    let length = run.requested_ns.and_then(|ns| i64::try_from(ns).ok()).filter(|ns| *ns > 0);
    let known = run.measuring_since_unix_ns.zip(length).filter(|_| run.goes_on);
    html! {
        @if let Some((since, length)) = known {
            @let done = now_unix_ns.saturating_sub(since).clamp(0, length);
            span.progress {
                progress max=(length) value=(done) aria-label="Progress" {}
                " " (duration(length - done)) " left of " (set_duration(length))
            }
        }
    }
}

async fn one(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let run = newest(&site, &name).await?;
    let page = Page { title: &run.board, here: "/live", identity: &identity, refresh: Refresh::WithoutScript };
    Ok(as_html(&page.around(html! {
        p.trail { a href="/live" { "Live" } }
        h1 { bdi { (run.board) } }
        p.unseen #live-state role="status" { "In progress" }
        div #live data-events=(events_address(&run.run)) { (fragment(&run)) }
    })))
}

/// The part that changes while the run goes on.
pub fn fragment(run: &LiveRun) -> Markup {
    let is_watch = run.cpus.iter().any(|cpu| cpu.series.is_some());
    let subject = if is_watch { "watched thread" } else { "CPU" };
    html! {
        p.lead { "Linux " bdi { (run.kernel) } ", " (phase(run)) }
        (progress(run, now_unix_ns()))
        @if !run.goes_on { p.note { "It has ended; its report follows on the page of " a href=(board_address(&run.board)) { bdi { (run.board) } } "." } }
        dl.live-figures {
            div { dt { "Samples" } dd { (rounded(run.samples)) } }
            div { dt { "Largest" } dd.worst { (figure(run.latency_ns_max)) } }
            div { dt { "Over the limit" } dd { (over(run)) } }
            div { dt { "Missed periods" } dd { (count(run.missed_periods)) @if run.missed_periods == 0 { (rests_on(run)) } } }
        }
        @if let Some(body) = picture(run) {
            figure {
                div.picture.scroll { svg.plot viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label="How often each latency occurred so far" tabindex="0" { (body) } }
                figcaption { "Counts on a logarithmic axis." }
            }
        }
        section aria-labelledby="cpus-title" {
            h2 #cpus-title { (if is_watch { "Watched threads" } else { "CPUs" }) }
            div.scroll {
                table.figures.cards {
                    caption.unseen { "Largest latency of each " (subject) }
                    thead { tr { th scope="col" { (subject) } th scope="col" { "Samples" } th scope="col" { "Largest" } th scope="col" { "Over the limit" } } }
                    tbody {
                        @for cpu in &run.cpus {
                            tr {
                                th scope="row" { @if let Some(series) = &cpu.series { bdi { (series) } } @else { span.card-name { "CPU " } (cpu.cpu) } }
                                td data-name="Samples" { (rounded(cpu.samples)) }
                                td.worst data-name="Largest" { (figure(cpu.latency_ns_max)) }
                                td data-name="Over the limit" { @if run.limit_ns.is_some() { (count(cpu.over_limit)) } @else { span.beside { "no limit" } } }
                            }
                        }
                    }
                }
            }
        }
        section aria-labelledby="spikes-title" {
            h2 #spikes-title { "Spikes" }
            @if run.spikes.is_empty() { p.empty { "None so far." } } @else {
                @if run.spikes_count > run.spikes.len() as u64 { p.note { "The newest of " (counted(run.spikes_count, "spike")) "." } }
                div.scroll {
                    table.figures.cards {
                        caption.unseen { "Spikes, the newest first" }
                        thead { tr { th scope="col" { "Spike" } @if is_watch { th.text scope="col" { "Thread" } } th scope="col" { "CPU" } th scope="col" { "Latency" } th.text scope="col" { "Cause" } } }
                        tbody {
                            @for spike in &run.spikes {
                                tr {
                                    th scope="row" { span.card-name { "Spike " } (spike.number) }
                                    @if is_watch { td.text data-name="Thread" { bdi { (spike.series.as_deref().unwrap_or_default()) } } }
                                    td data-name="CPU" { (spike.cpu) }
                                    td.worst data-name="Latency" { (figure(Some(spike.latency_ns))) }
                                    td.text data-name="Cause" { @if let Some(cause) = &spike.cause { bdi { (cause) } } @else { span.beside { "not explained yet" } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn phase(run: &LiveRun) -> String {
    let started = run.started_unix_ns.map(|at| format!(", started {}", ago(at, now_unix_ns()))).unwrap_or_default();
    let doing = match run.phase {
        _ if !run.goes_on => "ended",
        None | Some(RunPhase::Check | RunPhase::Prepare) => "preparing",
        Some(RunPhase::Load | RunPhase::Settle) => "starting its loads",
        Some(RunPhase::Measure) => "measuring",
        Some(RunPhase::Collect | RunPhase::Restore) => "collecting its results",
    };
    let length = run.requested_ns.and_then(|ns| i64::try_from(ns).ok()).map(|ns| format!(" for {}", set_duration(ns)));
    format!("{doing}{}{started}", length.filter(|_| run.phase == Some(RunPhase::Measure)).unwrap_or_default())
}

fn over(run: &LiveRun) -> Markup {
    html! {
        @match run.limit_ns {
            None => span.beside { "no limit" },
            Some(limit) => {
                (count(run.over_limit)) " "
                span.beside { "of " (rounded(run.samples)) ", limit " (latency(limit)) }
            },
        }
    }
}

fn rests_on(run: &LiveRun) -> Markup {
    html! { " " span.beside { "of " (rounded(run.samples)) } }
}

/// The histogram so far; `None` without samples.
fn picture(run: &LiveRun) -> Option<Markup> {
    let bars = &run.outline.bars;
    let (low, high) = (bars.first()?.low_ns.max(1) as f64, bars.last()?.high_ns as f64);
    let most = bars.iter().map(|bar| bar.count as f64).fold(10.0, f64::max);
    let x = Axis::logarithmic(low * 0.9, (high * 1.1).max(low * 4.0), LEFT, WIDTH - RIGHT);
    let bottom = HEIGHT - BELOW;
    let rise = Axis::logarithmic(0.7, most, 0.0, bottom - TOP);
    Some(html! {
        @for value in x.ticks(10) {
            path.grid d={ "M" (px(x.at(value))) " " (px(TOP)) "V" (px(bottom)) } {}
            text.tick x=(px(x.at(value))) y=(px(bottom + 17.0)) text-anchor="middle" { (axis_time(value)) }
        }
        text.axis-title x=(px(WIDTH - RIGHT)) y=(px(bottom + 34.0)) text-anchor="end" { "latency" }
        @for bar in bars {
            @let (from, to) = (x.at(bar.low_ns.max(1) as f64), x.at(bar.high_ns as f64 + 1.0));
            @let top = bottom - rise.at(bar.count as f64);
            rect.live-bar x=(px(from)) y=(px(top)) width=(px((to - from).max(1.0))) height=(px(bottom - top)) {}
        }
    })
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}
