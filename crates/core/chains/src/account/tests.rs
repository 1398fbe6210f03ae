//! Accounts of recordings that are written event by event, and of any events.

use super::*;
use crate::declaration::{ChainFile, Stimulus};
use crate::event_name::EventName;
use crate::recorded::Occurrence;
use archive::chain::{Activity, ChainCause, ChainShare, Segment, StagePart};
use archive::culprit::{AwaitedProgress, Culprit, Holder};
use explain::event::{Event, EventKind, Vector, flag};
use explain::names::Names;
use proptest::prelude::*;
use std::collections::HashMap;

const SENSOR: i32 = 11;
const CONTROL: i32 = 12;
const LOCKER: i32 = 13;
const HOG: i32 = 14;
const KWORKER: i32 = 15;

fn names() -> Names {
    let mut names = Names::default();
    for (tid, comm) in
        [(SENSOR, "sensor"), (CONTROL, "control"), (LOCKER, "locker"), (HOG, "hog"), (KWORKER, "kworker/0:1")]
    {
        names.learn_task(tid, Some(comm.as_bytes()), None);
    }
    names
}

/// Writes the events of a recording. Instants in ns.
#[derive(Default)]
struct Script(Vec<Event<'static>>);

impl Script {
    fn push(&mut self, ts_ns: i64, cpu: u32, tid: i32, flags: u8, what: EventKind) -> &mut Self {
        self.0.push(Event { ts_ns, cpu, tid, flags, depth: 0, what, id: 0, payload: &[] });
        self
    }

    /// `left`: 0 is runnable, 1 is asleep. Priorities are the kernel's.
    fn switch(&mut self, ts_ns: i64, cpu: u32, prev: i32, left: i64, (next, prio): (i32, i32)) -> &mut Self {
        let (prev_prio, next_prio) = (None, Some(prio));
        self.push(ts_ns, cpu, prev, 1, EventKind::Switch { prev, prev_prio, prev_state: left, next, next_prio })
    }

    fn wake(&mut self, ts_ns: i64, cpu: u32, by: i32, tid: i32, target_cpu: i32) -> &mut Self {
        self.push(ts_ns, cpu, by, 1, EventKind::Waking { tid, prio: Some(89), target_cpu })
    }

    /// A timer that is due at `due_ns` wakes a thread in the interrupt of CPU 0.
    fn timer(&mut self, due_ns: i64, entry_ns: i64, on: i32, tid: i32) -> &mut Self {
        let timer = EventKind::HrtimerStart { timer: 7, function: 1, expires_ns: due_ns, soft_expires_ns: due_ns };
        let vector = Vector::LocalTimer;
        self.push(due_ns - 500, 0, on, 0, timer)
            .push(entry_ns, 0, on, flag::HARDIRQ, EventKind::VectorEntry { vector })
            .push(entry_ns + 1, 0, on, flag::HARDIRQ, EventKind::HrtimerExpireEntry { timer: 7, function: 1 })
            .push(entry_ns + 3, 0, on, flag::HARDIRQ, EventKind::Waking { tid, prio: Some(89), target_cpu: 0 })
            .push(entry_ns + 4, 0, on, flag::HARDIRQ, EventKind::HrtimerExpireExit { timer: 7 })
            .push(entry_ns + 5, 0, on, flag::HARDIRQ, EventKind::VectorExit { vector })
    }

    /// The sensor is woken at 0 and works on CPU 0 for 100 ns, the control thread on CPU 1 for 200 ns.
    fn ordinary(&mut self, at_ns: i64) -> &mut Self {
        self.timer(at_ns, at_ns + 10, 0, SENSOR)
            .switch(at_ns + 20, 0, 0, 0, (SENSOR, 89))
            .wake(at_ns + 120, 0, SENSOR, CONTROL, 1)
            .switch(at_ns + 125, 1, 0, 0, (CONTROL, 89))
            .switch(at_ns + 130, 0, SENSOR, 1, (0, 120))
            .switch(at_ns + 325, 1, CONTROL, 1, (0, 120))
    }

    /// The recording goes on for a while, so that the last sleep is seen.
    fn recorded(&self) -> Recorded {
        let ended_ns = self.0.iter().map(|event| event.ts_ns).max().unwrap_or(0) + 1000;
        let last =
            Event { ts_ns: ended_ns, cpu: 0, tid: 0, flags: 0, depth: 0, what: EventKind::Other, id: 0, payload: &[] };
        Recorded::of_events(self.0.iter().copied().chain([last]), names())
    }
}

fn chain(more: &str) -> Chain {
    let text = format!("[[chain]]\nname = \"c\"\nstages = [\"sensor\", \"control\"]\n{more}");
    ChainFile::parse(&text).unwrap().chain.remove(0)
}

fn is_tiled(instance: &ChainInstance) -> bool {
    let mut at_ns = instance.stimulus_ns;
    for segment in &instance.segments {
        if segment.start_ns != at_ns || segment.end_ns <= at_ns {
            return false;
        }
        at_ns = segment.end_ns;
    }
    at_ns == instance.end_ns
}

fn share_ns(instance: &ChainInstance, share: ChainShare) -> i64 {
    instance.segments.iter().filter(|segment| segment.share() == share).map(Segment::ns).sum()
}

#[test]
fn an_ordinary_instance_from_the_due_time_to_the_sleep() {
    let mut script = Script::default();
    script.ordinary(10_000).ordinary(20_000);
    let account = account(&[script.recorded()], &chain(""), usize::MAX);
    let spans: Vec<_> = account.instances.iter().map(|one| (one.stimulus_ns, one.end_ns)).collect();
    assert_eq!(spans, [(10_000, 10_325), (20_000, 20_325)]);
    let first = &account.instances[0];
    assert!(account.instances.iter().all(is_tiled));
    let of = |share| share_ns(first, share);
    // From the due time to the interrupt idle, three ns in the interrupt, then two threads until each has its CPU.
    assert_eq!((of(ChainShare::StimulusDelayed), of(ChainShare::Hardirq)), (10, 3));
    assert_eq!((of(ChainShare::Running), of(ChainShare::Runnable)), (100 + 200, 7 + 5));
    assert_eq!((account.unlinked, account.missed()), (0, None));
    assert_eq!(first.stages.iter().map(StageSpan::ns).collect::<Vec<_>>(), [120, 205]);
}

#[test]
fn a_hog_that_preempts_one_stage_is_the_cause() {
    let mut script = Script::default();
    (1..=5).for_each(|index| {
        script.ordinary(index * 10_000);
    });
    script
        .timer(60_000, 60_010, 0, SENSOR)
        .switch(60_020, 0, 0, 0, (SENSOR, 89))
        .wake(60_120, 0, SENSOR, CONTROL, 1)
        .switch(60_125, 1, 0, 0, (CONTROL, 89))
        .switch(60_130, 0, SENSOR, 1, (0, 120))
        .switch(60_200, 1, CONTROL, 0, (HOG, 9))
        .switch(63_200, 1, HOG, 1, (CONTROL, 89))
        .switch(63_325, 1, CONTROL, 1, (0, 120));
    let account = account(&[script.recorded()], &chain("deadline = \"1us\""), usize::MAX);
    assert_eq!((account.instances.len(), account.missed(), account.findings.len()), (6, Some(1), 1));
    let finding = &account.findings[0];
    assert_eq!((finding.stage, finding.ordinary_ns, finding.stage_ns), (1, Some(205), 3205));
    assert_eq!((&finding.culprit, finding.cause_ns), (&Some(Culprit::OtherRtTask), 3000));
    let ChainCause::Preempted { cpu, holder: Some(Holder::Task { task, .. }), priority, thread_priority } =
        &finding.cause
    else {
        panic!("{finding:?}")
    };
    assert_eq!((*cpu, task.comm.as_str()), (Some(1), "hog"));
    assert_eq!((priority.unwrap().0, thread_priority.unwrap().0), (9, 89));
}

#[test]
fn only_events_of_the_stages_begin_and_end_instances() {
    let mut script = Script::default();
    (1..=5).for_each(|index| {
        script.ordinary(index * 10_000);
    });
    let event = |name: &str| EventName::try_from(name.to_owned()).unwrap();
    let occurred = |offsets: &[(i64, i32)]| -> Vec<Occurrence> {
        let at = |index: i64| offsets.iter().map(move |(ns, tid)| Occurrence { ts_ns: index * 10_000 + ns, tid: *tid });
        (1..=5).flat_map(at).collect()
    };
    let mut recorded = script.recorded();
    recorded.occurrences = HashMap::from([
        (event("sdt_robot:begin"), occurred(&[(60, SENSOR), (65, HOG)])),
        (event("net:net_dev_queue"), occurred(&[(90, SENSOR), (200, HOG), (250, CONTROL)])),
    ]);
    let declared = "stimulus = { event = \"sdt_robot:begin\" }\nend = { event = \"net:net_dev_queue\" }";
    let account = account(&[recorded], &chain(declared), usize::MAX);
    let latencies_ns: Vec<i64> = account.instances.iter().map(ChainInstance::latency_ns).collect();
    assert_eq!((latencies_ns, account.unlinked), (vec![190; 5], 0));
    let sum_ns = |instance: &ChainInstance| instance.segments.iter().map(Segment::ns).sum::<i64>();
    assert!(account.instances.iter().all(|instance| sum_ns(instance) == 190));
    assert!(account.limits.is_empty(), "{:?}", account.limits);
    let nothing = Recorded::unreadable("cut".into());
    let unread = self::account(&[nothing], &chain(declared), usize::MAX).limits;
    assert!(!unread.iter().any(|limit| matches!(limit, ChainLimit::NoEvent { .. })), "{unread:?}");
    let elsewhere = self::account(&[script.recorded()], &chain(declared), usize::MAX);
    let missing = |name: &str| ChainLimit::NoEvent { event: ForeignText(name.into()) };
    assert_eq!(elsewhere.limits, [missing("sdt_robot:begin"), missing("net:net_dev_queue")]);
    let mut of_others = script.recorded();
    of_others.occurrences =
        HashMap::from([(event("sdt_robot:begin"), occurred(&[(65, HOG)])), (event("net:net_dev_queue"), Vec::new())]);
    let of_others = self::account(&[of_others], &chain(declared), usize::MAX).limits;
    let of_no_stage = |name: &str| ChainLimit::EventOfNoStage { event: ForeignText(name.into()) };
    assert_eq!(of_others, [of_no_stage("sdt_robot:begin"), of_no_stage("net:net_dev_queue")]);
}

#[test]
fn the_same_event_ends_an_instance_and_begins_the_next() {
    let mut script = Script::default();
    (1..=5).for_each(|index| {
        script.ordinary(index * 10_000);
    });
    let mut recorded = script.recorded();
    let step = EventName::try_from("sdt_robot:step".to_owned()).unwrap();
    let occurred = (1..=5).map(|index| Occurrence { ts_ns: index * 10_000 + 60, tid: SENSOR }).collect();
    recorded.occurrences = HashMap::from([(step, occurred)]);
    let event = "{ event = \"sdt_robot:step\" }";
    let text = format!("[[chain]]\nname = \"c\"\nstages = [\"sensor\"]\nstimulus = {event}\nend = {event}");
    let chain = ChainFile::parse(&text).unwrap().chain.remove(0);
    let account = account(&[recorded], &chain, usize::MAX);
    let latencies_ns: Vec<i64> = account.instances.iter().map(ChainInstance::latency_ns).collect();
    assert_eq!((latencies_ns, account.unlinked), (vec![10_000; 4], 1), "the last one has no end");
    assert!(account.limits.is_empty(), "{:?}", account.limits);
}

#[test]
fn a_wait_for_a_lock_leads_to_what_preempted_its_holder() {
    let mut script = Script::default();
    (1..=5).for_each(|index| {
        script.ordinary(index * 10_000);
    });
    script
        // The locker has CPU 0, and is woken and switched in before the instance.
        .wake(59_000, 0, 0, LOCKER, 0)
        .switch(59_010, 0, 0, 0, (LOCKER, 120))
        .timer(60_000, 60_010, LOCKER, SENSOR)
        .switch(60_020, 0, LOCKER, 0, (SENSOR, 89))
        .wake(60_120, 0, SENSOR, CONTROL, 1)
        .switch(60_125, 1, 0, 0, (CONTROL, 89))
        .switch(60_130, 0, SENSOR, 1, (HOG, 99))
        // The control thread waits for the lock that the locker holds.
        .switch(60_200, 1, CONTROL, 1, (0, 120))
        .switch(64_000, 0, HOG, 1, (LOCKER, 120))
        .wake(64_100, 0, LOCKER, CONTROL, 1)
        .switch(64_105, 1, 0, 0, (CONTROL, 89))
        .switch(64_200, 1, CONTROL, 1, (0, 120))
        .switch(64_300, 0, LOCKER, 1, (0, 120));
    let account = account(&[script.recorded()], &chain("deadline = \"1us\""), usize::MAX);
    assert!(account.instances.iter().all(is_tiled));
    let finding = &account.findings[0];
    assert_eq!((finding.stage, finding.cause_ns), (1, 3800));
    assert_eq!(finding.culprit, Some(Culprit::PriorityInversion));
    let ChainCause::WaitedForThread { woke, awaited, threads: 1, progress, .. } = &finding.cause else {
        panic!("{finding:?}")
    };
    assert_eq!((woke.tid, awaited.tid), (LOCKER, LOCKER));
    let AwaitedProgress::HeldUp { cpu: 0, holder: Some(Holder::Task { task, .. }) } = progress else {
        panic!("{progress:?}")
    };
    assert_eq!(task.tid, HOG);
}

#[test]
fn a_kernel_worker_carries_a_hand_over() {
    let mut script = Script::default();
    script
        .timer(10_000, 10_010, 0, SENSOR)
        .switch(10_020, 0, 0, 0, (SENSOR, 89))
        .wake(10_120, 0, SENSOR, KWORKER, 1)
        .switch(10_125, 1, 0, 0, (KWORKER, 120))
        .switch(10_130, 0, SENSOR, 1, (0, 120))
        .wake(10_225, 1, KWORKER, CONTROL, 1)
        .switch(10_230, 1, KWORKER, 1, (CONTROL, 89))
        .switch(10_330, 1, CONTROL, 1, (0, 120));
    let account = account(&[script.recorded()], &chain(""), usize::MAX);
    let instance = &account.instances[0];
    assert!(is_tiled(instance));
    assert_eq!(share_ns(instance, ChainShare::KernelThread), 105);
    let parts: Vec<_> = instance.segments.iter().map(|segment| (segment.stage, segment.part)).collect();
    assert!(parts.contains(&(1, StagePart::HandOver)), "{parts:?}");
    let control = &instance.stages[1];
    assert_eq!((control.start_ns, control.woken_ns), (10_120, 10_225));
}

#[test]
fn a_busy_kernel_worker_carries_what_was_queued() {
    let mut script = Script::default();
    script
        // The locker woke the worker, which has not slept since.
        .wake(9_000, 1, LOCKER, KWORKER, 1)
        .switch(9_010, 1, 0, 0, (KWORKER, 120))
        .timer(10_000, 10_010, 0, SENSOR)
        .switch(10_020, 0, 0, 0, (SENSOR, 89))
        .push(10_120, 0, SENSOR, 0, EventKind::WorkQueued { work: 0x40 })
        .switch(10_130, 0, SENSOR, 1, (0, 120))
        .push(10_200, 1, KWORKER, 0, EventKind::WorkStart { work: 0x40, function: 1 })
        .wake(10_225, 1, KWORKER, CONTROL, 1)
        .switch(10_230, 1, KWORKER, 1, (CONTROL, 89))
        .switch(10_330, 1, CONTROL, 1, (0, 120));
    let account = account(&[script.recorded()], &chain(""), usize::MAX);
    let instance = &account.instances[0];
    assert!(is_tiled(instance));
    assert_eq!(share_ns(instance, ChainShare::KernelThread), 105);
    assert_eq!((instance.stages[1].start_ns, instance.stages[1].woken_ns), (10_120, 10_225));
}

#[test]
fn a_stimulus_without_a_hand_over_is_counted() {
    let mut script = Script::default();
    script.ordinary(10_000);
    script.timer(20_000, 20_010, 0, SENSOR).switch(20_020, 0, 0, 0, (SENSOR, 89)).switch(
        20_130,
        0,
        SENSOR,
        1,
        (0, 120),
    );
    script.ordinary(30_000);
    let account = account(&[script.recorded()], &chain(""), usize::MAX);
    assert_eq!((account.instances.len(), account.unlinked), (2, 1));
}

#[test]
fn a_stage_that_no_thread_is_limits_the_account() {
    let mut script = Script::default();
    script.ordinary(10_000);
    let mut chain = chain("");
    chain.stages.push(crate::declaration::Stage::Comm("motor".into()));
    let account = account(&[script.recorded()], &chain, usize::MAX);
    assert_eq!(account.instances.len(), 0);
    assert_eq!(account.limits, [ChainLimit::NoThread { stage: ForeignText("motor".into()) }]);
}

#[test]
fn an_instance_that_missed_its_deadline_before_the_recording_ended_is_a_miss() {
    let mut script = Script::default();
    script.ordinary(10_000).timer(20_000, 20_010, 0, SENSOR).switch(20_020, 0, 0, 0, (SENSOR, 89));
    script.wake(20_120, 0, SENSOR, CONTROL, 1).switch(20_125, 1, 0, 0, (CONTROL, 89));
    let of = |deadline: &str| account(&[script.recorded()], &chain(deadline), usize::MAX);
    // The recording ends 1125 ns after the stimulus.
    let missed = of("deadline = \"1us\"");
    assert_eq!((missed.instances.len(), missed.missed(), missed.unlinked), (2, Some(1), 0));
    let open = &missed.instances[1];
    assert!(open.is_open && is_tiled(open) && !missed.instances[0].is_open);
    assert_eq!((open.latency_ns(), missed.findings[0].stage), (1125, 1));
    let unknown = of("deadline = \"2us\"");
    assert_eq!((unknown.instances.len(), unknown.missed(), unknown.unlinked), (1, Some(0), 1));
}

#[test]
fn a_thread_whose_switch_from_idle_is_missing_ran() {
    let mut script = Script::default();
    script
        .timer(10_000, 10_010, 0, SENSOR)
        .switch(10_020, 0, 0, 0, (SENSOR, 89))
        .push(10_050, 1, 0, 0, EventKind::Other)
        .wake(10_120, 0, SENSOR, CONTROL, 1)
        .switch(10_130, 0, SENSOR, 1, (0, 120))
        // The first record of CPU 1 since it was idle.
        .push(10_300, 1, CONTROL, 0, EventKind::VectorEntry { vector: Vector::LocalTimer })
        .push(10_310, 1, CONTROL, flag::HARDIRQ, EventKind::VectorExit { vector: Vector::LocalTimer })
        .switch(10_325, 1, CONTROL, 1, (0, 120));
    let account = account(&[script.recorded()], &chain(""), usize::MAX);
    let instance = &account.instances[0];
    assert!(is_tiled(instance));
    assert_eq!(
        (share_ns(instance, ChainShare::Running), share_ns(instance, ChainShare::Hardirq)),
        (100 + 205 - 10, 10 + 3)
    );
    assert_eq!(share_ns(instance, ChainShare::Unknown), 0);
}

#[test]
fn the_worst_instances_keep_their_ledgers() {
    let mut script = Script::default();
    script.ordinary(10_000).ordinary(20_000);
    let account = account(&[script.recorded()], &chain(""), 1);
    assert_eq!(account.instances.iter().filter(|instance| !instance.segments.is_empty()).count(), 1);
}

#[test]
fn discovery_proposes_the_chain_with_its_period() {
    let mut script = Script::default();
    (1..=12).for_each(|index| {
        script.ordinary(index * 10_000);
    });
    let recorded = [script.recorded()];
    let proposed = crate::discover::discover(&recorded);
    assert_eq!(proposed.len(), 1, "{proposed:?}");
    let tids: Vec<i32> = proposed[0].threads.iter().map(|thread| thread.tid).collect();
    assert_eq!((tids, proposed[0].names_are_unique), (vec![SENSOR, CONTROL], true));
    assert_eq!((proposed[0].arrivals.period_ns, proposed[0].arrivals.jitter_ns), (10_000, 0));
    let declared = crate::discover::declared(&proposed);
    assert_eq!(declared.chain[0].stimulus, Stimulus::Timer);
    assert_eq!(account(&recorded, &declared.chain[0], 0).instances.len(), 12);
    assert_eq!(ChainFile::parse(&declared.to_string()), Ok(declared));
}

/// Any event of few threads on few CPUs, so that they meet.
fn any_event() -> impl Strategy<Value = Event<'static>> {
    let tid = || prop_oneof![8 => 0..16i32, 1 => any::<i32>()];
    let prio = || proptest::option::of(-1..140i32);
    let what = prop_oneof![
        4 => (tid(), prio(), 0..4i64, tid(), prio()).prop_map(|(prev, prev_prio, prev_state, next, next_prio)| {
            EventKind::Switch { prev, prev_prio, prev_state, next, next_prio }
        }),
        4 => (tid(), prio(), -1..3i32).prop_map(|(tid, prio, target_cpu)| EventKind::Waking { tid, prio, target_cpu }),
        1 => (tid(), prio(), -1..3i32).prop_map(|(tid, prio, target_cpu)| EventKind::Wakeup { tid, prio, target_cpu }),
        1 => (tid(), -1..3i32, -1..3i32).prop_map(|(tid, from_cpu, to_cpu)| EventKind::Migrate { tid, from_cpu, to_cpu }),
        1 => (0..3u64, any::<i64>()).prop_map(|(timer, at)| {
            EventKind::HrtimerStart { timer, function: 1, expires_ns: at, soft_expires_ns: at % 2000 }
        }),
        1 => (0..3u64).prop_map(|timer| EventKind::HrtimerExpireEntry { timer, function: 1 }),
        1 => (0..3u64).prop_map(|timer| EventKind::HrtimerExpireExit { timer }),
        1 => (0..3i32).prop_map(|irq| EventKind::IrqEntry { irq }),
        1 => (0..3i32).prop_map(|irq| EventKind::IrqExit { irq }),
        1 => (0..12u32).prop_map(|vec| EventKind::SoftirqRaise { vec }),
        1 => (0..12u32).prop_map(|vec| EventKind::SoftirqEntry { vec }),
        1 => (0..12u32).prop_map(|vec| EventKind::SoftirqExit { vec }),
        1 => (0..3u64).prop_map(|work| EventKind::WorkQueued { work }),
        1 => (0..3u64).prop_map(|work| EventKind::WorkStart { work, function: 1 }),
        1 => Just(EventKind::WorkEnd),
        1 => Just(EventKind::Other),
    ];
    let ts_ns = prop_oneof![20 => 0..2000i64, 1 => any::<i64>()];
    (ts_ns, 0..3u32, tid(), any::<u8>(), what).prop_map(|(ts_ns, cpu, tid, flags, what)| Event {
        ts_ns,
        cpu,
        tid,
        flags,
        depth: 0,
        what,
        id: 0,
        payload: &[],
    })
}

fn any_names() -> Names {
    let mut names = names();
    for (tid, comm) in [(1, "sensor"), (2, "control"), (3, "motor"), (4, "kworker/1:0"), (5, "ksoftirqd/0")] {
        names.learn_task(tid, Some(comm.as_bytes()), None);
    }
    names
}

proptest! {
    #[test]
    fn segments_tile_every_instance_of_any_events(
        mut events in proptest::collection::vec(any_event(), 0..400),
        sorted in any::<bool>(),
        stimulus in prop_oneof![Just("timer"), Just("wakeup"), Just("packet")],
    ) {
        if sorted {
            events.sort_by_key(|event| event.ts_ns);
        }
        let recorded = [Recorded::of_events(events, any_names())];
        for stages in ["[\"sensor\"]", "[\"sensor\", \"control\"]", "[\"*\", \"*\"]", "[{ tid = 1 }, \"control\", \"motor\"]"] {
            let text = format!("[[chain]]\nname = \"c\"\nstimulus = \"{stimulus}\"\nstages = {stages}\ndeadline = \"100ns\"");
            let chain = ChainFile::parse(&text).unwrap().chain.remove(0);
            let account = account(&recorded, &chain, usize::MAX);
            for instance in &account.instances {
                prop_assert!(is_tiled(instance), "{instance:?}");
                let stages = &instance.stages;
                prop_assert!(stages.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
                let ends = (stages.first().map(|stage| stage.start_ns), stages.last().map(|stage| stage.end_ns));
                prop_assert_eq!(ends, (Some(instance.stimulus_ns), Some(instance.end_ns)));
                let shares: i64 = ChainShare::ALL.iter().map(|share| share_ns(instance, *share)).sum();
                prop_assert_eq!(shares, instance.latency_ns());
            }
            for finding in &account.findings {
                prop_assert!(finding.latency_ns > 100 && finding.cause_ns <= finding.latency_ns);
            }
        }
        prop_assert!(crate::discover::discover(&recorded).len() <= 12);
    }
}

#[test]
fn an_interrupt_on_top_of_a_stage_is_a_part_of_its_ledger() {
    let mut script = Script::default();
    script
        .timer(10_000, 10_010, 0, SENSOR)
        .switch(10_020, 0, 0, 0, (SENSOR, 89))
        .push(10_050, 0, SENSOR, flag::HARDIRQ, EventKind::IrqEntry { irq: 24 })
        .push(10_090, 0, SENSOR, flag::HARDIRQ, EventKind::IrqExit { irq: 24 })
        .wake(10_120, 0, SENSOR, CONTROL, 1)
        .switch(10_125, 1, 0, 0, (CONTROL, 89))
        .switch(10_325, 1, CONTROL, 1, (0, 120));
    let account = account(&[script.recorded()], &chain(""), usize::MAX);
    let instance = &account.instances[0];
    let interrupted = instance.segments.iter().find(|segment| matches!(segment.activity, Activity::Interrupted { .. }));
    assert_eq!(interrupted.map(Segment::ns), Some(40));
    assert_eq!(share_ns(instance, ChainShare::Hardirq), 40 + 3);
}
