//! The stage that made an instance late, and why: stages and their causes are compared with the same ones of the other instances.

use crate::recorded::Recorded;
use archive::chain::{Activity, ChainCause, ChainFinding, ChainInstance, Segment, StagePart, StageSpan};
use archive::culprit::{AwaitedProgress, Culprit, Holder, KernelPriority, TaskName, WakeSource};
use archive::trace_event::Vector;
use std::collections::HashMap;

/// Fewer other instances show no ordinary time.
const OTHERS_MIN: usize = 3;
/// More findings of one recording show nothing new.
const FINDINGS_MAX: usize = 1000;
/// The kernel's priorities from here on are not real-time.
const ORDINARY_PRIORITY: i32 = 100;

/// Key of the segments with one cause.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CauseKey {
    part: StagePart,
    what: Kind,
    woke: Option<TaskName>,
    awaited: Option<TaskName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kind {
    Running,
    Interrupted(Holder),
    Runnable(Option<Holder>),
    Asleep(WakeSource),
    Stopped,
    UnderWay(Holder),
    Unknown,
}

impl CauseKey {
    fn of(segment: &Segment) -> Self {
        let what = match &segment.activity {
            Activity::Running { .. } => Kind::Running,
            Activity::Interrupted { by } => Kind::Interrupted(without_function(by)),
            Activity::Runnable { holder, .. } => Kind::Runnable(holder.as_ref().map(without_function)),
            Activity::Asleep { until } => Kind::Asleep(until.clone()),
            Activity::Stopped => Kind::Stopped,
            Activity::UnderWay { by } => Kind::UnderWay(without_function(by)),
            Activity::Unknown => Kind::Unknown,
        };
        let (woke, awaited) = (segment.awaited.first().cloned(), segment.awaited.last().cloned());
        Self { part: segment.part, what, woke, awaited }
    }
}

/// A context calls many functions, and sleeps in many states, for one cause.
fn without_function(holder: &Holder) -> Holder {
    let mut holder = holder.clone();
    match &mut holder {
        Holder::Nmi { function }
        | Holder::Vector { function, .. }
        | Holder::Irq { function, .. }
        | Holder::Softirq { function, .. }
        | Holder::Task { function, .. } => *function = None,
        Holder::Idle { state } => *state = None,
        Holder::Untraced => {}
    }
    holder
}

/// Values of all instances, ascending; instances without one have 0.
#[derive(Debug, Default)]
struct Values(Vec<i64>);

impl Values {
    /// The median of the instances other than one that has `own_ns`, of `instances` in all.
    fn ordinary_ns(&self, own_ns: i64, instances: usize) -> Option<i64> {
        let others = instances.checked_sub(1).filter(|others| *others >= OTHERS_MIN)?;
        let zeros = instances.saturating_sub(self.0.len());
        let own = zeros + self.0.partition_point(|value| *value < own_ns);
        let middle = others / 2;
        let at = if middle < own { middle } else { middle + 1 };
        Some(at.checked_sub(zeros).and_then(|at| self.0.get(at)).copied().unwrap_or(0))
    }
}

/// Instances with what is ordinary for them.
#[derive(Debug)]
pub struct Findings<'r> {
    instances: &'r [(&'r Recorded, ChainInstance)],
    stages: Vec<Values>,
    causes: HashMap<(usize, CauseKey), Values>,
}

impl<'r> Findings<'r> {
    pub fn of(instances: &'r [(&'r Recorded, ChainInstance)]) -> Self {
        let mut stages: Vec<Values> = Vec::new();
        let mut causes: HashMap<(usize, CauseKey), Values> = HashMap::new();
        for (_, instance) in instances {
            for (index, span) in instance.stages.iter().enumerate() {
                if stages.len() <= index {
                    stages.push(Values::default());
                }
                stages[index].0.push(span.ns());
            }
            for (key, (ns, _)) in sums(instance) {
                causes.entry(key).or_default().0.push(ns);
            }
        }
        stages.iter_mut().chain(causes.values_mut()).for_each(|values| values.0.sort_unstable());
        Self { instances, stages, causes }
    }

    /// One of each instance that missed its deadline; of the worst instance without a deadline.
    pub fn late(&self, deadline_ns: Option<i64>) -> Vec<ChainFinding> {
        let latency_ns = |(_, instance): &&(&Recorded, ChainInstance)| instance.latency_ns();
        let late: Vec<&(&Recorded, ChainInstance)> = match deadline_ns {
            Some(deadline_ns) => self.instances.iter().filter(|of| latency_ns(of) > deadline_ns).collect(),
            None => self.instances.iter().rev().max_by_key(latency_ns).into_iter().collect(),
        };
        let late = late.into_iter().take(FINDINGS_MAX);
        late.filter_map(|(recorded, instance)| self.finding(recorded, instance)).collect()
    }

    /// The stage that exceeded its ordinary time most, and in it the cause that did.
    fn finding(&self, recorded: &Recorded, instance: &ChainInstance) -> Option<ChainFinding> {
        let count = self.instances.len();
        let ordinary_ns = |index: usize, span: &StageSpan| self.stages.get(index)?.ordinary_ns(span.ns(), count);
        let excess_ns = |(index, span): &(usize, &StageSpan)| span.ns() - ordinary_ns(*index, span).unwrap_or(0);
        let (stage, span) = instance.stages.iter().enumerate().rev().max_by_key(excess_ns)?;
        let ordinary_of = |key: &(usize, CauseKey), ns: i64| {
            self.causes.get(key).and_then(|values| values.ordinary_ns(ns, count)).unwrap_or(0)
        };
        let of_stage = sums(instance).into_iter().filter(|((of, _), _)| *of == stage);
        // Of equal ones the first in time, so that an account is the same each time.
        let (_, (cause_ns, longest)) = of_stage
            .max_by_key(|(key, (ns, longest))| (ns - ordinary_of(key, *ns), std::cmp::Reverse(longest.start_ns)))?;
        let (cause, culprit) = cause(recorded, &span.thread, longest);
        Some(ChainFinding {
            stimulus_ns: instance.stimulus_ns,
            latency_ns: instance.latency_ns(),
            stage,
            thread: span.thread.clone(),
            stage_ns: span.ns(),
            ordinary_ns: ordinary_ns(stage, span),
            culprit,
            cause_ns,
            cause,
        })
    }
}

/// The facts of the longest segment of a cause, and the culprit that they stand for.
fn cause(recorded: &Recorded, thread: &TaskName, segment: &Segment) -> (ChainCause, Option<Culprit>) {
    let lives = &recorded.threads;
    let thread_priority = lives.get(&thread.tid).and_then(|life| life.priority_at(segment.start_ns));
    let cpu = segment.cpu;
    if let Some((woke, awaited)) = segment.awaited.first().zip(segment.awaited.last()) {
        let Some(progress) = progress(segment) else { return (ChainCause::Unknown, None) };
        let holder_priority = held_by(segment).1;
        let is_inverted = holder_priority.zip(thread_priority).is_some_and(|(holder, own)| holder > own);
        let culprit = if is_inverted { Culprit::PriorityInversion } else { Culprit::Waiting };
        let (woke, awaited, threads) = (woke.clone(), awaited.clone(), segment.awaited.len());
        let cause = ChainCause::WaitedForThread { woke, awaited, threads, progress, holder_priority, thread_priority };
        return (cause, Some(culprit));
    }
    if segment.part == StagePart::HandOver {
        let carrier = segment.thread.as_ref();
        return match carrier.zip(progress(segment)) {
            Some((carrier, progress)) => {
                let culprit = of_carrier(&carrier.comm).unwrap_or(Culprit::Waiting);
                (ChainCause::HandOver { thread: carrier.clone(), progress }, Some(culprit))
            }
            None => (ChainCause::Unknown, None),
        };
    }
    match &segment.activity {
        Activity::Running { .. } => (ChainCause::OwnWork, Some(Culprit::OwnWork)),
        Activity::Interrupted { by } => (ChainCause::Interrupted { cpu, by: by.clone() }, of_holder(by, None)),
        Activity::Runnable { holder, priority } => {
            let culprit = holder.as_ref().and_then(|holder| of_holder(holder, *priority));
            let (holder, priority) = (holder.clone(), *priority);
            (ChainCause::Preempted { cpu, holder, priority, thread_priority }, culprit)
        }
        Activity::Asleep { until } => (ChainCause::WaitedFor(until.clone()), Some(Culprit::Waiting)),
        Activity::Stopped => (ChainCause::Stopped, Some(Culprit::ThreadStopped)),
        // It was still busy with its earlier work, and set its timer too late.
        Activity::UnderWay { by: Holder::Task { task, .. } } if task.tid == thread.tid => {
            (ChainCause::OwnWork, Some(Culprit::OwnWork))
        }
        Activity::UnderWay { by } => {
            let culprit = match by {
                Holder::Vector { vector: Vector::LocalTimer, .. } => Some(Culprit::TimerInterrupt),
                // The interrupt came while it ran, and could not come earlier.
                Holder::Task { .. } => Some(Culprit::IrqsOff),
                by => of_holder(by, None),
            };
            (ChainCause::StimulusUnderWay { cpu, by: by.clone() }, culprit)
        }
        Activity::Unknown => (ChainCause::Unknown, None),
    }
}

/// Time of each cause in an instance, with its longest segment.
fn sums(instance: &ChainInstance) -> HashMap<(usize, CauseKey), (i64, &Segment)> {
    let mut sums: HashMap<(usize, CauseKey), (i64, &Segment)> = HashMap::new();
    for segment in &instance.segments {
        let (ns, longest) = sums.entry((segment.stage, CauseKey::of(segment))).or_insert((0, segment));
        *ns = ns.saturating_add(segment.ns());
        if segment.ns() > longest.ns() {
            *longest = segment;
        }
    }
    sums
}

/// The progress of the awaited thread, or of the carrier; `None` if the recording does not show it.
fn progress(segment: &Segment) -> Option<AwaitedProgress> {
    match &segment.activity {
        Activity::Running { .. } => Some(AwaitedProgress::Ran { cpu: segment.cpu? }),
        Activity::Interrupted { by } => Some(AwaitedProgress::HeldUp { cpu: segment.cpu?, holder: Some(by.clone()) }),
        Activity::Runnable { holder, .. } => {
            Some(AwaitedProgress::HeldUp { cpu: segment.cpu?, holder: holder.clone() })
        }
        Activity::Asleep { until } => Some(AwaitedProgress::Slept(until.clone())),
        Activity::Stopped | Activity::UnderWay { .. } | Activity::Unknown => None,
    }
}

fn held_by(segment: &Segment) -> (Option<&Holder>, Option<KernelPriority>) {
    match &segment.activity {
        Activity::Runnable { holder, priority } => (holder.as_ref(), *priority),
        _ => (None, None),
    }
}

/// The culprit of a context that had the CPU; `None` if the recording does not show one.
fn of_holder(holder: &Holder, priority: Option<KernelPriority>) -> Option<Culprit> {
    match holder {
        Holder::Untraced => None,
        Holder::Nmi { .. } => Some(Culprit::Nmi),
        Holder::Vector { .. } | Holder::Irq { .. } => Some(Culprit::PreviousIrq),
        Holder::Softirq { .. } => Some(Culprit::Softirq),
        Holder::Idle { .. } => Some(Culprit::IdleExit),
        Holder::Task { task, .. } => {
            let is_real_time = priority.is_some_and(|KernelPriority(priority)| priority < ORDINARY_PRIORITY);
            let other = if is_real_time { Culprit::OtherRtTask } else { Culprit::BlockingTask };
            Some(of_carrier(&task.comm).unwrap_or(other))
        }
    }
}

/// The culprit that a thread of the kernel stands for.
fn of_carrier(comm: &str) -> Option<Culprit> {
    let known = [
        ("kworker/", Culprit::Workqueue),
        ("irq/", Culprit::ThreadedIrq),
        ("ksoftirqd/", Culprit::Softirq),
        ("ktimers/", Culprit::Softirq),
        ("napi/", Culprit::Softirq),
        ("migration/", Culprit::StopMachine),
    ];
    known.into_iter().find(|(prefix, _)| comm.starts_with(prefix)).map(|(_, culprit)| culprit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ordinary_value_is_the_median_of_the_others() {
        let values = Values(vec![10, 20, 30, 40, 900]);
        assert_eq!(values.ordinary_ns(900, 5), Some(30));
        assert_eq!(values.ordinary_ns(10, 5), Some(40));
        assert_eq!(values.ordinary_ns(10, 3), None, "two others show nothing");
        assert_eq!(Values(vec![900]).ordinary_ns(900, 5), Some(0), "the others have none");
        assert_eq!(Values(vec![5, 900]).ordinary_ns(900, 4), Some(0));
    }
}
