//! Reads the archives of runs in progress. All readers of a run share one look at its archive, and nothing is read while nobody
//! looks.

use super::running::{StateSender, States};
use super::{LiveRun, SPIKES_SHOWN};
use crate::problem::Refusal;
use crate::site::Site;
use archive::explanation::Explanation;
use archive::reader::Run;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Shortest time between two looks, and the share of the time that looking may take: a long run takes long to read.
const PACE: Duration = Duration::from_secs(1);
const PAUSE_OF_LOOK: u32 = 10;
/// Spikes that are explained in one look.
const EXPLAINED_AT_ONCE: usize = 2;

/// The state of a run in progress, and its further states as they come; the sender ends with the run.
///
/// # Errors
/// If no run of this name is in progress.
pub async fn follow(site: &Arc<Site>, name: &str) -> Result<States, Refusal> {
    let archive = site.running_runs().archive(name).ok_or_else(|| Refusal::NotRunning(name.to_owned()))?;
    let (states, sender) = site.running_runs().states(name);
    if let Some(sender) = sender {
        tokio::spawn(read(Arc::clone(site), name.to_owned(), archive, sender));
    }
    Ok(states)
}

/// The newest state of a run in progress.
///
/// # Errors
/// If no run of this name is in progress.
pub async fn newest(site: &Arc<Site>, name: &str) -> Result<Arc<LiveRun>, Refusal> {
    let mut states = follow(site, name).await?;
    let state = states.wait_for(Option::is_some).await.map_err(|_| Refusal::NotRunning(name.to_owned()))?;
    state.clone().ok_or(Refusal::Defect)
}

/// Reads an archive until its run has ended or nobody waits for it.
async fn read(site: Arc<Site>, name: String, path: PathBuf, sender: StateSender) {
    let mut explained = BTreeMap::new();
    loop {
        let (started, reader) = (Instant::now(), Arc::clone(&site));
        let (named, archive) = (name.clone(), path.clone());
        let read = site.at_work(move || {
            let run = Run::open_without_seconds(&archive).ok()?;
            explain(&reader, &run, &mut explained);
            Some((LiveRun::of(&named, &run, &explained), explained))
        });
        let Ok(Some((state, kept))) = read.await else { break };
        explained = kept;
        let goes_on = state.goes_on;
        sender.send_replace(Some(Arc::new(state)));
        if !goes_on {
            break;
        }
        tokio::time::sleep(PACE.max(started.elapsed() * PAUSE_OF_LOOK)).await;
        if site.running_runs().forget_unread(&name, &sender) {
            return;
        }
    }
    site.running_runs().forget(&name);
}

/// Explains a few of the newest spikes that are not yet explained, where that disturbs no measurement.
fn explain(site: &Site, run: &Run, explained: &mut BTreeMap<u32, Explanation>) {
    let newest: Vec<u32> = run.late_spikes().map(|spike| spike.number).collect();
    let shown = newest.iter().rev().take(SPIKES_SHOWN);
    let missing: Vec<u32> = shown.filter(|number| !explained.contains_key(*number)).copied().collect();
    for number in missing.into_iter().take(EXPLAINED_AT_ONCE) {
        explained.extend(site.archives().explain(run, number).map(|explanation| (number, explanation)));
    }
}
