//! States as the pages show them.

use maud::{Markup, html};
use store::Standing;
use store::queries::run::RunRow;

/// A state as every page shows it.
pub fn chip(standing: Standing) -> Markup {
    html! { span.state data-state=(standing.word()) { (standing.word()) } }
}

/// The state of a run, why it is undecided, and what makes its figures doubtful.
pub fn of_run(run: &RunRow) -> Markup {
    html! {
        (chip(run.standing))
        @if let Some(because) = run.standing.undecided_because(run.verdict) { " " span.beside { (because) } }
        @if !run.valid { span.mark { "invalid" } } @else if run.degraded { span.mark { "degraded" } }
    }
}
