//! The static pictures as SVG: histogram, latency over time, and one timeline per spike and per chain.
//!
//! One drawing serves two purposes. In the HTML report it uses the colours of the page's style sheet until the script
//! replaces it by an interactive picture; as a PNG it includes the light colours of the same style sheet.

pub mod axis;
mod bins;
pub mod chain;
mod counters;
mod drawing;
pub mod flame;
mod histogram;
pub mod history;
mod lane;
mod latency;
mod layout;
mod spike;
pub mod steps;
pub mod style;

pub use drawing::Drawing;

use archive::summary::ReportData;
use std::collections::BTreeMap;

/// Number of spikes with a static picture in the HTML: the script draws the rest, to limit the size of a page for many
/// CPUs.
const STILL_SPIKES: usize = 8;

/// The static pictures of a report as inline SVG. `None`: there is nothing to draw.
pub struct Plots {
    pub histogram: Option<String>,
    pub latency: Option<String>,
    pub counters: Option<String>,
    /// Of the stimulus board.
    pub board: Option<String>,
    /// Of the worst instance of each chain, in the order of the summary; `None`: no instance has a ledger.
    pub chains: Vec<Option<String>>,
    /// By spike number. Empty for those that only the script draws.
    pub spikes: BTreeMap<u32, String>,
}

impl Plots {
    pub fn of(data: &ReportData) -> Self {
        let drawable = data.summary.spikes.iter().filter(|spike| has_lanes(spike));
        let spikes = drawable
            .enumerate()
            .map(|(rank, entry)| {
                let still = if rank < STILL_SPIKES {
                    spike::draw(entry, &data.summary).map(|drawing| drawing.inline())
                } else {
                    None
                };
                (entry.spike.number, still.unwrap_or_default())
            })
            .collect();
        Self {
            histogram: histogram::draw(data).map(|drawing| drawing.inline()),
            latency: latency::draw(data).map(|drawing| drawing.inline()),
            counters: counters::draw(data).map(|drawing| drawing.inline()),
            board: data.summary.stimulus_board.as_ref().and_then(histogram::draw_board).map(|drawing| drawing.inline()),
            chains: data.summary.chains.iter().map(|account| Some(chain::draw(account)?.inline())).collect(),
            spikes,
        }
    }
}

/// The drawings for PNG files, with their file names.
pub fn drawings(data: &ReportData) -> Vec<(String, Drawing)> {
    let mut drawings = Vec::new();
    drawings.extend(histogram::draw(data).map(|drawing| ("histogram.png".to_owned(), drawing)));
    drawings.extend(latency::draw(data).map(|drawing| ("latency.png".to_owned(), drawing)));
    drawings.extend(counters::draw(data).map(|drawing| ("counters.png".to_owned(), drawing)));
    let board = data.summary.stimulus_board.as_ref().and_then(histogram::draw_board);
    drawings.extend(board.map(|drawing| ("stimulus-board.png".to_owned(), drawing)));
    for (number, account) in (1..).zip(&data.summary.chains) {
        drawings.extend(chain::draw(account).map(|drawing| (format!("chain-{number}.png"), drawing)));
    }
    for entry in data.summary.late_spikes() {
        let file = format!("spike-{:04}.png", entry.spike.number);
        drawings.extend(spike::draw(entry, &data.summary).map(|drawing| (file, drawing)));
    }
    drawings
}

/// The patterns that distinguish owner kinds without colour, once per page.
pub fn pattern_definitions() -> String {
    format!(
        r#"<svg class="definitions" width="0" height="0" aria-hidden="true" focusable="false">{}</svg>"#,
        style::PATTERNS
    )
}

fn has_lanes(entry: &archive::summary::SpikeSummary) -> bool {
    entry.explanation.as_ref().is_some_and(|explanation| !explanation.lanes.is_empty())
}
