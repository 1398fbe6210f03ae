//! The verdict on each limit of the run, above everything else.

use super::said;
use judge::verdict::{Judgement, Verdict};
use maud::{Markup, html};

pub fn judgements(judgements: &[Judgement]) -> Markup {
    html! {
        @for judgement in judgements {
            p.judgement data-verdict=(key(judgement.verdict)) { (said(&judgement.sentence)) }
        }
    }
}

/// As in the style sheet.
fn key(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::NotEnoughData | Verdict::NoVerdict => "undecided",
    }
}
