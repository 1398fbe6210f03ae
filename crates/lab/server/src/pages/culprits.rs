//! Which causes delayed wake-ups: how much time they took, how often, where, since when, and the fix.

use super::amounts::figure;
use super::conditions::load;
use super::links::board_address;
use archive::culprit::Culprit;
use maud::{Markup, html};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use store::queries::culprits::{CulpritRow, TREND_PARTS, Trends};
use words::amounts::rough;
use words::calendar::date;
use words::culprits::advice;
use words::figures::{count, counted, latency};

const BOARDS_SHOWN: usize = 8;
const HOUR_NS: f64 = 3.6e12;
/// Width of a part of a trend, and height of the whole.
const PART: usize = 8;
const HEIGHT: f64 = 24.0;

/// All rows of one cause.
#[derive(Debug, Default, PartialEq)]
struct Cause<'a> {
    spikes: u64,
    runs: u64,
    /// `None` if a row does not have it.
    lost_ns: Option<i64>,
    latency_max_ns: i64,
    first_unix_ns: i64,
    last_unix_ns: i64,
    rows: Vec<&'a CulpritRow>,
}

/// `index`: the options that name the index on a command line.
pub fn content(rows: &[CulpritRow], trends: &Trends, days: u32, index: &str) -> Markup {
    let causes = grouped(rows);
    let most = causes.iter().filter_map(|(_, cause)| cause.lost_ns).max().unwrap_or(0).max(1);
    html! {
        h1 { "Culprits" }
        p.lead { "Causes of late samples in the last " (counted(u64::from(days), "day")) ", most lost time first." }
        nav.choices aria-label="Time" {
            ul { @for (choice, name) in [(7, "week"), (31, "month"), (366, "year")] {
                li { a href={ "/culprits?days=" (choice) } aria-current=[(choice == days).then_some("true")] { (name) } }
            } }
        }
        @if causes.is_empty() { p.empty { "No spike in this time." } }
        @else {
            @if causes.iter().any(|(_, cause)| cause.lost_ns.is_none()) {
                p.note { "A dash: an earlier version added some of the runs, and counted no lost time. " code { "tardy lab store rebuild " bdi { (index) } } " counts it." }
            }
            div.scroll {
                table.figures.cards.culprits {
                    caption.unseen { "Causes by the time that they took of late wake-ups" }
                    thead {
                        tr {
                            th scope="col" { "Cause and fix" }
                            th scope="col" { "Lost time" }
                            th scope="col" { "Spikes" }
                            th.text scope="col" { "Spikes an hour" }
                            th scope="col" { "Largest" }
                            th.text scope="col" { "Where" }
                            th.text scope="col" { "Since" }
                            th.text scope="col" { "Last" }
                        }
                    }
                    tbody { @for (name, cause) in &causes { (row(name, cause, trends, most)) } }
                }
            }
        }
    }
}

fn row(name: &str, cause: &Cause<'_>, trends: &Trends, most: i64) -> Markup {
    let share = cause.lost_ns.map(|lost| lost as f64 / most as f64 * 100.0);
    html! {
        tr id=[advice(&Culprit::from(name)).map(|_| name)] {
            th scope="row" { (words(name)) }
            td data-name="Lost time" {
                @match cause.lost_ns { Some(lost) => (latency(lost)), None => span.beside { "–" } }
                @if let Some(share) = share {
                    svg.share viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" { rect width=(format!("{share:.1}")) height="4" {} }
                }
            }
            td data-name="Spikes" { (count(cause.spikes)) span.beside { "in " (counted(cause.runs, "run")) } }
            td.text data-name="Spikes an hour" { @if let Some(spikes) = trends.spikes.get(name) { (trend(spikes, &trends.measured_ns)) } }
            td.worst data-name="Largest" { (figure(Some(cause.latency_max_ns))) }
            td.text data-name="Where" { (places(cause)) }
            td.text.date data-name="Since" { (date(cause.first_unix_ns)) }
            td.text.date data-name="Last" { (date(cause.last_unix_ns)) }
        }
    }
}

/// A culprit in words with its fix; a spike without one has no fix.
fn words(name: &str) -> Markup {
    html! {
        @match advice(&Culprit::from(name)) {
            Some(advice) => {
                bdi { (advice.title) } " " span.beside { "(" bdi { (name) } ")" }
                details.fix { summary { "Fix" } p { (advice.fix) } p { "Confirm: " (advice.confirm) } }
            },
            None => bdi { (name) },
        }
    }
}

fn places(cause: &Cause<'_>) -> Markup {
    let boards: BTreeSet<&str> = cause.rows.iter().map(|row| row.board.as_str()).collect();
    let loads: BTreeSet<&str> = cause.rows.iter().map(|row| load(&row.load)).collect();
    html! {
        @for (at, board) in boards.iter().take(BOARDS_SHOWN).enumerate() {
            @if at > 0 { ", " } a href=(board_address(board)) { bdi { (board) } }
        }
        @if boards.len() > BOARDS_SHOWN { " and " (counted((boards.len() - BOARDS_SHOWN) as u64, "more board")) }
        span.beside { "under " @for (at, load) in loads.iter().take(4).enumerate() { @if at > 0 { ", " } bdi { (load) } } @if loads.len() > 4 { " and more" } }
    }
}

/// Bars of spikes an hour, and the rates of the first and the second half.
fn trend(spikes: &[u64; TREND_PARTS], measured_ns: &[i64; TREND_PARTS]) -> Markup {
    let rates: Vec<Option<f64>> = spikes.iter().zip(measured_ns).map(|(spikes, ns)| rate(*spikes, *ns)).collect();
    let most = rates.iter().flatten().fold(f64::MIN_POSITIVE, |most, rate| most.max(*rate));
    let half = |parts: std::ops::Range<usize>| {
        let shown = rate(spikes[parts.clone()].iter().sum(), measured_ns[parts].iter().sum());
        shown.map_or("–".into(), rough)
    };
    let (before, after) = (half(0..TREND_PARTS / 2), half(TREND_PARTS / 2..TREND_PARTS));
    html! {
        svg.trend viewBox={ "0 0 " (TREND_PARTS * PART) " " (HEIGHT) } width=(TREND_PARTS * PART) height=(HEIGHT) aria-hidden="true" {
            @for (at, rate) in rates.iter().enumerate() {
                @if let Some(rate) = rate {
                    @let height = (rate / most * HEIGHT).max(1.0);
                    rect x=(at * PART) y=(format!("{:.1}", HEIGHT - height)) width=(PART - 2) height=(format!("{height:.1}")) {}
                }
            }
        }
        span.beside { (before) " → " (after) }
    }
}

/// Spikes an hour; `None` of a time without a measurement.
fn rate(spikes: u64, measured_ns: i64) -> Option<f64> {
    (measured_ns > 0).then(|| spikes as f64 / (measured_ns as f64 / HOUR_NS))
}

/// The rows by cause, most lost time first; one of which it is not known comes by its number of spikes after them.
fn grouped(rows: &[CulpritRow]) -> Vec<(&str, Cause<'_>)> {
    let mut causes: BTreeMap<&str, Cause<'_>> = BTreeMap::new();
    for row in rows {
        let start = Cause { lost_ns: Some(0), first_unix_ns: i64::MAX, last_unix_ns: i64::MIN, ..Cause::default() };
        let cause = causes.entry(&row.culprit).or_insert(start);
        cause.spikes = cause.spikes.saturating_add(row.spikes);
        cause.runs = cause.runs.saturating_add(row.runs);
        cause.lost_ns = cause.lost_ns.zip(row.lost_ns).map(|(sum, lost)| sum.saturating_add(lost));
        cause.latency_max_ns = cause.latency_max_ns.max(row.latency_max_ns);
        cause.first_unix_ns = cause.first_unix_ns.min(row.first_unix_ns);
        cause.last_unix_ns = cause.last_unix_ns.max(row.last_unix_ns);
        cause.rows.push(row);
    }
    let mut causes: Vec<(&str, Cause<'_>)> = causes.into_iter().collect();
    causes.sort_by_key(|(name, cause)| (Reverse(cause.lost_ns), Reverse(cause.spikes), *name));
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(culprit: &str, board: &str, spikes: u64, lost_ns: Option<i64>) -> CulpritRow {
        CulpritRow {
            culprit: culprit.into(),
            board: board.into(),
            load: "none".into(),
            method: "timer".into(),
            scenario: String::new(),
            runs: 1,
            spikes,
            lost_ns,
            latency_max_ns: spikes as i64,
            first_unix_ns: spikes as i64,
            last_unix_ns: spikes as i64 + 1,
        }
    }

    #[test]
    fn rows_of_one_cause_add_up_and_the_one_that_took_most_time_is_first() {
        let rows = [
            row("softirq", "a", 30, Some(5)),
            row("irqs-off", "a", 4, Some(90)),
            row("softirq", "b", 2, Some(7)),
            row("steal", "b", 99, None),
        ];
        let causes = grouped(&rows);
        let shown: Vec<(&str, Option<i64>)> = causes.iter().map(|(name, cause)| (*name, cause.lost_ns)).collect();
        assert_eq!(shown, [("irqs-off", Some(90)), ("softirq", Some(12)), ("steal", None)]);
        let softirq = &causes[1].1;
        assert_eq!(
            (softirq.spikes, softirq.first_unix_ns, softirq.last_unix_ns, softirq.latency_max_ns),
            (32, 2, 31, 30)
        );
    }

    #[test]
    fn a_culprit_has_its_words_its_fix_and_a_trend_by_measured_time() {
        let mut trends = Trends { measured_ns: [HOUR_NS as i64; TREND_PARTS], ..Trends::default() };
        trends.measured_ns[0] = 0;
        let spikes = std::array::from_fn(|part| if part < TREND_PARTS / 2 { 1 } else { 4 });
        trends.spikes.insert("irqs-off".into(), spikes);
        let shown = content(&[row("irqs-off", "a", 4, Some(90))], &trends, 7, "--store lab").into_string();
        assert!(
            shown.contains(advice(&Culprit::IrqsOff).unwrap().title) && shown.contains("(<bdi>irqs-off</bdi>)"),
            "{shown}"
        );
        assert!(shown.contains("<summary>Fix</summary>") && shown.contains("1.2 → 4"), "{shown}");
        assert_eq!(shown.matches("<rect x=").count(), TREND_PARTS - 1, "a part without a measurement has no bar");
    }
}
