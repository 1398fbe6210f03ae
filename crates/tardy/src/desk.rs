//! A window on this machine: measures it, ranks who makes its programs late, and shows that as a page on loopback.
//!
//! [`measuring`] runs [`sessions`], one after the other as long as the desk is open, [`looking`] reads their archive while it grows and makes the [`state`] that the
//! page shows and [`service`] hands to the server. [`findings`] are the settings to change, [`changes`] undoes them, [`sharing`] makes the file for others,
//! [`earlier`] has the archives of sessions that ended, [`archives`] removes what killed desks left, [`browser`] opens the page.

mod archives;
mod browser;
mod changes;
mod earlier;
mod findings;
mod looking;
mod measuring;
mod service;
mod sessions;
mod sharing;
mod state;

use crate::exit::{Exit, UsageError};
use crate::lab::this_host::ThisHost;
use anyhow::Context;
use machines::KnownTarget;
use machines::meter_places::MeterPlaces;
use server::desk::{DeskAccess, Entrance};
use server::{Lab, Listener};
use state::Shared;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use words::printable::printable;

/// Directory below that of the user's data.
const DIRECTORY: &str = "tardy/desk";

/// The request of the user.
#[derive(Debug, Clone)]
pub struct Asked {
    pub target: KnownTarget,
    pub listen: SocketAddr,
    pub opens: bool,
    pub keeps: bool,
    pub directory: Option<PathBuf>,
    pub priority: u8,
    pub limit_ns: i64,
    /// Time after which a session ends and the next one begins.
    pub session_ns: u64,
}

/// Measures and serves until a signal ends it.
///
/// # Errors
/// If it could not begin.
pub fn open(asked: &Asked, typed: Vec<String>) -> anyhow::Result<Exit> {
    if !asked.listen.ip().is_loopback() {
        let text =
            "--listen takes an address of this machine alone, like 127.0.0.1:8701; `tardy lab serve` serves others";
        return Err(UsageError(text.into()).into());
    }
    if asked.target.is_in_virtual_time() {
        let text = format!(
            "{} is in virtual time and has no page while it runs; `tardy run` measures it",
            asked.target.name()
        );
        return Err(UsageError(text).into());
    }
    let meter = MeterPlaces::of_process().find()?;
    let directory = asked.directory.clone().map_or_else(own_directory, Ok)?;
    fs::create_dir_all(&directory)
        .with_context(|| format!("failed to make {}; choose another with --directory", directory.display()))?;
    let shared = Arc::new(Shared::of(asked, &meter));
    let (entrance, secret) = Entrance::new().context("failed to make a link")?;
    let lab = Lab {
        desk: Some(DeskAccess { desk: Arc::clone(&shared) as Arc<dyn server::desk::Desk>, entrance }),
        ..Lab::of(directory.clone(), Arc::new(ThisHost))
    };
    let listener = Listener::bind(asked.listen, lab)?;
    let address = format!("http://{}", listener.address().unwrap_or(asked.listen));
    shared.serve_at(&address);
    archives::remove_leftovers(&directory);
    let measuring = measuring::start(asked, &directory, &meter, typed, &shared)?;
    // Whatever fails from here on, the measurement ends.
    let served = serve(asked, listener, &state::link(&address, &secret), &shared);
    shared.end();
    let archive = measuring.end(shared.keeps());
    say_changes(&shared);
    if let Some(archive) = archive {
        finish(&archive, shared.keeps());
    }
    if !shared.keeps() {
        shared.remove_earlier();
    }
    shared.release();
    served?;
    Ok(Exit::Measured)
}

/// Explains and serves until a signal ends it.
fn serve(asked: &Asked, listener: Listener, link: &str, shared: &Arc<Shared>) -> anyhow::Result<()> {
    let looking = looking::start(shared)?;
    let served = findings::look(shared, &asked.target).and_then(|()| {
        complain!("tardy desk: {link} is the page, for one browser of this machine; Ctrl-C ends it");
        if asked.opens {
            browser::open(link);
        }
        Ok(listener.serve(hung_up())?)
    });
    shared.end();
    looking.end();
    served
}

/// Completes when the terminal is closed, which ends a desk of the desktop's menu.
async fn hung_up() {
    match signal(SignalKind::hangup()) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// The directory of the measurements of this user.
fn own_directory() -> Result<PathBuf, UsageError> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = named("XDG_DATA_HOME").or_else(|| Some(named("HOME")?.join(".local/share")));
    data.map(|data| data.join(DIRECTORY))
        .ok_or_else(|| UsageError("there is no home directory for measurements; name one with --directory".into()))
}

/// Keeps the archive with its explanations, or removes it.
fn finish(archive: &Path, keeps: bool) {
    if !keeps {
        return earlier::remove(archive);
    }
    let shown = printable(&archive.display().to_string());
    if let Ok(account) = account::Account::open(archive, account::ExplanationSource::Traces) {
        let _ = account.save_explanations();
    }
    complain!("tardy desk: kept {shown}; `tardy report {shown}` shows it");
}

fn say_changes(shared: &Shared) {
    let changed = shared.changed();
    if changed > 0 {
        let settings = words::figures::counted(changed as u64, "changed setting");
        complain!("tardy desk: {settings} left; `tardy target restore` restores what was there before");
    }
}
