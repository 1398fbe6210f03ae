//! The program's own functions on a page: how a late cycle of a watched thread divides among them, beside ordinary cycles.

use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::own_code::{CodeTime, CodeWait, OwnCode};
use words::figures::microseconds_rough;
use words::own_code::{callers, code, samples};

/// Lines of the table; `--json` has more.
const FUNCTIONS_SHOWN: usize = 8;
/// Columns of the table next to the names.
const FIGURES_COLUMNS: usize = 34;
const NAME_COLUMNS_MIN: usize = 12;
const WAITS_SHOWN: usize = 3;

pub fn lay_out(own: &OwnCode, page: &mut Page) {
    if !own.functions.is_empty() {
        lay_out_functions(own, page);
    }
    if !own.waits.is_empty() {
        lay_out_waits(&own.waits, page);
    }
}

fn lay_out_waits(waits: &[CodeWait], page: &mut Page) {
    let mut table = Table::new(&[Align::Right, Align::Right, Align::Left]);
    table.row(["off the CPU µs", "times", "in"]);
    for wait in waits.iter().take(WAITS_SHOWN) {
        let room = page.columns().saturating_sub(FIGURES_COLUMNS).max(NAME_COLUMNS_MIN);
        table.row([microseconds_rough(Some(wait.ns)), wait.count.to_string(), shortened(callers(wait), room)]);
    }
    page.blank();
    page.table(&table);
}

fn lay_out_functions(own: &OwnCode, page: &mut Page) {
    let room = page.columns().saturating_sub(FIGURES_COLUMNS).max(NAME_COLUMNS_MIN);
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.row(["own thread by function", "µs", "ordinarily", "share"]);
    for time in own.functions.iter().take(FUNCTIONS_SHOWN) {
        table.row(row(time, own.ran_ns, room));
    }
    let rest: Vec<&CodeTime> = own.functions.iter().skip(FUNCTIONS_SHOWN).collect();
    if !rest.is_empty() {
        let ns = rest.iter().fold(0, |sum: i64, time| sum.saturating_add(time.ns));
        let usual_ns = rest.iter().try_fold(0, |sum: i64, time| Some(sum.saturating_add(time.usual_ns?)));
        table.row(cells(format!("{} others", rest.len()), ns, usual_ns, own.ran_ns));
    }
    page.blank();
    page.table(&table);
    page.wrapped("  ", &samples(&own.samples));
}

fn row(time: &CodeTime, ran_ns: i64, room: usize) -> [String; 4] {
    cells(shortened(code(&time.code), room), time.ns, time.usual_ns, ran_ns)
}

fn shortened(name: String, room: usize) -> String {
    match name.chars().count() > room {
        true => name.chars().take(room - 1).chain(['…']).collect(),
        false => name,
    }
}

fn cells(name: String, ns: i64, usual_ns: Option<i64>, ran_ns: i64) -> [String; 4] {
    let share = (i128::from(ns) * 100).checked_div(i128::from(ran_ns)).unwrap_or(0);
    [name, microseconds_rough(Some(ns)), microseconds_rough(usual_ns), format!("{share} %")]
}
