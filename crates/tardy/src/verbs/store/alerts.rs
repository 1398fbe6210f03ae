//! `tardy lab store alerts`: messages about changes, and those that were given up.

use super::STORE_VERSION;
use crate::exit::{Exit, UsageError};
use crate::lab::arguments::IndexArguments;
use crate::lab::user::this_user;
use crate::terminal::json;
use crate::terminal::page::Page;
use ::alerts::{Settings, SettingsError};
use clap::Args;
use std::path::{Path, PathBuf};
use store::alerts::{Alert, AlertState};
use words::calendar::utc;
use words::figures::counted;
use words::printable::printable;

const SHOWN: i64 = 100;

#[derive(Debug, Args)]
pub struct AlertsArguments {
    /// Send a message again that was given up; its name is in the list
    #[arg(long, value_name = "ALERT", conflicts_with = "check")]
    retry: Option<String>,
    /// Check a file of settings and the secrets it names; send nothing
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    #[command(flatten)]
    common: IndexArguments,
}

/// The settings in a file.
///
/// # Errors
/// A [`UsageError`] with what is wrong in it.
pub fn settings_of(path: &Path) -> Result<Settings, UsageError> {
    Settings::read(path).map_err(|error: SettingsError| UsageError(error.to_string()))
}

pub async fn alerts(arguments: &AlertsArguments) -> anyhow::Result<Exit> {
    if let Some(file) = &arguments.check {
        return check(file, arguments.common.json);
    }
    let store = arguments.common.store.open_existing().await?;
    let mut all = store.alerts(SHOWN).await?;
    if let Some(name) = &arguments.retry {
        if !store.retry_alert(name, &this_user(), store.now_unix_ns().await?).await? {
            let index = arguments.common.store.words();
            let text = format!("no message {name} that was given up; `tardy lab store alerts{index}` lists them");
            return Err(UsageError(text).into());
        }
        all = store.alert(name).await?.into_iter().collect();
    }
    let dead = all.iter().filter(|alert| alert.state == AlertState::Dead).count();
    if arguments.common.json {
        json::print(&serde_json::json!({ "store_version": STORE_VERSION, "alerts": all, "dead": dead }))?;
    } else {
        let mut page = Page::for_stdout();
        all.iter().for_each(|alert| page.wrapped("", &line(alert)));
        if all.is_empty() {
            page.line("no message");
        }
        page.print()?;
    }
    Ok(if dead > 0 { Exit::LimitExceeded } else { Exit::Measured })
}

fn check(file: &Path, as_json: bool) -> anyhow::Result<Exit> {
    let settings = settings_of(file)?;
    let names: Vec<&str> = settings.destinations.iter().map(|to| to.name.as_str()).collect();
    if as_json {
        json::print(&serde_json::json!({
            "store_version": STORE_VERSION, "rules": settings.rules.len(), "destinations": names,
        }))?;
    } else {
        let mut page = Page::for_stdout();
        let rules = counted(settings.rules.len() as u64, "rule");
        page.line(&format!("{rules}, {}: {}", counted(names.len() as u64, "destination"), names.join(", ")));
        page.print()?;
    }
    Ok(Exit::Measured)
}

fn line(alert: &Alert) -> String {
    let state = match alert.state {
        AlertState::Waiting => format!("waits until {}", utc(alert.next_unix_ns)),
        AlertState::Sending => "is being sent".into(),
        AlertState::Sent => format!("sent {}", alert.sent_unix_ns.map(utc).unwrap_or_default()),
        AlertState::Dead => "given up".into(),
    };
    let attempts = match alert.attempts {
        0 => String::new(),
        attempts => format!(", {}", counted(attempts, "attempt")),
    };
    let message = if alert.message.is_empty() { String::new() } else { format!(": {}", alert.message) };
    printable(&format!("{}  {}  change {}  {state}{attempts}{message}", alert.alert, alert.destination, alert.change))
}
