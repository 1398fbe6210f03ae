//! A refusal as a page: what happened, and what to do.

use super::layout::{Page, Refresh};
use crate::guard::Identity;
use crate::problem::Refusal;
use archive::problem::ProblemKind;
use maud::{Markup, html};

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

/// A message as a sentence of its own.
pub fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let Some(first) = letters.next() else { return String::new() };
    let end = if message.ends_with('.') { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), letters.as_str())
}
