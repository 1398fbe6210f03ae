//! Sentences about block requests.

use archive::storage::{StorageAccount, StorageRequest};
use words::figures::{counted, latency};
use words::printable::printable;

/// What was divided, and the share of software.
pub fn headline(account: &StorageAccount) -> String {
    let device = printable(&account.device.name);
    let scheduler = match account.device.scheduler.as_str() {
        "" => String::new(),
        scheduler => format!(", scheduler {}", printable(scheduler)),
    };
    let divided = format!(
        "Where the time went, in {} of {} on {device}{scheduler}",
        words::figures::count(account.split),
        counted(account.requests, "request"),
    );
    match (account.software_permille, account.software_permille_median) {
        (Some(all), Some(median)) => format!(
            "{divided}: {} of it was software, all but the device; of the median request {}.",
            percent(all),
            percent(median)
        ),
        _ => format!("{divided}."),
    }
}

fn percent(permille: u32) -> String {
    format!("{}.{} %", permille / 1000 * 100 + permille % 1000 / 10, permille % 10)
}

/// A part of a whole, in percent.
pub fn permille(part_ns: i64, whole_ns: i64) -> String {
    let permille = i128::from(part_ns) * 1000 / i128::from(whole_ns.max(1));
    percent(u32::try_from(permille).unwrap_or(0))
}

/// What to know about the figures.
pub fn remarks(account: &StorageAccount) -> Vec<String> {
    let mut remarks = Vec::new();
    let left = account.requests.saturating_sub(account.split);
    if left > 0 {
        remarks.push(format!("{} not divided: the trace lacks events of their time", counted(left, "request")));
    }
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

/// What the events prove about a request.
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

    #[test]
    fn shares_are_rounded_down_and_whole() {
        assert_eq!(
            (permille(1, 3), permille(3, 3), permille(0, 0)),
            ("33.3 %".into(), "100.0 %".into(), "0.0 %".into())
        );
    }
}
