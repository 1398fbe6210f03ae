//! Lines of a guard, as the journal shows them.

use crate::chain::finding;
use crate::figures::{count, latency};
use crate::shell::quoted;
use archive::chain::ChainFinding;
use archive::watched::WatchedKind;
use archive::watched::chain::MissedChain;
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

/// A missed deadline of a chain in one line, with the stage that was late if the trace shows it. `recovered`: of a guard that was killed.
pub fn chain_missed(missed: &MissedChain, found: Option<(&ChainFinding, usize)>, recovered: bool) -> String {
    let before = if recovered { "before the last guard was killed, " } else { "" };
    let at_least = if missed.is_open { "at least " } else { "" };
    let took = format!(
        "{before}chain {} took {at_least}{} (deadline {})",
        missed.name,
        latency(missed.latency_ns()),
        latency(missed.deadline_ns)
    );
    match found {
        Some((late, stages)) => format!("{took}: {}", finding(late, stages).join("; ")),
        None => format!("{took}: the trace does not show why"),
    }
}

/// Where the whole account of a chain is.
pub fn more_of_chains(archive: &str, chains: &str) -> String {
    format!("more: tardy explain {} --chain {}", quoted(archive), quoted(chains))
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

/// The cost of a stretch of time.
pub fn cost(cost_percent: f64, budget_percent: f64) -> String {
    format!("watching costs {cost_percent:.2} % of a CPU (budget {budget_percent} %)")
}

/// The kinds of events that are not recorded, and why.
pub fn shed(kinds: &[EventKind], cost_percent: f64, budget_percent: f64) -> String {
    let cost = cost(cost_percent, budget_percent);
    match kinds.last() {
        None => format!("{cost}; every kind of event is recorded again"),
        Some(_) => {
            let names: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            format!("{cost}; events that are not recorded: {}", names.join(", "))
        }
    }
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
