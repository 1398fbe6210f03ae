//! Which spikes have an account on a page: the worst, and those that other parts of it lead to.

use archive::summary::{ReportData, SpikeSummary};
use std::collections::BTreeSet;

/// Late ones, and as many ordinary ones. A page of each of 10,000 has 44 MB, and nobody reads beyond the first.
const ACCOUNTS_MAX: usize = 200;

/// The accounts of a page.
#[derive(Debug)]
pub struct Accounts {
    spikes: BTreeSet<u32>,
    /// Late spikes without one.
    pub left_out: usize,
}

impl Accounts {
    pub fn of(data: &ReportData) -> Self {
        let of = |late: bool| data.summary.spikes.iter().filter(move |entry| entry.late == late).take(ACCOUNTS_MAX);
        let groups = data.causes.iter().flat_map(|causes| &causes.groups).filter_map(|group| group.spikes.first());
        let worst = of(true).chain(of(false)).map(|entry| entry.spike.number);
        let mut accounts = Self { spikes: worst.chain(groups.copied()).collect(), left_out: 0 };
        accounts.left_out = data.summary.late_spikes().filter(|entry| !accounts.has(entry.spike.number)).count();
        accounts
    }

    pub fn has(&self, spike: u32) -> bool {
        self.spikes.contains(&spike)
    }

    /// Whether every spike has one.
    pub fn has_all(&self, spikes: &[SpikeSummary]) -> bool {
        spikes.iter().all(|entry| self.has(entry.spike.number))
    }
}
