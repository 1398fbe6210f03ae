//! Words about chains of threads: the verdict, the stage that was late and its cause, the ledger, and proposed chains.

use crate::figures::{count, counted, latency};
use crate::holders::{holder, priority, task, wake_source};
use archive::chain::{
    Activity, ChainAccount, ChainCause, ChainFinding, ChainInstance, ChainLimit, ChainShare, ProposedChain,
    ProposedStimulus, Segment, StageTimes,
};
use archive::culprit::{AwaitedProgress, Holder, KernelPriority, WakeSource};

/// The verdict in one sentence.
pub fn verdict(account: &ChainAccount) -> String {
    let (name, instances) = (&account.name.0, account.instances.len() as u64);
    let Some(worst) = account.worst() else {
        return match account.unlinked {
            0 => format!("{name}: the recording shows no stimulus of this chain"),
            unlinked => format!("{name}: no instance reached its end; {} had no path to it", stimuli(unlinked)),
        };
    };
    let at_least = if worst.is_open { "at least " } else { "" };
    let worst = format!("{at_least}{}", latency(worst.latency_ns()));
    match account.deadline_ns.zip(account.missed()) {
        Some((deadline_ns, missed)) => format!(
            "{name}: {} of {} missed the deadline of {}; worst {worst}",
            count(missed as u64),
            counted(instances, "instance"),
            latency(deadline_ns)
        ),
        None => format!("{name}: {}, worst {worst}; no deadline is declared", counted(instances, "instance")),
    }
}

/// The stage that was late and the cause, in two sentences.
pub fn finding(finding: &ChainFinding, stages: usize) -> [String; 2] {
    let name = task(&finding.thread);
    let (stage, took) = (finding.stage + 1, latency(finding.stage_ns));
    let where_it_was = match finding.ordinary_ns {
        Some(ordinary_ns) => {
            format!("stage {stage} of {stages}, {name}: {took} instead of {}", latency(ordinary_ns))
        }
        None => format!("stage {stage} of {stages}, {name}: {took}; too few instances show an ordinary time"),
    };
    let culprit = finding.culprit.as_ref().map_or_else(|| "unknown".to_owned(), |culprit| culprit.id().to_owned());
    [where_it_was, format!("{culprit}: {} ({})", cause(finding), latency(finding.cause_ns))]
}

/// The cause in one sentence.
pub fn cause(finding: &ChainFinding) -> String {
    let name = task(&finding.thread);
    match &finding.cause {
        ChainCause::OwnWork => format!("{name} itself had the CPU"),
        ChainCause::Preempted { cpu, holder: Some(Holder::Idle { .. }), .. } => {
            format!("{name} could run, and {} was still idle", of_cpu(*cpu))
        }
        ChainCause::Preempted { cpu, holder: Some(who), priority: theirs, thread_priority } => {
            let with = |prio: &Option<KernelPriority>| {
                prio.map_or(String::new(), |prio| format!(" with {}", priority(Some(prio))))
            };
            let theirs = if matches!(who, Holder::Task { .. }) { with(theirs) } else { String::new() };
            format!("{name}{} could run, and {}{theirs} had {}", with(thread_priority), holder(who), of_cpu(*cpu))
        }
        ChainCause::Preempted { cpu, holder: None, .. } => {
            format!("{name} could run; the recording does not show what had {}", of_cpu(*cpu))
        }
        ChainCause::Interrupted { cpu, by } => format!("{} interrupted {name} on {}", holder(by), of_cpu(*cpu)),
        ChainCause::WaitedForThread { woke, awaited, threads, progress, holder_priority, .. } => {
            let which = match threads {
                1 => task(awaited),
                2 => format!("that one waited for {}, which", task(awaited)),
                threads => {
                    format!("that one waited for {} at the end of a chain of {threads} threads, which", task(awaited))
                }
            };
            format!("{name} waited until {} woke it; {which} {}", task(woke), did(progress, *holder_priority))
        }
        ChainCause::WaitedFor(until) => format!("{name} waited for {}", source(until)),
        ChainCause::Stopped => format!("a signal or a debugger stopped {name}"),
        ChainCause::StimulusUnderWay { cpu, by } => {
            format!("the stimulus was due and had not woken {name}; {} had {}", holder(by), of_cpu(*cpu))
        }
        ChainCause::HandOver { thread, progress } => {
            format!("{} carried the hand-over to {name} and {}", task(thread), did(progress, None))
        }
        ChainCause::Unknown => "the recording does not show the cause".into(),
    }
}

fn of_cpu(cpu: Option<u32>) -> String {
    cpu.map_or_else(|| "its CPU".into(), |cpu| format!("CPU {cpu}"))
}

fn did(progress: &AwaitedProgress, holder_priority: Option<KernelPriority>) -> String {
    match progress {
        AwaitedProgress::Ran { cpu } => format!("ran on CPU {cpu}"),
        AwaitedProgress::HeldUp { cpu, holder: None } => {
            format!("could not run; the recording does not show what had CPU {cpu}")
        }
        AwaitedProgress::HeldUp { cpu, holder: Some(who) } => {
            let with = holder_priority.map_or(String::new(), |prio| format!(" with {}", priority(Some(prio))));
            format!("could not run, because {}{with} had CPU {cpu}", holder(who))
        }
        AwaitedProgress::Slept(until) => format!("waited for {}", source(until)),
    }
}

fn source(what: &WakeSource) -> String {
    wake_source(what).unwrap_or_else(|| "an unknown event".into())
}

/// The sums of a ledger that are not zero, the largest first: `runnable 3.10 ms, running 1.20 ms`.
pub fn shares(instance: &ChainInstance) -> String {
    let ns = |share: ChainShare| -> i64 {
        instance.segments.iter().filter(|segment| segment.share() == share).map(Segment::ns).sum()
    };
    let mut shares: Vec<(i64, ChainShare)> = ChainShare::ALL.into_iter().map(|share| (ns(share), share)).collect();
    shares.retain(|(ns, _)| *ns > 0);
    shares.sort_by_key(|(ns, share)| (std::cmp::Reverse(*ns), *share));
    let shares: Vec<String> =
        shares.into_iter().map(|(ns, of)| format!("{} {}", share_name(of), latency(ns))).collect();
    shares.join(", ")
}

/// The name of a share of a ledger.
pub fn share_name(share: ChainShare) -> &'static str {
    match share {
        ChainShare::Running => "running",
        ChainShare::Runnable => "runnable",
        ChainShare::Waiting => "waiting",
        ChainShare::Hardirq => "hard interrupts",
        ChainShare::Softirq => "softirqs",
        ChainShare::KernelThread => "kernel threads",
        ChainShare::StimulusDelayed => "stimulus delayed",
        ChainShare::Unknown => "unknown",
    }
}

/// Ordinary and largest times of the stages, of the `shown` largest ones in the order of the chain:
/// `sensor 0.20 ms (max 0.31 ms), filter 0.90 ms (max 4.00 ms), 2 others`.
pub fn stages(account: &ChainAccount, shown: usize) -> String {
    let mut largest: Vec<usize> = (0..account.stages.len()).collect();
    largest.sort_by_key(|index| std::cmp::Reverse(account.stages[*index].max_ns));
    largest.truncate(shown);
    largest.sort_unstable();
    let stage =
        |times: &StageTimes| format!("{} {} (max {})", times.name.0, latency(times.median_ns), latency(times.max_ns));
    let mut texts: Vec<String> = largest.iter().map(|index| stage(&account.stages[*index])).collect();
    match account.stages.len() - largest.len() {
        0 => {}
        1 => texts.push("1 other".into()),
        others => texts.push(format!("{others} others")),
    }
    texts.join(", ")
}

/// A segment of the critical path: whose, and what happened.
pub fn segment(segment: &Segment) -> [String; 2] {
    let on = |cpu: Option<u32>| cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let thread = segment.thread.as_ref().map_or_else(|| "stimulus".into(), task);
    let whose = segment.awaited.iter().fold(thread, |text, awaited| format!("{text} waits for {}", task(awaited)));
    let what = match &segment.activity {
        Activity::Running { function: None } => format!("running{}", on(segment.cpu)),
        Activity::Running { function: Some(function) } => format!("running {}{}", function.0, on(segment.cpu)),
        Activity::Interrupted { by } => format!("interrupted by {}{}", holder(by), on(segment.cpu)),
        Activity::Runnable { holder: None, .. } => format!("runnable; nothing shows what had {}", of_cpu(segment.cpu)),
        Activity::Runnable { holder: Some(who), .. } => {
            format!("runnable; {} had {}", holder(who), of_cpu(segment.cpu))
        }
        Activity::Asleep { until } => format!("asleep until {}", source(until)),
        Activity::Stopped => "stopped".into(),
        Activity::UnderWay { by } => format!("under way; {} had {}", holder(by), of_cpu(segment.cpu)),
        Activity::Unknown => "unknown".into(),
    };
    [whose, what]
}

/// How often each culprit was the cause, the most frequent first: `3 waiting, 1 other-rt-task`.
pub fn culprits(account: &ChainAccount) -> String {
    let mut counts: Vec<(usize, String)> = Vec::new();
    for finding in &account.findings {
        let id = finding.culprit.as_ref().map_or("unknown", |culprit| culprit.id());
        match counts.iter_mut().find(|(_, known)| known == id) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, id.to_owned())),
        }
    }
    counts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    counts.iter().map(|(count, id)| format!("{count} {id}")).collect::<Vec<String>>().join(", ")
}

fn stimuli(number: usize) -> String {
    if number == 1 { "1 stimulus".into() } else { format!("{} stimuli", count(number as u64)) }
}

/// Stimuli that have no instance; `None` if each has one.
pub fn unlinked(account: &ChainAccount) -> Option<String> {
    if account.unlinked == 0 {
        return None;
    }
    let stimuli = stimuli(account.unlinked);
    Some(format!(
        "{stimuli} without a path to the end: no hand-over followed, the next stage was still busy, or the recording ended; not judged"
    ))
}

/// A limit of an account.
pub fn limit(limit: &ChainLimit) -> String {
    match limit {
        ChainLimit::NoThread { stage } => format!("the recording has no `{}`", stage.0),
        ChainLimit::NoEvent { event } => format!("the recording has no event `{}`", event.0),
        ChainLimit::EventOfNoStage { event } => {
            format!(
                "no thread of its stage caused `{}`; a watch records this event of the watched threads only",
                event.0
            )
        }
        ChainLimit::EventsAbsent(absent) => {
            let absent = absent.join(", ");
            format!(
                "the recording lacks {absent}: hand-overs or timers may have no origin; `tardy watch --chain` records these events, \
                 as does trace-cmd with `-e sched -e irq -e timer -e workqueue`"
            )
        }
        ChainLimit::EventsLost(lost) => {
            format!("{} lost; instances across a gap are missing or unknown", counted(*lost, "event"))
        }
        ChainLimit::RecordingCut { events } => {
            format!("read only the first {} of the recording", counted(*events, "event"))
        }
        ChainLimit::ClockNotMono(clock) => {
            format!(
                "the trace clock is `{clock}`, not `mono`: an instance begins when its timer expires, not when it is due"
            )
        }
        ChainLimit::SegmentsCut { instances } => {
            format!("too many overlapping instances: {} left out", counted(*instances as u64, "instance"))
        }
        ChainLimit::Damaged(gap) => format!("the recording is damaged: {gap}"),
    }
}

/// A proposed chain in one line: its threads, period, jitter and latency.
pub fn proposal(chain: &ProposedChain) -> String {
    let threads: Vec<String> = chain.threads.iter().map(task).collect();
    let stimulus = match &chain.stimulus {
        ProposedStimulus::Timer => "timer".into(),
        ProposedStimulus::Packet => "packet".into(),
        ProposedStimulus::Interrupt(name) => format!("interrupt {}", name.0),
    };
    let arrivals = &chain.arrivals;
    let took = chain.latency_ns_median.zip(chain.latency_ns_max).map_or(String::new(), |(median_ns, max_ns)| {
        format!("; takes {}, at most {}", latency(median_ns), latency(max_ns))
    });
    format!(
        "{stimulus} to {}: {} {} apart, jitter {}{took}",
        threads.join(" to "),
        counted(arrivals.count as u64, "instance"),
        latency(arrivals.period_ns),
        latency(arrivals.jitter_ns)
    )
}

/// The arrival curve of a proposed chain: `2 in 0.98 to 1.02 ms, ...`.
pub fn arrival_curve(chain: &ProposedChain) -> String {
    let bound = |at: &archive::chain::ArrivalBound| {
        format!("{} in {} to {}", at.events, latency(at.span_ns_min), latency(at.span_ns_max))
    };
    chain.arrivals.curve.iter().map(bound).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::culprit::{Culprit, ForeignText, TaskName};

    fn thread(tid: i32, comm: &str) -> TaskName {
        TaskName { tid, comm: comm.into() }
    }

    #[test]
    fn a_wait_for_a_preempted_thread_in_words() {
        let hog = Holder::Task { task: thread(9, "hog"), function: None };
        let late = ChainFinding {
            stimulus_ns: 0,
            latency_ns: 5_000_000,
            stage: 1,
            thread: thread(5, "filter"),
            stage_ns: 4_000_000,
            ordinary_ns: Some(900_000),
            culprit: Some(Culprit::Waiting),
            cause_ns: 3_100_000,
            cause: ChainCause::WaitedForThread {
                woke: thread(7, "gui"),
                awaited: thread(7, "gui"),
                threads: 1,
                progress: AwaitedProgress::HeldUp { cpu: 1, holder: Some(hog) },
                holder_priority: Some(KernelPriority(9)),
                thread_priority: Some(KernelPriority(89)),
            },
        };
        let [place, cause] = finding(&late, 3);
        assert_eq!(place, format!("stage 2 of 3, filter-5: {} instead of {}", latency(4_000_000), latency(900_000)));
        let expected = "waiting: filter-5 waited until gui-7 woke it; gui-7 could not run, because hog-9 with real-time priority 90 had CPU 1";
        assert_eq!(cause, format!("{expected} ({})", latency(3_100_000)));
    }

    #[test]
    fn a_chain_without_instances_states_why() {
        let mut account = ChainAccount {
            name: ForeignText("c".into()),
            deadline_ns: None,
            instances: Vec::new(),
            unlinked: 0,
            stages: Vec::new(),
            findings: Vec::new(),
            limits: Vec::new(),
        };
        assert!(verdict(&account).contains("no stimulus"));
        assert_eq!(unlinked(&account), None);
        account.unlinked = 3;
        assert!(verdict(&account).contains("3 stimuli"));
    }
}
