//! The page of a series of runs whose settings changed step by step: its answer, the figures of each step, and how late the
//! periods were.

pub use crate::plot::steps::Step;

use crate::plot::steps as drawings;
use crate::plot::style;
use claims::unit::Unit;
use maud::{DOCTYPE, PreEscaped, html};
use words::printable::printable_page;

const LAYOUT: &str = "\
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--raised); padding: 1rem; font-size: 0.875rem; }
figure { margin: 0; overflow-x: auto; } svg.plot { display: block; width: 100%; min-width: 38rem; height: auto; }
";

/// One self-contained HTML file. `answer`: lines of plain text; `figure`: the name of the steps' figure.
pub fn render(title: &str, answer: &str, figure: &str, unit: Unit, steps: &[Step]) -> String {
    let figures = drawings::figures(steps, figure, unit);
    let shares = drawings::shares(steps);
    let single = steps.len() == 1;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(style::variable())) (PreEscaped(LAYOUT)) }
            }
            body {
                main {
                    h1 { (title) }
                    pre { (answer) }
                    @if let Some(drawing) = figures {
                        h2 { (if single { "Each run" } else { "Each step" }) }
                        figure { (PreEscaped(drawing.inline())) }
                    }
                    @if let Some(drawing) = shares {
                        h2 { (if single { "Latency" } else { "Latency before and after" }) }
                        figure { (PreEscaped(drawing.inline())) }
                    }
                }
            }
        }
    };
    printable_page(&page.into_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::{Histogram, bucket_of};

    #[test]
    fn a_page_has_both_pictures_and_no_markup_of_a_name() {
        let buckets = vec![(bucket_of(10_000).unwrap() as u32, 990), (bucket_of(500_000).unwrap() as u32, 10)];
        let step = |name: &str, figures: &[f64], buckets: &[(u32, u64)]| Step {
            name: name.into(),
            figures: figures.to_vec(),
            lateness: Histogram { buckets: buckets.to_vec() },
        };
        let steps = [
            step("no setting", &[9000.0, 11_000.0, 10_000.0], &buckets),
            step("<script>alert(1)</script>", &[5000.0], &buckets[..1]),
            step("not measured", &[], &[]),
        ];
        let page = render("Settings & <title>", "p99: 10 µs <b>", "p99", Unit::Nanoseconds, &steps);
        assert!(!page.contains("<script>") && !page.contains("<b>") && page.contains("&lt;title&gt;"), "{page}");
        assert_eq!(page.matches("<svg").count(), 2);
        assert!(page.contains("no setting 10.0 µs") && !page.contains("not measured"), "{page}");
        let empty = render("t", "a", "p99", Unit::Nanoseconds, &steps[2..]);
        assert_eq!(empty.matches("<svg").count(), 0);
    }
}
