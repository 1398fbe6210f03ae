//! Replays from any start over any input.

use super::*;
use crate::read::event::Event;

const WINDOW: Window = Window { due_ns: 100, seen_ns: 900, start_ns: 0, end_ns: 1000, lookback_ns: 0 };
const OWN: i32 = 99;

fn event(ts_ns: i64, tid: i32, flags: u8, what: EventKind) -> Event<'static> {
    Event { ts_ns, cpu: 0, tid, flags, depth: 0, what, id: 0, payload: &[] }
}

fn switch(ts_ns: i64, prev: i32, next: i32) -> Event<'static> {
    event(
        ts_ns,
        prev,
        flag::IRQS_OFF,
        EventKind::Switch { prev, prev_prio: Some(120), prev_state: 0, next, next_prio: Some(120) },
    )
}

/// (start, end, context) of a replay that is covered from 0 to 1000.
fn replay(events: &[Event]) -> Vec<(i64, i64, Context)> {
    let mut replay = Replay::new(WINDOW, Some(0), OWN);
    events.iter().for_each(|event| replay.feed(event));
    let intervals = replay.finish(1000);
    assert!(intervals.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
    intervals.into_iter().map(|interval| (interval.start_ns, interval.end_ns, interval.context)).collect()
}

fn task(tid: i32) -> Context {
    Context::Task { tid, function: 0 }
}

#[test]
fn the_first_switch_shows_who_ran_before() {
    assert_eq!(replay(&[switch(400, 7, 8)]), [(0, 400, task(7)), (400, 1000, task(8))]);
}

#[test]
fn an_exit_without_an_entry_shows_the_interrupt_before_it() {
    let vector = Vector::CallFunction;
    let exit = event(300, 7, flag::HARDIRQ, EventKind::VectorExit { vector });
    assert_eq!(replay(&[exit]), [(0, 300, Context::Vector { vector, function: 0 }), (300, 1000, task(7))]);
}

#[test]
fn interrupts_nest_and_name_their_functions() {
    let (timer, device) = (Vector::LocalTimer, Context::Irq { irq: 9, function: 0 });
    let irq = flag::HARDIRQ;
    let intervals = replay(&[
        switch(10, 1, 7),
        event(100, 7, irq, EventKind::VectorEntry { vector: timer }),
        event(150, 7, irq, EventKind::HrtimerExpireEntry { timer: 1, function: 5 }),
        event(200, 7, irq, EventKind::IrqEntry { irq: 9 }),
        event(250, 7, irq, EventKind::IrqExit { irq: 9 }),
        event(300, 7, irq, EventKind::HrtimerExpireExit { timer: 1 }),
        event(350, 7, irq, EventKind::VectorExit { vector: timer }),
    ]);
    let timer = |function| Context::Vector { vector: timer, function };
    let expected = [
        (0, 10, task(1)),
        (10, 100, task(7)),
        (100, 150, timer(0)),
        (150, 200, timer(5)),
        (200, 250, device),
        (250, 300, timer(5)),
        (300, 350, timer(0)),
        (350, 1000, task(7)),
    ];
    assert_eq!(intervals, expected);
}

#[test]
fn a_softirq_stays_with_the_thread_that_is_preempted_in_it() {
    let intervals = replay(&[
        event(100, 22, 0, EventKind::SoftirqEntry { vec: 3 }),
        switch(200, 22, 7),
        switch(300, 7, 22),
        event(400, 22, 0, EventKind::SoftirqExit { vec: 3 }),
    ]);
    let softirq = Context::Softirq { vec: 3, tid: 22, function: 0 };
    let expected =
        [(0, 100, task(22)), (100, 200, softirq), (200, 300, task(7)), (300, 400, softirq), (400, 1000, task(22))];
    assert_eq!(intervals, expected);
}

#[test]
fn a_softirq_that_only_a_flag_shows_ends_with_the_flag() {
    let intervals = replay(&[
        event(100, 22, flag::SOFTIRQ, EventKind::Other),
        event(150, 22, flag::SOFTIRQ | flag::HARDIRQ, EventKind::IrqEntry { irq: 9 }),
        event(160, 22, flag::SOFTIRQ | flag::HARDIRQ, EventKind::IrqExit { irq: 9 }),
        switch(200, 22, 7),
        switch(300, 7, 22),
        event(400, 22, 0, EventKind::Other),
    ]);
    let softirq = Context::Softirq { vec: UNKNOWN_SOFTIRQ, tid: 22, function: 0 };
    let expected = [
        (0, 150, softirq),
        (150, 160, Context::Irq { irq: 9, function: 0 }),
        (160, 200, task(22)),
        (200, 300, task(7)),
        (300, 1000, task(22)),
    ];
    assert_eq!(intervals, expected);
}

#[test]
fn missing_records_leave_a_hole_and_no_guess() {
    let mut replay = Replay::new(WINDOW, Some(0), OWN);
    replay.feed(&event(100, 7, flag::HARDIRQ, EventKind::IrqEntry { irq: 9 }));
    replay.gap();
    replay.feed(&event(600, 8, 0, EventKind::Other));
    let intervals = replay.finish(1000);
    let expected = [(0, 100, task(7)), (600, 1000, task(8))];
    assert_eq!(intervals.iter().map(|i| (i.start_ns, i.end_ns, i.context)).collect::<Vec<_>>(), expected);
}

#[test]
fn an_interrupt_whose_exit_is_missing_is_not_blamed_for_what_follows() {
    let intervals = replay(&[
        event(100, 7, flag::HARDIRQ, EventKind::IrqEntry { irq: 9 }),
        event(200, 7, 0, EventKind::Other),
        event(300, 7, 0, EventKind::Other),
    ]);
    assert_eq!(intervals, [(0, 1000, task(7))]);
}

#[test]
fn an_nmi_takes_its_time_out_of_what_came_before_it() {
    let nmi = event(300, 7, flag::NMI, EventKind::Nmi { handler: 4, delta_ns: 50 });
    let expected = [(0, 250, task(7)), (250, 300, Context::Nmi { handler: 4 }), (300, 1000, task(7))];
    assert_eq!(replay(&[switch(0, 7, 7), nmi]), expected);
}

#[test]
fn idle_knows_its_state_until_it_is_left() {
    let intervals = replay(&[
        event(100, 0, 0, EventKind::Idle { state: 2 }),
        event(500, 0, 0, EventKind::Idle { state: IDLE_EXIT }),
        switch(600, 0, 7),
    ]);
    let idle = |state| Context::Idle { state };
    let expected = [(0, 100, idle(IDLE_EXIT)), (100, 500, idle(2)), (500, 600, idle(IDLE_EXIT)), (600, 1000, task(7))];
    assert_eq!(intervals, expected);
}

#[test]
fn nothing_is_claimed_before_the_first_event_without_coverage() {
    let mut replay = Replay::new(WINDOW, None, OWN);
    replay.feed(&switch(400, 7, 8));
    let first = replay.finish(i64::MIN);
    assert!(first.is_empty());
}

#[test]
fn a_switch_that_was_not_recorded_leaves_a_hole() {
    let mut replay = Replay::new(WINDOW, Some(0), OWN);
    replay.feed(&event(100, 7, 0, EventKind::Other));
    replay.feed(&event(400, 8, 0, EventKind::Other));
    assert_eq!(replay.switches_missing(), 1);
    let intervals = replay.finish(1000);
    let expected = [(0, 100, task(7)), (400, 1000, task(8))];
    assert_eq!(intervals.iter().map(|i| (i.start_ns, i.end_ns, i.context)).collect::<Vec<_>>(), expected);
}
