//! The chains that a watch followed, in the traces that it kept: one account for every page and document of the run.

use crate::spike_trace::SpikeTrace;
use archive::chain::ChainAccount;
use archive::reader::Run;
use chains::declaration::Chain;
use chains::recorded::{EVENTS_MAX, Recorded};
use ftrace::trace_dat::PagedTrace;

/// Instances of an account that keep their ledger, the worst ones.
pub const LEDGERS: usize = 10;

/// The events of the snapshots of a run; empty without any. One that cannot be read is a limit of the account.
pub fn recorded(run: &Run) -> Vec<Recorded> {
    let traced = run.spikes.iter().filter(|spike| spike.snapshot_missing.is_none());
    let mut events_left = EVENTS_MAX;
    let read = |number: u32| match SpikeTrace::open(run, number) {
        Ok(trace) => {
            let recorded = Recorded::within(&mut PagedTrace::open(trace.source()), events_left);
            events_left = events_left.saturating_sub(recorded.events());
            recorded
        }
        Err(error) => Recorded::unreadable(error.to_string()),
    };
    traced.map(|spike| spike.number).map(read).collect()
}

/// The accounts of the chains that the run followed; empty if it followed none, or kept no trace.
pub fn followed(run: &Run) -> Vec<ChainAccount> {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let followed = settings.and_then(|settings| settings.watch.as_ref()).map_or(&[] as &[_], |watch| &watch.chains);
    if followed.is_empty() {
        return Vec::new();
    }
    let recordings = recorded(run);
    if recordings.is_empty() {
        return Vec::new();
    }
    let of = |chain| chains::account(&recordings, &Chain::of_followed(chain), LEDGERS);
    followed.iter().map(of).collect()
}
