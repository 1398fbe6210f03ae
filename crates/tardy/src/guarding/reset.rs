//! Accounts for the miss in whose middle the machine was reset.

use super::accounts::{Accounts, Found, Late};
use super::config::GuardConfig;
use super::entry::{Fact, Reset};
use super::last_boot::{LastBoot, LastEvents};
use super::ring::{DiskRing, unix_ns};
use super::session::name_of;
use crate::storing::{Foreign, Location, store};
use account::brief::short::Short;
use archive::reader::Run;
use archive::spike::SpikeReason;
use evidence::archived::{Archived, Origin, archived_at_end};
use evidence::request::AtEnd;
use std::path::PathBuf;
use wakeups::pattern::Pattern;
use words::guarding;

/// The archive of the last boot's events.
struct Kept {
    directory: PathBuf,
    /// Whether its sample had not ended.
    unfinished: bool,
}

/// A reset, once it is known what its events show.
pub struct Interrupted {
    reset: Reset,
    kept: Option<Kept>,
}

/// Stores what the last boot's events show in the ring; `None` if the memory has none. `known_until_ns`: misses that ended by then have an account.
pub fn stored(last: &mut LastBoot, ring: &DiskRing, config: &GuardConfig, known_until_ns: i64) -> Option<Interrupted> {
    let events = last.events.take()?;
    let (first_ns, last_ns) = events.span;
    let reset = Reset {
        boot: Short::name(&last.state.boot_id),
        uptime_ns: last_ns,
        last_unix_ns: last.unix_ns(last_ns),
        silent_ns: last.until_this_boot_ns(last_ns),
        recovered: 0,
        unfinished: false,
        archive: None,
        miss: None,
    };
    let kept = archive_of(last, events, ring, config, (first_ns, known_until_ns));
    Some(Interrupted { reset, kept })
}

fn archive_of(
    last: &LastBoot,
    events: LastEvents,
    ring: &DiskRing,
    config: &GuardConfig,
    (first_ns, known_until_ns): (i64, i64),
) -> Option<Kept> {
    let watch = &config.watch;
    let counts = |real_time: Option<bool>| watch.all_threads || real_time != Some(false);
    let threads = last.state.threads.iter().filter(|(_, thread)| counts(thread.real_time));
    let end = AtEnd {
        threads: threads.map(|(tid, _)| *tid).collect(),
        comm: watch.comm.as_deref().and_then(|comm| Pattern::new(comm).ok()),
        all_threads: watch.all_threads,
        limit_ns: watch.limit.map(|limit| limit.ns()),
        cycle_limit_ns: watch.cycle_limit.map(|limit| limit.ns()),
        known_until_ns,
        realtime_offset_ns: Some(last.state.realtime_offset_ns),
    };
    let last_ns = events.span.1;
    let origin = Origin {
        file_name: last.state.kept_instance.as_deref().unwrap_or_default(),
        clock: "mono",
        imported_unix_ns: unix_ns(),
    };
    // Without a wake-up of the threads there is nothing to show.
    let (Archived { hostname, imported, messages, files }, unfinished) =
        archived_at_end(events.recording(), end, origin).ok()?;
    let foreign = Foreign {
        hostname,
        command: Vec::new(),
        started_unix_ns: Some(last.unix_ns(first_ns)),
        ended_unix_ns: Some(last.unix_ns(last_ns)),
        imported,
        messages,
        files,
    };
    let directory = store(foreign, &Location::Below(&ring.sessions_directory())).ok()?;
    Some(Kept { directory, unfinished })
}

/// Writes the entry, with the account of the miss if there was one.
pub fn report(interrupted: Interrupted, recovered: u64, config: &GuardConfig, accounts: &Accounts) {
    let Interrupted { mut reset, kept } = interrupted;
    reset.recovered = recovered;
    let run = kept.as_ref().and_then(|kept| Run::open(&kept.directory).ok());
    let spike = run.as_ref().and_then(|run| run.spikes.first()).cloned();
    if let Some((run, spike)) = run.zip(spike.filter(|spike| spike.reason == SpikeReason::OverLimit)) {
        let thread = run.watched.get(&spike.thread).map(|series| series.name.clone()).unwrap_or_default();
        reset.unfinished = kept.is_some_and(|kept| kept.unfinished);
        let limit_ns = super::session::limit_of(config, spike.watched);
        let session = name_of(&run.directory);
        accounts.wait_for(Late { run, session, thread, limit_ns, shed: &[], found: Found::AtReset(Box::new(reset)) });
        return;
    }
    reset.archive = kept.map(|kept| Short::name(&name_of(&kept.directory)));
    let line = guarding::reset(reset.uptime_ns, reset.last_unix_ns, reset.silent_ns);
    accounts.fact(Fact::Reset(Box::new(reset)), format!("{line}; {}", guarding::NO_MISS_AT_RESET));
}
