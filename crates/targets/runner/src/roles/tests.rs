//! Orders of two runs in threads of their own.

use super::*;
use archive::method::MethodRequest;
use archive::reader::Run;
use std::thread;

fn pair() -> (Part, Part) {
    let mut parts = parts([(RunRole::Target, "board"), (RunRole::Stimulus, "pc")]);
    let stimulus = parts.pop().unwrap();
    (parts.pop().unwrap(), stimulus)
}

fn figures(part: &Part) -> RoleFigures {
    Run::default().role_figures(part.role(), "x", MethodRequest::default())
}

#[test]
fn the_answering_side_starts_first_and_ends_last() {
    let (target, stimulus) = pair();
    let stop = StopRequests::default();
    thread::scope(|scope| {
        let answering = scope.spawn(|| {
            target.wait_for_its_turn(&stop).unwrap();
            assert_eq!(target.others(), Others::Measure);
            thread::sleep(LOOK / 2);
            target.measures();
            while target.others() == Others::Measure {
                assert!(target.is_needed());
                thread::sleep(LOOK / 20);
            }
            assert_eq!((target.others(), target.is_needed()), (Others::AreDone, false));
            target.has_measured();
            target.exchange(figures(&target))
        });
        stimulus.wait_for_its_turn(&stop).unwrap();
        assert_eq!(target.shared.members()[0].stage, Stage::Measuring);
        stimulus.measures();
        assert_eq!((stimulus.others(), stimulus.is_needed()), (Others::Measure, false));
        stimulus.has_measured();
        let seen: Vec<RunRole> = stimulus.exchange(figures(&stimulus)).iter().map(|one| one.role).collect();
        assert_eq!(seen, [RunRole::Target]);
        assert_eq!(answering.join().unwrap()[0].role, RunRole::Stimulus);
    });
}

#[test]
fn one_that_fails_lets_no_other_start_and_ends_one_that_measures() {
    let stop = StopRequests::default();
    let (target, stimulus) = pair();
    stimulus.has_failed("no port".into());
    let problem = target.wait_for_its_turn(&stop).unwrap_err();
    assert_eq!(
        problem,
        RoleProblem::NotStarted { role: RunRole::Stimulus, target: "pc".into(), why: Some("no port".into()) }
    );
    assert_eq!(target.failure_of_another().map(|(_, _, why)| why).as_deref(), Some("no port"));

    let (target, stimulus) = pair();
    target.measures();
    stimulus.measures();
    // As after a panic of its thread.
    drop(target);
    assert_eq!(stimulus.others(), Others::AreMissing);
    assert_eq!(stimulus.exchange(figures(&stimulus)), []);
}

#[test]
fn a_stop_request_ends_every_wait_for_a_turn() {
    let (target, stimulus) = pair();
    let stop = StopRequests::default();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| stimulus.wait_for_its_turn(&stop));
        stop.request();
        assert_eq!(waiting.join().unwrap(), Err(RoleProblem::Stopped));
    });
    assert_eq!(target.wait_for_its_turn(&stop), Err(RoleProblem::Stopped));
}
