//! The entries of a guard's log: typed facts, one line of JSON each, at most [`BYTES_MAX`] bytes long.

use account::brief::BYTES_MAX;
use account::brief::fitted::{Shrink, fitted};
use account::brief::short::Short;
use account::brief::spike::BriefSpike;
use archive::chain::{ChainCause, ChainShare};
use archive::culprit::{Culprit, TaskName};
use archive::spike::SaveRequest;
use archive::watched::WatchedKind;
use archive::watched::guard::EventKind;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts changes of the entries that a reader must know.
pub const GUARD_VERSION: u32 = 1;

/// One line of the log.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub guard_version: u32,
    /// From 1, without gaps over restarts, as long as the log exists.
    pub number: u64,
    pub unix_ns: i64,
    #[serde(flatten)]
    pub fact: Fact,
}

/// The event of an entry.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fact {
    Started(Started),
    /// A wake-up or cycle over its limit.
    Miss(Box<Account>),
    /// The last seconds, on request.
    Saved(Box<Account>),
    /// A chain of threads that missed its deadline.
    Chain(Box<ChainMiss>),
    /// Misses without an account of their own.
    Suppressed {
        misses: u64,
    },
    /// The kinds of events that are not recorded from here on; none: all are recorded again.
    Shed {
        kinds: Vec<EventKind>,
        cost_percent: f64,
        budget_percent: f64,
    },
    /// An archive with spikes has ended.
    Archived {
        session: String,
        spikes: u64,
    },
    /// Nobody watched between two archives.
    Gap {
        ms: u64,
    },
    /// The machine was reset while the guard before this one ran, and its memory kept the last events.
    Reset(Box<Reset>),
    /// The log has no end of the guard before: it was killed, or the machine went down.
    Killed {
        /// Its archive, if it had begun one.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Misses in it that had no account yet; their accounts follow.
        recovered: u64,
        /// The machine was restarted since, and nothing of its last seconds is left.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        restarted: bool,
    },
    Stopped(Stopped),
}

/// The end of a boot, as its last events show it. Times are of the clocks of that boot.
#[derive(Debug, Clone, Serialize)]
pub struct Reset {
    /// Identity of the boot.
    pub boot: Short,
    /// Instant of the last event since that boot.
    pub uptime_ns: i64,
    pub last_unix_ns: i64,
    /// From the last event until this boot began; absent if a clock was set in between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_ns: Option<i64>,
    /// Misses of the guard that had no account yet; their accounts follow.
    pub recovered: u64,
    /// The wake-up or cycle had not ended: its latency is a lower bound.
    pub unfinished: bool,
    /// Where no miss was: the archive of the last sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<Short>,
    /// The miss in whose middle the machine stopped, or the last one without an account.
    #[serde(flatten)]
    pub miss: Option<Box<Account>>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Started {
    pub watched: Short,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle_limit_ns: Option<i64>,
    pub budget_percent: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Stopped {
    pub samples: u64,
    pub misses: u64,
    pub accounts: u64,
    pub suppressed: u64,
    /// Absent if no chain was guarded.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub chains: Option<StoppedChains>,
    /// Whole cost since the start.
    pub cost_percent: f64,
    pub memory_kb: u64,
}

/// Missed deadlines of chains since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StoppedChains {
    pub chain_misses: u64,
    pub chain_accounts: u64,
}

/// A miss with its account.
#[derive(Debug, Clone, Serialize)]
pub struct Account {
    pub session: Short,
    pub thread: Short,
    pub tid: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<WatchedKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<i64>,
    /// Who asked for it, if it was kept on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<SaveRequest>,
    /// From the instant at which the thread ran until this account; `None` of a recovered one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<i64>,
    /// That instant; `None` of an archive from an earlier boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran_unix_ns: Option<i64>,
    /// Misses since the account before that have none.
    #[serde(skip_serializing_if = "is_zero")]
    pub suppressed: u64,
    /// Kinds of events that were not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shed: Vec<EventKind>,
    pub account: BriefSpike,
}

/// A missed deadline of a chain with its account.
#[derive(Debug, Clone, Serialize)]
pub struct ChainMiss {
    pub session: Short,
    /// From the end of the chain until this account; `None` of a recovered one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<i64>,
    /// The end of the chain; `None` of an archive from an earlier boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_unix_ns: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shed: Vec<EventKind>,
    pub account: ChainAccount,
}

/// The account of a chain.
#[derive(Debug, Clone, Serialize)]
pub struct ChainAccount {
    pub archive: Short,
    pub spike: u32,
    pub chain: Short,
    pub latency_ns: i64,
    pub deadline_ns: i64,
    /// It had not ended yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
    /// In this session so far, and how many of them missed the deadline.
    pub instances: u64,
    pub missed: u64,
    /// `None` if the trace does not have the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_stage: Option<LateStage>,
}

/// The stage that was late, and its cause.
#[derive(Debug, Clone, Serialize)]
pub struct LateStage {
    /// From 1.
    pub stage: usize,
    pub thread: TaskName,
    pub stage_ns: i64,
    /// Median of the other instances in the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinary_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
    pub cause_ns: i64,
    /// `None` if it has no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<ChainCause>,
    /// Sums of the whole instance; empty if they have no room.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ledger: BTreeMap<ChainShare, i64>,
}

impl Shrink for LateStage {
    fn shrink(&mut self) -> bool {
        let had_cause = self.cause.take().is_some();
        had_cause || !std::mem::take(&mut self.ledger).is_empty()
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Shrink for Entry {
    fn shrink(&mut self) -> bool {
        match &mut self.fact {
            Fact::Miss(account) | Fact::Saved(account) => account.account.shrink(),
            Fact::Chain(missed) => missed.account.late_stage.as_mut().is_some_and(Shrink::shrink),
            Fact::Reset(reset) => reset.miss.as_mut().is_some_and(|account| account.account.shrink()),
            _ => false,
        }
    }
}

impl Entry {
    /// The entry as a line of the log, without parts of its account that have no room.
    pub fn line(self) -> String {
        let mut line = serde_json::to_string(&fitted(self)).expect("an entry has only string keys");
        debug_assert!(line.len() < BYTES_MAX, "{line}");
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fact: Fact) -> String {
        Entry { guard_version: GUARD_VERSION, number: 7, unix_ns: 1_800_000_000_000_000_000, fact }.line()
    }

    #[test]
    fn an_entry_is_a_line_of_typed_facts() {
        assert_eq!(
            line(Fact::Shed { kinds: vec![EventKind::Memory], cost_percent: 0.7, budget_percent: 0.5 }),
            "{\"guard_version\":1,\"number\":7,\"unix_ns\":1800000000000000000,\"kind\":\"shed\",\"kinds\":[\"memory\"],\
             \"cost_percent\":0.7,\"budget_percent\":0.5}\n"
        );
        assert!(line(Fact::Gap { ms: 3 }).contains("\"kind\":\"gap\",\"ms\":3"));
        let reset = Reset {
            boot: Short::name("b0071d"),
            uptime_ns: 5,
            last_unix_ns: 7,
            silent_ns: None,
            recovered: 0,
            unfinished: false,
            archive: None,
            miss: None,
        };
        let reset = line(Fact::Reset(Box::new(reset)));
        assert!(reset.contains("\"kind\":\"reset\",\"boot\":\"b0071d\",\"uptime_ns\":5,"), "{reset}");
    }
}
