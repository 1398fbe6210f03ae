//! Changes between a baseline and runs, as a page and as an exit code.

use crate::exit::Exit;
use crate::measuring::variant::settings_in_virtual_time;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::json;
use crate::terminal::page::Page;
use judge::virtual_time::{Baseline, Drift, SeedRun, drift};
use std::path::Path;

/// Compares, prints the result, and returns the exit code.
pub fn show(
    baseline: &Baseline,
    file: &Path,
    runs: &[SeedRun],
    archives: Option<&Path>,
    json: bool,
) -> anyhow::Result<Exit> {
    let asked = settings_in_virtual_time(&baseline.target, &baseline.options)?;
    let drift = drift(baseline, &asked, runs);
    if json {
        let document = serde_json::json!({ "baseline": file, "archives": archives, "drift": drift });
        json::print(&document)?;
    } else {
        lay_out(baseline, file, &drift, archives, Page::for_stdout()).print()?;
    }
    Ok(if drift.fails { Exit::LimitExceeded } else { Exit::Measured })
}

fn lay_out(baseline: &Baseline, file: &Path, drift: &Drift, archives: Option<&Path>, mut page: Page) -> Page {
    alarm_of_clock(true, true, &mut page);
    let verdict = match (drift.identical, drift.fails) {
        (true, false) => "Nothing moved: every figure is that of",
        (_, false) => "Nothing moved beyond its tolerance against",
        (_, true) => "DRIFT against",
    };
    page.wrapped("", &format!("{verdict} {} (kernel {}).", file.display(), baseline.kernel));
    for moved in &drift.moved {
        page.wrapped(if moved.fails { "! " } else { "  " }, &moved.sentence);
    }
    if let Some(archives) = archives {
        page.record(0, &format!("The archives are in {}.", archives.display()));
    }
    page
}
