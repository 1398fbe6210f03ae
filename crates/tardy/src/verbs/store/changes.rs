//! `tardy lab store changes`: where figures changed, and one message for each.

use super::STORE_VERSION;
use super::alerts::settings_of;
use crate::exit::{Exit, UsageError};
use crate::lab::arguments::IndexArguments;
use crate::lab::user::this_user;
use crate::terminal::json;
use crate::terminal::page::Page;
use ::alerts::{Program, Settings};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::alerts::Due;
use store::changes::{Change, ChangeReport, Triage};
use words::printable::printable;

/// A command that takes longer has failed.
const NOTIFY_MAX: Duration = Duration::from_secs(10);
/// Name of the command among the destinations of messages.
const COMMAND: &str = "command";
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub struct ChangesArguments {
    /// Send messages as this file says: to webhooks, by mail, as issues or comments
    #[arg(long, value_name = "FILE")]
    alerts: Option<PathBuf>,
    /// Run this shell command for each change that was never reported, with a JSON document on its standard input; it was
    /// reported if the command succeeds within 10 s
    #[arg(long, value_name = "COMMAND")]
    notify: Option<String>,
    #[command(flatten)]
    common: IndexArguments,
}

#[derive(Debug, Args)]
pub struct TriageArguments {
    /// Name of the change, as `tardy lab store changes` prints it
    change: String,
    /// Judgement of a person on the change
    #[arg(value_parser = triage_words())]
    triage: Triage,
    #[command(flatten)]
    common: IndexArguments,
}

fn triage_words() -> impl TypedValueParser<Value = Triage> {
    PossibleValuesParser::new(Triage::ALL.map(Triage::word))
        .map(|word| Triage::of(&word).expect("the parser allows no other word"))
}

pub async fn changes(arguments: &ChangesArguments) -> anyhow::Result<Exit> {
    let settings = arguments.alerts.as_deref().map(settings_of).transpose()?;
    let store = arguments.common.store.open_existing().await?;
    let now = store.now_unix_ns().await?;
    for scenario in store.scenario_keys().await? {
        store.find_changes(&scenario, now).await?;
    }
    // A destination that is new gets what later looks find: the changes of a year would be a flood.
    let now = store.now_unix_ns().await?;
    let command = arguments.notify.clone();
    let of_command = command.map(|command| {
        let program = Program(Arc::new(move |report: &ChangeReport| notified(&command, report)));
        Settings::of_program(COMMAND, program)
    });
    let (mut sent, mut failed) = (0, Vec::new());
    for settings in settings.iter().chain(&of_command) {
        let delivered = ::alerts::deliver(&store, settings, Due::NotTriedSince(now), now).await?;
        sent += delivered.sent;
        failed.extend(delivered.failed);
    }
    for (destination, because) in &failed {
        complain!("tardy: a message to {destination} was not sent: {}", printable(because));
    }
    let failed = failed.len();
    let all = store.changes(None).await?;
    if arguments.common.json {
        json::print(&serde_json::json!({
            "store_version": STORE_VERSION, "changes": all, "sent": sent, "not_sent": failed,
        }))?;
    } else {
        let mut page = Page::for_stdout();
        all.iter().for_each(|change| page.line(&line(change)));
        if all.is_empty() {
            page.line("no change found");
        }
        page.print()?;
    }
    Ok(if failed > 0 { Exit::LimitExceeded } else { Exit::Measured })
}

pub async fn triage(arguments: &TriageArguments) -> anyhow::Result<Exit> {
    let store = arguments.common.store.open_existing().await?;
    if !store.triage(&arguments.change, arguments.triage, &this_user()).await? {
        let index = arguments.common.store.words();
        let text = format!("no change {}; `tardy lab store changes{index}` lists them", arguments.change);
        return Err(UsageError(text).into());
    }
    let all = store.changes(None).await?;
    let change = all.iter().find(|change| change.change == arguments.change);
    if arguments.common.json {
        json::print(&serde_json::json!({ "store_version": STORE_VERSION, "change": change }))?;
    } else if let Some(change) = change {
        let mut page = Page::for_stdout();
        page.line(&line(change));
        page.print()?;
    }
    Ok(Exit::Measured)
}

fn line(change: &Change) -> String {
    let triage = change.triage.word();
    printable(&format!("{}  {triage}  {}", change.change, change.sentence))
}

/// Whether the command took the message.
fn notified(command: &str, report: &ChangeReport) -> bool {
    let Ok(message) = json::line(report) else { return false };
    let started = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let Ok(mut child) = started else { return false };
    let mut input = child.stdin.take();
    // A command that reads nothing must not block the one that writes.
    let writer = std::thread::spawn(move || input.as_mut().is_some_and(|input| input.write_all(&message).is_ok()));
    let start = Instant::now();
    let succeeded = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if start.elapsed() < NOTIFY_MAX => std::thread::sleep(POLL),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                break false;
            }
        }
    };
    let _ = writer.join();
    succeeded
}
