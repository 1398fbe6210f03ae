//! Facts of the marks in the picture of a corpus case.

use crate::corpus;
use archive::culprit::{KernelPriority, TaskName};
use archive::mark::{Mark, MarkedEvent};
use fixtures::repository::repository_path;

#[test]
fn a_mark_has_its_event_its_task_and_its_cpu() {
    let explanation = corpus::run(&repository_path("corpus/explain/boosted-task")).unwrap().explanation;
    let task = |tid, comm: &str| TaskName { tid, comm: comm.into() };
    let boosted = |old, new| MarkedEvent::Boosted {
        task: task(300, "holder"),
        old_priority: KernelPriority(old),
        new_priority: KernelPriority(new),
    };
    let expected = [
        Mark::new(-500_000, 0, boosted(89, 4)),
        Mark::new(3200, 1, MarkedEvent::Woken { by: task(300, "holder") }),
        Mark::new(2_005_000, 1, boosted(4, 89)),
        Mark::new(2_010_000, 1, MarkedEvent::GivenCpu),
    ];
    let without_words = |mark: Mark| Mark { text: String::new(), ..mark };
    assert_eq!(explanation.marks.into_iter().map(without_words).collect::<Vec<_>>(), expected);
}
