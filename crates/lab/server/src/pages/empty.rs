//! The page of a lab without runs: the commands that fill it.

use super::command::{command, out};
use crate::known_archives::Progress;
use maud::{Markup, html};
use std::path::Path;
use words::figures::counted;
use words::printable::printable;

const LEFT_OUT_SHOWN: usize = 50;

/// The commands that bring the first run into this directory.
pub fn content(directory: &Path, progress: &Progress) -> Markup {
    let first = format!("tardy run --duration 30s --load messaging {}", out(directory, "first"));
    let board = format!("tardy run --target board --duration 30s {}", out(directory, "board-1"));
    let directory = printable(&directory.display().to_string());
    html! {
        (unfinished(progress))
        h1 { "No run yet" }
        p.lead { "This lab keeps its archives in " code { bdi { (directory) } } ", and has no archive yet. Measure this machine for 30 seconds:" }
        (command(&first))
        p { "Then load this page again. To measure another machine:" }
        (command("tardy target add board --ssh root@192.168.1.7"))
        (command(&board))
        p { "Results of cyclictest and other tools become archives with " code { "tardy import" } "." }
    }
}

/// Archives that are being added, and those that cannot be.
pub fn unfinished(progress: &Progress) -> Markup {
    html! {
        @if progress.waiting > 0 {
            p.pending role="status" { "Adding " (counted(progress.waiting as u64, "archive")) " to the index …" }
        }
        @if !progress.left_out.is_empty() {
            details.caution {
                summary { strong { (counted(progress.left_out.len() as u64, "archive")) " left out" } ": not readable." }
                ul {
                    @for (archive, because) in progress.left_out.iter().take(LEFT_OUT_SHOWN) {
                        li { code { bdi { (printable(archive)) } } ": " (printable(because)) }
                    }
                }
            }
        }
    }
}
