//! The page of `tardy desk`: what this machine is good enough for, who delays its programs, and what to change. Every number is in the
//! page; a script asks for it again every few seconds, and without one the browser loads it again.

use super::amounts::{figure, rounded};
use super::as_html;
use super::command::command;
use super::layout::{Page, Refresh};
use crate::desk::{Change, CheckedSetting, Checks, DeskAccess, DeskCause, DeskSpike, DeskState, EarlierSession, Stage};
use crate::guard::{Identity, Peer, cookie_of_desk};
use crate::problem::Refusal;
use crate::site::Site;
use account::ranking::{Delayer, DelayerKind};
use axum::Router;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use judge::uses::{Standing, UseJudgement};
use maud::{Markup, html};
use report::Place;
use std::sync::Arc;
use std::time::{Duration, Instant};
use words::claims::uses;
use words::culprits::advice;
use words::figures::{count, counted, duration, latency};
use words::sentence::sentence;

/// Address of the page.
const HERE: &str = "/desk";
/// Time after which the page shows a change although it is not made yet.
const CHANGE_SHOWN: Duration = Duration::from_secs(10);

pub fn router() -> Router<Arc<Site>> {
    Router::new()
        .route("/enter/{secret}", get(enter))
        .route(HERE, get(show))
        .route("/desk/spikes/{number}", get(spike))
        .route("/desk/findings/{fingerprint}/apply", post(apply))
        .route("/desk/findings/{fingerprint}/undo", post(undo))
        .route("/desk/keep", post(keep))
        .route("/desk/discard", post(discard))
        .route("/desk/share", post(share))
}

fn desk(site: &Site) -> Result<&DeskAccess, Refusal> {
    site.desk().ok_or_else(|| Refusal::NoSuchPage(HERE.into()))
}

/// Lets a browser in: its link becomes a cookie that scripts cannot read and that other sites cannot make it send.
async fn enter(
    State(site): State<Arc<Site>>,
    peer: Option<Extension<Peer>>,
    Path(secret): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let access = desk(&site)?;
    let Some((session, next)) = access.entrance.enter(&secret) else {
        if let Some(Extension(peer)) = peer {
            site.rates().wrong_token(peer.0, Instant::now(), site.limits())?;
        }
        return Err(Refusal::NotEntered);
    };
    if let Some(next) = next {
        access.desk.entered(&next);
    }
    // A browser that follows a link of another page sends no cookie along a redirect; this page's own link gets it.
    let page = Page { title: "Desk", here: "", identity: &at_desk(), refresh: Refresh::At(HERE) };
    let page = as_html(&page.around(html! { h1 { "Desk" } p { a href=(HERE) { "Open the desk" } } }));
    Ok(([(header::SET_COOKIE, cookie_of_desk(&headers, session))], page).into_response())
}

fn at_desk() -> Identity {
    Identity { at_desk: true, ..Identity::default() }
}

async fn show(State(site): State<Arc<Site>>, Extension(identity): Extension<Identity>) -> Result<Response, Refusal> {
    let state = desk(&site)?.desk.state();
    let page = Page { title: "Desk", here: HERE, identity: &identity, refresh: Refresh::WithoutScript };
    Ok(as_html(&page.around(content(&state))))
}

async fn spike(State(site): State<Arc<Site>>, Path(number): Path<u32>) -> Result<Response, Refusal> {
    let at = Arc::clone(&desk(&site)?.desk);
    let places = [Place { address: HERE.into(), name: "Desk".into() }];
    let rendered = site.at_work(move || {
        let report = at.report_of(number)?;
        Some(report::render_html_below(&report.account.report_data(), &[], &places))
    });
    let page = rendered.await?.ok_or_else(|| Refusal::NoSuchPage(format!("/desk/spikes/{number}")))?;
    Ok(super::run::as_report(page))
}

async fn apply(site: State<Arc<Site>>, fingerprint: Path<String>) -> Result<Redirect, Refusal> {
    change(site, fingerprint, Change::Apply).await
}

async fn undo(site: State<Arc<Site>>, fingerprint: Path<String>) -> Result<Redirect, Refusal> {
    change(site, fingerprint, Change::Undo).await
}

async fn change(
    State(site): State<Arc<Site>>,
    Path(fingerprint): Path<String>,
    change: Change,
) -> Result<Redirect, Refusal> {
    let at = Arc::clone(&desk(&site)?.desk);
    let Some(found) = at.state().checks.findings.iter().find(|finding| finding.fingerprint == fingerprint).cloned()
    else {
        return Err(Refusal::NoSuchPage(format!("/desk/findings/{fingerprint}")));
    };
    let then = format!("{HERE}#finding-{}", found.fingerprint);
    // A slow machine goes on with it; the page then says that it does.
    let changed = site.at_work(move || at.change(&found.fingerprint, change));
    if let Ok(ended) = tokio::time::timeout(CHANGE_SHOWN, changed).await {
        ended?;
    }
    Ok(Redirect::to(&then))
}

async fn keep(State(site): State<Arc<Site>>) -> Result<Redirect, Refusal> {
    desk(&site)?.desk.keep(true);
    Ok(Redirect::to("/desk#keep"))
}

async fn discard(State(site): State<Arc<Site>>) -> Result<Redirect, Refusal> {
    desk(&site)?.desk.keep(false);
    Ok(Redirect::to("/desk#keep"))
}

async fn share(State(site): State<Arc<Site>>) -> Result<Response, Refusal> {
    let at = Arc::clone(&desk(&site)?.desk);
    let made = site.at_work(move || at.share()).await?;
    let bytes = made.map_err(|error| Refusal::NotShared(error.to_string()))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"publication.tar\"")),
    ];
    Ok((headers, bytes).into_response())
}

fn content(state: &DeskState) -> Markup {
    html! {
        h1 { "How late does " bdi { (state.host) } " wake its programs?" }
        p.unseen #desk-state role="status" aria-live="polite" { (said(state)) }
        p.validity.invalid #desk-ended hidden {}
        div #desk-live data-again-every="2000" { (live(state)) }
        (checks(&state.checks))
        (keeping(state))
    }
}

/// Text that a screen reader reads when it changes: the standing of the uses, without figures that change all the time.
fn said(state: &DeskState) -> String {
    let with = |standing: Standing| state.uses.iter().filter(|judged| judged.standing == standing).count() as u64;
    match &state.stage {
        Stage::Starting => "Starting to measure".into(),
        Stage::Ended(_) => "The measurement has ended".into(),
        Stage::Measuring => {
            let late = with(Standing::TooLate);
            format!("Measuring; too late for {} of {}", late, counted(state.uses.len() as u64, "use"))
        }
    }
}

/// The part that changes all the time.
fn live(state: &DeskState) -> Markup {
    html! {
        div data-said=(said(state)) {}
        @match &state.stage {
            Stage::Starting => p.lead { "Starting to measure…" },
            Stage::Measuring => p.lead {
                "A thread of real-time priority " (state.priority) " on every CPU wakes a thousand times a second; Linux " bdi { (state.kernel) } "."
            },
            Stage::Ended(None) => p.lead { "The measurement has ended." },
            Stage::Ended(Some(problem)) => p.validity.invalid role="alert" { strong { "The measurement ended: " } bdi { (sentence(problem)) } },
        }
        dl.live-figures {
            div { dt { "Measured" } dd { (duration(state.measured_ns)) } }
            div { dt { "Wake-ups" } dd { (rounded(state.samples)) } }
            div { dt { "Usually late by" } dd { (figure(state.median_ns)) } }
            div { dt { "At most" } dd.worst { (figure(state.worst_ns)) } }
            @for cpu in &state.cpus { div { dt { "CPU " (cpu.cpu) ", at most" } dd { (figure(cpu.worst_ns)) } } }
        }
        (verdicts(state))
        (ranking(state))
        (spikes(state))
        (earlier(state))
    }
}

fn verdicts(state: &DeskState) -> Markup {
    html! {
        section aria-labelledby="uses-title" {
            h2 #uses-title { "Is it good enough?" }
            div.scroll {
                table.figures.cards.desk-uses {
                    caption.unseen { "What the measurement shows of each use" }
                    thead { tr { th scope="col" { "Use" } th.text scope="col" { "Good enough" } th scope="col" { "May be late by" } th scope="col" { "Worst" } th.text scope="col" { "Evidence" } } }
                    tbody { @for judged in &state.uses { (verdict(judged)) } }
                }
            }
            @if !state.doubts.is_empty() && state.samples > 0 {
                p.note { "No time proves a limit on this machine: " @for (at, doubt) in state.doubts.iter().enumerate() { @if at > 0 { "; " } bdi { (doubt) } } "." }
            }
            p.note { "These are wake-ups of a thread with real-time priority. A program without it waits for other programs as well: " code { "tardy watch" } " measures it." }
        }
    }
}

fn verdict(judged: &UseJudgement) -> Markup {
    let state = match judged.standing {
        Standing::Proven => "good",
        Standing::SoFar => "held",
        Standing::TooLate => "bad",
        Standing::NotMeasured => "silent",
    };
    html! {
        tr data-use=(judged.of.id()) data-standing=(judged.standing.id()) {
            th scope="row" { (uses::title(judged.of)) }
            td.text data-name="Good enough" { span.state data-state=(state) { (uses::standing(judged.standing)) } }
            td data-name="May be late by" title=(uses::source(judged.of.allowed_by())) { (latency(judged.of.allowed_ns())) span.beside { (uses::source(judged.of.allowed_by())) } }
            td data-name="Worst" { (figure(judged.worst_ns)) }
            td.text data-name="Evidence" { (judged.sentence) }
        }
    }
}

fn kind(kind: DelayerKind) -> &'static str {
    match kind {
        DelayerKind::Program => "program",
        DelayerKind::Interrupt => "interrupt or driver",
        DelayerKind::Softirq => "softirq",
        DelayerKind::Idle => "idle state",
        DelayerKind::Mechanism => "kernel or machine",
        DelayerKind::Host => "host of this virtual machine",
    }
}

fn ranking(state: &DeskState) -> Markup {
    html! {
        section aria-labelledby="ranking-title" {
            h2 #ranking-title { "What delays wake-ups" }
            @if state.accounts == 0 {
                p.empty { "No late wake-up has been explained yet." }
            } @else {
                p.note {
                    (counted(state.accounts, "late wake-up")) " explained: " (latency(state.explained_ns)) " of " (latency(state.delay_ns)) " of lateness have a cause"
                    @if state.unexplained > 0 { "; " (count(state.unexplained)) " without a known cause" }
                    @if state.pending > 0 { "; " (count(state.pending)) " not explained yet" }
                    @if state.without_trace > 0 { "; no trace arrived of " (count(state.without_trace)) }
                    @if state.unaccounted > 0 { "; " (count(state.unaccounted)) " more have no account" }
                    "."
                }
                @for delayer in &state.of_host { (of_host(delayer)) }
                @if !state.delayers.is_empty() {
                    div.scroll {
                        table.figures.cards.culprits.desk-ranking {
                            caption.unseen { "Programs, interrupts and other causes, the largest delay first" }
                            thead { tr { th scope="col" { "Who" } th scope="col" { "Delay in all" } th scope="col" { "Times" } th scope="col" { "Longest" } th.text scope="col" { "How, and what helps" } } }
                            tbody { @for delayer in &state.delayers { (row(delayer)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Apart from the table: nothing that is changed in this machine makes it less.
fn of_host(delayer: &Delayer) -> Markup {
    html! {
        p.note data-host=(delayer.culprit.id()) {
            "Not this machine, but the host that runs it: " (latency(delayer.delay_ns)) " in " (counted(delayer.times, "late wake-up")) ", "
            a href={ "/desk/spikes/" (delayer.worst_spike) } { (latency(delayer.worst_ns)) } " at most; " bdi { (delayer.name) }
            @if !delayer.fix.is_empty() { ". What helps: " bdi { (delayer.fix) } } "."
        }
    }
}

fn earlier(state: &DeskState) -> Markup {
    html! {
        @if !state.earlier.is_empty() {
            section aria-labelledby="earlier-title" {
                h2 #earlier-title { "Before" }
                p.note { "The measurement begins again when it is long or large; the figures above are of the part that continues." }
                div.scroll {
                    table.figures.cards {
                        caption.unseen { "Earlier parts of the measurement, the newest first" }
                        thead { tr { th scope="col" { "Measured" } th scope="col" { "Wake-ups" } th scope="col" { "At most" } th.text scope="col" { "Largest delay" } } }
                        tbody { @for before in &state.earlier { (earlier_row(before)) } }
                    }
                }
            }
        }
    }
}

fn earlier_row(before: &EarlierSession) -> Markup {
    html! {
        tr data-earlier=(before.samples) {
            th scope="row" { (duration(before.measured_ns)) }
            td data-name="Wake-ups" { (rounded(before.samples)) }
            td data-name="At most" { (figure(before.worst_ns)) }
            td.text data-name="Largest delay" { @match &before.delayer {
                    Some(delayer) => { bdi { (delayer.name) } ", " (latency(delayer.delay_ns)) " in all" },
                    None => "none",
                }
            }
        }
    }
}

fn row(delayer: &Delayer) -> Markup {
    let title = advice(&delayer.culprit).map_or_else(|| delayer.culprit.id(), |advice| advice.title);
    html! {
        tr data-culprit=(delayer.culprit.id()) data-who=(delayer.name) data-kind=(kind(delayer.kind)) {
            th scope="row" { bdi { (delayer.name) } span.beside { (kind(delayer.kind)) } }
            td.worst data-name="Delay in all" { (latency(delayer.delay_ns)) }
            td data-name="Times" { (count(delayer.times)) }
            td data-name="Longest" { a href={ "/desk/spikes/" (delayer.worst_spike) } { (latency(delayer.worst_ns)) } }
            td.text data-name="How, and what helps" {
                (title) " (" code { (delayer.culprit.id()) } ")"
                @if !delayer.fix.is_empty() { span.beside { bdi { (delayer.fix) } } }
            }
        }
    }
}

fn spikes(state: &DeskState) -> Markup {
    html! {
        section aria-labelledby="spikes-title" {
            h2 #spikes-title { "Worst wake-ups" }
            @if state.spikes.is_empty() { p.empty { "None has been recorded yet." } } @else {
                div.scroll {
                    table.figures.cards {
                        caption.unseen { "Recorded late wake-ups, largest latency first" }
                        thead { tr { th scope="col" { "Late by" } th scope="col" { "CPU" } th.text scope="col" { "Cause" } } }
                        tbody { @for spike in &state.spikes { (spike_row(spike)) } }
                    }
                }
            }
        }
    }
}

fn spike_row(spike: &DeskSpike) -> Markup {
    html! {
        tr data-spike=(spike.number) {
            th scope="row" { a href={ "/desk/spikes/" (spike.number) } { (latency(spike.latency_ns)) } }
            td data-name="CPU" { (spike.cpu) }
            td.text data-name="Cause" { @match &spike.cause {
                    DeskCause::Known(cause) => bdi { (cause) },
                    DeskCause::Pending => span.beside { "not explained yet" },
                    DeskCause::NoTrace => span.beside { "no trace arrived" },
                }
            }
        }
    }
}

fn checks(checks: &Checks) -> Markup {
    html! {
        section #checks aria-labelledby="checks-title" {
            h2 #checks-title { "Settings that make it late" }
            @if let Some(line) = &checks.command {
                p.note { "Another machine is checked before or after the measurement:" }
                (command(line))
            } @else if let Some(problem) = &checks.problem {
                p.caution role="alert" { strong { "Not checked: " } bdi { (problem) } }
            } @else if !checks.is_known {
                p.empty { "The settings are being checked; load the page again in a moment." }
            } @else if checks.findings.is_empty() {
                p.empty { "None was found." }
            } @else {
                p.note { "A change lasts until it is undone here, with " code { "tardy target restore" } ", or until the next boot." }
                ul.plain.findings { @for finding in &checks.findings { (finding_item(finding)) } }
            }
        }
    }
}

fn finding_item(finding: &CheckedSetting) -> Markup {
    let place = |what: &str| format!("/desk/findings/{}/{what}", finding.fingerprint);
    let heading = format!("finding-{}-title", finding.fingerprint);
    html! {
        li #{ "finding-" (finding.fingerprint) } data-changed=(finding.is_changed) {
            h3 id=(heading) { (finding.severity) ": " bdi { (finding.title) } @if finding.is_changed { " " span.state data-state="good" { "changed" } } }
            p { bdi { (finding.what) } }
            details { summary { "Why, and how to change it" } p { bdi { (finding.reason) } }
                dl.facts { @for (label, fix) in &finding.fixes { div { dt { (label) } dd { code { (fix) } } } } } }
            @if let Some(refused) = &finding.refused { p.caution role="alert" { strong { "Not changed: " } bdi { (refused) } } }
            @if finding.is_changing {
                p.note data-changing { "It is being changed." }
            } @else if finding.can_change {
                @if finding.is_changed {
                    form.decision method="post" action=(place("undo")) { button aria-describedby=(heading) { "Undo" } }
                } @else {
                    form.decision method="post" action=(place("apply")) { button aria-describedby=(heading) { "Change it now" } }
                }
            }
        }
    }
}

fn keeping(state: &DeskState) -> Markup {
    html! {
        section #keep aria-labelledby="keep-title" {
            h2 #keep-title { "Keep and share" }
            @if state.keeps {
                p { "The measurement is kept in " code { bdi { (state.archive) } } "." }
                form.decision method="post" action="/desk/discard" { button { "Remove it at the end after all" } }
            } @else {
                p { "The measurement is removed when " code { "tardy desk" } " ends." }
                form.decision method="post" action="/desk/keep" { button { "Keep it" } }
            }
            p { "The file to share has no names of this host, its users, programs and devices, and no raw traces." }
            form.decision method="post" action="/desk/share" { button { "Download a file to share" } }
        }
    }
}
