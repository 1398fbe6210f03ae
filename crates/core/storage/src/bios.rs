//! The bios of fio's threads, each as a request of its own: fio's log has the instants of its requests in ms, which no event fits.

use crate::parts::Part;
use crate::phases::{Clip, Way, divide};
use crate::recorded_run::{Held, RecordedRun};
use archive::storage::{StorageDescription, StorageRequest};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Threads of the kernel that make requests of io_uring for the thread whose number ends their name.
const OF_IO_URING: [&str; 2] = ["iou-wrk-", "iou-sqp-"];

/// The threads whose bios belong to fio.
pub fn threads(description: &StorageDescription, names: &BTreeMap<i32, String>) -> BTreeSet<i32> {
    let own: BTreeSet<i32> = description.fio_threads.iter().copied().collect();
    let for_own = |name: &str| {
        let of = OF_IO_URING.iter().find_map(|start| name.strip_prefix(start)?.parse().ok());
        of.is_some_and(|of: i32| own.contains(&of))
    };
    let workers: Vec<i32> = names.iter().filter(|(_, name)| for_own(name)).map(|(tid, _)| *tid).collect();
    own.into_iter().chain(workers).collect()
}

impl RecordedRun<'_> {
    /// Bios that start within a stretch and whose completion the trace shows, in the order of their start.
    pub fn bios_of(&self, threads: &BTreeSet<i32>, parts: &[Part], within: Range<i64>) -> Vec<StorageRequest> {
        let own = parts.iter().filter(|part| threads.contains(&part.tid) && within.contains(&part.start_ns()));
        let mut bios: Vec<StorageRequest> = own.filter_map(|part| self.bio(part)).collect();
        bios.sort_by_key(|bio| bio.due_ns);
        bios
    }

    fn bio(&self, part: &Part) -> Option<StorageRequest> {
        let (from_ns, until_ns) = (part.start_ns(), part.done_ns()?);
        let latency_ns = until_ns.checked_sub(from_ns).filter(|ns| *ns > 0)?;
        let parts = [(part, Clip::ALL)];
        let phases = divide(Way { from_ns, until_ns, parts: &parts, sleeps: &[] });
        let mut request = StorageRequest { thread: 0, due_ns: from_ns, latency_ns, phases, causes: Vec::new() };
        request.causes = self.causes(part.tid, &request, &parts, &[], &Held::default());
        Some(request)
    }
}
