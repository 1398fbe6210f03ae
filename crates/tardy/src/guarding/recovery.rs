//! Misses that a guard before this one left without an account: it was killed, or the machine went down.

use super::accounts::{Accounts, Late};
use super::config::GuardConfig;
use super::entry::Fact;
use super::known::is_real_time_series;
use super::ring::DiskRing;
use super::session::{limit_of, name_of};
use archive::reader::Run;
use archive::spike::Spike;
use std::collections::BTreeSet;
use std::path::PathBuf;
use words::guarding;

/// Misses of a killed guard that get an account; the archive has the others.
const ACCOUNTS_MAX: usize = 20;

/// The guard before this one, which did not end by itself.
pub struct Killed {
    session: Option<PathBuf>,
    /// Spikes of the session that have an account.
    accounted: BTreeSet<u32>,
}

/// The last entry of a guard that ended by itself says so.
pub fn killed(ring: &DiskRing) -> Option<Killed> {
    let entries = ring.entries();
    if entries.last().is_none_or(|last| last.kind == "stopped") {
        return None;
    }
    let session = ring.sessions().pop();
    let name = session.as_deref().map(name_of).unwrap_or_default();
    let accounted = entries.iter().filter(|entry| entry.session == name).map(super::ring::KnownEntry::spike).collect();
    Some(Killed { session, accounted })
}

/// Accounts for the misses of the last session that have no account.
pub fn report(killed: Killed, config: &GuardConfig, accounts: &Accounts) {
    let run = killed.session.as_ref().and_then(|session| Run::open_without_seconds(session).ok());
    let left: Vec<Spike> =
        run.iter().flat_map(|run| &run.spikes).filter(|spike| is_left(spike, &killed, config)).cloned().collect();
    let session = killed.session.as_deref().map(name_of);
    let recovered = left.len() as u64;
    let line = guarding::killed(recovered);
    accounts.fact(Fact::Killed { session: session.clone(), recovered }, line);
    let (Some(run), Some(session)) = (run, session) else { return };
    for spike in left.into_iter().rev().take(ACCOUNTS_MAX).rev() {
        let series = run.watched.get(&spike.thread);
        if !config.watch.all_threads && series.and_then(is_real_time_series) == Some(false) {
            continue;
        }
        let limit_ns = limit_of(config, spike.watched);
        let thread = series.map(|series| series.name.clone()).unwrap_or_default();
        let run = Run { spikes: vec![spike], ..run.clone() };
        accounts.wait_for(Late { run, session: session.clone(), thread, limit_ns, shed: &[], recovered: true });
    }
}

fn is_left(spike: &Spike, killed: &Killed, config: &GuardConfig) -> bool {
    let is_miss = limit_of(config, spike.watched).is_some_and(|limit_ns| spike.sample.latency_ns > limit_ns);
    (spike.requested || is_miss) && !killed.accounted.contains(&spike.number)
}
