//! Lines of a guard, as the journal shows them.

use crate::calendar::utc;
use crate::chain::finding;
use crate::figures::{count, counted, duration, latency};
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

/// When a guard found a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Now,
    /// On request.
    Saved,
    /// Of a guard that was killed.
    Before,
    /// In the last events before a reset; `unfinished`: the machine stopped in its middle.
    AtReset {
        unfinished: bool,
    },
}

impl Miss<'_> {
    /// One line.
    pub fn line(&self, when: When) -> String {
        let thread = if self.thread.is_empty() { "a thread" } else { self.thread };
        let (is_cycle, took) = (self.kind == Some(WatchedKind::Cycle), latency(self.latency_ns));
        let took = match (is_cycle, when) {
            (true, When::AtReset { unfinished: true }) => format!("{thread} had been in a cycle for {took}"),
            (false, When::AtReset { unfinished: true }) => format!("{thread} was {took} late and had not run"),
            (true, _) => format!("{thread} ran for {took}"),
            (false, _) => format!("{thread} woke {took} late"),
        };
        let limit = self.limit_ns.map(|limit_ns| format!(" (limit {})", latency(limit_ns))).unwrap_or_default();
        let before = match when {
            When::Now => "",
            When::Saved => "saved the last seconds; the worst wake-up in them: ",
            When::Before => "before the last guard ended, ",
            When::AtReset { unfinished: true } => "when the machine stopped, ",
            When::AtReset { unfinished: false } => "before the machine stopped, ",
        };
        format!("{before}{took}{limit} on CPU {}: {}", self.cpu, self.cause)
    }
}

/// Where the whole account is.
pub fn more(archive: &str, spike: u32) -> String {
    format!("more: tardy explain {} --spike {spike}", quoted(archive))
}

/// A missed deadline of a chain in one line, with the stage that was late if the trace shows it, and the kinds of events that it lacks. `recovered`: of a
/// guard that was killed.
pub fn chain_missed(
    missed: &MissedChain,
    found: Option<(&ChainFinding, usize)>,
    shed: &[EventKind],
    recovered: bool,
) -> String {
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
        None if shed.is_empty() => format!("{took}: the trace does not show why"),
        None => format!("{took}: the trace does not show why; it lacks events of {}", names(shed)),
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

/// The end of the last boot, by its last event. `silent_ns`: until this boot began, if it is known.
pub fn reset(uptime_ns: i64, last_unix_ns: i64, silent_ns: Option<i64>) -> String {
    let silent = silent_ns.map_or_else(
        || "a clock was set since".into(),
        |silent_ns| format!("this boot began {} later", duration(silent_ns)),
    );
    let (up, at) = (duration(uptime_ns), utc(last_unix_ns));
    format!(
        "the machine was reset while the guard before this one ran: its last event was {up} after its boot, {at}; {silent}"
    )
}

/// After [`reset`].
pub const NO_MISS_AT_RESET: &str = "no watched thread was over its limit";

/// The machine was restarted, and its memory kept nothing; the name is of the instance that is missing.
pub fn nothing_kept(instance: &str) -> String {
    format!(
        "nothing is kept of the last seconds before the restart; Linux 6.12 or later keeps them over a reset with the kernel parameters \
         `reserve_mem=20M:4096:tardy trace_instance={instance}^traceoff@tardy`"
    )
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
    if kinds.is_empty() { cost } else { format!("{cost}; events that are not recorded: {}", names(kinds)) }
}

fn names(kinds: &[EventKind]) -> String {
    let names: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// The last line of a guard. `misses` and `chains`: how many, and how many of them have an account; without chains `None`.
pub fn ended(
    samples: u64,
    misses: (u64, u64),
    chains: Option<(u64, u64)>,
    cost_percent: f64,
    memory_mb: u64,
) -> String {
    let of = |word: &str, (misses, accounts): (u64, u64)| {
        format!("{} ({})", counted(misses, word), counted(accounts, "account"))
    };
    let chains = chains.map(|chains| format!(", {}", of("missed chain deadline", chains))).unwrap_or_default();
    let (samples, misses) = (counted(samples, "sample"), of("miss", misses));
    format!("ended: {samples}, {misses}{chains}; watching cost {cost_percent:.2} % of a CPU, memory {memory_mb} MB")
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
        let text = miss.line(When::Now);
        assert_eq!(text, "robot woke 812.0 µs late (limit 200.0 µs) on CPU 1: hog had the CPU");
        let cycle = Miss { kind: Some(WatchedKind::Cycle), limit_ns: None, thread: "", ..miss };
        assert!(cycle.line(When::Saved).ends_with("a thread ran for 812.0 µs on CPU 1: hog had the CPU"));
        let unfinished = When::AtReset { unfinished: true };
        assert_eq!(
            miss.line(unfinished),
            "when the machine stopped, robot was 812.0 µs late and had not run (limit 200.0 µs) on CPU 1: hog had the CPU"
        );
        assert!(cycle.line(unfinished).contains("a thread had been in a cycle for 812.0 µs"));
    }

    #[test]
    fn a_reset_says_when_the_last_event_was() {
        let text = reset(12_300_000_000, 1_800_000_000_000_000_000, Some(4_000_000_000));
        assert!(
            text.contains("its last event was 12.3 s after its boot, 2027-01-15") && text.contains("4.0 s later"),
            "{text}"
        );
        assert!(reset(1, 1, None).ends_with("a clock was set since"));
        assert!(nothing_kept("tardy-kept").contains("trace_instance=tardy-kept^traceoff@tardy"));
    }

    #[test]
    fn the_last_line_counts_misses_of_threads_and_of_chains() {
        let text = ended(1200, (1, 1), Some((2, 0)), 0.31, 14);
        assert_eq!(
            text,
            "ended: 1 200 samples, 1 miss (1 account), 2 missed chain deadlines (0 accounts); watching cost 0.31 % of a CPU, memory 14 MB"
        );
        assert!(!ended(0, (0, 0), None, 0.0, 1).contains("chain"));
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
