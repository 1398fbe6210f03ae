//! The first page: what changed in the lab since yesterday, then every board in one line.

use super::amounts::{ago, figure};
use super::conditions;
use super::empty::unfinished;
use super::links::{board_address, run_address};
use super::matrix::{self, Boards};
use super::state;
use super::turn;
use crate::known_archives::Progress;
use maud::{Markup, html};
use store::Standing;
use store::queries::fleet::board_standing;
use store::queries::news::{NewCulprit, NewMaximum, News, Turn};
use store::queries::silence::SilentBoard;
use store::queue::Job;
use words::calendar::{date, utc};
use words::figures::{count, counted, latency};

/// Times to choose from, in days.
const TIMES: [(u32, &str); 3] = [(1, "yesterday"), (3, "3 days"), (7, "week")];
/// Entries of a group that are open; the rest unfolds.
const OPEN: usize = 6;

/// Everything that the page shows.
pub struct TodayView<'a> {
    pub boards: &'a Boards<'a>,
    pub news: &'a News,
    pub progress: &'a Progress,
    pub now_unix_ns: i64,
}

pub fn content(view: &TodayView<'_>) -> Markup {
    html! {
        div.lab-title {
            h1 { (since(view.boards.days)) }
            (choices(view))
        }
        (overview(view))
        (unfinished(view.progress))
        @if view.boards.fleet.cut { p.caution { strong { "Not all boards are shown." } " An answer holds 10 000 loads of boards." } }
        (news(view))
        (matrix::section(view.boards))
    }
}

fn since(days: u32) -> String {
    if days == 1 { "Since yesterday".into() } else { format!("In the last {}", counted(days.into(), "day")) }
}

fn choices(view: &TodayView<'_>) -> Markup {
    html! {
        nav.choices aria-label="Time" {
            ul { @for (days, name) in TIMES {
                li { a href=(matrix::address(days, view.boards.by)) aria-current=[(days == view.boards.days).then_some("true")] { (name) } }
            } }
        }
    }
}

fn overview(view: &TodayView<'_>) -> Markup {
    let boards: Vec<Standing> = view.boards.fleet.boards().map(board_standing).collect();
    let silent = view.news.silent.len() as u64;
    html! {
        p.lead.overview {
            (counted(boards.len() as u64, "board"))
            (state::counts(&boards))
            @if silent > 0 { " · " span.state data-state="silent" { (count(silent)) " silent" } }
        }
    }
}

/// Groups with entries, then the names of those without.
fn news(view: &TodayView<'_>) -> Markup {
    let news = view.news;
    let groups = [
        ("Newly bad", entries(&news.newly_bad, |turn| bad(turn, news))),
        ("Newly good", entries(&news.newly_good, good)),
        ("New culprit", entries(news.new_culprits.iter().filter(|one| !is_of_a_bad_load(one, news)), culprit)),
        ("New maximum", entries(news.new_maxima.iter().filter(|one| !is_maximum_of_a_bad_load(one, news)), maximum)),
        ("Silent", entries(&news.silent, |one| silent(one, view))),
        ("Failed jobs", entries(&news.failed_jobs, |job| failed(job, view.now_unix_ns))),
    ];
    let nothing: Vec<&str> = groups.iter().filter(|(_, entries)| entries.is_empty()).map(|(name, _)| *name).collect();
    html! {
        div.news {
            @for (name, entries) in groups.iter().filter(|(_, entries)| !entries.is_empty()) { (group(name, entries)) }
        }
        @if !nothing.is_empty() { p.note { "Nothing under: " (nothing.join(", ").to_lowercase()) "." } }
    }
}

fn entries<'a, T: 'a>(of: impl IntoIterator<Item = &'a T>, entry: impl Fn(&T) -> Markup) -> Vec<Markup> {
    of.into_iter().map(entry).collect()
}

/// A load that became bad is one entry, which has its new culprit and its new maximum as marks.
fn has_culprit(turn: &Turn, one: &NewCulprit) -> bool {
    turn.board == one.board && turn.first.worst_cause.as_ref() == Some(&one.culprit)
}

fn is_of_a_bad_load(one: &NewCulprit, news: &News) -> bool {
    news.newly_bad.iter().any(|turn| has_culprit(turn, one))
}

fn is_maximum_of_a_bad_load(one: &NewMaximum, news: &News) -> bool {
    news.newly_bad.iter().any(|turn| turn.scenario == one.scenario)
}

fn group(name: &str, entries: &[Markup]) -> Markup {
    let (open, rest) = entries.split_at(entries.len().min(OPEN));
    html! {
        section {
            h2 { (name) " " span.beside { (count(entries.len() as u64)) } }
            ul.plain { @for entry in open { li { (entry) } } }
            @if !rest.is_empty() {
                details { summary { "and " (count(rest.len() as u64)) " more" } ul.plain { @for entry in rest { li { (entry) } } } }
            }
        }
    }
}

fn load(board: &str, load: &str, scenario: &str) -> Markup {
    html! { a.board-name href={ (board_address(board)) "?scenario=" (scenario) } { bdi { (board) } } " " bdi { (conditions::load(load)) } }
}

fn bad(turn: &Turn, news: &News) -> Markup {
    let maximum = news.new_maxima.iter().find(|one| one.scenario == turn.scenario);
    html! {
        (load(&turn.board, &turn.load, &turn.scenario)) ": " strong { (figure(turn.first.latency_max_ns)) }
        @if let Some(cause) = &turn.first.worst_cause { ", " (turn::cause(cause)) } @else { ", cause unknown" }
        @if news.new_culprits.iter().any(|one| has_culprit(turn, one)) { span.mark { "new culprit" } }
        @if let Some(one) = maximum { span.mark title={ "before " (latency(one.before_max_ns)) " on " (one.kernel_line) } { "new maximum" } }
        span.beside {
            "first bad " (turn::run(&turn.first)) ", "
            @match &turn.before {
                Some(good) => { "last good " (turn::run(good)) " · " (turn::differs(good, &turn.first)) },
                None => "never good",
            }
            (last(turn, "last bad"))
        }
    }
}

fn good(turn: &Turn) -> Markup {
    html! {
        (load(&turn.board, &turn.load, &turn.scenario)) ": " (figure(turn.first.latency_max_ns))
        span.beside {
            "first good " (turn::run(&turn.first))
            @if let Some(bad) = &turn.before {
                ", last bad " (turn::run(bad))
                @if let Some(cause) = &bad.worst_cause { ", " (turn::cause(cause)) }
                " · " (turn::differs(bad, &turn.first))
            }
            (last(turn, "last good"))
        }
    }
}

/// The run whose figure the line of the board shows, if it is not the first after the turn.
fn last(turn: &Turn, words: &str) -> Markup {
    html! {
        @if turn.last.digest != turn.first.digest { "; " (words) " " (turn::run(&turn.last)) ": " (figure(turn.last.latency_max_ns)) }
    }
}

fn culprit(one: &NewCulprit) -> Markup {
    html! {
        a.board-name href=(board_address(&one.board)) { bdi { (one.board) } } ": " (turn::cause(&one.culprit))
        span.beside {
            (counted(one.spikes, "spike")) ", largest " a href=(run_address(&one.run.digest)) { (latency(one.latency_max_ns)) }
            " under " bdi { (conditions::load(&one.load)) } ", Linux " bdi { (one.run.kernel) }
        }
    }
}

fn maximum(one: &NewMaximum) -> Markup {
    html! {
        (load(&one.board, &one.load, &one.scenario)) ": " a href=(run_address(&one.run.digest)) { strong { (latency(one.latency_max_ns)) } }
        span.beside {
            "before " (latency(one.before_max_ns)) " on " bdi { (one.kernel_line) }
            @if let Some(cause) = &one.run.worst_cause { ", " (turn::cause(cause)) }
        }
    }
}

fn silent(one: &SilentBoard, view: &TodayView<'_>) -> Markup {
    html! {
        a.board-name href=(board_address(&one.board)) { bdi { (one.board) } }
        @if one.since_unix_ns >= view.news.since_unix_ns { span.mark { "new" } }
        span.beside { "last run " time datetime=(utc(one.last_unix_ns)) { (ago(one.last_unix_ns, view.now_unix_ns)) } ", overdue since " (date(one.since_unix_ns)) }
    }
}

fn failed(job: &Job, now_unix_ns: i64) -> Markup {
    html! {
        a href={ "/queue#job-" (job.job) } { bdi { (job.plan_name) } } " on " a.board-name href=(board_address(&job.board)) { bdi { (job.board) } }
        span.beside {
            bdi { (job.message) }
            @if let Some(ended) = job.ended_unix_ns { ", " (ago(ended, now_unix_ns)) }
        }
    }
}
