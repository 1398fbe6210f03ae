//! The figures of a recording: its series, what was lost, and what its user must know.

use super::lacks;
use crate::clock::Clock;
use crate::file::Making;
use crate::find::Found;
use crate::problem::RecordingProblem;
use crate::survey::{Survey, ThreadFacts};
use archive::message::{Loss, LossKind, Message, Problem, Severity};
use archive::policy::Policy;
use archive::watched::WatchedSeries;
use ftrace::trace_dat::PagedTrace;
use wakeups::series::Series;

pub fn losses(survey: &Survey, found: &Found) -> Vec<Loss> {
    let lost = survey.cpus.iter().filter(|(_, span)| span.lost > 0);
    let events = lost.map(|(cpu, span)| Loss {
        kind: LossKind::Events,
        count: span.lost,
        detail: format!("of CPU {cpu}, by the recorder: wake-ups around them have no sample"),
    });
    let unseen = Loss {
        kind: LossKind::WakeUps,
        count: found.followed.wakeups.unseen,
        detail: "without a sample, because the recording does not show when the thread was given the CPU".into(),
    };
    events.chain([unseen].into_iter().filter(|loss| loss.count > 0)).collect()
}

pub fn problems(file: &PagedTrace<'_>, survey: &Survey, found: &Found, spread_ns: i64, making: Making) -> Vec<Problem> {
    let mut problems: Vec<Problem> = file
        .gaps
        .iter()
        .map(|gap| Problem::new(Severity::Degraded, &RecordingProblem::Damaged(gap.to_string())))
        .collect();
    if found.is_cut {
        let text = "more events claim the same instant than fit into the memory".into();
        problems.push(Problem::new(Severity::Degraded, &RecordingProblem::Damaged(text)));
    }
    if let Clock::Converted(_) = survey.clock {
        let clock = file.metadata.clock.clone();
        problems.push(Problem::new(Severity::Notice, &RecordingProblem::ClockConverted { clock, spread_ns }));
    }
    if making.resolution_ns > 1 {
        problems.push(Problem::new(Severity::Notice, &RecordingProblem::WholeMicroseconds));
    }
    if making.unreadable > 0 {
        let count = making.unreadable;
        problems.push(Problem::new(Severity::Degraded, &RecordingProblem::LinesUnreadable(count)));
    }
    problems.extend(lacks::advice(survey, making.tool).map(|advice| Problem::new(Severity::Notice, &advice)));
    problems
}

pub fn watched(survey: &Survey, found: &Found) -> Vec<WatchedSeries> {
    let of = |series: &Series| {
        let facts = survey.threads.get(&series.tid);
        let prio = facts.and_then(ThreadFacts::priority);
        let thread = found.followed.wakeups.thread(series.tid);
        let name = facts.map(|facts| facts.comm.clone()).filter(|name| !name.is_empty());
        WatchedSeries {
            thread: series.thread,
            kind: series.kind,
            tid: series.tid,
            name: name.or_else(|| thread.map(|thread| thread.name())).unwrap_or_default(),
            // FIFO and RR look the same in the events.
            policy: prio.filter(|prio| *prio >= 100).map(|_| Policy::Other),
            priority: prio.filter(|prio| (0..100).contains(prio)).map_or(0, |prio| 99 - prio as u8),
            slack_ns_max: thread.map_or(0, |thread| thread.slack_ns_max),
            late_arms: series.late_arms,
            page_faults: None,
            ended: thread.is_some_and(|thread| thread.ended),
        }
    };
    found.followed.series.iter().map(of).collect()
}

pub fn series_messages(series: &mut Series) -> [Message; 2] {
    let seconds = std::mem::take(&mut series.seconds);
    let thread = Message::Thread {
        thread: series.thread,
        cpu: series.cpu,
        totals: series.totals(),
        histogram: series.histogram(),
        worst: series.take_worst(),
    };
    [Message::Seconds(seconds), thread]
}
