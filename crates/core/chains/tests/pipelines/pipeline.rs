//! A pipeline of threads: a timer wakes the first one, each hands over to the next one, and some cycles have a planted delay.

use crate::delay::{Delay, PLANTED_NS, now_ns, work_for};
use crate::disturber::{Disturber, Holding, Shared, hog, locker};
use crate::link::{Giver, LinkKind, Taker, link};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Sleep of the first stage between two cycles, in ns. All stages and one delay fit into it.
pub const PERIOD_NS: i64 = 12_000_000;
const WORK_NS: i64 = 60_000;
/// Cycles without a delay before the first one, and between two of them.
const ORDINARY_FIRST: usize = 12;
const ORDINARY_BETWEEN: usize = 1;

// Above the threads of other tests and tools on this machine.
const HOG_PRIORITY: u8 = 97;
const STAGE_PRIORITY: u8 = 95;
const MIDDLE_PRIORITY: u8 = 94;
const LOCKER_PRIORITY: u8 = 93;

/// A delay that a stage had.
#[derive(Debug, Clone, Copy)]
pub struct Planted {
    pub cycle: usize,
    pub stage: usize,
    pub delay: Delay,
    /// When it began, CLOCK_MONOTONIC.
    pub at_ns: i64,
}

/// The threads that delay stages of one CPU.
#[derive(Debug, Clone, Copy)]
pub struct Helpers {
    pub hog: i32,
    pub locker: i32,
    pub middle: i32,
}

/// A pipeline that ran.
pub struct Pipeline {
    pub tids: Vec<i32>,
    pub planted: Vec<Planted>,
    /// By CPU of the stage.
    helpers: [Helpers; 2],
    /// From the first stage's start to the last stage's end of ordinary cycles, ascending.
    ordinary_ns: Vec<i64>,
    /// The longest delay of each cycle that was not planted, by the stages' own clock.
    other_delays_ns: Vec<i64>,
}

pub fn has_two_cpus() -> bool {
    sched_getaffinity(None).is_ok_and(|set| set.is_set(0) && set.is_set(1))
}

pub fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).unwrap();
}

/// Gives this thread a real-time priority.
pub fn give_priority(priority: u8) {
    let tid = gettid().as_raw_nonzero().to_string();
    let status = Command::new("chrt").args(["-f", "-p", &priority.to_string(), &tid]).status().unwrap();
    assert!(status.success());
}

/// Disturbs stages of one CPU.
struct OfCpu {
    hog: Disturber<i64>,
    /// The locker has the other CPU, so that the stage's wait does not lend it its own.
    locker: Disturber<Holding>,
    middle: Disturber<i64>,
    shared: Arc<Shared>,
}

impl OfCpu {
    fn start(cpu: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let middle = hog("middle", 1 - cpu, MIDDLE_PRIORITY);
        let locker = locker(1 - cpu, LOCKER_PRIORITY, Arc::clone(&shared), middle.orders());
        Self { hog: hog("hog", cpu, HOG_PRIORITY), locker, middle, shared }
    }

    fn helpers(&self) -> Helpers {
        Helpers { hog: self.hog.tid, locker: self.locker.tid, middle: self.middle.tid }
    }

    fn end(self) {
        // The locker can order the middle one.
        self.locker.end();
        self.middle.end();
        self.hog.end();
    }

    fn delay(&self, delay: Delay) {
        match delay {
            Delay::OwnWork => work_for(PLANTED_NS),
            Delay::Preempted => self.hog.order(PLANTED_NS),
            Delay::Sleep => thread::sleep(Duration::from_nanos(PLANTED_NS as u64)),
            Delay::LockOfRunning => self.lock(Holding::Runs),
            Delay::LockOfSleeping => self.lock(Holding::Sleeps),
            Delay::LockOfPreempted => self.lock(Holding::IsPreempted),
        }
    }

    fn lock(&self, holding: Holding) {
        self.shared.is_held.store(false, Ordering::SeqCst);
        self.locker.order(holding);
        while !self.shared.is_held.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        drop(self.shared.lock.lock().unwrap());
    }
}

/// Shared by the stages.
struct Course {
    disturbers: [OfCpu; 2],
    /// The delay of each cycle.
    plan: Vec<Option<(usize, Delay)>>,
    planted: Mutex<Vec<Planted>>,
}

impl Course {
    /// One cycle of a stage.
    fn cycle(&self, stage: usize, cycle: usize) {
        work_for(WORK_NS);
        if let Some((_, delay)) = self.plan[cycle].filter(|(of, _)| *of == stage) {
            let at_ns = now_ns();
            self.disturbers[stage % 2].delay(delay);
            self.planted.lock().unwrap().push(Planted { cycle, stage, delay, at_ns });
        }
    }
}

fn plan(stages: usize, times: usize) -> Vec<Option<(usize, Delay)>> {
    let mut plan = vec![None; ORDINARY_FIRST];
    for _ in 0..times {
        for stage in 0..stages {
            for delay in Delay::ALL {
                plan.push(Some((stage, delay)));
                plan.extend([None; ORDINARY_BETWEEN]);
            }
        }
    }
    plan
}

impl Pipeline {
    /// Runs a pipeline until each stage has had each delay `times` times.
    pub fn run(stages: usize, kind: LinkKind, times: usize) -> Self {
        let disturbers = [OfCpu::start(0), OfCpu::start(1)];
        let helpers = [disturbers[0].helpers(), disturbers[1].helpers()];
        let course = Arc::new(Course { disturbers, plan: plan(stages, times), planted: Mutex::default() });
        let (report, reported) = channel();
        let (ended, ends) = channel();
        let mut takers: Vec<Option<Taker>> = vec![None];
        let mut givers: Vec<Option<Giver>> = Vec::new();
        for _ in 1..stages {
            let (giver, taker) = link(kind);
            givers.push(Some(giver));
            takers.push(Some(taker));
        }
        givers.push(None);
        // The first stage starts last.
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        let mut tids = vec![0; stages];
        for (stage, (taker, giver)) in takers.into_iter().zip(givers).enumerate().rev() {
            let worker = Stage { stage, course: Arc::clone(&course), taker, giver, ended: ended.clone() };
            let report: Sender<i32> = report.clone();
            let body = move || {
                pin(stage % 2);
                give_priority(STAGE_PRIORITY);
                report.send(gettid().as_raw_nonzero().get()).unwrap();
                worker.run();
            };
            threads.push(thread::Builder::new().name(format!("stage{stage}")).spawn(body).unwrap());
            tids[stage] = reported.recv().unwrap();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(ended);
        let of_stage = |wanted: usize, begins: bool| move |mark: &Mark| mark.stage == wanted && mark.begins == begins;
        let marks: Vec<Mark> = ends.into_iter().collect();
        let begun = marks.iter().filter(|mark| of_stage(0, true)(mark));
        let mut ordinary_ns: Vec<i64> = begun
            .filter(|begin| course.plan[begin.cycle].is_none())
            .filter_map(|begin| {
                let last = marks.iter().filter(|mark| of_stage(stages - 1, false)(mark));
                let end = last.into_iter().find(|mark| mark.cycle == begin.cycle)?;
                Some(end.at_ns - begin.at_ns)
            })
            .collect();
        ordinary_ns.sort_unstable();
        let other_delays_ns = other_delays_ns(&marks, stages, &course.plan);
        let Ok(course) = Arc::try_unwrap(course) else { panic!("a stage still runs") };
        let planted = course.planted.into_inner().unwrap();
        course.disturbers.into_iter().for_each(OfCpu::end);
        Self { tids, planted, helpers, ordinary_ns, other_delays_ns }
    }

    pub fn helpers_of(&self, stage: usize) -> Helpers {
        self.helpers[stage % 2]
    }

    /// Whether something else delayed this cycle or the one before as well: another program that the kernel does not preempt, or a thread of
    /// the kernel without real-time priority that carries a hand-over.
    pub fn was_disturbed(&self, planted: &Planted) -> bool {
        let before = planted.cycle.saturating_sub(1);
        let cycles = self.other_delays_ns.get(before..=planted.cycle).unwrap_or(&[]);
        cycles.iter().any(|ns| *ns > PLANTED_NS / 4)
    }

    /// Median of the ordinary cycles.
    pub fn ordinary_ns(&self) -> i64 {
        self.ordinary_ns[self.ordinary_ns.len() / 2]
    }
}

/// The longest of: hand-overs, stages beyond their work and the planted delay, and the first stage's sleep beyond its end.
fn other_delays_ns(marks: &[Mark], stages: usize, plan: &[Option<(usize, Delay)>]) -> Vec<i64> {
    let mut begun_ns = vec![vec![0; stages]; plan.len()];
    let mut ended_ns = begun_ns.clone();
    for mark in marks {
        let times_ns = if mark.begins { &mut begun_ns } else { &mut ended_ns };
        times_ns[mark.cycle][mark.stage] = mark.at_ns;
    }
    let of_cycle = |cycle: usize| {
        let (begun, ended) = (&begun_ns[cycle], &ended_ns[cycle]);
        let hand_overs_ns = begun.iter().skip(1).zip(ended).map(|(begin, end)| begin - end);
        let works_ns = begun.iter().zip(ended).enumerate().map(|(stage, (begin, end))| {
            let planted_ns = if plan[cycle].is_some_and(|(of, _)| of == stage) { PLANTED_NS } else { 0 };
            end - begin - WORK_NS - planted_ns
        });
        let slept_ns = cycle.checked_sub(1).map_or(0, |before| begun[0] - ended_ns[before][0] - PERIOD_NS);
        hand_overs_ns.chain(works_ns).chain([slept_ns]).max().unwrap_or(0)
    };
    (0..plan.len()).map(of_cycle).collect()
}

/// A stage began or ended a cycle.
struct Mark {
    stage: usize,
    cycle: usize,
    begins: bool,
    at_ns: i64,
}

struct Stage {
    stage: usize,
    course: Arc<Course>,
    taker: Option<Taker>,
    giver: Option<Giver>,
    ended: Sender<Mark>,
}

impl Stage {
    fn run(mut self) {
        let mut marks = Vec::new();
        for cycle in 0..self.course.plan.len() {
            match &mut self.taker {
                Some(taker) => taker.take(),
                None => thread::sleep(Duration::from_nanos(PERIOD_NS as u64)),
            }
            let mut mark = |begins| marks.push(Mark { stage: self.stage, cycle, begins, at_ns: now_ns() });
            mark(true);
            self.course.cycle(self.stage, cycle);
            mark(false);
            if let Some(giver) = &mut self.giver {
                giver.give();
            }
        }
        // The sleep that ends the last cycle.
        thread::sleep(Duration::from_millis(2));
        marks.into_iter().for_each(|mark| self.ended.send(mark).unwrap());
    }
}
