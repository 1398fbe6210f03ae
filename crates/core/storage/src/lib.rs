//! From the events of the block layer to where the time of each request went.
//!
//! [`read`] decodes the recorded pages, [`parts`] follows each part of a request from the block layer to its completion,
//! [`sleeps`] when the measuring threads slept and what woke them, [`throttling`] what held them back before they had a request,
//! [`phases`] divides a sample at these instants, `recorded_run` names the causes, and [`account`] condenses all of them. Where
//! fio makes the requests, `bios` divides the bios of its threads instead.
//!
//! Nothing here reads a clock or a file, and no function fails because of what a target recorded.

#![deny(clippy::disallowed_methods)]

pub mod account;
mod bios;
pub mod parts;
pub mod phases;
pub mod read;
mod recorded_run;
pub mod sleeps;
pub mod throttling;

use archive::storage::{StorageAccount, StorageDescription, StorageRequest};
pub use read::CpuPages;

/// The samples of one thread, ascending: the instant before each request, and its latency, in ns.
#[derive(Debug, Clone)]
pub struct Samples {
    pub thread: u32,
    pub samples: Vec<(i64, i64)>,
}

/// The account of a whole run.
pub fn account_of(description: &StorageDescription, cpus: &[CpuPages<'_>], samples: &[Samples]) -> StorageAccount {
    let recorded = read::read(description, cpus);
    account::account(description, &recorded, samples)
}

/// The account of the bios that threads of fio submitted from one instant to another.
pub fn account_of_bios(
    description: &StorageDescription,
    cpus: &[CpuPages<'_>],
    (from_ns, until_ns): (i64, i64),
) -> StorageAccount {
    account::account_of_bios(description, &read::read(description, cpus), (from_ns, until_ns))
}

/// Every request of a run, in the order of the samples.
pub fn requests_of(
    description: &StorageDescription,
    cpus: &[CpuPages<'_>],
    samples: &[Samples],
) -> Vec<StorageRequest> {
    account::requests(description, &read::read(description, cpus), samples)
}
