//! Facts about the other CPUs of corpus cases.

use crate::corpus;
use archive::culprit::{Holder, TaskName};
use archive::other_cpus::{HeldFor, OtherCpus};
use fixtures::repository::repository_path;

fn facts(case: &str) -> Vec<OtherCpus> {
    let directory = repository_path("corpus/explain").join(case);
    corpus::run(&directory).unwrap_or_else(|why| panic!("{case}: {why}")).explanation.elsewhere_facts
}

#[test]
fn an_idle_cpu_is_counted() {
    assert_eq!(facts("boosted-task"), [OtherCpus::Idle { cpus: 1 }]);
}

#[test]
fn a_waker_on_another_cpu_comes_before_the_holders_of_its_cpu() {
    let make = TaskName { tid: 430, comm: "make".into() };
    let who = Holder::Task { task: make.clone(), function: None };
    let expected = [
        OtherCpus::WokeThread { waker: make, cpu: 0, after_ns: 4400, runnable_on: 1, runnable_after_ns: 100_100 },
        OtherCpus::Held { cpu: 0, by: vec![HeldFor { who, ns: 110_000 }] },
    ];
    assert_eq!(facts("migration"), expected);
}
