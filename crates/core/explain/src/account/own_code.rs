//! The program's own functions of a late cycle, from samples of the stack, beside the runs of the thread before it.
//!
//! A stack at each switch shows where the thread slept. A run is the time from one sleep of the thread to the next. A sample stands for an equal share of the time that the thread had the
//! CPU, which its switches show to the nanosecond.

use crate::SpikeInput;
use archive::explanation::{Phase, PhaseName};
use archive::own_code::{CodeName, CodeStack, CodeTime, CodeWait, OwnCode, SampleCounts, SlowCode};
use archive::stacks::{NamedStacks, StackSample, SwitchKind, ThreadSwitch};
use archive::watched::WatchedKind;
use std::collections::BTreeMap;
use std::ops::Range;

/// Functions that took least time are left out beyond these.
const FUNCTIONS_MAX: usize = 20;
/// Rarer stacks are left out beyond these, and the innermost frames of deeper ones.
const STACKS_MAX: usize = 200;
const FRAMES_MAX: usize = 64;
/// Places of sleep beyond these are left out, and the outermost functions of deeper ones.
const WAITS_MAX: usize = 8;
const WAIT_FRAMES_MAX: usize = 32;
/// A sleep that ended this close to the end of a late wake-up is the one from which the thread woke.
const OWN_SLEEP_NS: i64 = 20_000;
/// Fewer ordinary runs are not compared.
const USUAL_RUNS_MIN: u32 = 3;
/// Samples of a late cycle below which no function is blamed.
const SAMPLES_MIN: u32 = 2;
/// A function that is in this part of the ordinary samples is the frame of a cycle, not a part of it.
const FRAME_PERCENT: i64 = 75;
/// A run of more than this many times the median is not ordinary.
const UNUSUAL_FACTOR: i64 = 2;

/// The functions of a late cycle; `None` without a sample or a sleep of it.
pub fn own_code(input: &SpikeInput, phases: &[Phase]) -> Option<OwnCode> {
    let (stacks, kind) = (input.stacks?, input.spike.watched?);
    let late = late_range(input, phases);
    let runs = Runs::of(stacks);
    let waits = waits(stacks, &late, kind);
    let Some(times) = Times::new(stacks, &runs, &late, kind) else {
        let samples = SampleCounts { period_ns: stacks.period_ns, ..SampleCounts::default() };
        let without = OwnCode {
            ran_ns: runs.ran_ns(&late),
            samples,
            waits,
            functions: Vec::new(),
            slow: None,
            names: Vec::new(),
            stacks: Vec::new(),
        };
        return (!without.waits.is_empty()).then_some(without);
    };
    let functions = times.functions(stacks);
    let slow = times.slow(stacks);
    let (names, folded) = times.folded(stacks);
    Some(OwnCode { ran_ns: times.late_ns, samples: times.counts, waits, functions, slow, names, stacks: folded })
}

/// Where the thread slept in the late cycle, longest first. The sleep from which a late wake-up woke it is not one of these.
fn waits(stacks: &NamedStacks, late: &Range<i64>, kind: WatchedKind) -> Vec<CodeWait> {
    let mut found: BTreeMap<&[u32], (u32, i64)> = BTreeMap::new();
    let sleeps = stacks.switches.windows(2).filter(|pair| {
        let [ThreadSwitch { ts_ns: from_ns, kind: from }, ThreadSwitch { ts_ns: to_ns, kind: to }] = **pair else {
            return false;
        };
        let is_own = kind != WatchedKind::Cycle && to_ns.saturating_sub(late.end).saturating_abs() <= OWN_SLEEP_NS;
        let within = late.contains(&from_ns) && to_ns <= late.end.saturating_add(OWN_SLEEP_NS);
        (from, to) == (SwitchKind::Slept, SwitchKind::In) && within && !is_own
    });
    let mut since_ns = late.start;
    for pair in sleeps {
        // The kernel takes the stack immediately before it records the switch.
        let after = stacks.departures.partition_point(|departure| departure.ts_ns <= pair[0].ts_ns);
        let departure = after.checked_sub(1).map(|last| &stacks.departures[last]);
        if let Some(departure) = departure.filter(|departure| departure.ts_ns >= since_ns) {
            let innermost = &departure.frames[..departure.frames.len().min(WAIT_FRAMES_MAX)];
            let (count, ns) = found.entry(innermost).or_default();
            (*count, *ns) = (*count + 1, ns.saturating_add(pair[1].ts_ns.saturating_sub(pair[0].ts_ns)));
        }
        since_ns = pair[1].ts_ns;
    }
    let name = |frame: &u32| stacks.names.get(*frame as usize).cloned().unwrap_or(CodeName::Unknown);
    let wait =
        |(frames, (count, ns)): (&[u32], (u32, i64))| CodeWait { frames: frames.iter().map(name).collect(), count, ns };
    let mut waits: Vec<CodeWait> = found.into_iter().map(wait).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.ns));
    waits.truncate(WAITS_MAX);
    waits
}

/// From the beginning of the late cycle until it was over. A timer that was set too late belongs to the cycle before it.
fn late_range(input: &SpikeInput, phases: &[Phase]) -> Range<i64> {
    let sample = &input.spike.sample;
    let overran = phases.iter().any(|phase| phase.name == PhaseName::LateArm);
    let before_ns = input.spike.previous_seen_ns.filter(|ns| overran && *ns < sample.due_ns);
    before_ns.unwrap_or(sample.due_ns)..sample.seen_ns()
}

/// The stretches in which the thread had the CPU, and when it slept.
struct Runs {
    /// Begin of the records.
    since_ns: i64,
    turns: Vec<Range<i64>>,
    slept_ns: Vec<i64>,
}

impl Runs {
    fn of(stacks: &NamedStacks) -> Self {
        let first_sample = stacks.samples.first().map(|sample| sample.ts_ns);
        let first_switch = stacks.switches.first();
        let since_ns =
            first_sample.into_iter().chain(first_switch.map(|switch| switch.ts_ns)).min().unwrap_or(i64::MAX);
        let (mut turns, mut slept_ns) = (Vec::new(), Vec::new());
        // Before its first switch it had the CPU, unless that one gave it to the thread.
        let mut on_since = first_switch.is_none_or(|switch| switch.kind != SwitchKind::In).then_some(since_ns);
        for switch in &stacks.switches {
            match (switch.kind, on_since) {
                (SwitchKind::In, None) => on_since = Some(switch.ts_ns),
                (SwitchKind::In, Some(_)) => {}
                (_, began) => {
                    turns.extend(began.map(|began| began..switch.ts_ns));
                    on_since = None;
                }
            }
            if switch.kind == SwitchKind::Slept {
                slept_ns.push(switch.ts_ns);
            }
        }
        turns.extend(on_since.map(|began| began..i64::MAX));
        Self { since_ns, turns, slept_ns }
    }

    /// Time on the CPU within a range.
    fn ran_ns(&self, range: &Range<i64>) -> i64 {
        let first = self.turns.partition_point(|turn| turn.end <= range.start);
        let overlapping = self.turns[first..].iter().take_while(|turn| turn.start < range.end);
        let within = |turn: &Range<i64>| turn.end.min(range.end).saturating_sub(turn.start.max(range.start)).max(0);
        overlapping.map(within).fold(0, i64::saturating_add)
    }

    fn sleeps(&self, range: &Range<i64>) -> u32 {
        self.slept_ns.iter().filter(|ns| range.contains(ns)).count() as u32
    }

    /// The runs that ended before an instant, each with its time on the CPU, in order. Those that took far longer than the others are
    /// left out: they may be late cycles, too.
    fn ordinary(&self, before_ns: i64) -> Vec<(Range<i64>, i64)> {
        // The beginning of the first run may not be among the records.
        let ends = self.slept_ns.windows(2).take_while(|pair| pair[1] < before_ns);
        let whole = ends.map(|pair| pair[0].saturating_add(1)..pair[1].saturating_add(1));
        let mut runs: Vec<(Range<i64>, i64)> = whole.map(|run| (run.clone(), self.ran_ns(&run))).collect();
        let mut times: Vec<i64> = runs.iter().map(|(_, ns)| *ns).collect();
        times.sort_unstable();
        let most_ns = times.get(times.len() / 2).map_or(0, |median| median.saturating_mul(UNUSUAL_FACTOR));
        runs.retain(|(_, ns)| *ns <= most_ns);
        runs
    }
}

/// Samples of a piece of code.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    late: i64,
    usual: i64,
}

/// The samples before and in the late cycle, and the time that they stand for.
struct Times<'a> {
    late: Vec<&'a StackSample>,
    usual: Vec<&'a StackSample>,
    /// Time of the thread on the CPU in the late cycle.
    late_ns: i64,
    /// In as many ordinary runs; `None` if too few were sampled.
    usual_ns: Option<i64>,
    counts: SampleCounts,
}

impl<'a> Times<'a> {
    fn new(stacks: &'a NamedStacks, runs: &Runs, range: &Range<i64>, kind: WatchedKind) -> Option<Self> {
        let within = |range: Range<i64>| stacks.samples.iter().filter(move |sample| range.contains(&sample.ts_ns));
        let late: Vec<&StackSample> = within(range.start..range.end.saturating_add(1)).collect();
        let ordinary = runs.ordinary(range.start);
        let is_ordinary = |sample: &&StackSample| {
            let after = ordinary.partition_point(|(run, _)| run.start <= sample.ts_ns);
            after.checked_sub(1).is_some_and(|last| ordinary[last].0.contains(&sample.ts_ns))
        };
        let usual: Vec<&StackSample> = stacks.samples.iter().filter(is_ordinary).collect();
        let late_ns = runs.ran_ns(range);
        if late.is_empty() || late_ns <= 0 {
            return None;
        }
        let usual_runs = ordinary.len() as u32;
        let ordinary_ns = ordinary.iter().map(|(_, ns)| *ns).fold(0, i64::saturating_add);
        // A cycle ends before the thread sleeps.
        let slept = runs.sleeps(range);
        let late_runs = if kind == WatchedKind::Cycle { slept + 1 } else { slept.max(1) };
        let usual_ns =
            (usual_runs >= USUAL_RUNS_MIN).then(|| scaled(ordinary_ns, i64::from(late_runs), i64::from(usual_runs)));
        let counts = SampleCounts {
            period_ns: stacks.period_ns,
            late: late.len() as u32,
            usual: usual.len() as u32,
            usual_runs,
            begin_late: runs.since_ns > range.start,
        };
        Some(Self { late, usual, late_ns, usual_ns, counts })
    }

    fn time(&self, code: CodeName, seen: Seen) -> CodeTime {
        let usual = self.usual_ns.map(|ns| scaled(ns, seen.usual, self.usual.len() as i64));
        CodeTime { code, ns: scaled(self.late_ns, seen.late, self.late.len() as i64), usual_ns: usual }
    }

    /// Time in each function itself, largest first. The interpreter's own functions count for the function that it executes.
    fn functions(&self, stacks: &NamedStacks) -> Vec<CodeTime> {
        let mut seen: BTreeMap<&CodeName, Seen> = BTreeMap::new();
        let innermost = |sample: &StackSample| {
            let mut names = sample.frames.iter().filter_map(|at| stacks.names.get(*at as usize));
            let name = names.clone().find(|name| is_generated(name)).or(names.next())?;
            Some(if name.is_kernel() { &CodeName::Kernel } else { name })
        };
        self.late
            .iter()
            .filter_map(|sample| innermost(sample))
            .for_each(|name| seen.entry(name).or_default().late += 1);
        self.usual
            .iter()
            .filter_map(|sample| innermost(sample))
            .for_each(|name| seen.entry(name).or_default().usual += 1);
        let mut times: Vec<CodeTime> = seen.into_iter().map(|(name, seen)| self.time(name.clone(), seen)).collect();
        times.retain(|time| time.ns > 0);
        times.sort_by_key(|time| std::cmp::Reverse(time.ns));
        times.truncate(FUNCTIONS_MAX);
        times
    }

    /// The stacks, each once, and the names that occur in them.
    fn folded(&self, stacks: &NamedStacks) -> (Vec<CodeName>, Vec<CodeStack>) {
        let mut seen: BTreeMap<Vec<u32>, Seen> = BTreeMap::new();
        let outermost =
            |sample: &StackSample| sample.frames.iter().rev().take(FRAMES_MAX).copied().collect::<Vec<u32>>();
        self.late.iter().for_each(|sample| seen.entry(outermost(sample)).or_default().late += 1);
        self.usual.iter().for_each(|sample| seen.entry(outermost(sample)).or_default().usual += 1);
        let mut all: Vec<(Vec<u32>, Seen)> = seen.into_iter().collect();
        all.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.late + seen.usual));
        all.truncate(STACKS_MAX);
        let (mut names, mut numbers) = (Vec::new(), BTreeMap::new());
        let mut number = |frame: u32| {
            *numbers.entry(frame).or_insert_with(|| {
                names.push(stacks.names.get(frame as usize).cloned().unwrap_or(CodeName::Unknown));
                names.len() as u32 - 1
            })
        };
        let folded = all.into_iter().map(|(frames, seen)| CodeStack {
            frames: frames.into_iter().map(&mut number).collect(),
            late: seen.late as u32,
            usual: seen.usual as u32,
        });
        let folded = folded.collect();
        (names, folded)
    }

    /// Follows the additional time from the outermost function inwards, as long as one callee has most of it.
    fn slow(&self, stacks: &NamedStacks) -> Option<SlowCode> {
        let excess_ns = self.late_ns - self.usual_ns.unwrap_or(0);
        if self.counts.late < SAMPLES_MIN || excess_ns < stacks.period_ns {
            return None;
        }
        let mut path: Vec<(u32, Seen)> = Vec::new();
        let mut inside_ns = excess_ns;
        while let Some((frame, seen)) = self.largest_callee(&path) {
            let callee_ns = self.excess_ns(seen);
            if callee_ns.saturating_mul(2) < inside_ns {
                break;
            }
            path.push((frame, seen));
            inside_ns = callee_ns;
        }
        let name = |frame: u32| stacks.names.get(frame as usize).cloned().unwrap_or(CodeName::Unknown);
        // The author of the program cannot change its interpreter.
        if let Some(last) = path.iter().rposition(|(frame, _)| is_generated(&name(*frame))) {
            path.truncate(last + 1);
        }
        // The function that entered the kernel says more; its time includes the kernel's.
        while path.pop_if(|(frame, _)| name(*frame).is_kernel()).is_some() {}
        let usual = self.usual.len() as i64;
        let is_part = |(_, seen): &&(u32, Seen)| seen.usual * 100 < usual * FRAME_PERCENT;
        let inner = path.last().map(|(frame, _)| *frame);
        let Some(inner) = inner else {
            // Stacks that are cut at different callers have no path in common.
            let slowest = self.functions(stacks).into_iter().max_by_key(CodeTime::excess_ns)?;
            return Some(SlowCode { outer: slowest, inner: None, samples: self.counts });
        };
        let outer = path.iter().find(is_part).map_or(inner, |(frame, _)| *frame);
        let time = |frame: u32| self.time(name(frame), self.anywhere(frame));
        let inner_time = (outer != inner).then(|| time(inner));
        Some(SlowCode { outer: time(outer), inner: inner_time, samples: self.counts })
    }

    /// Samples with a function anywhere in the stack.
    fn anywhere(&self, frame: u32) -> Seen {
        let count =
            |samples: &[&StackSample]| samples.iter().filter(|sample| sample.frames.contains(&frame)).count() as i64;
        Seen { late: count(&self.late), usual: count(&self.usual) }
    }

    fn excess_ns(&self, seen: Seen) -> i64 {
        self.time(CodeName::Unknown, seen).excess_ns()
    }

    /// Of the functions called at the end of a path from the outermost one, the one with most additional time.
    fn largest_callee(&self, path: &[(u32, Seen)]) -> Option<(u32, Seen)> {
        let mut callees: BTreeMap<u32, Seen> = BTreeMap::new();
        let callee = |sample: &StackSample| {
            let mut outermost = sample.frames.iter().rev();
            path.iter().all(|(frame, _)| outermost.next() == Some(frame)).then(|| outermost.next().copied()).flatten()
        };
        self.late
            .iter()
            .filter_map(|sample| callee(sample))
            .for_each(|frame| callees.entry(frame).or_default().late += 1);
        self.usual
            .iter()
            .filter_map(|sample| callee(sample))
            .for_each(|frame| callees.entry(frame).or_default().usual += 1);
        callees.into_iter().max_by_key(|(_, seen)| self.excess_ns(*seen))
    }
}

/// Whether it is a function of a program whose interpreter or compiler runs beside it.
fn is_generated(name: &CodeName) -> bool {
    matches!(name, CodeName::Generated { .. })
}

/// `part` of `whole` shares of a time.
fn scaled(ns: i64, part: i64, whole: i64) -> i64 {
    if whole == 0 { 0 } else { (i128::from(ns) * i128::from(part) / i128::from(whole)) as i64 }
}

#[cfg(test)]
mod tests;
