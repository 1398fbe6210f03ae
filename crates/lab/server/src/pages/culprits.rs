//! Which causes delayed wake-ups: how often, where, since when.

use super::amounts::figure;
use super::links::board_address;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use store::queries::culprits::CulpritRow;
use words::calendar::utc;
use words::figures::{count, counted};

const BOARDS_SHOWN: usize = 8;

/// All rows of one cause.
#[derive(Debug, Default, PartialEq)]
struct Cause<'a> {
    spikes: u64,
    runs: u64,
    latency_max_ns: i64,
    first_unix_ns: i64,
    last_unix_ns: i64,
    rows: Vec<&'a CulpritRow>,
}

pub fn content(rows: &[CulpritRow], days: u32) -> Markup {
    let causes = grouped(rows);
    let most = causes.first().map_or(1, |(_, cause)| cause.spikes.max(1));
    html! {
        h1 { "Culprits" }
        p.lead { "What made samples late in the last " (counted(u64::from(days), "day")) ", most spikes first." }
        nav.choices aria-label="Time" {
            ul { @for (choice, name) in [(7, "week"), (31, "month"), (366, "year")] {
                li { a href={ "/culprits?days=" (choice) } aria-current=[(choice == days).then_some("true")] { (name) } }
            } }
        }
        @if causes.is_empty() { p.empty { "No spike in this time." } }
        @else {
            div.scroll {
                table.figures.culprits {
                    caption.unseen { "Causes by their number of spikes" }
                    thead {
                        tr {
                            th scope="col" { "Cause" }
                            th scope="col" { "Spikes" }
                            th scope="col" { "Runs" }
                            th scope="col" { "Largest" }
                            th.text scope="col" { "Where" }
                            th.text scope="col" { "Since" }
                            th.text scope="col" { "Last" }
                        }
                    }
                    tbody { @for (name, cause) in &causes { (row(name, cause, most)) } }
                }
            }
        }
    }
}

fn row(name: &str, cause: &Cause<'_>, most: u64) -> Markup {
    let boards: BTreeSet<&str> = cause.rows.iter().map(|row| row.board.as_str()).collect();
    let loads: BTreeSet<&str> = cause.rows.iter().map(|row| row.load.as_str()).collect();
    let share = cause.spikes as f64 / most as f64 * 100.0;
    html! {
        tr {
            th scope="row" {
                bdi { (name) }
                svg.share viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" { rect width=(format!("{share:.1}")) height="4" {} }
            }
            td { (count(cause.spikes)) }
            td { (count(cause.runs)) }
            td.worst { (figure(Some(cause.latency_max_ns))) }
            td.text {
                @for (at, board) in boards.iter().take(BOARDS_SHOWN).enumerate() {
                    @if at > 0 { ", " } a href=(board_address(board)) { bdi { (board) } }
                }
                @if boards.len() > BOARDS_SHOWN { " and " (counted((boards.len() - BOARDS_SHOWN) as u64, "more board")) }
                span.beside { "under " @for (at, load) in loads.iter().take(4).enumerate() { @if at > 0 { ", " } bdi { (load) } } @if loads.len() > 4 { " and more" } }
            }
            td.text { (day(cause.first_unix_ns)) }
            td.text { (day(cause.last_unix_ns)) }
        }
    }
}

fn day(unix_ns: i64) -> String {
    utc(unix_ns).split(' ').next().unwrap_or_default().to_owned()
}

/// The rows by cause, most spikes first.
fn grouped(rows: &[CulpritRow]) -> Vec<(&str, Cause<'_>)> {
    let mut causes: BTreeMap<&str, Cause<'_>> = BTreeMap::new();
    for row in rows {
        let start = Cause { first_unix_ns: i64::MAX, last_unix_ns: i64::MIN, ..Cause::default() };
        let cause = causes.entry(&row.culprit).or_insert(start);
        cause.spikes = cause.spikes.saturating_add(row.spikes);
        cause.runs = cause.runs.saturating_add(row.runs);
        cause.latency_max_ns = cause.latency_max_ns.max(row.latency_max_ns);
        cause.first_unix_ns = cause.first_unix_ns.min(row.first_unix_ns);
        cause.last_unix_ns = cause.last_unix_ns.max(row.last_unix_ns);
        cause.rows.push(row);
    }
    let mut causes: Vec<(&str, Cause<'_>)> = causes.into_iter().collect();
    causes.sort_by(|a, b| b.1.spikes.cmp(&a.1.spikes).then(a.0.cmp(b.0)));
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_cause_add_up_and_the_most_frequent_is_first() {
        let row = |culprit: &str, board: &str, spikes: u64, at: i64| CulpritRow {
            culprit: culprit.into(),
            board: board.into(),
            load: "none".into(),
            method: "timer".into(),
            scenario: String::new(),
            runs: 1,
            spikes,
            latency_max_ns: at,
            first_unix_ns: at,
            last_unix_ns: at + 1,
        };
        let rows = [row("irq", "a", 3, 5), row("lock", "a", 4, 9), row("irq", "b", 2, 7)];
        let causes = grouped(&rows);
        assert_eq!(
            causes.iter().map(|(name, cause)| (*name, cause.spikes)).collect::<Vec<_>>(),
            [("irq", 5), ("lock", 4)]
        );
        assert_eq!((causes[0].1.first_unix_ns, causes[0].1.last_unix_ns, causes[0].1.latency_max_ns), (5, 8, 7));
    }
}
