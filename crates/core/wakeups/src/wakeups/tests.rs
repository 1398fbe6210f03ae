//! Stories of a thread, event by event, and the samples they give.

use super::*;

const FUNCTIONS: TimerFunctions = TimerFunctions { sleep: 1, timer_file: 2, posix_timer: 3, by_name: false };
const ME: i32 = 10;

struct Story {
    wakeups: Wakeups,
    finished: Vec<Finished>,
}

impl Story {
    fn new(pattern: Option<&str>) -> Self {
        let mut wakeups = Wakeups::new(pattern.map(|text| Pattern::new(text).unwrap()), FUNCTIONS);
        wakeups.add(ME, b"loop");
        Self { wakeups, finished: Vec::new() }
    }

    fn at(&mut self, ts_ns: i64, event: ThreadEvent) -> &mut Self {
        self.wakeups.apply(&TimedEvent { ts_ns, cpu: 1, event }, &mut self.finished);
        self
    }

    fn arm(&mut self, ts_ns: i64, function: u64, due_ns: i64) -> &mut Self {
        self.at(
            ts_ns,
            ThreadEvent::Arm { tid: ME, timer: 0x100 + function, function, soft_ns: due_ns, hard_ns: due_ns + 50 },
        )
    }

    fn leaves(&mut self, ts_ns: i64) -> &mut Self {
        self.at(ts_ns, ThreadEvent::Switch { prev: ME, prev_runnable: false, next: 0, next_comm: comm(b"swapper/1") })
    }

    fn wakes(&mut self, ts_ns: i64) -> &mut Self {
        self.at(ts_ns, ThreadEvent::Waking { tid: ME, by: None })
    }

    fn runs(&mut self, ts_ns: i64) -> &mut Self {
        self.at(ts_ns, ThreadEvent::Switch { prev: 0, prev_runnable: true, next: ME, next_comm: comm(b"loop") })
    }

    fn samples(&self) -> Vec<(WatchedKind, i64, i64)> {
        self.finished.iter().map(|one| (one.kind, one.due_ns, one.seen_ns)).collect()
    }
}

fn comm(name: &[u8]) -> Comm {
    let mut comm = [0; 16];
    comm[..name.len()].copy_from_slice(name);
    comm
}

use WatchedKind::{Cycle, Timer as ByTimer, Woken as ByOther};

#[test]
fn a_sleep_gives_a_wake_up_and_then_a_cycle() {
    let mut story = Story::new(None);
    story.arm(100, 1, 1000).leaves(110).wakes(1005).runs(1020).arm(1500, 1, 2000).leaves(1510);
    assert_eq!(story.samples(), [(ByTimer, 1000, 1020), (Cycle, 1020, 1500)]);
    assert_eq!(story.wakeups.thread(ME).unwrap().slack_ns_max, 50);
}

#[test]
fn a_cycle_that_overran_is_a_late_arm_without_a_switch() {
    let mut story = Story::new(None);
    story.arm(100, 1, 1000).leaves(110).wakes(1005).runs(1020).arm(2500, 1, 2000).wakes(2502);
    assert_eq!(story.samples(), [(ByTimer, 1000, 1020), (Cycle, 1020, 2500), (ByTimer, 2000, 2502)]);
    assert!(story.finished[2].late_arm && !story.finished[0].late_arm);
    assert_eq!(story.finished[2].previous_seen_ns, Some(1020));
}

#[test]
fn a_wake_up_before_its_time_out_has_another_cause() {
    let mut story = Story::new(None);
    story.arm(100, 1, 9000).leaves(110).wakes(500).runs(520);
    assert_eq!(story.samples(), [(ByOther, 500, 520)]);
    // The time-out ended with its wait and must not count later.
    story.leaves(600).wakes(9500).runs(9510);
    assert_eq!(story.samples()[1], (ByOther, 9500, 9510));
}

#[test]
fn a_wake_up_by_the_release_of_a_held_command_is_no_sample() {
    let mut story = Story::new(None);
    story.wakeups.releaser = Some(7);
    story.at(100, ThreadEvent::Waking { tid: ME, by: Some(7) }).runs(7_000_000);
    assert_eq!(story.samples(), []);
    story.arm(7_000_100, 1, 7_001_000).leaves(7_000_110).wakes(7_001_005).runs(7_001_020);
    assert_eq!(story.samples(), [(ByTimer, 7_001_000, 7_001_020)]);
}

#[test]
fn a_timer_file_outlives_other_waits() {
    let mut story = Story::new(None);
    story.arm(100, 2, 5000).leaves(110).wakes(500).runs(520).leaves(600).wakes(5004).runs(5010);
    assert_eq!(story.samples(), [(ByOther, 500, 520), (ByTimer, 5000, 5010)]);
}

#[test]
fn a_switch_that_is_not_recorded_is_counted_and_a_return_stands_in_for_it() {
    let mut story = Story::new(None);
    story.arm(100, 1, 1000).leaves(110).wakes(1005).arm(1500, 1, 2000);
    assert_eq!((story.samples().len(), story.wakeups.unseen), (0, 1));
    story
        .leaves(1510)
        .wakes(2003)
        .at(2009, ThreadEvent::Returned { tid: ME })
        .at(2020, ThreadEvent::Returned { tid: ME });
    story.arm(2500, 1, 3000);
    assert_eq!(story.samples(), [(ByTimer, 2000, 2009), (Cycle, 2009, 2500)]);
    assert_eq!(story.wakeups.unseen, 1);
}

#[test]
fn a_wake_up_of_which_nothing_is_recorded_is_counted_and_does_not_lengthen_the_next_one() {
    let mut story = Story::new(None);
    let sleep = |timer, due_ns| ThreadEvent::Arm { tid: ME, timer, function: 1, soft_ns: due_ns, hard_ns: due_ns + 50 };
    story.at(100, sleep(0x100, 1000)).leaves(110);
    // Neither the wake-up at 1000 nor the switch; the next sleep has its timer elsewhere on the stack.
    story.at(1500, sleep(0x180, 2000)).leaves(1510).wakes(2005).runs(2020);
    assert_eq!((story.samples(), story.wakeups.unseen), (vec![(ByTimer, 2000, 2020)], 1));
}

#[test]
fn a_sleep_that_ended_early_leaves_no_timer() {
    let mut story = Story::new(None);
    let sleep = |timer, due_ns| ThreadEvent::Arm { tid: ME, timer, function: 1, soft_ns: due_ns, hard_ns: due_ns + 50 };
    story.at(100, sleep(0x100, 1000)).leaves(110);
    story.at(500, sleep(0x180, 2000)).leaves(510).wakes(2005).runs(2020);
    assert_eq!(story.samples(), vec![(ByTimer, 2000, 2020)]);
}

#[test]
fn the_first_return_that_is_recorded_may_be_one_of_a_later_call() {
    let mut story = Story::new(None);
    story.arm(100, 1, 1000).leaves(110).wakes(1005);
    story.wakeups.returns_since_ns = 1100;
    story.at(1400, ThreadEvent::Returned { tid: ME }).arm(1500, 1, 2000);
    assert_eq!((story.samples(), story.wakeups.unseen), (Vec::new(), 1));
    story.leaves(1510).wakes(2003).at(2009, ThreadEvent::Returned { tid: ME });
    assert_eq!(story.samples(), [(ByTimer, 2000, 2009)]);
}

#[test]
fn a_wake_up_that_was_due_and_has_not_come_is_under_way() {
    let mut story = Story::new(None);
    story.arm(100, 1, 1000).leaves(110);
    let under_way = |story: &Story, from_ns, until_ns| story.wakeups.under_way(&(from_ns..until_ns));
    assert_eq!([under_way(&story, 0, 1000), under_way(&story, 0, 1001), under_way(&story, 1001, 2000)], [0, 1, 0]);
    story.wakes(1005);
    assert_eq!(under_way(&story, 0, 1001), 1);
    story.runs(1020);
    assert_eq!(under_way(&story, 0, 2000), 0);
}

#[test]
fn being_preempted_is_no_wake_up() {
    let mut story = Story::new(None);
    story.runs(100).leaves(200).runs(300);
    assert_eq!(story.samples(), []);
}

#[test]
fn instants_since_1970_become_monotonic() {
    let mut story = Story::new(None);
    story.wakeups.realtime_offset_ns = 1_700_000_000_000_000_000;
    story.arm(100, 1, 1_700_000_000_000_001_000).leaves(110).wakes(1001).runs(1002);
    assert_eq!(story.samples(), [(ByTimer, 1000, 1002)]);
}

#[test]
fn children_are_followed_and_names_choose_among_them() {
    let mut story = Story::new(Some("work*"));
    story.at(10, ThreadEvent::Fork { parent: ME, child: 11 });
    story.at(20, ThreadEvent::Waking { tid: 11, by: Some(ME) });
    story.at(30, ThreadEvent::Switch { prev: 0, prev_runnable: true, next: 11, next_comm: comm(b"worker") });
    story.leaves(40).wakes(50).runs(60);
    assert_eq!(story.finished.iter().map(|one| one.tid).collect::<Vec<_>>(), [11], "the loop does not fit the pattern");
    story.at(70, ThreadEvent::Exit { tid: 11 });
    assert!(!story.wakeups.knows(11));
    assert_eq!(story.wakeups.living().count(), 0);
}

#[test]
fn after_a_hole_nothing_is_made_up() {
    let mut story = Story::new(None);
    story.arm(100, 1, 1000).leaves(110).at(900, ThreadEvent::Lost { count: 7 }).runs(1020).arm(1500, 1, 2000);
    assert_eq!(story.samples(), []);
    assert_eq!(story.wakeups.lost.get(&1), Some(&7));
}

#[test]
fn timers_of_other_functions_are_none_of_its_own() {
    let mut story = Story::new(None);
    story.arm(100, 99, 1000).leaves(110).wakes(1005).runs(1020);
    assert_eq!(story.samples(), [(ByOther, 1005, 1020)]);
}

#[test]
fn what_was_under_way_when_a_recording_ended_is_as_late_as_its_end() {
    let under_way = |story: &Story, now_ns: i64| {
        let found = story.wakeups.under_way_at(now_ns);
        found.iter().map(|one| (one.kind, one.due_ns, one.seen_ns, one.cpu)).collect::<Vec<_>>()
    };
    let mut story = Story::new(None);
    story.arm(100, 1, 1000).leaves(110).wakes(1005).runs(1020);
    assert_eq!(under_way(&story, 1500), [(Cycle, 1020, 1500, 1)]);
    story.arm(1500, 1, 2000).leaves(1510);
    assert_eq!(under_way(&story, 1900), [], "it sleeps");
    assert_eq!(under_way(&story, 2500), [(ByTimer, 2000, 2500, 1)], "no interrupt came");
    story.wakes(2600);
    assert_eq!(under_way(&story, 2700), [(ByTimer, 2000, 2700, 1)]);
    story.runs(2800).leaves(2900).wakes(3000);
    assert_eq!(under_way(&story, 3100), [(ByOther, 3000, 3100, 1)]);
}
