//! Connects wake-ups of the stages to instances, from each stimulus forward.

use crate::declaration::{Chain, End, Stage, Stimulus, ThreadId};
use crate::life::{Life, Span, State};
use crate::recorded::{Occurrence, Recorded};
use crate::route::{Route, is_carrier, route};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wakeups::pattern::Pattern;

/// A passage of one stage.
#[derive(Debug, Clone)]
pub struct Passage {
    pub tid: i32,
    /// When the stage before it acted, or the stimulus occurred.
    pub given_ns: i64,
    pub woken_ns: i64,
    pub route: Route,
}

/// An instance: its stages in order, and its end.
#[derive(Debug, Clone)]
pub struct Linked {
    pub passages: Vec<Passage>,
    pub end_ns: i64,
    /// It missed its deadline before the recording ended, and did not end itself.
    pub is_open: bool,
}

/// The instances of a chain.
#[derive(Debug, Default)]
pub struct Links {
    /// In the order of their stimuli.
    pub instances: Vec<Linked>,
    /// Stimuli without an instance.
    pub unlinked: usize,
    /// Stages that no thread of the recording is.
    pub absent: Vec<usize>,
}

/// Threads of a stage.
pub fn threads_of(recorded: &Recorded, stage: &Stage) -> BTreeSet<i32> {
    match stage {
        Stage::Thread(ThreadId { tid }) => {
            if recorded.threads.contains_key(tid) {
                BTreeSet::from([*tid])
            } else {
                BTreeSet::new()
            }
        }
        Stage::Comm(comm) => {
            let Ok(pattern) = Pattern::new(comm) else { return BTreeSet::new() };
            let tids = recorded.threads.keys().copied();
            tids.filter(|tid| pattern.fits(recorded.names.comm(*tid).as_bytes())).collect()
        }
    }
}

/// Passages of a stage by the thread of the stage before it, ascending.
type HandOvers = HashMap<i32, Vec<Passage>>;

/// The instances of a chain in a recording.
pub fn links(recorded: &Recorded, chain: &Chain) -> Links {
    let stages: Vec<BTreeSet<i32>> = chain.stages.iter().map(|stage| threads_of(recorded, stage)).collect();
    let absent: Vec<usize> = (0..stages.len()).filter(|index| stages[*index].is_empty()).collect();
    let Some(first) = stages.first().filter(|_| absent.is_empty()) else {
        return Links { absent, ..Links::default() };
    };
    let stimuli = stimuli(recorded, chain, first, &stages);
    let hand_overs: Vec<HandOvers> =
        stages.windows(2).map(|pair| hand_overs(recorded, &pair[0], &pair[1], &stages)).collect();
    let mut routes: Vec<Vec<Passage>> = Vec::new();
    let mut unlinked = 0;
    for stimulus in stimuli {
        let mut passages = vec![stimulus];
        for by_giver in &hand_overs {
            let Some(last) = passages.last() else { break };
            let given = by_giver.get(&last.tid).map_or(&[][..], Vec::as_slice);
            let next = given.partition_point(|passage| passage.given_ns < last.woken_ns);
            let Some(next) = given.get(next) else { break };
            passages.push(next.clone());
        }
        if passages.len() < stages.len() {
            unlinked += 1;
            continue;
        }
        // The later of two stimuli with the same hand-over caused it: the earlier one ended without.
        let arrival = |passages: &[Passage]| passages.last().map(|last| (last.tid, last.woken_ns));
        match routes.last_mut() {
            Some(last) if stages.len() > 1 && arrival(last) == arrival(&passages) => {
                *last = passages;
                unlinked += 1;
            }
            _ => routes.push(passages),
        }
    }
    let ends = Ends::of(recorded, &chain.end, &routes);
    let mut instances = Vec::new();
    let deadline_ns = chain.deadline.map_or(i64::MAX, |deadline| deadline.ns);
    for passages in routes {
        let ended = ends.of_instance(&passages);
        match ended.or_else(|| ends.open(&passages, deadline_ns)) {
            Some(end_ns) => instances.push(Linked { passages, end_ns, is_open: ended.is_none() }),
            None => unlinked += 1,
        }
    }
    Links { instances, unlinked, absent }
}

fn stimuli(recorded: &Recorded, chain: &Chain, first: &BTreeSet<i32>, stages: &[BTreeSet<i32>]) -> Vec<Passage> {
    let of_stage = |at: Vec<Occurrence>| -> Vec<Passage> {
        let at = at.into_iter().filter(|at| first.contains(&at.tid));
        at.map(|Occurrence { ts_ns, tid }| Passage { tid, given_ns: ts_ns, woken_ns: ts_ns, route: Route::NONE })
            .collect()
    };
    let mut found: Vec<Passage> = match &chain.stimulus {
        Stimulus::Marker(text) => of_stage(recorded.marked(text)),
        Stimulus::Event(event) => of_stage(recorded.occurred(event)),
        stimulus => {
            let mut found = Vec::new();
            for (tid, wake, route) in wakes(recorded, first, stages) {
                if let Some(given_ns) = route.stimulus_ns(stimulus, &recorded.names) {
                    found.push(Passage { tid, given_ns, woken_ns: wake, route });
                }
            }
            found
        }
    };
    found.sort_by_key(|passage| (passage.woken_ns, passage.tid));
    if let Some(period) = chain.period {
        let mut begun: HashMap<i32, i64> = HashMap::new();
        found.retain(|passage| match begun.get(&passage.tid) {
            Some(begun_ns) if passage.given_ns.saturating_sub(*begun_ns) < period.ns / 2 => false,
            _ => {
                begun.insert(passage.tid, passage.given_ns);
                true
            }
        });
    }
    found
}

/// The wake-ups of threads, with their routes.
fn wakes<'r>(
    recorded: &'r Recorded,
    tids: &'r BTreeSet<i32>,
    stages: &'r [BTreeSet<i32>],
) -> impl Iterator<Item = (i32, i64, Route)> + 'r {
    let is_stage = move |tid: i32| stages.iter().any(|stage| stage.contains(&tid));
    let lives = tids.iter().filter_map(|tid| Some((*tid, recorded.threads.get(tid)?)));
    lives.flat_map(move |(tid, life)| {
        life.wakes.iter().map(move |wake| (tid, wake.ts_ns, route(recorded, tid, *wake, is_stage)))
    })
}

fn hand_overs(
    recorded: &Recorded,
    before: &BTreeSet<i32>,
    stage: &BTreeSet<i32>,
    stages: &[BTreeSet<i32>],
) -> HandOvers {
    let mut by_giver = HandOvers::new();
    for (tid, woken_ns, route) in wakes(recorded, stage, stages) {
        if let Some((giver, given_ns)) = route.giver()
            && before.contains(&giver)
        {
            by_giver.entry(giver).or_default().push(Passage { tid, given_ns, woken_ns, route });
        }
    }
    by_giver.values_mut().for_each(|passages| passages.sort_by_key(|passage| (passage.given_ns, passage.woken_ns)));
    by_giver
}

/// The ends of all instances.
struct Ends<'r> {
    recorded: &'r Recorded,
    end: &'r End,
    /// When a thread was the last stage, ascending.
    arrivals: BTreeMap<i32, Vec<i64>>,
    /// Markers or events of the end by thread, ascending.
    marks: BTreeMap<i32, Vec<i64>>,
}

impl<'r> Ends<'r> {
    fn of(recorded: &'r Recorded, end: &'r End, routes: &[Vec<Passage>]) -> Self {
        let mut ends = Self { recorded, end, arrivals: BTreeMap::new(), marks: BTreeMap::new() };
        for last in routes.iter().filter_map(|passages| passages.last()) {
            ends.arrivals.entry(last.tid).or_default().push(last.woken_ns);
        }
        ends.arrivals.values_mut().for_each(|arrivals| arrivals.sort_unstable());
        let marks = match end {
            End::Marker(text) => recorded.marked(text),
            End::Event(event) => recorded.occurred(event),
            End::Sleep => Vec::new(),
        };
        for mark in marks {
            ends.marks.entry(mark.tid).or_default().push(mark.ts_ns);
        }
        ends
    }

    /// Whether a sleep ended by an input of the kind that the stage had: a thread of the kernel carried it, and no route leads further back.
    fn is_input(&self, life: &Life, sleep: &Span, input: &Route) -> bool {
        let woken_by = sleep.wake.and_then(|index| life.wakes.get(index)?.by.thread());
        input.hops().len() > 1 && woken_by.is_some_and(|waker| is_carrier(&self.recorded.names, waker))
    }

    /// The end of the recording, if the last input of a stage missed the deadline by then.
    fn open(&self, passages: &[Passage], deadline_ns: i64) -> Option<i64> {
        let (first, last) = passages.first().zip(passages.last())?;
        let ended_ns = self.recorded.ended_ns;
        let is_last = self.arrivals.get(&last.tid)?.last() == Some(&last.woken_ns);
        let is_late = ended_ns.saturating_sub(first.given_ns) > deadline_ns;
        (is_last && is_late && ended_ns > last.woken_ns).then_some(ended_ns)
    }

    fn of_instance(&self, passages: &[Passage]) -> Option<i64> {
        let last = passages.last()?;
        let arrivals = self.arrivals.get(&last.tid)?;
        let next_ns = arrivals.get(arrivals.partition_point(|arrival| *arrival <= last.woken_ns)).copied();
        match self.end {
            End::Marker(_) | End::Event(_) => {
                let marks = self.marks.get(&last.tid)?;
                // In a chain of one stage, the same event may be stimulus and end.
                let after = marks.partition_point(|mark| *mark <= last.woken_ns);
                let mark = marks.get(after).copied()?;
                next_ns.is_none_or(|next_ns| mark <= next_ns).then_some(mark)
            }
            End::Sleep => {
                let life = self.recorded.threads.get(&last.tid)?;
                let until_ns = next_ns.unwrap_or(self.recorded.ended_ns);
                let spans = life.overlapping(last.woken_ns, until_ns);
                let is_input = |span: &&Span| self.is_input(life, span, &last.route);
                let mut sleeps = spans.iter().filter(|span| span.state == State::Asleep);
                let sleep = sleeps.clone().find(is_input).or(sleeps.next_back())?;
                // The sleep before the next input; at the end of the recording, one that nothing ended.
                let is_last = next_ns.is_some() || sleep.wake.is_none();
                (sleep.start_ns > last.woken_ns && is_last).then_some(sleep.start_ns)
            }
        }
    }
}
