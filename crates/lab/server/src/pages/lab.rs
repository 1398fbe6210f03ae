//! The pages of boards and runs: reads the index, then draws.

use super::as_html;
use super::board::{self, BoardView};
use super::layout::{Page, Refresh};
use super::matrix::{Boards, By};
use super::picture::time::Events;
use super::picture::{document, heat, ridge, sparkline};
use super::today::{self, TodayView};
use super::{compare, culprits, empty, fleet, queue, run};
use crate::api::lab::{Days, parameters};
use crate::api::news::{NEWS_DAYS, news_since};
use crate::changes::{Found, among, events};
use crate::data::{self, Window, now_unix_ns};
use crate::guard::Identity;
use crate::problem::Refusal;
use crate::site::Site;
use account::{Account, ExplanationSource, compared};
use archive::reader::OpenError;
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use judge::compare::Comparison;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::queries::run::RunRow;

type Answer = Result<Response, Refusal>;

pub fn router() -> Router<Arc<Site>> {
    Router::new()
        .route("/", get(show_today))
        .route("/fleet", get(show_fleet))
        .route("/boards/{board}", get(show_board))
        .route("/boards/{board}/heat.svg", get(heat_picture))
        .route("/boards/{board}/ridge.svg", get(ridge_picture))
        .route("/boards/{board}/sparkline.svg", get(sparkline_picture))
        .route("/runs/{digest}", get(show_run))
        .route("/compare", get(show_comparison))
        .route("/culprits", get(show_culprits))
}

/// The time whose news are shown, and the columns of the boards.
#[derive(Debug, Default, Deserialize)]
struct Shown {
    days: Option<u32>,
    by: Option<By>,
}

async fn show_today(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    asked: Result<Query<Shown>, QueryRejection>,
) -> Answer {
    let Shown { days, by } = parameters(asked, "days=NUMBER and by=load or by=kernel")?;
    let (days, by) = (Days::checked(Some(days.unwrap_or(NEWS_DAYS)))?, by.unwrap_or_default());
    let store = site.store();
    let now_unix_ns = now_unix_ns();
    let fleet = store.fleet().await.map_err(Refusal::of_store)?;
    let news = store.news(&fleet, news_since(days, now_unix_ns), now_unix_ns).await.map_err(Refusal::of_store)?;
    let kernels = match by {
        By::Load => Vec::new(),
        By::Kernel => store.on_kernels().await.map_err(Refusal::of_store)?,
    };
    let progress = site.known_archives().progress();
    let boards = Boards { fleet: &fleet, silent: &news.silent, kernels: &kernels, by, days };
    let view = TodayView { boards: &boards, news: &news, progress: &progress, now_unix_ns };
    let content = match fleet.rows.is_empty() {
        true => empty::content(site.directory(), &progress),
        false => today::content(&view),
    };
    let refresh = Refresh::while_making(progress.waiting > 0);
    Ok(as_html(&Page { title: "Today", here: "/", identity: &identity, refresh }.around(content)))
}

async fn show_fleet(State(site): State<Arc<Site>>, Extension(identity): Extension<Identity>) -> Answer {
    let found = site.store().fleet().await.map_err(Refusal::of_store)?;
    let progress = site.known_archives().progress();
    let content = match found.rows.is_empty() {
        true => empty::content(site.directory(), &progress),
        false => fleet::content(&found, &progress, now_unix_ns()),
    };
    Ok(as_html(
        &Page {
            title: "Fleet",
            here: "/fleet",
            identity: &identity,
            refresh: Refresh::while_making(progress.waiting > 0),
        }
        .around(content),
    ))
}

/// The load, and the time until today; without one, the time of all runs.
#[derive(Debug, Default, Deserialize)]
struct Choice {
    scenario: Option<String>,
    days: Option<u32>,
}

async fn read(
    site: &Arc<Site>,
    name: &str,
    asked: Result<Query<Choice>, QueryRejection>,
) -> Result<(data::Board, Option<u32>), Refusal> {
    let Choice { scenario, days } = parameters(asked, "scenario=KEY and days=NUMBER")?;
    let days = days.map(|days| Days::checked(Some(days))).transpose()?;
    Ok((data::board(site, name, scenario.as_deref(), days).await?, days))
}

async fn show_board(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    Path(name): Path<String>,
    asked: Result<Query<Choice>, QueryRejection>,
) -> Answer {
    let (board, days) = read(&site, &name, asked).await?;
    let found = found(&board);
    let between = match identity.may_run() {
        true => queue::between(&site, &name, &found).await?,
        false => BTreeMap::new(),
    };
    let view = BoardView {
        between: &between,
        loads: &board.loads,
        scenarios: &board.scenarios,
        history: &board.history,
        parts: &board.parts,
        events: &happened(&board, &found),
        found: &found,
        sentences: board.sentences.as_ref().map(|sentences| sentences.as_slice()),
        days,
        may_decide: identity.is_admin(),
        index: &site.lab.index.options(),
    };
    let page = Page {
        title: &name,
        here: "/fleet",
        identity: &identity,
        refresh: Refresh::while_making(board.sentences.is_none()),
    };
    Ok(as_html(&page.around(board::content(&view))))
}

fn runs(board: &data::Board) -> Vec<&RunRow> {
    board.history.runs.iter().map(|point| &point.run).collect()
}

fn found(board: &data::Board) -> Vec<Found> {
    among(&runs(board), &board.changes)
}

fn happened(board: &data::Board, found: &[Found]) -> Events {
    events(&runs(board), found, board.window.until_unix_ns)
}

async fn heat_picture(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    asked: Result<Query<Choice>, QueryRejection>,
) -> Answer {
    let (board, _) = read(&site, &name, asked).await?;
    let body = heat::body(&board.parts, &happened(&board, &found(&board)), board::WIDTH);
    let body = body.ok_or_else(|| Refusal::NoSuchBoard(name.clone()))?;
    let label = format!("Latencies of {name} over time");
    Ok(svg(document(board::WIDTH, heat::height(), &label, &body)))
}

async fn ridge_picture(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    asked: Result<Query<Choice>, QueryRejection>,
) -> Answer {
    let (board, _) = read(&site, &name, asked).await?;
    let events = happened(&board, &found(&board));
    let drawn = ridge::body(&board::ridges(&board.parts, &events), board::WIDTH);
    let (body, height) = drawn.ok_or_else(|| Refusal::NoSuchBoard(name.clone()))?;
    Ok(svg(document(board::WIDTH, height, &format!("Histograms of {name} over time"), &body)))
}

async fn sparkline_picture(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    asked: Result<Query<Choice>, QueryRejection>,
) -> Answer {
    let wanted = parameters(asked, "scenario=KEY")?.scenario;
    let fleet = site.store().fleet().await.map_err(Refusal::of_store)?;
    let row = fleet
        .rows
        .iter()
        .find(|row| row.newest.board == name && wanted.as_ref().is_none_or(|wanted| row.scenario == *wanted));
    Ok(svg(sparkline::file(&row.ok_or(Refusal::NoSuchBoard(name))?.recent)))
}

fn svg(picture: String) -> Response {
    ([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "private, max-age=300")], picture)
        .into_response()
}

async fn show_run(State(site): State<Arc<Site>>, Path(digest): Path<String>) -> Answer {
    let detail = site.store().run(&digest).await.map_err(Refusal::of_store)?;
    run::report(&site, &detail.ok_or(Refusal::NoSuchRun(digest))?.run).await
}

/// The digests of two runs.
#[derive(Debug, Deserialize)]
struct Pair {
    a: String,
    b: String,
}

async fn show_comparison(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    asked: Result<Query<Pair>, QueryRejection>,
) -> Answer {
    let Pair { a, b } = parameters(asked, "a=DIGEST and b=DIGEST, of two runs")?;
    let mut sides = Vec::new();
    for digest in [a, b] {
        let run = site.store().run(&digest).await.map_err(Refusal::of_store)?;
        let archive = site.store().archive_of(&digest).await.map_err(Refusal::of_store)?;
        sides.push(run.map(|detail| detail.run).zip(archive).ok_or(Refusal::NoSuchRun(digest))?);
    }
    let [(a, archive_of_a), (b, archive_of_b)] = <[_; 2]>::try_from(sides).map_err(|_| Refusal::Defect)?;
    let compared = site.at_work(move || -> Result<Comparison, OpenError> {
        let open = |archive| Account::open(archive, ExplanationSource::StoredOrTraces);
        Ok(compared(&open(archive_of_a)?, &open(archive_of_b)?).comparison)
    });
    let comparison = compared.await?.map_err(|error| Refusal::Unreadable(error.to_string()))?;
    let page = Page { title: "Two runs", here: "/fleet", identity: &identity, refresh: Refresh::Never };
    Ok(as_html(&page.around(compare::content(&a, &b, &comparison))))
}

async fn show_culprits(
    State(site): State<Arc<Site>>,
    Extension(identity): Extension<Identity>,
    asked: Result<Query<Days>, QueryRejection>,
) -> Answer {
    let days = Days::of(asked)?;
    let Window { from_unix_ns, until_unix_ns } = Window::of_days(days, now_unix_ns());
    let rows = site.store().culprits(from_unix_ns, until_unix_ns).await.map_err(Refusal::of_store)?;
    // A trend is over the time that has these causes: a year with twelve days of data would be one bar.
    let first = rows.iter().map(|row| row.first_unix_ns).min().unwrap_or(from_unix_ns);
    let last = rows.iter().map(|row| row.last_unix_ns).max().unwrap_or(until_unix_ns);
    let trends = site.store().culprit_trends(first, last.saturating_add(1)).await.map_err(Refusal::of_store)?;
    let page = Page { title: "Culprits", here: "/culprits", identity: &identity, refresh: Refresh::Never };
    Ok(as_html(&page.around(culprits::content(&rows, &trends, days, &site.lab.index.options()))))
}
