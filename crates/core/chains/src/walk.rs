//! Tiles a stretch of an instance with segments: what the thread of a stage did, and what kept it from doing it.
//!
//! Where the thread slept, the walk goes on in the thread that woke it, for as long as the sleep lasted. Each function covers exactly
//! the stretch that it is given, whatever the recording holds.

use crate::life::{Span, State};
use crate::recorded::Recorded;
use archive::chain::{Activity, Segment, StagePart};
use archive::culprit::{Holder, TaskName, WakeSource};
use explain::context::Context;

/// More threads do not wait for each other.
const AWAITED_MAX: usize = 8;

fn is_of(context: Context, tid: i32) -> bool {
    matches!(context, Context::Task { tid: running, .. } if running == tid)
}

/// The segments of one instance.
#[derive(Debug)]
pub struct Walk<'r> {
    recorded: &'r Recorded,
    pub segments: Vec<Segment>,
    stage: usize,
    part: StagePart,
    /// The thread of the stage.
    thread: Option<i32>,
    /// Threads that it waits for.
    awaited: Vec<i32>,
}

impl<'r> Walk<'r> {
    pub fn new(recorded: &'r Recorded) -> Self {
        let (stage, part) = (0, StagePart::Stimulus);
        Self { recorded, segments: Vec::new(), stage, part, thread: None, awaited: Vec::new() }
    }

    /// The stimulus is under way on a CPU.
    pub fn stimulus(&mut self, cpu: u32, start_ns: i64, end_ns: i64) {
        (self.stage, self.part, self.thread) = (0, StagePart::Stimulus, None);
        self.on_cpu(cpu, start_ns, end_ns, |walk, context| match context {
            Context::Untraced => Activity::Unknown,
            context => Activity::UnderWay { by: context.named(&walk.recorded.names) },
        });
    }

    /// A thread of the kernel carries a hand-over to a stage.
    pub fn carried(&mut self, stage: usize, tid: i32, start_ns: i64, end_ns: i64) {
        (self.stage, self.part, self.thread) = (stage, StagePart::HandOver, Some(tid));
        self.thread(tid, start_ns, end_ns);
    }

    /// A stage works.
    pub fn work(&mut self, stage: usize, tid: i32, start_ns: i64, end_ns: i64) {
        (self.stage, self.part, self.thread) = (stage, StagePart::Work, Some(tid));
        self.thread(tid, start_ns, end_ns);
    }

    /// The activity of a thread in a stretch.
    fn thread(&mut self, tid: i32, start_ns: i64, end_ns: i64) {
        let recorded = self.recorded;
        let spans = recorded.threads.get(&tid).map_or(&[][..], |life| life.overlapping(start_ns, end_ns));
        let mut cursor_ns = start_ns;
        for span in spans {
            let (from_ns, to_ns) = (span.start_ns.max(cursor_ns), span.end_ns.min(end_ns));
            if from_ns >= to_ns {
                continue;
            }
            self.push(cursor_ns, from_ns, None, Activity::Unknown);
            self.span(tid, span, from_ns, to_ns);
            cursor_ns = to_ns;
        }
        self.push(cursor_ns, end_ns, None, Activity::Unknown);
    }

    fn span(&mut self, tid: i32, span: &Span, start_ns: i64, end_ns: i64) {
        match span.state {
            State::Running => self.running(tid, span.cpu, start_ns, end_ns),
            State::Runnable => {
                // Where the switch from idle was not recorded, the thread had the CPU from about the last record of idle on.
                let left_idle_ns = self.recorded.left_idle_ns(span.cpu, tid, start_ns, end_ns);
                let ran_ns = left_idle_ns.map_or(end_ns, |left_ns| left_ns.clamp(start_ns, end_ns));
                self.runnable(tid, span.cpu, start_ns, ran_ns);
                self.running(tid, span.cpu, ran_ns, end_ns);
            }
            State::Asleep => self.asleep(tid, span, start_ns, end_ns),
            State::Stopped => self.push(start_ns, end_ns, None, Activity::Stopped),
            State::Unknown => self.push(start_ns, end_ns, None, Activity::Unknown),
        }
    }

    /// It left the CPU only at its own switch, which ends the stretch.
    fn running(&mut self, tid: i32, cpu: u32, start_ns: i64, end_ns: i64) {
        self.on_cpu(cpu, start_ns, end_ns, |walk, context| match context {
            context if is_of(context, tid) || context == Context::Untraced => walk.runs(context),
            context if context.is_interrupting() => Activity::Interrupted { by: context.named(&walk.recorded.names) },
            _ => Activity::Unknown,
        });
    }

    fn runs(&self, context: Context) -> Activity {
        Activity::Running { function: context.function().map(|function| self.recorded.names.function_name(function)) }
    }

    fn runnable(&mut self, tid: i32, cpu: u32, start_ns: i64, end_ns: i64) {
        self.on_cpu(cpu, start_ns, end_ns, |walk, context| match context {
            // Its own events show that it ran, and the switch to it was not recorded.
            context if is_of(context, tid) => walk.runs(context),
            context => {
                let holder = (context != Context::Untraced).then(|| context.named(&walk.recorded.names));
                Activity::Runnable { holder, priority: None }
            }
        });
    }

    /// The thread slept until another thread, a timer or a device woke it.
    fn asleep(&mut self, tid: i32, span: &Span, start_ns: i64, end_ns: i64) {
        let recorded = self.recorded;
        let wake = span.wake.and_then(|index| recorded.threads.get(&tid)?.wakes.get(index));
        let waker = wake.and_then(|wake| wake.by.thread());
        let follows = |waker: &i32| {
            let known = self.thread == Some(*waker) || *waker == tid || self.awaited.contains(waker);
            self.awaited.len() < AWAITED_MAX && !known && recorded.threads.contains_key(waker)
        };
        match waker.filter(follows) {
            Some(waker) => {
                self.awaited.push(waker);
                self.thread(waker, start_ns, end_ns);
                self.awaited.pop();
            }
            None => {
                let until = wake.map_or(WakeSource::Unknown, |wake| wake.by.source(&recorded.names));
                self.push(start_ns, end_ns, None, Activity::Asleep { until });
            }
        }
    }

    /// Divides a stretch by what had a CPU.
    fn on_cpu(&mut self, cpu: u32, start_ns: i64, end_ns: i64, activity: impl Fn(&Self, Context) -> Activity) {
        let mut cursor_ns = start_ns;
        for interval in self.recorded.intervals(cpu, start_ns, end_ns) {
            let (from_ns, to_ns) = (interval.start_ns.max(cursor_ns), interval.end_ns.min(end_ns));
            if from_ns >= to_ns {
                continue;
            }
            let unseen = activity(self, Context::Untraced);
            self.push(cursor_ns, from_ns, Some(cpu), unseen);
            let mut held = activity(self, interval.context);
            if let Activity::Runnable { holder: Some(Holder::Task { task, .. }), priority } = &mut held {
                let life = self.recorded.threads.get(&task.tid);
                *priority = life.and_then(|life| life.priority_at(from_ns));
            }
            self.push(from_ns, to_ns, Some(cpu), held);
            cursor_ns = to_ns;
        }
        let unseen = activity(self, Context::Untraced);
        self.push(cursor_ns, end_ns, Some(cpu), unseen);
    }

    fn push(&mut self, start_ns: i64, end_ns: i64, cpu: Option<u32>, activity: Activity) {
        if start_ns >= end_ns {
            return;
        }
        let name = |tid: &i32| -> TaskName { self.recorded.names.task_name(*tid) };
        let (thread, awaited) = (self.thread.as_ref().map(name), self.awaited.iter().map(name).collect());
        let segment = Segment { start_ns, end_ns, stage: self.stage, part: self.part, thread, awaited, cpu, activity };
        match self.segments.last_mut() {
            Some(last)
                if last.end_ns == start_ns
                    && (Segment { start_ns: last.start_ns, ..segment.clone() })
                        == (Segment { end_ns, ..last.clone() }) =>
            {
                last.end_ns = end_ns;
            }
            _ => self.segments.push(segment),
        }
    }
}
