//! The kernel and the load of a run, each with its label: a bare "none" could be either.

use maud::{Markup, html};
use store::queries::run::RunRow;

pub fn kernel(run: &RunRow) -> Markup {
    html! { "Linux " bdi { (run.kernel) } ", preemption " bdi { (run.preemption) } }
}

pub fn load(load: &str) -> &str {
    if load == "none" { "no load" } else { load }
}
