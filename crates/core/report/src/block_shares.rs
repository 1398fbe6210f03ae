//! The share of software in the latency of block requests, of several runs side by side, as a picture (SVG): the table of a
//! study with one row for each size, direction, order and number of threads.

use super::block_requests::permille;
use archive::storage::{StorageAccount, StoragePhase};
use maud::{Markup, html};
use words::figures::latency;
use words::printable::printable;

const LEFT: i64 = 210;
const BAR: i64 = 560;
const WIDTH: i64 = LEFT + BAR + 200;
const TOP: i64 = 74;
const ROW: i64 = 24;
const HEIGHT: i64 = 18;
/// Places of the legend in a line.
const LEGEND: i64 = 4;

/// A run.
#[derive(Debug, Clone)]
pub struct Row {
    /// The property that distinguishes this row from the others.
    pub label: String,
    pub account: StorageAccount,
}

/// The picture: in each row a bar for the whole time of the requests of a run, divided into phases, with its mean latency and its
/// share of software. `remark` is a line at the end, if not empty.
pub fn svg(rows: &[Row], remark: &str) -> String {
    let phases: Vec<StoragePhase> = StoragePhase::ALL.into_iter().filter(|phase| is_in(rows, *phase)).collect();
    let top = TOP + (phases.len() as i64).div_euclid(LEGEND) * 18;
    let bottom = top + rows.len() as i64 * ROW;
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (bottom + 44) } font-family="sans-serif" font-size="12" {
            rect width="100%" height="100%" fill="#ffffff" {}
            text x="4" y="20" font-size="15" font-weight="bold" { "Where the time of the requests went" }
            text x="4" y="38" fill="#555555" { "All but the device is software. Each bar is the whole time of the requests of a run." }
            (legend(&phases))
            text x=(LEFT + BAR + 96) y=(top - 6) text-anchor="end" fill="#555555" { "mean" }
            text x=(LEFT + BAR + 190) y=(top - 6) text-anchor="end" fill="#555555" { "software" }
            @for (at, row) in (0_i64..).zip(rows) { (bar(row, top + at * ROW)) }
            @for tenth in [0, 25, 50, 75, 100] {
                text x=(LEFT + BAR * tenth / 100) y=(bottom + 14) text-anchor="middle" fill="#555555" { (tenth) " %" }
            }
            text x="4" y=(bottom + 36) fill="#555555" { (printable(remark)) }
        }
    };
    picture.into_string() + "\n"
}

fn is_in(rows: &[Row], phase: StoragePhase) -> bool {
    rows.iter().flat_map(|row| &row.account.phases).any(|one| one.phase == phase && one.sum_ns > 0)
}

fn legend(phases: &[StoragePhase]) -> Markup {
    html! {
        @for (at, phase) in (0_i64..).zip(phases) {
            rect x=(4 + at % LEGEND * 200) y=(48 + at / LEGEND * 18) width="12" height="12" fill=(colour(*phase)) {}
            text x=(22 + at % LEGEND * 200) y=(58 + at / LEGEND * 18) { (phase.title()) }
        }
    }
}

fn bar(row: &Row, y: i64) -> Markup {
    let account = &row.account;
    let whole_ns = account.phases.iter().fold(0_i64, |sum, one| sum.saturating_add(one.sum_ns)).max(0);
    let at = |ns: i64| i64::try_from(i128::from(ns) * i128::from(BAR) / i128::from(whole_ns.max(1))).unwrap_or(0);
    let mut from_ns = 0_i64;
    let mut parts = Vec::new();
    for one in &account.phases {
        let until_ns = from_ns.saturating_add(one.sum_ns.max(0));
        parts.push((one, LEFT + at(from_ns), at(until_ns) - at(from_ns)));
        from_ns = until_ns;
    }
    let mean = i64::try_from(account.split).ok().and_then(|split| whole_ns.checked_div(split));
    html! {
        text x="4" y=(y + 13) { (printable(&row.label)) @if account.fio.is_some() { " (bios)" } }
        @if account.split == 0 {
            text x=(LEFT + 4) y=(y + 13) fill="#555555" { "no request was divided" }
        }
        @for (one, x, width) in parts {
            rect x=(x) y=(y) width=(width) height=(HEIGHT) fill=(colour(one.phase)) {
                title { (one.phase.title()) ": " (permille(one.sum_ns, whole_ns)) }
            }
        }
        @if let Some(mean_ns) = mean {
            text x=(LEFT + BAR + 96) y=(y + 13) text-anchor="end" { (latency(mean_ns)) }
        }
        @if let Some(software) = account.software_permille {
            text x=(LEFT + BAR + 190) y=(y + 13) text-anchor="end" { (permille(i64::from(software), 1000)) }
        }
    }
}

/// Distinguishable from each other, on light and dark ground, and without colour vision by lightness.
pub fn colour(phase: StoragePhase) -> &'static str {
    match phase {
        StoragePhase::Submission => "#4477aa",
        StoragePhase::BioToRequest => "#66ccee",
        StoragePhase::RequestToDevice => "#228833",
        StoragePhase::Device => "#999999",
        StoragePhase::InterruptToCompletion => "#ccbb44",
        StoragePhase::CompletionToWakeUp => "#ee7733",
        StoragePhase::WakeUpToUser => "#aa3377",
        StoragePhase::WithoutRequest => "#bb9977",
        StoragePhase::NotSplit => "#777777",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::storage::StoragePhaseFigures;

    fn row(label: &str, phases: &[(StoragePhase, i64)], software_permille: u32) -> Row {
        let figures = |(phase, sum_ns): &(StoragePhase, i64)| StoragePhaseFigures {
            phase: *phase,
            median_ns: 1,
            p99_ns: 1,
            max_ns: *sum_ns,
            sum_ns: *sum_ns,
        };
        let phases = phases.iter().map(figures).collect();
        let software_permille = Some(software_permille);
        let account = StorageAccount { split: 2, phases, software_permille, ..StorageAccount::default() };
        Row { label: label.into(), account }
    }

    #[test]
    fn a_bar_is_divided_as_the_time_was() {
        let rows = [
            row("4k read <1>", &[(StoragePhase::Submission, 20_000), (StoragePhase::Device, 60_000)], 250),
            row("128k write", &[(StoragePhase::Device, 400_000)], 0),
        ];
        let picture = svg(&rows, "virtual & more");
        let document = roxmltree::Document::parse(&picture).unwrap();
        let of_bars = document.descendants().filter(|node| node.has_tag_name("rect") && node.has_children());
        let widths: Vec<&str> = of_bars.filter_map(|node| node.attribute("width")).collect();
        assert_eq!(widths, ["140", "420", "560"]);
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
        for expected in ["4k read <1>", "40.0 µs", "25.0 %", "200.0 µs", "0.0 %", "virtual & more", "submission to bio"]
        {
            assert!(texts.contains(&expected), "{expected}: {texts:?}");
        }
        let bio_to_request = texts.iter().any(|text| text.starts_with("bio "));
        assert!(!bio_to_request, "{texts:?}");
    }

    #[test]
    fn hostile_figures_leave_a_document() {
        let most =
            [(StoragePhase::Submission, i64::MAX), (StoragePhase::Device, i64::MAX), (StoragePhase::WakeUpToUser, -5)];
        let none = Row { label: "\u{202e}\u{1b}[2J".into(), account: StorageAccount::default() };
        let picture = svg(&[row("a", &most, u32::MAX), none], "");
        let document = roxmltree::Document::parse(&picture).unwrap();
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        assert!(texts.count() > 0, "a row without requests has words instead of a bar: {picture}");
    }
}
