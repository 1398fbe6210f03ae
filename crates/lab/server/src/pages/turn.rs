//! A run on one side of a turn, and what differs between both sides.

use super::links::{compare_address, run_address};
use archive::culprit::Culprit;
use maud::{Markup, html};
use store::queries::board_state::{Differs, KernelRun};
use words::calendar::date;
use words::culprits::{advice, named};

/// A run by its kernel and its day.
pub fn run(run: &KernelRun) -> Markup {
    html! { a href=(run_address(&run.digest)) { bdi { (run.kernel) } } " (" (date(run.started_unix_ns)) ")" }
}

/// Differences between the runs, as a link to the page that compares them.
pub fn differs(before: &KernelRun, first: &KernelRun) -> Markup {
    html! { a href=(compare_address(&before.digest, &first.digest)) { (Differs::between(before, first).words()) } }
}

/// A cause in words, with its fix on the page of the culprits; one of another version has none there.
pub fn cause(culprit: &str) -> Markup {
    html! {
        @match advice(&Culprit::from(culprit)) {
            Some(_) => a href={ "/culprits#" (culprit) } { (named(culprit)) },
            None => bdi { (culprit) },
        }
    }
}
