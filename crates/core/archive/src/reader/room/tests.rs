//! Runs with more records than a reader keeps.

use crate::counters::CounterSecond;
use crate::frame::Item;
use crate::loss::{Loss, LossKind};
use crate::message::Message;
use crate::problem::{Code, Problem, Severity};
use crate::reader::Run;
use crate::sample::Second;

fn read(messages: impl IntoIterator<Item = Message>) -> Run {
    let mut run = Run::default();
    run.take(messages.into_iter().map(Item::Message).collect());
    run
}

fn problem(severity: Severity, text: String) -> Message {
    Message::Problem(Problem { code: Code::default(), severity, text, fix: String::new() })
}

#[test]
fn many_notices_leave_room_for_what_makes_a_run_invalid() {
    let notices = (0..5000).map(|number| problem(Severity::Notice, format!("notice {number}")));
    let run = read(notices.chain([problem(Severity::Invalid, "the clock was set".into())]));
    assert_eq!(run.problems.len(), 1001);
    assert_eq!(run.problems.last().map(|problem| problem.severity), Some(Severity::Invalid));
    assert_eq!(
        run.room.left_out().map(|(part, count)| (part.to_string(), count)).collect::<Vec<_>>(),
        [("notices".into(), 4000)]
    );
}

#[test]
fn long_texts_take_the_room_of_many() {
    let run = read((0..10).map(|_| problem(Severity::Notice, "x".repeat(1 << 20))));
    assert_eq!(run.problems.len(), 1);
}

#[test]
fn the_sum_of_losses_is_exact_whatever_is_left_out() {
    let loss = |detail| Message::Loss(Loss { kind: LossKind::Events, count: 3, detail });
    let run = read((0..5000).map(|number| loss(format!("of buffer {number}"))));
    assert_eq!(run.losses.len(), 1000);
    assert_eq!(run.losses.iter().map(|loss| loss.count).sum::<u64>(), 15_000);
}

#[test]
fn counters_over_the_bound_join_and_count_everything_once() {
    let of = |second: i64| CounterSecond {
        from_ns: second,
        until_ns: second + 1,
        context_switches: Some(1),
        ..CounterSecond::default()
    };
    let run = read((0..300_000).map(|second| Message::Counters(vec![of(second)])));
    assert!(run.counters.len() < 150_000, "{}", run.counters.len());
    assert_eq!(run.counters.iter().filter_map(|second| second.context_switches).sum::<u64>(), 300_000);
    assert!(run.counters.is_sorted_by_key(|second| second.from_ns));
}

#[test]
fn threads_beyond_any_machine_are_left_out() {
    let seconds = (0..20_000).map(|thread| Second { thread, ..Second::default() }).collect();
    assert_eq!(read([Message::Seconds(seconds)]).threads.len(), 16_384);
}
