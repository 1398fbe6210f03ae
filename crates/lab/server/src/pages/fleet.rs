//! The fleet: every board with its state, its worst cases, and what they rest on.

use super::amounts::{ago, coverage, figure};
use super::conditions::{kernel, load};
use super::empty::unfinished;
use super::links::{board_address, run_address};
use super::picture::sparkline;
use super::state;
use super::turn;
use crate::known_archives::Progress;
use maud::{Markup, html};
use std::cmp::Reverse;
use store::Standing;
use store::queries::fleet::{Fleet, FleetRow, board_standing};
use store::queries::run::RunRow;
use store::queries::silence::silent_since;
use words::calendar::utc;
use words::figures::{count, counted, latency};

/// Everything below the head of the page. `now_unix_ns` dates the heartbeats.
pub fn content(fleet: &Fleet, progress: &Progress, now_unix_ns: i64) -> Markup {
    let mut boards: Vec<&[FleetRow]> = fleet.boards().collect();
    // Bad news first; boards of a state stay in the order of their names.
    boards.sort_by_key(|rows| Reverse(board_standing(rows) == Standing::Bad));
    html! {
        h1 { "Fleet" }
        (overview(&boards, now_unix_ns))
        (unfinished(progress))
        @if fleet.cut { p.caution { strong { "Not all boards are shown." } " An answer holds 10 000 loads of boards." } }
        div.scroll {
            table.fleet {
                caption.unseen { "Boards and the last run of each load" }
                thead {
                    tr {
                        th scope="col" { "Load and method" }
                        th scope="col" { "State" }
                        th scope="col" { "Largest latency" }
                        th scope="col" { "Over the limit" }
                        th scope="col" { "On this kernel" }
                        th scope="col" { "Last 30 runs" }
                        th scope="col" { "Last run" }
                    }
                }
                @for rows in &boards { (board(rows, now_unix_ns)) }
            }
        }
    }
}

fn overview(boards: &[&[FleetRow]], now_unix_ns: i64) -> Markup {
    let standings: Vec<Standing> = boards.iter().map(|rows| board_standing(rows)).collect();
    let silent =
        boards.iter().filter(|rows| rows.iter().all(|row| silent_since(&row.recent, now_unix_ns).is_some())).count();
    html! {
        p.lead.overview {
            (counted(boards.len() as u64, "board"))
            (state::counts(&standings))
            @if silent > 0 { " · " span.state data-state="silent" { (count(silent as u64)) " silent" } }
        }
    }
}

fn board(rows: &[FleetRow], now_unix_ns: i64) -> Markup {
    let Some(first) = rows.first() else { return html! {} };
    let newest = rows.iter().map(|row| &row.newest).max_by_key(|run| run.started_unix_ns).unwrap_or(&first.newest);
    let standing = board_standing(rows);
    let worst = rows.iter().find(|row| row.standing == standing).unwrap_or(first);
    html! {
        tbody.board data-state=(standing.word()) data-board=(first.newest.board) {
            tr.board-head {
                th colspan="7" scope="rowgroup" {
                    (state::chip(standing))
                    a.board-name href=(board_address(&first.newest.board)) { bdi { (first.newest.board) } }
                    span.kernel { (kernel(newest)) }
                    @if newest.virtual_time { span.mark { "virtual time" } } @else if newest.emulated { span.mark { "emulated" } }
                    (since(worst))
                }
            }
            @for row in rows { (scenario(row, now_unix_ns)) }
        }
    }
}

/// Last good, first bad, what differs between them, reason.
fn since(row: &FleetRow) -> Markup {
    html! {
        @if let Some(bad) = &row.state.first_bad {
            span.turn {
                @if let Some(good) = &row.state.last_good { "last good " (turn::run(good)) } @else { "no good run" }
                ", first bad " (turn::run(bad))
                @if let Some(max) = bad.latency_max_ns { ": " strong { (latency(max)) } }
                @if let Some(cause) = &bad.worst_cause { ", " (turn::cause(cause)) }
                " under " bdi { (load(&row.newest.load)) }
                @if let Some(good) = &row.state.last_good { " · " (turn::differs(good, bad)) }
            }
        }
    }
}

/// Samples and limit of a run.
fn basis(run: &RunRow) -> Markup {
    html! { span.beside { "of " (count(run.samples)) @if let Some(limit) = run.limit_ns { ", limit " (latency(limit)) } } }
}

fn scenario(row: &FleetRow, now_unix_ns: i64) -> Markup {
    let run = &row.newest;
    let history = format!("{}?scenario={}", board_address(&run.board), row.scenario);
    let silent = silent_since(&row.recent, now_unix_ns).is_some();
    html! {
        tr.scenario title=(row.words) {
            th scope="row" { a href=(history) { bdi { (load(&run.load)) } } span.method { bdi { (run.method) } } }
            td data-name="State" { (state::of_run(run)) }
            td.number data-name="Largest latency" { a href=(run_address(&run.digest)) { (figure(run.latency_max_ns)) } }
            td.number data-name="Over the limit" {
                (state::over_limit(run, basis))
            }
            td data-name="On this kernel" { (coverage(&row.coverage)) }
            td.spark data-name="Last 30 runs" { a href=(history) { (sparkline::inline(&row.recent)) } }
            td data-name="Last run" {
                time datetime=(utc(run.started_unix_ns)) title=(utc(run.started_unix_ns)) { (ago(run.started_unix_ns, now_unix_ns)) }
                @if silent { span.state data-state="silent" { "silent" } }
            }
        }
    }
}
