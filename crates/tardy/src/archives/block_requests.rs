//! Where the time of the block requests of an archive went: reads what `storage` needs from the disk.

use archive::reader::Run;
use archive::samples_file;
use archive::storage::{StorageAccount, description, pages};
use storage::{CpuPages, Samples};

/// `None`: the run recorded no requests.
pub fn account_of(run: &Run) -> Option<StorageAccount> {
    let settings = run.manifest.as_ref()?.settings.as_ref()?;
    if !settings.records_requests() {
        return None;
    }
    let description = description(&run.directory).ok()?;
    let pages = pages(&run.directory, &description).unwrap_or_default();
    let cpus: Vec<CpuPages<'_>> = pages.iter().map(|(cpu, pages)| CpuPages { cpu: *cpu, pages }).collect();
    let samples = run.threads.keys().filter_map(|thread| {
        let bytes = samples_file::bytes(&run.directory, *thread).ok()?;
        let samples = samples_file::records(&bytes).map(|sample| (sample.due_ns, sample.latency_ns)).collect();
        Some(Samples { thread: *thread, samples })
    });
    Some(storage::account_of(&description, &cpus, &samples.collect::<Vec<_>>()))
}
