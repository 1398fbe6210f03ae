//! The ledger of one spike as a table of phases and owners that sum to the latency.

use super::super::number;
use super::said;
use archive::explanation::Explanation;
use archive::method::SampleWord;
use maud::{Markup, html};
use words::vocabulary;

/// Rows have the attributes that the picture needs to find their stretch: phase, kind and name.
pub fn table(explanation: &Explanation, sample: SampleWord) -> Markup {
    let total = explanation.latency_ns;
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby={ "ledger-" (explanation.spike) } {
            table.ledger {
                caption id={ "ledger-" (explanation.spike) } {
                    "Ledger: who held the CPU between " (sample.start()) " and seen"
                }
                thead {
                    tr {
                        th scope="col" { "phase and owner" }
                        th scope="col" { "kind" }
                        th.number scope="col" { "µs" }
                        th.number scope="col" { "share" }
                    }
                }
                @for phase in &explanation.phases {
                    tbody {
                        tr.phase data-phase=(vocabulary::phase_key(phase.name)) {
                            th scope="rowgroup" {
                                span class={ "band phase-" (vocabulary::phase_key(phase.name)) } aria-hidden="true" {}
                                (phase.name.title())
                                span.meaning { (vocabulary::phase_meaning(phase.name, sample)) }
                            }
                            td {}
                            td.number { (number::micros(phase.ns)) }
                            td.number { (number::percent(phase.ns, total)) }
                        }
                        @for owner in &phase.owners {
                            tr.owner
                                data-phase=(vocabulary::phase_key(phase.name))
                                data-kind=(vocabulary::owner_kind_key(owner.kind))
                                data-name=(owner.name)
                            {
                                th scope="row" { (said(&owner.name)) }
                                td {
                                    (swatch(vocabulary::owner_kind_key(owner.kind)))
                                    (vocabulary::owner_kind(owner.kind))
                                }
                                td.number { (number::micros(owner.ns)) }
                                td.number { (number::percent(owner.ns, total)) }
                            }
                        }
                    }
                }
                tfoot {
                    tr {
                        th scope="row" { "latency" }
                        td {}
                        td.number { (number::micros(total)) }
                        td.number { (number::percent(total, total)) }
                    }
                }
            }
        }
    }
}

/// A sample of a kind's colour and pattern; the word is always next to it.
pub fn swatch(kind: &str) -> Markup {
    html! {
        svg.swatch viewBox="0 0 16 12" aria-hidden="true" {
            rect class={ "kind-" (kind) } width="16" height="12" {}
            rect class={ "pattern-" (kind) } width="16" height="12" {}
        }
    }
}
