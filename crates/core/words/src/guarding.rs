//! Lines of a guard, as the journal shows them.

use crate::figures::{count, latency};
use crate::shell::quoted;
use archive::watched::WatchedKind;
use archive::watched::guard::EventKind;

/// A late wake-up or a long cycle of a guarded thread.
#[derive(Debug, Clone, Copy)]
pub struct Miss<'a> {
    pub thread: &'a str,
    pub kind: Option<WatchedKind>,
    pub latency_ns: i64,
    pub limit_ns: Option<i64>,
    pub cpu: u32,
    /// The culprit in a sentence.
    pub cause: &'a str,
}

impl Miss<'_> {
    /// One line. `saved`: on request; `recovered`: of a guard that was killed.
    pub fn line(&self, saved: bool, recovered: bool) -> String {
        let thread = if self.thread.is_empty() { "a thread" } else { self.thread };
        let took = match self.kind {
            Some(WatchedKind::Cycle) => format!("{thread} ran for {}", latency(self.latency_ns)),
            _ => format!("{thread} woke {} late", latency(self.latency_ns)),
        };
        let limit = self.limit_ns.map(|limit_ns| format!(" (limit {})", latency(limit_ns))).unwrap_or_default();
        let before = match (saved, recovered) {
            (true, _) => "saved the last seconds; the worst wake-up in them: ",
            (false, true) => "before the last guard was killed, ",
            (false, false) => "",
        };
        format!("{before}{took}{limit} on CPU {}: {}", self.cpu, self.cause)
    }
}

/// Where the whole account is.
pub fn more(archive: &str, spike: u32) -> String {
    format!("more: tardy explain {} --spike {spike}", quoted(archive))
}

/// Misses without an account.
pub fn suppressed(misses: u64) -> String {
    match misses {
        1 => "1 more miss has no account of its own: misses came faster than the configured rate".into(),
        _ => format!(
            "{} more misses have no account of their own: misses came faster than the configured rate",
            count(misses)
        ),
    }
}

/// The guard before this one, and the misses that it left without an account.
pub fn killed(recovered: u64) -> String {
    let before = "the guard before this one was killed, or the machine went down";
    match recovered {
        0 => format!("{before}; no miss of it lacks an account"),
        1 => format!("{before}; the account of 1 miss follows"),
        _ => format!("{before}; accounts of {} misses follow", count(recovered)),
    }
}

/// The kinds of events that are not recorded, and why.
pub fn shed(kinds: &[EventKind], cost_percent: f64, budget_percent: f64) -> String {
    let again = if kinds.is_empty() { "; every kind of event is recorded again" } else { "" };
    format!("{}{again}", cost(kinds, Some(cost_percent), budget_percent))
}

/// The cost of watching, if it is known yet, and the kinds of events that are not recorded.
pub fn cost(kinds: &[EventKind], cost_percent: Option<f64>, budget_percent: f64) -> String {
    let cost = match cost_percent {
        Some(percent) => format!("watching costs {percent:.2} % of a CPU (budget {budget_percent} %)"),
        None => format!("the cost of watching is not known yet (budget {budget_percent} %)"),
    };
    let names: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    if names.is_empty() { cost } else { format!("{cost}; events that are not recorded: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_is_one_sentence() {
        let miss = Miss {
            thread: "robot",
            kind: Some(WatchedKind::Timer),
            latency_ns: 812_000,
            limit_ns: Some(200_000),
            cpu: 1,
            cause: "hog had the CPU",
        };
        let text = miss.line(false, false);
        assert_eq!(text, "robot woke 812.0 µs late (limit 200.0 µs) on CPU 1: hog had the CPU");
        let cycle = Miss { kind: Some(WatchedKind::Cycle), limit_ns: None, thread: "", ..miss };
        assert!(cycle.line(true, false).ends_with("a thread ran for 812.0 µs on CPU 1: hog had the CPU"));
    }

    #[test]
    fn what_is_shed_is_named_with_its_cost() {
        assert_eq!(
            shed(&[EventKind::Memory, EventKind::Power], 0.734, 0.5),
            "watching costs 0.73 % of a CPU (budget 0.5 %); events that are not recorded: memory, power"
        );
        assert!(shed(&[], 0.2, 0.5).contains("recorded again"));
    }
}
