//! Lines counted in the output of a watched command, each with the late wake-up before it.

use super::said;
use crate::accounts::Accounts;
use crate::counted::{NO_PROOF, TITLE, beside, headline, when};
use archive::summary::{PrintedLine, RunSummary};
use maud::{Markup, html};

const LINES_SHOWN: usize = 100;

pub fn section(summary: &RunSummary, accounts: &Accounts) -> Markup {
    html! {
        @if !summary.counted.is_empty() {
            section #counted aria-labelledby="counted-title" {
                h2 #counted-title { (TITLE) }
                p {
                    "Lines that the command printed, each with the largest captured spike that ended shortly before. "
                    (NO_PROOF)
                }
                @for text in &summary.counted {
                    h3 { (said(headline(text))) }
                    @if !text.lines.is_empty() {
                        ul { @for line in text.lines.iter().take(LINES_SHOWN) { (item(line, summary, accounts)) } }
                    }
                    @let unshown = text.count.saturating_sub(text.lines.len().min(LINES_SHOWN) as u64);
                    @if unshown > 0 { p { "and " (super::number::grouped(unshown)) " more" } }
                }
            }
        }
    }
}

fn item(line: &PrintedLine, summary: &RunSummary, accounts: &Accounts) -> Markup {
    html! {
        li {
            (when(line)) ", "
            @match line.beside.as_ref().filter(|near| accounts.has(near.spike)) {
                Some(near) => a href={ "#spike-" (near.spike) } { (said(beside(line, summary))) },
                None => (said(beside(line, summary))),
            }
            ": " code { (said(&line.line)) }
        }
    }
}
