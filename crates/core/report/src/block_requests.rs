//! Sentences about block requests.

use archive::storage::{StorageAccount, StoragePhase, StorageRequest};
use words::figures::{counted, latency};
use words::printable::printable;

/// The number of divided requests, and the share of software.
pub fn headline(account: &StorageAccount) -> String {
    let device = printable(&account.device.name);
    let scheduler = match account.device.scheduler.as_str() {
        "" => String::new(),
        scheduler => format!(", scheduler {}", printable(scheduler)),
    };
    let divided = format!(
        "Where the time went, in {} of {} on {device}{scheduler}",
        words::figures::count(account.split),
        counted(account.requests, noun(account)),
    );
    match (account.software_permille, account.software_permille_median) {
        (Some(all), Some(median)) => format!(
            "{divided}: {} of it was software, all but the device; of the median {} {}.",
            percent(all),
            noun(account),
            percent(median)
        ),
        _ => format!("{divided}."),
    }
}

fn noun(account: &StorageAccount) -> &'static str {
    if account.fio.is_some() { "bio" } else { "request" }
}

/// The limits of the division where fio makes the requests.
fn about_fio(account: &StorageAccount) -> Option<String> {
    let fio = account.fio?;
    let (requests, mean) = (counted(fio.requests, "request"), latency(fio.latency_ns_mean));
    let begins = "fio logs the end of a request in whole ms, which fits no event, so these are the bios of its threads, from the block \
                  layer to their completion";
    let device_ns = account.phases.iter().find(|one| one.phase == StoragePhase::Device).map_or(0, |one| one.sum_ns);
    let software = |outside_ns: i64| {
        let device_ns = i128::from(device_ns) / i128::from(account.split.max(1));
        let device_ns = i64::try_from(device_ns).unwrap_or(0);
        format!(
            "{requests} of fio: mean {mean}, {} of it outside the block layer (the call, the wake-up, fio itself); including that, {} \
             was software",
            latency(outside_ns),
            permille(fio.latency_ns_mean.saturating_sub(device_ns), fio.latency_ns_mean)
        )
    };
    let rest = match fio.outside_ns_mean {
        Some(outside_ns) => software(outside_ns),
        None => format!(
            "{requests} of fio: mean {mean}; the number of bios differs, so the time outside the block layer (page cache, call, \
             wake-up) is unknown"
        ),
    };
    Some(format!("{begins}; {rest}"))
}

fn percent(permille: u32) -> String {
    format!("{}.{} %", permille / 1000 * 100 + permille % 1000 / 10, permille % 10)
}

/// A part of a whole, in percent.
pub fn permille(part_ns: i64, whole_ns: i64) -> String {
    let permille = i128::from(part_ns) * 1000 / i128::from(whole_ns.max(1));
    percent(u32::try_from(permille).unwrap_or(0))
}

/// Remarks about the figures.
pub fn remarks(account: &StorageAccount) -> Vec<String> {
    let mut remarks = Vec::new();
    let left = account.requests.saturating_sub(account.split);
    if left > 0 {
        remarks.push(format!("{} not divided: the trace lacks events of their time", counted(left, noun(account))));
    }
    if account.events_left_out > 0 {
        let events = counted(account.events_left_out, "event");
        remarks.push(format!(
            "{events} at the end of the run not read: an account reads no more; measure for a shorter time"
        ));
    }
    remarks.extend(about_fio(account));
    if account.device.maps {
        remarks.push("the device maps requests to others: its time includes the block layer below it".to_owned());
    }
    if !account.device.cgroup_limits.is_empty() {
        remarks.push(format!("limits of the cgroup for the device: {}", printable(&account.device.cgroup_limits)));
    }
    let parts = [
        (account.merged, "merged with others"),
        (account.split_by_kernel, "made by splits of the kernel"),
        (account.requeued, "requeued by the driver"),
        (account.flushes, "flushes of the device's cache"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if !parts.is_empty() {
        remarks.push(format!("parts of these requests: {}", parts.join(", ")));
    }
    remarks
}

/// Causes that the events prove for a request.
pub fn causes(request: &StorageRequest) -> Vec<String> {
    let words = |(cause, ns): &(archive::storage::StorageCause, Option<i64>)| match ns {
        Some(ns) => format!("{}: {}", cause.words(), latency(*ns)),
        None => cause.words().to_owned(),
    };
    request.causes.iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::storage::{FioRequests, StoragePhaseFigures};
    use fixtures::assert_sentence;

    #[test]
    fn events_that_were_not_read_are_counted() {
        let account = StorageAccount { events_left_out: 7, ..StorageAccount::default() };
        assert_sentence!("requests-left-out", remarks(&account).join("\n"));
        assert!(remarks(&StorageAccount::default()).is_empty());
    }

    #[test]
    fn shares_are_rounded_down_and_whole() {
        assert_eq!(
            (permille(1, 3), permille(3, 3), permille(0, 0)),
            ("33.3 %".into(), "100.0 %".into(), "0.0 %".into())
        );
    }

    #[test]
    fn of_fio_its_bios_are_divided_and_the_rest_is_known_where_their_numbers_agree() {
        let device =
            StoragePhaseFigures { phase: StoragePhase::Device, median_ns: 1, p99_ns: 1, max_ns: 1, sum_ns: 60_000 };
        let fio = FioRequests { requests: 10, latency_ns_mean: 10_000, outside_ns_mean: Some(3_000) };
        let account = StorageAccount {
            requests: 10,
            split: 10,
            phases: vec![device],
            software_permille: Some(143),
            software_permille_median: Some(100),
            fio: Some(fio),
            ..StorageAccount::default()
        };
        assert!(headline(&account).contains("in 10 of 10 bios on"), "{}", headline(&account));
        assert_sentence!("requests-of-fio", remarks(&account).join("\n"));
        let fio = Some(FioRequests { outside_ns_mean: None, ..fio });
        assert!(remarks(&StorageAccount { fio, ..account }).join(" ").contains("is unknown"));
    }
}
