//! The entries of a guard's log: typed facts, one line of JSON each, at most [`BYTES_MAX`] bytes long.

use account::brief::BYTES_MAX;
use account::brief::fitted::{Shrink, fitted};
use account::brief::short::Short;
use account::brief::spike::BriefSpike;
use archive::spike::SaveRequest;
use archive::watched::WatchedKind;
use archive::watched::guard::EventKind;
use serde::Serialize;

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
    /// The log has no end of the guard before: it was killed, or the machine went down.
    Killed {
        /// Its archive, if it had begun one.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Misses in it that had no account yet; their accounts follow.
        recovered: u64,
    },
    Stopped(Stopped),
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
    /// Whole cost since the start.
    pub cost_percent: f64,
    pub memory_kb: u64,
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
    /// Misses since the account before that have none.
    #[serde(skip_serializing_if = "is_zero")]
    pub suppressed: u64,
    /// Kinds of events that were not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shed: Vec<EventKind>,
    pub account: BriefSpike,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Shrink for Entry {
    fn shrink(&mut self) -> bool {
        match &mut self.fact {
            Fact::Miss(account) | Fact::Saved(account) => account.account.shrink(),
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
    }
}
