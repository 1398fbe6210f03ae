//! The largest latencies of the last runs of a load, as a line of a hundred pixels.

use maud::{Markup, html};
use report::picture::Axis;
use store::Standing;
use store::queries::fleet::RecentRun;
use words::figures::{counted, latency};

const WIDTH: f64 = 132.0;
const HEIGHT: f64 = 30.0;
const MARGIN: f64 = 4.0;
/// The axis covers at least this ratio: a line that varies by 5 % is flat.
const RATIO_MIN: f64 = 4.0;

/// For a page.
pub fn inline(runs: &[RecentRun]) -> Markup {
    let label = label(runs);
    html! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" aria-label=(label) { (body(runs)) }
    }
}

/// As a file.
pub fn file(runs: &[RecentRun]) -> String {
    super::document(WIDTH, HEIGHT, &label(runs), &body(runs))
}

fn label(runs: &[RecentRun]) -> String {
    let known: Vec<i64> = runs.iter().filter_map(|run| run.latency_max_ns).collect();
    let (Some(least), Some(most), Some(last)) = (known.iter().min(), known.iter().max(), known.last()) else {
        return "no run with samples".into();
    };
    let bad = runs.iter().filter(|run| run.standing == Standing::Bad).count();
    format!(
        "Largest latency of {}: {} to {}, the last {}; {bad} bad",
        counted(known.len() as u64, "run"),
        latency(*least),
        latency(*most),
        latency(*last)
    )
}

fn body(runs: &[RecentRun]) -> Markup {
    let known: Vec<(f64, Standing)> =
        runs.iter().filter_map(|run| Some((run.latency_max_ns?.max(1) as f64, run.standing))).collect();
    let low = known.iter().map(|(ns, _)| *ns).fold(f64::INFINITY, f64::min);
    let high = known.iter().map(|(ns, _)| *ns).fold(1.0, f64::max);
    if known.is_empty() {
        return html! {};
    }
    let middle = (low * high).sqrt();
    let (low, high) = (low.min(middle / RATIO_MIN.sqrt()), high.max(middle * RATIO_MIN.sqrt()));
    let x = Axis::linear(0.0, known.len().saturating_sub(1).max(1) as f64, MARGIN, WIDTH - MARGIN);
    let y = Axis::logarithmic(low, high, HEIGHT - MARGIN, MARGIN);
    let place = |(at, (ns, _)): (usize, &(f64, Standing))| (x.at(at as f64), y.at(*ns));
    let path: Vec<String> = known.iter().enumerate().map(place).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let last = known.len() - 1;
    html! {
        path.spark-line d={ "M" (path.join("L")) } {}
        @for point in known.iter().enumerate().filter(|(at, (_, standing))| *at == last || *standing == Standing::Bad) {
            @let (x, y) = place(point);
            circle.spark-dot data-state=(point.1.1.word()) cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="2.6" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(latency_max_ns: Option<i64>, standing: Standing) -> RecentRun {
        RecentRun { digest: String::new(), started_unix_ns: 0, latency_max_ns, standing }
    }

    #[test]
    fn any_runs_draw_a_line_without_infinities() {
        for runs in [
            vec![],
            vec![run(None, Standing::Undecided)],
            vec![run(Some(0), Standing::Good)],
            vec![run(Some(i64::MAX), Standing::Bad), run(Some(1), Standing::Good), run(None, Standing::Good)],
        ] {
            let drawn = inline(&runs).into_string();
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }

    #[test]
    fn bad_runs_and_the_last_one_have_a_dot() {
        let runs =
            [run(Some(10_000), Standing::Bad), run(Some(20_000), Standing::Good), run(Some(15_000), Standing::Good)];
        let drawn = inline(&runs).into_string();
        assert_eq!(drawn.matches("<circle").count(), 2);
        assert!(drawn.contains("10.0 µs to 20.0 µs, the last 15.0 µs; 1 bad"), "{drawn}");
        assert!(file(&runs).starts_with("<svg xmlns="));
    }
}
