//! Proposes chains of a recording: threads that a timer, an interrupt or packets wake, with the threads that each of them wakes in turn.

use crate::account;
use crate::declaration::{Chain, ChainFile, End, STAGES_MAX, Stage, Stimulus, ThreadId, TimeSpan};
use crate::recorded::Recorded;
use crate::route::{Route, is_carrier, route};
use crate::waker::{Raised, SOFTIRQ_NET_RX, Waker};
use archive::chain::{ArrivalBound, Arrivals, ChainInstance, ProposedChain, ProposedStimulus};
use archive::culprit::{ForeignText, TaskName};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::slice;

/// Fewer stimuli show no period.
const STIMULI_MIN: usize = 10;
/// A thread is a stage if at least this share of its wake-ups, in percent, are of the stage before it.
const SHARE_MIN_PERCENT: usize = 50;
/// The next stage is woken in at least this share of the instances, in percent.
const FOLLOWED_MIN_PERCENT: usize = 50;
const CHAINS_MAX: usize = 12;
/// First stages that are tried, those with the most wake-ups.
const ROOTS_MAX: usize = 256;
/// Numbers of stimuli whose spans the arrival curve shows.
const CURVE: [usize; 4] = [2, 3, 5, 10];

/// Chains of recordings of one machine, the longest first.
pub fn discover(recordings: &[Recorded]) -> Vec<ProposedChain> {
    let mut chains: Vec<ProposedChain> = recordings.iter().flat_map(of_one).collect();
    let tids = |chain: &ProposedChain| chain.threads.iter().map(|thread| thread.tid).collect::<Vec<i32>>();
    // Of equally long chains the periodic ones come first.
    let rank = |chain: &ProposedChain| {
        let is_periodic = chain.arrivals.jitter_ns <= chain.arrivals.period_ns;
        std::cmp::Reverse((chain.threads.len(), is_periodic, chain.arrivals.count))
    };
    chains.sort_by_key(|chain| (rank(chain), tids(chain)));
    let mut known = HashSet::new();
    chains.retain(|chain| known.insert(tids(chain)));
    chains.truncate(CHAINS_MAX);
    chains
}

fn of_one(recorded: &Recorded) -> Vec<ProposedChain> {
    let woken = Woken::of(recorded);
    let mut roots: Vec<_> = woken.roots.iter().collect();
    roots.sort_by_key(|(tid, by)| (std::cmp::Reverse(by.len()), **tid));
    let examined = roots.into_iter().take(ROOTS_MAX);
    let roots = examined.filter_map(|(tid, by)| Some((*tid, root_of(recorded, *tid, by)?)));
    roots.filter_map(|(tid, stimulus)| proposed(recorded, &woken, tid, stimulus)).collect()
}

/// Declarations of proposed chains, with the period as the deadline.
pub fn declared(proposed: &[ProposedChain]) -> ChainFile {
    let chain = proposed.iter().map(declaration).collect();
    ChainFile { chain }
}

fn declaration(proposed: &ProposedChain) -> Chain {
    let stage = |thread: &TaskName| match proposed.names_are_unique && !thread.comm.is_empty() {
        true => Stage::Comm(thread.comm.clone()),
        false => Stage::Thread(ThreadId { tid: thread.tid }),
    };
    let ends = [proposed.threads.first(), proposed.threads.last()];
    // Whole microseconds, unless the period is shorter.
    let period_ns = proposed.arrivals.period_ns;
    let period = TimeSpan { ns: if period_ns >= 1000 { (period_ns + 500) / 1000 * 1000 } else { period_ns } };
    let name: Vec<String> = ends.into_iter().flatten().map(words::holders::task).collect();
    Chain {
        name: if proposed.threads.len() > 1 { name.join(" to ") } else { name.into_iter().take(1).collect() },
        deadline: Some(period),
        period: Some(period),
        stimulus: match &proposed.stimulus {
            ProposedStimulus::Timer => Stimulus::Timer,
            ProposedStimulus::Packet => Stimulus::Packet,
            ProposedStimulus::Interrupt(name) => Stimulus::Interrupt(name.0.clone()),
        },
        stages: proposed.threads.iter().map(stage).collect(),
        end: End::Sleep,
    }
}

/// Wake-ups of each thread by each waker.
#[derive(Default)]
struct Woken {
    /// Wake-ups of each thread.
    wakes: HashMap<i32, usize>,
    /// By the thread that woke, and the one that it woke.
    edges: BTreeMap<i32, BTreeMap<i32, usize>>,
    /// Wake-ups without a thread as their origin.
    roots: HashMap<i32, Vec<Route>>,
}

impl Woken {
    fn of(recorded: &Recorded) -> Self {
        let mut woken = Self::default();
        for (tid, life) in &recorded.threads {
            if is_of_the_kernel(recorded, *tid) || is_of_this_tool(recorded.names.comm(*tid)) {
                continue;
            }
            woken.wakes.insert(*tid, life.wakes.len());
            for wake in &life.wakes {
                let route = route(recorded, *tid, *wake, |_| false);
                match route.giver() {
                    Some((giver, _)) => *woken.edges.entry(giver).or_default().entry(*tid).or_default() += 1,
                    None => woken.roots.entry(*tid).or_default().push(route),
                }
            }
        }
        woken
    }

    /// The thread that another one wakes most often, if that is what wakes it.
    fn next(&self, tid: i32, instances: usize, taken: &HashSet<i32>) -> Option<i32> {
        let of = self.edges.get(&tid)?.iter().filter(|(woken, _)| !taken.contains(woken));
        let (next, count) = of.max_by_key(|(woken, count)| (**count, std::cmp::Reverse(**woken)))?;
        let wakes = self.wakes.get(next).copied().unwrap_or(0);
        let is_stage = count * 100 >= wakes * SHARE_MIN_PERCENT && count * 100 >= instances * FOLLOWED_MIN_PERCENT;
        is_stage.then_some(*next)
    }
}

/// Threads of the kernel carry work of others; per-CPU ones have a slash in their name.
fn is_of_the_kernel(recorded: &Recorded, tid: i32) -> bool {
    let comm = recorded.names.comm(tid);
    is_carrier(&recorded.names, tid) || comm.contains('/') || comm.starts_with("rcu")
}

/// `tardy`, `tardy-meter`, `tardy:follow`.
fn is_of_this_tool(comm: &str) -> bool {
    comm.strip_prefix("tardy").is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':']))
}

fn root_of(recorded: &Recorded, tid: i32, routes: &[Route]) -> Option<ProposedStimulus> {
    let wakes = recorded.threads.get(&tid)?.wakes.len();
    let mut kinds: BTreeMap<(u8, i32), usize> = BTreeMap::new();
    for waker in routes.iter().filter_map(Route::origin) {
        let kind = match waker {
            waker if waker.is_timer() => (0, 0),
            Waker::Interrupt { irq, .. } => (1, irq),
            Waker::Softirq { vec: SOFTIRQ_NET_RX, .. } => (2, 0),
            Waker::Softirq { raised: Raised::Interrupt { irq, .. }, .. } => (1, irq),
            _ => continue,
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let ((kind, irq), count) = kinds.into_iter().max_by_key(|(_, count)| *count)?;
    if count < STIMULI_MIN || count * 100 < wakes * SHARE_MIN_PERCENT {
        return None;
    }
    Some(match kind {
        0 => ProposedStimulus::Timer,
        1 => {
            let name = recorded.names.interrupt(irq).name;
            let is_plain = |name: &ForeignText| !name.0.is_empty() && !name.0.contains(['*', '?']);
            let name = name.filter(is_plain).unwrap_or_else(|| ForeignText(irq.to_string()));
            ProposedStimulus::Interrupt(name)
        }
        _ => ProposedStimulus::Packet,
    })
}

fn proposed(recorded: &Recorded, woken: &Woken, root: i32, stimulus: ProposedStimulus) -> Option<ProposedChain> {
    let stimuli = woken.roots.get(&root).map_or(0, Vec::len);
    let (mut tids, mut taken) = (vec![root], HashSet::from([root]));
    while tids.len() < STAGES_MAX
        && let Some(next) = tids.last().and_then(|last| woken.next(*last, stimuli, &taken))
    {
        taken.insert(next);
        tids.push(next);
    }
    let mut chain = ProposedChain {
        stimulus,
        threads: tids.iter().map(|tid| recorded.names.task_name(*tid)).collect(),
        names_are_unique: false,
        arrivals: Arrivals { count: 0, period_ns: 0, jitter_ns: 0, curve: Vec::new() },
        latency_ns_median: None,
        latency_ns_max: None,
    };
    let by_tid = declaration(&chain);
    let instances = account(slice::from_ref(recorded), &by_tid, 0).instances;
    chain.names_are_unique = tids.iter().all(|tid| {
        let comm = recorded.names.comm(*tid);
        let same = recorded.threads.keys().filter(|other| recorded.names.comm(**other) == comm);
        !comm.is_empty() && !comm.contains(['*', '?']) && same.count() == 1
    });
    chain.arrivals = arrivals(&instances)?;
    let mut latencies_ns: Vec<i64> = instances.iter().map(ChainInstance::latency_ns).collect();
    latencies_ns.sort_unstable();
    chain.latency_ns_median = latencies_ns.get(latencies_ns.len() / 2).copied();
    chain.latency_ns_max = latencies_ns.last().copied();
    Some(chain)
}

/// `None` if there are too few stimuli.
fn arrivals(instances: &[ChainInstance]) -> Option<Arrivals> {
    let mut stimuli_ns: Vec<i64> = instances.iter().map(|instance| instance.stimulus_ns).collect();
    stimuli_ns.sort_unstable();
    let count = stimuli_ns.len();
    if count < STIMULI_MIN {
        return None;
    }
    let spans_ns = |events: usize| stimuli_ns.windows(events).map(move |of| of[events - 1].saturating_sub(of[0]));
    let mut distances_ns: Vec<i64> = spans_ns(2).collect();
    distances_ns.sort_unstable();
    let period_ns = distances_ns.get(distances_ns.len() / 2).copied()?;
    let jitter_ns = distances_ns.iter().map(|distance| distance.saturating_sub(period_ns).saturating_abs()).max()?;
    let bound = |events: usize| {
        let (span_ns_min, span_ns_max) = (spans_ns(events).min()?, spans_ns(events).max()?);
        Some(ArrivalBound { events, span_ns_min, span_ns_max })
    };
    let curve = CURVE.into_iter().filter_map(bound).collect();
    Some(Arrivals { count, period_ns, jitter_ns, curve })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(stimulus_ns: i64) -> ChainInstance {
        ChainInstance { stimulus_ns, end_ns: stimulus_ns + 1, is_open: false, stages: Vec::new(), segments: Vec::new() }
    }

    #[test]
    fn threads_that_record_are_not_proposed() {
        for (comm, own) in
            [("tardy", true), ("tardy:follow", true), ("tardy-meter", true), ("tardyd", false), ("", false)]
        {
            assert_eq!(is_of_this_tool(comm), own, "{comm}");
        }
    }

    #[test]
    fn period_jitter_and_curve_of_stimuli() {
        let late = |index: i64| if index == 5 { 300 } else { 0 };
        let instances: Vec<ChainInstance> = (0..12).map(|index| instance(index * 1000 + late(index))).collect();
        let arrivals = arrivals(&instances).unwrap();
        assert_eq!((arrivals.count, arrivals.period_ns, arrivals.jitter_ns), (12, 1000, 300));
        let curve: Vec<_> = arrivals.curve.iter().map(|at| (at.events, at.span_ns_min, at.span_ns_max)).collect();
        assert_eq!(curve, [(2, 700, 1300), (3, 1700, 2300), (5, 3700, 4300), (10, 9000, 9000)]);
        assert_eq!(super::arrivals(&instances[..9]), None);
    }
}
