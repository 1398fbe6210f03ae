//! Where the time of the block requests of a run went: reads what `storage` needs from the disk.

use archive::reader::Run;
use archive::samples_file;
use archive::storage::{FioRequests, StorageAccount, description, pages};
use archive::summary::RunSummary;
use storage::{CpuPages, Samples};

/// `None`: the run recorded no requests.
pub fn block_requests(run: &Run, summary: &RunSummary) -> Option<StorageAccount> {
    let settings = run.manifest.as_ref()?.settings.as_ref()?;
    if !settings.records_requests() {
        return None;
    }
    let description = description(&run.directory).ok()?;
    let pages = pages(&run.directory, &description).unwrap_or_default();
    let cpus: Vec<CpuPages<'_>> = pages.iter().map(|(cpu, pages)| CpuPages { cpu: *cpu, pages }).collect();
    if !description.fio_threads.is_empty() {
        let from_ns = summary.measure_start_ns?;
        let until_ns = from_ns.saturating_add(summary.measured_ns.unwrap_or(i64::MAX));
        let account = storage::account_of_bios(&description, &cpus, (from_ns, until_ns));
        return Some(StorageAccount { fio: of_fio(run, &account), ..account });
    }
    let samples = run.threads.keys().filter_map(|thread| {
        let bytes = samples_file::bytes(&run.directory, *thread).ok()?;
        let samples = samples_file::records(&bytes).map(|sample| (sample.due_ns, sample.latency_ns)).collect();
        Some(Samples { thread: *thread, samples })
    });
    Some(storage::account_of(&description, &cpus, &samples.collect::<Vec<_>>()))
}

/// Additions of fio's logs to its bios.
fn of_fio(run: &Run, account: &StorageAccount) -> Option<FioRequests> {
    let totals = || run.threads.values().map(|thread| &thread.totals);
    let requests = totals().fold(0_u64, |sum, totals| sum.saturating_add(totals.cycles));
    let sum_ns = totals().fold(0_i64, |sum, totals| sum.saturating_add(totals.latency_ns_sum));
    let mean = |sum_ns: i64, count: u64| i64::try_from(count).ok().and_then(|count| sum_ns.checked_div(count));
    let latency_ns_mean = mean(sum_ns, requests)?;
    let of_bios_ns = account.phases.iter().fold(0_i64, |sum, one| sum.saturating_add(one.sum_ns));
    // Of requests without a bio, as in the page cache, or with several, nothing can be concluded.
    let fits = account.split.abs_diff(requests).saturating_mul(50) <= requests;
    let outside_ns_mean = mean(of_bios_ns, account.split).filter(|_| fits).map(|ns| latency_ns_mean.saturating_sub(ns));
    Some(FioRequests { requests, latency_ns_mean, outside_ns_mean })
}
