//! Two runs side by side: figures, causes, and what else differs. One run each is not a verdict.

use super::conditions::{kernel, load};
use super::links::run_address;
use super::turn;
use judge::compare::{ComparedFigure, Comparison};
use maud::{Markup, html};
use store::queries::run::RunRow;
use words::amounts::change;
use words::calendar::utc;
use words::claims::amount;
use words::claims::difference::in_units;
use words::figures::count;

pub fn content(a: &RunRow, b: &RunRow, comparison: &Comparison) -> Markup {
    html! {
        p.trail { a href="/fleet" { "Fleet" } }
        h1 { "Two runs" }
        div.scroll {
            table.sides {
                caption.unseen { "The two runs" }
                thead { tr { td {} th scope="col" { "A" } th scope="col" { "B" } } }
                tbody {
                    (side("Run", a, b, |run| html! { a href=(run_address(&run.digest)) { (utc(run.started_unix_ns)) } }))
                    (side("Board", a, b, |run| html! { bdi { (run.board) } }))
                    (side("Kernel", a, b, kernel))
                    (side("Load and method", a, b, |run| html! { bdi { (load(&run.load)) } ", " bdi { (run.method) } }))
                    (side("Samples", a, b, |run| html! { (count(run.samples)) }))
                }
            }
        }
        p.caution { (comparison.sentence) }
        @for caution in &comparison.cautions { p.caution { strong { "Caution: " } (caution.text) } }
        h2 { "Figures" }
        div.scroll {
            table.figures.cards {
                caption.unseen { "Figures of both runs" }
                thead { tr { th scope="col" { "Figure" } th scope="col" { "A" } th scope="col" { "B" } th scope="col" { "B against A" } } }
                tbody { @for figure in &comparison.figures { (figure_row(figure)) } }
            }
        }
        h2 { "Causes of late samples" }
        @if comparison.culprits.is_empty() { p.empty { "No explained spike in both runs." } } @else {
            div.scroll {
                table.figures.cards {
                    caption.unseen { "Spikes of each cause" }
                    thead { tr { th scope="col" { "Cause" } th scope="col" { "A" } th scope="col" { "B" } } }
                    tbody {
                        @for culprit in &comparison.culprits { tr { th scope="row" { (turn::cause(culprit.culprit.id())) } td data-name="A" { (count(culprit.a)) } td data-name="B" { (count(culprit.b)) } } }
                        tr { th scope="row" { "not explained" } td data-name="A" { (count(comparison.unexplained.0)) } td data-name="B" { (count(comparison.unexplained.1)) } }
                    }
                }
            }
        }
        h2 { "Other differences" }
        @if comparison.differences.is_empty() { p.empty { "Machine and settings are the same." } } @else {
            div.scroll {
                table.sides {
                    caption.unseen { "Differences of machine and settings" }
                    thead { tr { td {} th scope="col" { "A" } th scope="col" { "B" } } }
                    tbody {
                        @for (name, difference) in comparison.differences.iter().map(in_units) {
                            tr {
                                th scope="row" { bdi { (name) } }
                                td { bdi { (difference.a.as_deref().unwrap_or("–")) } }
                                td { bdi { (difference.b.as_deref().unwrap_or("–")) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn side(name: &str, a: &RunRow, b: &RunRow, of: fn(&RunRow) -> Markup) -> Markup {
    html! { tr { th scope="row" { (name) } td { (of(a)) } td { (of(b)) } } }
}

fn figure_row(figure: &ComparedFigure) -> Markup {
    let amount = |value: Option<f64>| value.map_or_else(|| "–".into(), |value| amount(value, &figure.unit));
    html! {
        tr {
            th scope="row" { (figure.name) }
            td data-name="A" { (amount(figure.a)) }
            td data-name="B" { (amount(figure.b)) }
            td data-name="B against A" { (figure.ratio.map_or_else(|| "–".into(), change)) }
        }
    }
}
