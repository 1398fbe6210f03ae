//! The threads whose wake-ups are asked for.

use crate::survey::{Survey, ThreadFacts};
use archive::watched::WatchedKind;
use wakeups::pattern::Pattern;
use words::printable::printable;

/// More threads are not followed; those with most wake-ups are.
const THREADS_MAX: usize = 2000;
/// Threads that are named where none was found.
const NAMED: usize = 4;
/// The kernel's own threads that stop a CPU for others: they are woken in order to be waited for.
const STOPPERS: &str = "migration/";

/// The threads and the number of wake-ups that the user asks for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A thread, with the threads that it starts.
    pub tid: Option<i32>,
    /// Threads of this name.
    pub comm: Option<Pattern>,
    /// Number of late wake-ups to keep.
    pub worst: usize,
    /// The machine stopped in the middle of the recording: these threads, and what happened to them last.
    pub at_end: Option<AtEnd>,
}

/// Questions to a recording that ends because its machine did.
#[derive(Debug, Clone, Default)]
pub struct AtEnd {
    pub threads: Vec<i32>,
    /// Real-time threads of this name as well.
    pub comm: Option<Pattern>,
    /// Threads of this name without a real-time priority, too.
    pub all_threads: bool,
    /// A wake-up later than this is a miss.
    pub limit_ns: Option<i64>,
    /// A cycle longer than this is a miss.
    pub cycle_limit_ns: Option<i64>,
    /// Misses that ended by then are known.
    pub known_until_ns: i64,
    /// CLOCK_REALTIME minus CLOCK_MONOTONIC, if it is known.
    pub realtime_offset_ns: Option<i64>,
}

impl AtEnd {
    /// Whether a sample of this kind is over its limit.
    pub fn is_miss(&self, kind: WatchedKind, latency_ns: i64) -> bool {
        let limit_ns = match kind {
            WatchedKind::Cycle => self.cycle_limit_ns,
            WatchedKind::Timer | WatchedKind::Woken => self.limit_ns,
        };
        limit_ns.is_some_and(|limit_ns| latency_ns > limit_ns)
    }
}

/// Why these threads were chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Named,
    /// Threads with the name of the thread that wrote cyclictest's mark.
    Marked(String),
    RealTime,
}

impl Request {
    /// The threads to follow, and why.
    pub fn choose(&self, survey: &Survey) -> (Vec<i32>, Choice) {
        let of = |wanted: &dyn Fn(i32, &ThreadFacts) -> bool| {
            let mut found: Vec<(u64, i32)> = survey
                .threads
                .iter()
                .filter(|(tid, facts)| **tid > 0 && wanted(**tid, facts))
                .map(|(tid, facts)| (facts.wake_ups, *tid))
                .collect();
            found.sort_by_key(|(wake_ups, tid)| (std::cmp::Reverse(*wake_ups), *tid));
            found.truncate(THREADS_MAX);
            found.into_iter().map(|(_, tid)| tid).collect::<Vec<i32>>()
        };
        if let Some(end) = &self.at_end {
            let is_named = |facts: &ThreadFacts| end.comm.as_ref().is_some_and(|comm| comm.fits(facts.comm.as_bytes()));
            let counts = |facts: &ThreadFacts| end.all_threads || facts.is_real_time();
            let named = of(&|tid, facts| !end.threads.contains(&tid) && is_named(facts) && counts(facts));
            return (end.threads.iter().copied().chain(named).collect(), Choice::Named);
        }
        if let Some(wanted) = self.tid {
            return (of(&|tid, _| tid == wanted), Choice::Named);
        }
        if let Some(pattern) = &self.comm {
            return (of(&|_, facts| pattern.fits(facts.comm.as_bytes())), Choice::Named);
        }
        let real_time = |facts: &ThreadFacts| facts.is_real_time() && !facts.comm.starts_with(STOPPERS);
        if let Some(mark) = &survey.mark
            && let Some(marked) = survey.threads.get(&mark.tid)
        {
            let threads = of(&|_, facts| facts.comm == marked.comm && real_time(facts));
            if !threads.is_empty() {
                return (threads, Choice::Marked(marked.comm.clone()));
            }
        }
        (of(&|_, facts| real_time(facts)), Choice::RealTime)
    }
}

/// Names of the threads that were woken most often, for a message.
pub fn busiest(survey: &Survey) -> Vec<String> {
    let mut found: Vec<&ThreadFacts> = survey.threads.values().filter(|facts| !facts.comm.is_empty()).collect();
    found.sort_by_key(|facts| std::cmp::Reverse(facts.wake_ups));
    let mut names: Vec<String> = Vec::new();
    for facts in found {
        if !names.iter().any(|name| *name == printable(&facts.comm)) && !facts.comm.starts_with("swapper/") {
            names.push(printable(&facts.comm));
        }
        if names.len() == NAMED {
            break;
        }
    }
    names
}
