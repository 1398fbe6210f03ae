//! Where the time of block requests went.

use super::super::block_requests::{causes, headline, permille, remarks};
use super::super::block_shares::colour;
use super::super::number;
use super::said;
use archive::storage::{StorageAccount, StoragePhase};
use archive::summary::RunSummary;
use maud::{Markup, html};

/// Width of the picture in its own units.
const WIDTH: i64 = 1000;

/// Empty if the run recorded no requests.
pub fn section(summary: &RunSummary) -> Markup {
    let Some(account) = &summary.storage else { return html! {} };
    html! {
        section #block-requests aria-labelledby="block-requests-title" {
            h2 #block-requests-title { "Where the time of the requests went" }
            p { (said(headline(account))) }
            @if !account.phases.is_empty() { (picture(account)) (table(account)) }
            @for remark in remarks(account) { p.note { (said(remark)) } }
            @if !account.worst.is_empty() { (worst(account)) }
        }
    }
}

/// A bar of the whole time of all requests, divided into phases.
fn picture(account: &StorageAccount) -> Markup {
    let whole_ns = account.phases.iter().fold(0_i64, |sum, one| sum.saturating_add(one.sum_ns)).max(1);
    let at = |ns: i64| i64::try_from(i128::from(ns) * i128::from(WIDTH) / i128::from(whole_ns)).unwrap_or(0);
    let mut from_ns = 0_i64;
    let mut bars = Vec::new();
    for one in &account.phases {
        bars.push((one, at(from_ns), at(from_ns.saturating_add(one.sum_ns))));
        from_ns = from_ns.saturating_add(one.sum_ns);
    }
    html! {
            figure {
                svg viewBox={ "0 0 " (WIDTH) " 60" } width="100%" role="img" aria-label="Shares of the phases in the time of all requests" {
                    @for (one, from, to) in &bars {
                        rect x=(from) y="4" width=(to - from) height="52" fill=(colour(one.phase)) {
                            title { (one.phase.title()) ": " (permille(one.sum_ns, whole_ns)) }
                        }
                    }
                }
                figcaption {
                    "The time of all requests together, from left to right in the order of the table. The device is "
    (swatch(StoragePhase::Device)) "; the rest is software."
                }
            }
        }
}

/// A square in the colour of a phase; the policy of the page forbids inline styles.
fn swatch(phase: StoragePhase) -> Markup {
    html! { svg.swatch viewBox="0 0 10 10" aria-hidden="true" { rect width="10" height="10" fill=(colour(phase)) {} } }
}

fn table(account: &StorageAccount) -> Markup {
    let whole_ns = account.phases.iter().fold(0_i64, |sum, one| sum.saturating_add(one.sum_ns));
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="block-phases-caption" {
            table.figures {
                caption #block-phases-caption { "Phases of the requests in µs" }
                thead {
                    tr {
                        th scope="col" { "phase" }
                        th scope="col" { "p50" }
                        th scope="col" { "p99" }
                        th scope="col" { "max" }
                        th scope="col" { "of all time" }
                    }
                }
                tbody {
                    @for one in &account.phases {
                        tr {
                            th scope="row" { (swatch(one.phase)) (one.phase.title()) }
                            td { (number::micros(one.median_ns)) }
                            td { (number::micros(one.p99_ns)) }
                            td { (number::micros(one.max_ns)) }
                            td { (permille(one.sum_ns, whole_ns)) }
                        }
                    }
                }
            }
        }
    }
}

fn worst(account: &StorageAccount) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="block-worst-caption" {
            table {
                caption #block-worst-caption { "The longest requests; their phases add up to the nanosecond" }
                thead {
                    tr {
                        th.number scope="col" { "µs" }
                        th scope="col" { "phases in µs" }
                        th scope="col" { "what the events prove" }
                    }
                }
                tbody {
                    @for request in &account.worst {
                        tr {
                            th.number scope="row" { (number::micros(request.latency_ns)) }
                            td {
                                @for (at, (phase, ns)) in request.phases.iter().enumerate() {
                                    @if at > 0 { ", " }
                                    (phase.title()) " " (number::micros(*ns))
                                }
                            }
                            td { (said(causes(request).join("; "))) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::storage::{StorageDevice, StoragePhaseFigures};

    #[test]
    fn the_name_of_a_device_is_text_only() {
        let device = StorageDevice { name: "<b>vda</b>".into(), ..StorageDevice::default() };
        let phase = StoragePhase::Device;
        let phases = vec![StoragePhaseFigures { phase, median_ns: 1, p99_ns: 2, max_ns: i64::MAX, sum_ns: i64::MAX }];
        let storage = Some(StorageAccount { device, phases, requests: 1, split: 1, ..StorageAccount::default() });
        let page =
            section(&RunSummary { storage, ..RunSummary::of(&archive::reader::Run::default(), &[]) }).into_string();
        assert!(page.contains("&lt;b&gt;vda") && !page.contains("<b>"), "{page}");
        assert!(page.contains("100.0 %"));
        assert!(
            page.contains("fill=\"#999999\"") && !page.contains("style="),
            "the page forbids inline styles: {page}"
        );
    }
}
