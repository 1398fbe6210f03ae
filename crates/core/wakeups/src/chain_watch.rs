//! Follows a chain of watched threads while it runs, and finds the instances that miss its deadline.
//!
//! An instance begins with a wake-up of the first stage. It goes on with the first wake-up of each next stage by the thread that has it,
//! by an interrupt, or by a thread that is not watched, such as one of the kernel. It ends when the last stage goes to sleep until its
//! next input. The account of a missed deadline comes from the whole trace, which has what lies between; here it only has to be noticed.

use crate::pattern::{Pattern, UnfitPattern};
use crate::thread_events::{ThreadEvent, TimedEvent};
use crate::wakeups::{Finished, Wakeups};
use archive::watched::WatchedKind;
use archive::watched::chain::{FollowedChain, FollowedStage, MissedChain};
use std::collections::VecDeque;

/// Instances that are under way at a time; more mean that inputs are not seen.
const RUNNING_MAX: usize = 64;
/// A last stage that slept this long waits for its next input.
const SLEPT_NS: i64 = 100_000_000;
/// Time after its deadline in which an instance may end by itself.
const GRACE_NS: i64 = 300_000_000;

/// The threads of a stage.
#[derive(Debug)]
enum Who {
    Called(Pattern),
    Thread(i32),
}

impl Who {
    fn of(stage: &FollowedStage) -> Result<Self, UnfitPattern> {
        Ok(match stage {
            FollowedStage::Comm(name) => Self::Called(Pattern::new(name)?),
            FollowedStage::Tid(tid) => Self::Thread(*tid),
        })
    }

    fn is(&self, tid: i32, wakeups: &Wakeups) -> bool {
        match self {
            Self::Thread(own) => *own == tid,
            Self::Called(pattern) => wakeups.thread(tid).is_some_and(|thread| pattern.fits(thread.name().as_bytes())),
        }
    }
}

/// An instance under way.
#[derive(Debug, Clone, Copy)]
struct Running {
    stimulus_ns: i64,
    stage: usize,
    tid: i32,
    /// Its thread went to sleep.
    left_ns: Option<i64>,
}

/// One chain, with its instances under way.
#[derive(Debug)]
pub struct ChainWatch {
    chain: FollowedChain,
    stages: Vec<Who>,
    /// The oldest first.
    running: VecDeque<Running>,
    stimulus_ns: i64,
    instances: u64,
    missed: u64,
}

impl ChainWatch {
    /// # Errors
    /// No thread can have the name of a stage.
    pub fn new(chain: FollowedChain) -> Result<Self, UnfitPattern> {
        let stages = chain.stages.iter().map(Who::of).collect::<Result<_, _>>()?;
        let running = VecDeque::new();
        Ok(Self { chain, stages, running, stimulus_ns: i64::MIN, instances: 0, missed: 0 })
    }

    /// A wake-up of a watched thread: a stimulus, if the first stage's timer or another input caused it.
    pub fn begin(&mut self, woken: &Finished, wakeups: &Wakeups, missed: &mut Vec<MissedChain>) {
        let is_stimulus = match woken.kind {
            WatchedKind::Timer => true,
            WatchedKind::Woken => !self.chain.by_timer,
            WatchedKind::Cycle => false,
        };
        let apart_ns = self.chain.period_ns.unwrap_or(0) / 2;
        let is_next = woken.due_ns >= self.stimulus_ns.saturating_add(apart_ns);
        if !is_stimulus || !is_next || !self.stages.first().is_some_and(|first| first.is(woken.tid, wakeups)) {
            return;
        }
        self.stimulus_ns = woken.due_ns;
        if self.stages.len() == 1 {
            self.end_of(woken.tid, missed);
        }
        if self.running.len() == RUNNING_MAX {
            self.running.pop_front();
        }
        self.running.push_back(Running { stimulus_ns: woken.due_ns, stage: 0, tid: woken.tid, left_ns: None });
    }

    /// The next event in time.
    pub fn apply(&mut self, event: &TimedEvent, wakeups: &Wakeups, missed: &mut Vec<MissedChain>) {
        match event.event {
            ThreadEvent::Waking { tid, by } => self.wake(tid, by, wakeups, missed),
            ThreadEvent::Switch { prev, prev_runnable, next, .. } => {
                for running in &mut self.running {
                    if running.tid == prev {
                        running.left_ns = Some(event.ts_ns).filter(|_| !prev_runnable);
                    } else if running.tid == next {
                        running.left_ns = None;
                    }
                }
            }
            ThreadEvent::Exit { tid } => self.running.retain(|running| running.tid != tid),
            // It is unknown who woke whom.
            ThreadEvent::Lost { .. } => self.running.clear(),
            _ => {}
        }
    }

    fn wake(&mut self, tid: i32, by: Option<i32>, wakeups: &Wakeups, missed: &mut Vec<MissedChain>) {
        let last = self.stages.len() - 1;
        let hands_over = |running: &Running| {
            let passes = by.is_none_or(|by| by == running.tid || !wakeups.knows(by));
            running.stage < last && passes && self.stages[running.stage + 1].is(tid, wakeups)
        };
        let Some(at) = self.running.iter().position(hands_over) else { return };
        let stage = self.running[at].stage + 1;
        if stage == last {
            // Its next input: the instance before has ended with the sleep that this ends.
            let own = self.running[at].stimulus_ns;
            self.end_of(tid, missed);
            if let Some(running) = self.running.iter_mut().find(|running| running.stimulus_ns == own) {
                (running.stage, running.tid, running.left_ns) = (stage, tid, None);
            }
        } else {
            let running = &mut self.running[at];
            (running.stage, running.tid, running.left_ns) = (stage, tid, None);
        }
    }

    /// Ends the instances whose last stage this thread is and that sleep.
    fn end_of(&mut self, tid: i32, missed: &mut Vec<MissedChain>) {
        let last = self.stages.len() - 1;
        self.end_if(missed, |running| running.left_ns.filter(|_| running.stage == last && running.tid == tid));
    }

    /// Ends instances that have ended by this instant without another input, and those that are overdue.
    pub fn expire(&mut self, now_ns: i64, missed: &mut Vec<MissedChain>) {
        let last = self.stages.len() - 1;
        self.end_if(missed, |running| {
            let slept = running.left_ns.filter(|left_ns| now_ns.saturating_sub(*left_ns) > SLEPT_NS);
            slept.filter(|_| running.stage == last)
        });
        let overdue_ns = now_ns.saturating_sub(self.chain.deadline_ns).saturating_sub(GRACE_NS);
        while let Some(first) = self.running.front().copied().filter(|first| first.stimulus_ns < overdue_ns) {
            self.running.pop_front();
            // A stage that sleeps without a hand-over had nothing to hand over; one that still works is late.
            if first.left_ns.is_none() {
                self.report(first, now_ns, true, missed);
            }
        }
    }

    fn end_if(&mut self, missed: &mut Vec<MissedChain>, ended_ns: impl Fn(&Running) -> Option<i64>) {
        let ended: Vec<(Running, i64)> =
            self.running.iter().filter_map(|running| Some((*running, ended_ns(running)?))).collect();
        self.running.retain(|running| ended_ns(running).is_none());
        ended.into_iter().for_each(|(running, end_ns)| self.report(running, end_ns, false, missed));
    }

    fn report(&mut self, running: Running, end_ns: i64, is_open: bool, missed: &mut Vec<MissedChain>) {
        let FollowedChain { name, deadline_ns, .. } = &self.chain;
        self.instances += 1;
        if end_ns.saturating_sub(running.stimulus_ns) > *deadline_ns {
            self.missed += 1;
            missed.push(MissedChain {
                name: name.clone(),
                stimulus_ns: running.stimulus_ns,
                end_ns,
                deadline_ns: *deadline_ns,
                is_open,
                instances: self.instances,
                missed: self.missed,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer_functions::TimerFunctions;

    const SENSOR: i32 = 11;
    const MOTOR: i32 = 12;
    const OTHER: i32 = 13;
    const MS: i64 = 1_000_000;

    /// A chain of two threads, and what it reported.
    struct Followed {
        watch: ChainWatch,
        wakeups: Wakeups,
        missed: Vec<MissedChain>,
    }

    impl Followed {
        fn chain(stages: &[&str]) -> Self {
            let chain = FollowedChain {
                declaration: None,
                name: "c".into(),
                stages: stages.iter().map(|name| FollowedStage::Comm((*name).to_owned())).collect(),
                deadline_ns: 5 * MS,
                by_timer: true,
                period_ns: Some(10 * MS),
            };
            let mut wakeups = Wakeups::new(None, TimerFunctions::default());
            for (tid, name) in [(SENSOR, "sensor"), (MOTOR, "motor"), (OTHER, "other")] {
                wakeups.add(tid, name.as_bytes());
            }
            Self { watch: ChainWatch::new(chain).unwrap(), wakeups, missed: Vec::new() }
        }

        fn stimulus(&mut self, due_ns: i64) {
            let woken = Finished {
                tid: SENSOR,
                kind: WatchedKind::Timer,
                cpu: 0,
                due_ns,
                seen_ns: due_ns + 1000,
                previous_seen_ns: None,
                late_arm: false,
            };
            self.watch.begin(&woken, &self.wakeups, &mut self.missed);
        }

        fn at(&mut self, ts_ns: i64, event: ThreadEvent) {
            self.watch.apply(&TimedEvent { ts_ns, cpu: 0, event }, &self.wakeups, &mut self.missed);
        }

        fn wakes(&mut self, ts_ns: i64, by: Option<i32>, tid: i32) {
            self.at(ts_ns, ThreadEvent::Waking { tid, by });
        }

        fn switch(&mut self, ts_ns: i64, prev: i32, next: i32) {
            self.at(ts_ns, ThreadEvent::Switch { prev, prev_runnable: false, next, next_comm: [0; 16] });
        }

        fn preempt(&mut self, ts_ns: i64, prev: i32, next: i32) {
            self.at(ts_ns, ThreadEvent::Switch { prev, prev_runnable: true, next, next_comm: [0; 16] });
        }

        /// An instance in which the motor goes to sleep after a time.
        fn instance(&mut self, due_ns: i64, took_ns: i64) {
            self.stimulus(due_ns);
            self.wakes(due_ns + 2000, Some(SENSOR), MOTOR);
            self.switch(due_ns + 3000, SENSOR, MOTOR);
            self.switch(due_ns + took_ns, MOTOR, 0);
        }

        fn latencies(&mut self, now_ns: i64) -> Vec<(i64, bool, u64)> {
            self.watch.expire(now_ns, &mut self.missed);
            self.missed.iter().map(|missed| (missed.latency_ns(), missed.is_open, missed.instances)).collect()
        }
    }

    #[test]
    fn an_instance_ends_with_the_sleep_before_the_next_input() {
        let mut followed = Followed::chain(&["sensor", "motor"]);
        followed.instance(10 * MS, MS);
        followed.instance(20 * MS, 3 * MS);
        // It sleeps in its work: another thread than the stage before wakes it.
        followed.wakes(25 * MS, Some(OTHER), MOTOR);
        followed.switch(25 * MS, 0, MOTOR);
        followed.switch(27 * MS, MOTOR, 0);
        followed.instance(30 * MS, MS);
        assert_eq!(followed.latencies(32 * MS), [(7 * MS, false, 2)]);
        followed.instance(40 * MS, 9 * MS);
        assert_eq!(followed.latencies(60 * MS).len(), 1, "the last one may go on");
        assert_eq!(followed.latencies(200 * MS), [(7 * MS, false, 2), (9 * MS, false, 4)]);
    }

    #[test]
    fn a_preempted_stage_goes_on() {
        let mut followed = Followed::chain(&["sensor"]);
        followed.stimulus(10 * MS);
        followed.preempt(11 * MS, SENSOR, OTHER);
        followed.switch(16 * MS, OTHER, SENSOR);
        followed.switch(17 * MS, SENSOR, 0);
        // Its own sleep within the period is part of its work.
        followed.stimulus(14 * MS);
        followed.stimulus(20 * MS);
        assert_eq!(followed.latencies(20 * MS), [(7 * MS, false, 1)]);
    }

    #[test]
    fn a_stage_that_starves_is_reported_while_it_does() {
        for (stages, late) in [(&["sensor"][..], SENSOR), (&["sensor", "motor"], MOTOR), (&["sensor", "motor"], SENSOR)]
        {
            let mut followed = Followed::chain(stages);
            followed.stimulus(10 * MS);
            if late == MOTOR {
                followed.wakes(11 * MS, Some(SENSOR), MOTOR);
                followed.switch(12 * MS, SENSOR, MOTOR);
            }
            followed.preempt(13 * MS, late, OTHER);
            assert_eq!(followed.latencies(200 * MS), [], "{stages:?}: not yet");
            assert_eq!(followed.latencies(2010 * MS), [(2000 * MS, true, 1)], "{stages:?}");
        }
    }

    #[test]
    fn a_stage_that_hangs_is_reported_and_one_without_a_hand_over_is_not() {
        let mut followed = Followed::chain(&["sensor", "motor"]);
        followed.stimulus(10 * MS);
        followed.switch(11 * MS, SENSOR, 0);
        assert_eq!(followed.latencies(1000 * MS), []);
        followed.stimulus(1010 * MS);
        followed.wakes(1011 * MS, None, MOTOR);
        assert_eq!(followed.latencies(2000 * MS), [(990 * MS, true, 1)]);
        followed.stimulus(3000 * MS);
        followed.at(3001 * MS, ThreadEvent::Lost { count: 7 });
        assert_eq!(followed.latencies(9000 * MS).len(), 1, "nobody knows how it went on");
    }
}
