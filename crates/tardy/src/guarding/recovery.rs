//! Misses that a guard before this one left without an account: it was killed, or the machine went down.

use super::accounts::{Accounts, Found, Late};
use super::config::GuardConfig;
use super::entry::Fact;
use super::known::is_real_time_series;
use super::reset::{self, Interrupted};
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

impl Killed {
    /// Its last archive.
    pub fn run(&self) -> Option<Run> {
        self.session.as_ref().and_then(|session| Run::open_without_seconds(session).ok())
    }

    /// Until when every miss of a run is in it: the end of the last one.
    pub fn known_until_ns(run: Option<&Run>, config: &GuardConfig) -> i64 {
        let spikes = run.into_iter().flat_map(|run| &run.spikes).filter(|spike| is_miss(spike, config));
        spikes.map(|spike| spike.sample.seen_ns()).max().unwrap_or(i64::MIN)
    }
}

/// How the guard before this one ended.
pub enum Ended {
    /// Without the machine.
    Killed,
    /// With the machine, of whose last seconds nothing is left.
    Restarted,
    /// With the machine, whose memory kept its last events.
    Reset(Box<Interrupted>),
}

/// Accounts for the misses of the last session that have no account.
pub fn report(killed: Killed, run: Option<Run>, ended: Ended, config: &GuardConfig, accounts: &Accounts) {
    let left: Vec<Spike> =
        run.iter().flat_map(|run| &run.spikes).filter(|spike| is_left(spike, &killed, config)).cloned().collect();
    let session = killed.session.as_deref().map(name_of);
    let recovered = left.len() as u64;
    let restarted = matches!(ended, Ended::Restarted);
    match ended {
        Ended::Reset(interrupted) => reset::report(*interrupted, recovered, config, accounts),
        Ended::Killed | Ended::Restarted => {
            let mut line = guarding::killed(recovered);
            let instance = config.ring.kept_instance.as_str();
            if restarted && !instance.is_empty() {
                line = format!("{line}; {}", guarding::nothing_kept(instance));
            }
            accounts.fact(Fact::Killed { session: session.clone(), recovered, restarted }, line);
        }
    }
    let (Some(run), Some(session)) = (run, session) else { return };
    for spike in left.into_iter().rev().take(ACCOUNTS_MAX).rev() {
        let series = run.watched.get(&spike.thread);
        if !config.watch.all_threads && series.and_then(is_real_time_series) == Some(false) {
            continue;
        }
        let limit_ns = limit_of(config, spike.watched);
        let thread = series.map(|series| series.name.clone()).unwrap_or_default();
        let run = Run { spikes: vec![spike], ..run.clone() };
        accounts.wait_for(Late { run, session: session.clone(), thread, limit_ns, shed: &[], found: Found::Before });
    }
}

fn is_left(spike: &Spike, killed: &Killed, config: &GuardConfig) -> bool {
    (spike.requested || is_miss(spike, config)) && !killed.accounted.contains(&spike.number)
}

fn is_miss(spike: &Spike, config: &GuardConfig) -> bool {
    limit_of(config, spike.watched).is_some_and(|limit_ns| spike.sample.latency_ns > limit_ns)
}
