//! What a lab without runs shows: the commands that fill it.

use maud::{Markup, html};
use std::path::Path;
use words::printable::printable;

/// The commands that bring the first run into this directory.
pub fn empty(directory: &Path) -> Markup {
    let directory = printable(&directory.display().to_string());
    let first = format!("tardy run --duration 30s --load messaging --out {directory}/first");
    html! {
        h1 { "No run yet" }
        p.lead { "This lab keeps its archives in " code { bdi { (directory) } } ", and has no archive yet. Measure this machine for 30 seconds:" }
        pre.command tabindex="0" { code { (first) } }
        p { "Then load this page again. To measure another machine:" }
        pre.command tabindex="0" {
            code {
                "tardy target add board --ssh root@192.168.1.7\n"
                "tardy run --target board --duration 30s --out " (directory) "/board-1"
            }
        }
        p { "Results of cyclictest and other tools become archives with " code { "tardy import" } "." }
    }
}
