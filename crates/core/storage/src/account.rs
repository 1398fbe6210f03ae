//! Condenses the requests of a run.

use crate::Samples;
use crate::bios;
use crate::parts::{Followed, Part, follow};
use crate::read::Recorded;
use crate::recorded_run::RecordedRun;
use archive::storage::{
    StorageAccount, StorageCause, StorageDescription, StoragePhase, StoragePhaseFigures, StorageRequest,
};
use std::cmp::Reverse;

const WORST_KEPT: usize = 10;
/// A device that takes more than this many times its median is slow with a request.
const SLOW_FACTOR: i64 = 5;
/// How many times all samples together may look at a part. Samples of a kernel have a few parts each; those of a recording
/// from elsewhere may have thousands, and all the same ones.
const LOOKS_MAX: u64 = 1 << 31;

/// The kind of sample that is divided.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    Samples(&'a [Samples]),
    /// The bios that threads of fio submitted from one instant to another.
    BiosOfFio(i64, i64),
}

/// The account of a run.
pub fn account(description: &StorageDescription, recorded: &Recorded, samples: &[Samples]) -> StorageAccount {
    account_within(description, recorded, Wanted::Samples(samples), LOOKS_MAX)
}

/// The account of the bios of fio from one instant to another.
pub fn account_of_bios(
    description: &StorageDescription,
    recorded: &Recorded,
    (from_ns, until_ns): (i64, i64),
) -> StorageAccount {
    account_within(description, recorded, Wanted::BiosOfFio(from_ns, until_ns), LOOKS_MAX)
}

/// Every request of a run, in the order of the samples.
pub fn requests(description: &StorageDescription, recorded: &Recorded, samples: &[Samples]) -> Vec<StorageRequest> {
    let Followed { parts, given_up_ns } = follow(recorded, &description.device);
    requests_within(description, recorded, Wanted::Samples(samples), (&parts, given_up_ns), LOOKS_MAX)
}

fn account_within(
    description: &StorageDescription,
    recorded: &Recorded,
    wanted: Wanted<'_>,
    looks_max: u64,
) -> StorageAccount {
    let Followed { parts, given_up_ns } = follow(recorded, &description.device);
    let mut requests = requests_within(description, recorded, wanted, (&parts, given_up_ns), looks_max);
    let of_fio = bios::threads(description, &recorded.names);
    let own = |part: &&Part| of_fio.contains(&part.tid) || description.threads.iter().any(|(_, tid)| *tid == part.tid);
    let count = |is: &dyn Fn(&Part) -> bool| parts.iter().filter(own).filter(|part| is(part)).count() as u64;
    let mut account = StorageAccount {
        device: description.device.clone(),
        merged: count(&|part| part.merged),
        split_by_kernel: count(&|part| part.split),
        requeued: count(&|part| part.requeued > 0),
        flushes: count(&|part| part.extent.is_flush),
        gaps: recorded.gaps.len() as u64 + u64::from(given_up_ns.is_some()),
        events_left_out: recorded.left_out,
        ..condensed(&requests)
    };
    requests.sort_by_key(|request| (Reverse(request.latency_ns), request.due_ns));
    requests.truncate(WORST_KEPT);
    account.worst = requests;
    account
}

fn requests_within(
    description: &StorageDescription,
    recorded: &Recorded,
    wanted: Wanted<'_>,
    (parts, given_up_ns): (&[Part], Option<i64>),
    looks_max: u64,
) -> Vec<StorageRequest> {
    let of_fio = bios::threads(description, &recorded.names);
    let tids: Vec<i32> = description.threads.iter().map(|(_, tid)| *tid).chain(of_fio.iter().copied()).collect();
    let run = RecordedRun::new(recorded, &description.device, &tids, (parts, given_up_ns), looks_max);
    let mut requests: Vec<StorageRequest> = match wanted {
        Wanted::BiosOfFio(from_ns, until_ns) => run.bios_of(&of_fio, parts, from_ns..until_ns),
        Wanted::Samples(samples) => {
            let of_thread = |of: &Samples| {
                let tid = description.threads.iter().find(|(thread, _)| *thread == of.thread).map(|(_, tid)| *tid);
                let divided = |(due_ns, latency_ns): &(i64, i64)| run.request(of.thread, tid, *due_ns, *latency_ns);
                of.samples.iter().map(divided).collect::<Vec<_>>()
            };
            samples.iter().flat_map(of_thread).collect()
        }
    };
    let device_median_ns = median(requests.iter().map(|request| request.ns(StoragePhase::Device)).filter(|ns| *ns > 0));
    for request in &mut requests {
        let device_ns = request.ns(StoragePhase::Device);
        if device_median_ns.is_some_and(|median_ns| device_ns > median_ns.saturating_mul(SLOW_FACTOR)) {
            request.causes.push((StorageCause::SlowDevice, Some(device_ns)));
        }
        request.causes.sort_by_key(|(_, ns)| Reverse(*ns));
    }
    requests
}

fn median(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    quantile(&values, 50)
}

/// Of values in ascending order, the smallest that at least `percent` of them do not exceed.
fn quantile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// The part of a request outside of the device, in thousandths.
fn software_permille(device_ns: i64, whole_ns: i64) -> Option<u32> {
    let outside = (i128::from(whole_ns) - i128::from(device_ns)) * 1000;
    (whole_ns > 0).then(|| u32::try_from((outside + i128::from(whole_ns) / 2) / i128::from(whole_ns)).unwrap_or(0))
}

fn condensed(requests: &[StorageRequest]) -> StorageAccount {
    let split: Vec<&StorageRequest> = requests.iter().filter(|request| request.is_split()).collect();
    let figures = |phase: StoragePhase| {
        let mut values: Vec<i64> = split.iter().map(|request| request.ns(phase)).collect();
        values.sort_unstable();
        let max_ns = *values.last().filter(|ns| **ns > 0)?;
        Some(StoragePhaseFigures {
            phase,
            median_ns: quantile(&values, 50)?,
            p99_ns: quantile(&values, 99)?,
            max_ns,
            sum_ns: values.iter().fold(0, |sum, ns| sum.saturating_add(*ns)),
        })
    };
    let phases: Vec<StoragePhaseFigures> =
        StoragePhase::ALL.into_iter().filter(|phase| *phase != StoragePhase::NotSplit).filter_map(figures).collect();
    let whole_ns = split.iter().fold(0_i64, |sum, request| sum.saturating_add(request.latency_ns));
    let device_ns = phases.iter().find(|one| one.phase == StoragePhase::Device).map_or(0, |one| one.sum_ns);
    let shares =
        split.iter().filter_map(|request| software_permille(request.ns(StoragePhase::Device), request.latency_ns));
    StorageAccount {
        requests: requests.len() as u64,
        split: split.len() as u64,
        phases,
        software_permille: software_permille(device_ns, whole_ns),
        software_permille_median: median(shares.map(i64::from)).and_then(|share| u32::try_from(share).ok()),
        ..StorageAccount::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Event, Extent, What};

    #[test]
    fn of_many_samples_with_many_parts_only_the_first_are_split() {
        let event = |at_ns, what| Event { at_ns, cpu: 0, tid: 1, in_interrupt: false, what };
        let flush = Extent { sector: 0, sectors: 0, is_flush: true, is_fua: false };
        let mut events: Vec<Event> = (0..20).map(|at_ns| event(at_ns, What::Queue(flush))).collect();
        events.extend([event(30, What::Issue(flush)), event(40, What::Complete(flush)), event(99, What::BlockSoftirq)]);
        let recorded = Recorded { events, ..Recorded::default() };
        let description = StorageDescription { threads: vec![(0, 1)], ..StorageDescription::default() };
        let samples = [Samples { thread: 0, samples: vec![(0, 50); 10] }];
        assert_eq!(account(&description, &recorded, &samples).split, 10);
        let cost_of_one = 6 * 20 * 20;
        assert_eq!(account_within(&description, &recorded, Wanted::Samples(&samples), 3 * cost_of_one).split, 3);
    }
}
