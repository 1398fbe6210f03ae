//! States as the pages show them.

use maud::{Markup, html};
use store::Standing;
use store::queries::run::RunRow;
use words::figures::count;

/// A state as every page shows it.
pub fn chip(standing: Standing) -> Markup {
    html! { span.state data-state=(standing.word()) title=[(standing == Standing::Held).then(|| standing.meaning())] { (standing.word()) } }
}

/// How many of some boards have each state.
pub fn counts(boards: &[Standing]) -> Markup {
    html! {
        @for standing in Standing::ALL {
            @let number = boards.iter().filter(|of| **of == standing).count() as u64;
            @if number > 0 {
                " · " span.state data-state=(standing.word()) title=[(standing == Standing::Held).then(|| standing.meaning())] { (count(number)) " " (standing.word()) }
            }
        }
    }
}

/// The samples of a run over its limit, of all of them; a dash for an invalid run, which has no figure.
pub fn over_limit(run: &RunRow, basis: impl Fn(&RunRow) -> Markup) -> Markup {
    html! {
        @if !run.valid { span.beside { "–" } }
        @else if run.limit_ns.is_none() { span.beside { "no limit" } }
        @else {
            @if run.over_limit > 0 { strong.nonzero { (count(run.over_limit)) } } @else { "0" }
            (basis(run))
        }
    }
}

/// The state of a run, why it is undecided, and what makes its figures doubtful.
pub fn of_run(run: &RunRow) -> Markup {
    html! {
        (chip(run.standing))
        @if let Some(because) = run.undecided_because() { " " span.beside { (because) } }
        @if !run.valid { span.mark { "invalid" } } @else if run.degraded { span.mark { "degraded" } }
    }
}
