//! `tardy lab store doctor`: whether a lab is in order, and what to do where it is not.

use super::STORE_VERSION;
use crate::archives::all_below;
use crate::exit::Exit;
use crate::lab::arguments::IndexArguments;
use crate::terminal::json;
use crate::terminal::page::Page;
use store::health::Health;
use words::figures::counted;
use words::printable::printable;

pub async fn doctor(arguments: &IndexArguments) -> anyhow::Result<Exit> {
    let store = arguments.store.open_existing().await?;
    let health = store.health(&all_below(store.archives()), &arguments.store.words()).await?;
    if arguments.json {
        json::print(&serde_json::json!({ "store_version": STORE_VERSION, "health": health }))?;
    } else {
        let mut page = Page::for_stdout();
        show(&health, &mut page);
        page.print()?;
    }
    Ok(if health.findings.is_empty() { Exit::Measured } else { Exit::LimitExceeded })
}

fn show(health: &Health, page: &mut Page) {
    let (runs, archives) = (counted(health.runs, "run"), counted(health.archives, "archive"));
    let free_gb = health.free_bytes as f64 / 1e9;
    page.line(&format!("{}: {runs}; {archives} in the directory, {free_gb:.1} GB free", printable(&health.database)));
    for finding in &health.findings {
        page.line("");
        page.line(&printable(&format!("{}: {}", finding.finding, finding.detail)));
        page.line(&printable(&format!("  fix: {}", finding.fix)));
    }
    if health.findings.is_empty() {
        page.line("Everything is in order.");
    }
}
