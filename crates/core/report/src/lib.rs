//! Renders a run: its sentences, one self-contained HTML file, and its pictures as PNG files; for the command line and
//! a server alike.
//!
//! This crate renders the figures as plain HTML; the page built in `ui/` makes the pictures interactive. A report
//! decides nothing: it shows [`archive::summary`]. All text from a target is untrusted.

#![deny(clippy::disallowed_methods)]

pub mod account;
mod accounts;
pub mod block_requests;
pub mod block_shares;
pub mod conditions;
pub mod counted;
mod html;
pub mod kernel_tracers;
mod number;
mod plot;
mod png;
pub mod problem;
pub mod roles;
pub mod steps;
pub mod stimulus;
mod template;
mod thinning;
pub mod watched;

pub use png::{PngError, render_pngs, write_history_pngs};
pub use template::content_security_policy;

/// Parts that pictures elsewhere share with pictures of the report.
pub mod picture {
    pub use crate::number::axis_time;
    pub use crate::plot::axis::Axis;
    pub use crate::plot::style::light as light_styles;
}

use archive::summary::ReportData;
use judge::verdict::Judgement;
use words::printable::printable_page;

/// A page that leads to the report, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub address: String,
    pub name: String,
}

/// The whole report as one HTML file. It opens with the verdicts on the limits of the run.
pub fn render_html(data: &ReportData, judgements: &[Judgement]) -> String {
    render_html_below(data, judgements, &[])
}

/// The report as a page of a server, with links to the pages above it.
pub fn render_html_below(data: &ReportData, judgements: &[Judgement], above: &[Place]) -> String {
    let accounts = accounts::Accounts::of(data);
    let drawn = thinning::thinned(data, &accounts);
    let plots = plot::Plots::of(&drawn);
    let page = html::Page { data, drawn: &drawn, accounts: &accounts, plots: &plots, judgements, above };
    let parts = [html::title(data), html::body(&page)];
    let page = parts.map(|part| printable_page(&part));
    // The script draws neither counters nor chains.
    let mut drawn = ReportData { counters: Vec::new(), ..drawn.into_owned() };
    drawn.summary.chains = Vec::new();
    template::fill(&page[0], &page[1], &drawn)
}
