//! The common properties of the run's late wake-ups: their causes, CPUs, frequency and period.

use super::super::number;
use super::said;
use archive::causes::{CauseGroup, RunCauses};
use archive::summary::ReportData;
use maud::{Markup, html};
use words::{sentence, vocabulary};

fn causes(data: &ReportData) -> Option<&RunCauses> {
    data.causes.as_ref().filter(|causes| !causes.groups.is_empty())
}

pub fn is_shown(data: &ReportData) -> bool {
    causes(data).is_some()
}

pub fn section(data: &ReportData) -> Markup {
    let Some(causes) = causes(data) else { return html! {} };
    let word = vocabulary::sample(&data.summary);
    html! {
        section #causes aria-labelledby="causes-title" {
            h2 #causes-title { "Causes" }
            p {
                "The " (word.late) " " (word.many) " with a trace, grouped by cause. A number links to the account of the worst of its group."
            }
            div.scroll tabindex="0" role="region" aria-labelledby="causes-caption" {
                table {
                    caption #causes-caption { "Causes of the " (word.late) " " (word.many) ", the most frequent first" }
                    thead {
                        tr {
                            th scope="col" { "cause" }
                            th.number scope="col" { (word.many) }
                            th.number scope="col" { (word.worst) ", in µs" }
                            th scope="col" { "on CPU (times)" }
                            @if causes.worst_samples > 0 { th.number scope="col" { "of the " (causes.worst_samples) " worst" } }
                            th scope="col" { "rhythm" }
                        }
                    }
                    tbody { @for group in &causes.groups { (row(group, causes.worst_samples > 0)) } }
                }
            }
            ul { @for clause in &causes.sentences { li { (said(sentence::sentence(clause))) } } }
        }
    }
}

fn row(group: &CauseGroup, of_the_worst: bool) -> Markup {
    html! {
        tr {
            th scope="row" {
                (said(&group.title))
                @if let Some(culprit) = &group.culprit { " (" code { (said(culprit.id())) } ")" }
            }
            td.number { (group.spikes.len()) }
            td.number {
                @match group.spikes.first() {
                    Some(number) => a href={ "#spike-" (number) } { (number::micros(group.latency_ns_max)) },
                    None => (number::micros(group.latency_ns_max)),
                }
            }
            td {
                @for (at, of) in group.cpus.iter().enumerate() {
                    @if at > 0 { ", " }
                    (of.cpu) " (" (of.count) "×)"
                }
            }
            @if of_the_worst { td.number { (group.worst) } }
            td { @if group.rhythm.is_empty() { "none found" } @else { (said(&group.rhythm)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::causes::CpuCount;

    #[test]
    fn a_row_leads_to_the_latest_of_its_group_and_names_from_an_archive_stay_text() {
        let group = CauseGroup {
            culprit: Some("<script>".into()),
            title: "a <b>bold</b> cause".into(),
            spikes: vec![7, 3],
            latency_ns_max: 1_234_567,
            cpus: vec![CpuCount { cpu: 1, count: 2 }],
            worst: 2,
            period: None,
            rhythm: String::new(),
        };
        let row = row(&group, true).into_string();
        assert!(row.contains("href=\"#spike-7\"") && row.contains("1 (2×)") && row.contains("none found"), "{row}");
        assert!(!row.contains("<script>") && !row.contains("<b>"), "{row}");
    }
}
