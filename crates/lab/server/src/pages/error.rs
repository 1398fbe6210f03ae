//! A refusal as a page: what happened, and what to do.

use super::layout::{Page, Refresh};
use crate::guard::Identity;
use crate::problem::Refusal;
use archive::problem::ProblemKind;
use maud::{Markup, html};
use words::sentence::sentence;

pub fn page(refusal: &Refusal, identity: &Identity) -> Markup {
    let status = refusal.status();
    let title = status.canonical_reason().unwrap_or("Error");
    Page { title, here: "", identity, refresh: Refresh::Never }.around(html! {
        p.status { (status.as_u16()) }
        h1 { (sentence(&refusal.to_string())) }
        p.lead { (sentence(&refusal.fix())) }
        p.note { "Code " code { (refusal.code()) } }
        p { a href="/" { "To the fleet" } }
    })
}
