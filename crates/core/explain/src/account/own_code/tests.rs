//! Late cycles of a made-up robot, and of any threads.

use super::*;
use archive::stacks::ThreadSwitch;
use proptest::prelude::*;

const MS: i64 = 1_000_000;
const START: u32 = 0;
const LOOP: u32 = 1;
const UPDATE: u32 = 2;
const RESIZE: u32 = 3;
const SEND: u32 = 4;

fn function(name: &str) -> CodeName {
    CodeName::Function { name: name.into(), file: "/robot".into() }
}

fn names() -> Vec<CodeName> {
    ["start", "loop", "update_controllers", "std::vector::resize", "send"].map(function).into()
}

/// Outermost first.
fn sample(ts_ns: i64, frames: &[u32]) -> StackSample {
    StackSample { ts_ns, frames: frames.iter().rev().copied().collect(), is_complete: true }
}

/// A thread with a cycle of 10 ms that runs 1 ms: 0.2 ms of it in `update_controllers` and 0.8 ms in `send`. The cycle at 100 ms takes
/// 4 ms: `slow` has the innermost function of its samples every 0.2 ms.
fn robot(slow: &[u32], usual: &[&[u32]]) -> NamedStacks {
    let (mut samples, mut switches) = (Vec::new(), Vec::new());
    for cycle in 0..10 {
        let begin = cycle * 10 * MS;
        switches.push(ThreadSwitch { ts_ns: begin, kind: SwitchKind::In });
        samples.extend(usual.iter().zip(1..).map(|(frames, at)| sample(begin + at * MS / 10, frames)));
        switches.push(ThreadSwitch { ts_ns: begin + MS, kind: SwitchKind::Slept });
    }
    switches.push(ThreadSwitch { ts_ns: 100 * MS, kind: SwitchKind::In });
    let stack = |innermost: u32| match innermost {
        RESIZE => vec![START, LOOP, UPDATE, RESIZE],
        other => vec![START, LOOP, other],
    };
    samples.extend(slow.iter().zip(0..).map(|(frame, at)| sample(100 * MS + at * MS / 5, &stack(*frame))));
    switches.push(ThreadSwitch { ts_ns: 104 * MS, kind: SwitchKind::Slept });
    NamedStacks { period_ns: MS / 5, names: names(), samples, switches, departures: Vec::new() }
}

fn times(stacks: &NamedStacks) -> Times<'_> {
    Times::new(stacks, &Runs::of(stacks), &(100 * MS..104 * MS), WatchedKind::Cycle).unwrap()
}

const USUAL: [&[u32]; 5] =
    [&[START, LOOP, UPDATE], &[START, LOOP, SEND], &[START, LOOP, SEND], &[START, LOOP, SEND], &[START, LOOP, SEND]];

#[test]
fn the_function_with_the_additional_time_is_named_below_the_part_of_the_cycle_that_called_it() {
    let late = [[RESIZE; 15].as_slice(), &[UPDATE], &[SEND; 4]].concat();
    let stacks = robot(&late, &USUAL);
    let slow = times(&stacks).slow(&stacks).unwrap();
    assert_eq!(slow.outer, CodeTime { code: function("update_controllers"), ns: 3_200_000, usual_ns: Some(200_000) });
    assert_eq!(slow.inner, Some(CodeTime { code: function("std::vector::resize"), ns: 3 * MS, usual_ns: Some(0) }));
    assert_eq!((slow.samples.late, slow.samples.usual, slow.samples.usual_runs), (20, 45, 9));
    let functions = times(&stacks).functions(&stacks);
    assert_eq!(functions.iter().map(|time| time.ns).sum::<i64>(), 4 * MS, "the functions share the time on the CPU");
    assert_eq!(functions[0].code, function("std::vector::resize"));
    let (names, folded) = times(&stacks).folded(&stacks);
    let of = |frames: &[u32]| frames.iter().map(|frame| names[*frame as usize].clone()).collect::<Vec<_>>();
    let most = &folded[0];
    assert_eq!((of(&most.frames), most.late, most.usual), (["start", "loop", "send"].map(function).into(), 4, 36));
    assert_eq!(
        folded.iter().map(|stack| (stack.late, stack.usual)).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)),
        (20, 45)
    );
}

#[test]
fn a_function_that_is_ordinarily_the_whole_cycle_is_named_itself() {
    let stacks = robot(&[UPDATE; 20], &[&[START, LOOP, UPDATE], &[START, LOOP, UPDATE]]);
    let slow = times(&stacks).slow(&stacks).unwrap();
    assert_eq!(slow.outer, CodeTime { code: function("update_controllers"), ns: 4 * MS, usual_ns: Some(MS) });
    assert_eq!(slow.inner, None);
}

#[test]
fn without_an_ordinary_sample_the_function_itself_is_named() {
    let stacks = robot(&[RESIZE; 20], &[]);
    let slow = times(&stacks).slow(&stacks).unwrap();
    assert_eq!((slow.outer.code, slow.outer.usual_ns, slow.inner), (function("std::vector::resize"), Some(0), None));
}

#[test]
fn a_cycle_that_took_no_longer_blames_no_function_and_one_sample_is_too_few() {
    let mut stacks = robot(&[RESIZE], &USUAL);
    assert_eq!(times(&stacks).slow(&stacks), None);
    stacks = robot(&[UPDATE, SEND, SEND, SEND, SEND], &USUAL);
    let end = stacks.switches.last_mut().unwrap();
    end.ts_ns = 101 * MS;
    assert_eq!(times(&stacks).slow(&stacks), None);
}

#[test]
fn time_in_the_kernel_belongs_to_the_function_that_entered_it() {
    let mut stacks = robot(&[RESIZE; 20], &USUAL);
    stacks.names.push(CodeName::Kernel);
    let kernel = stacks.names.len() as u32 - 1;
    let late = stacks.samples.iter_mut().filter(|sample| sample.ts_ns >= 100 * MS);
    late.for_each(|sample| sample.frames.insert(0, kernel));
    let slow = times(&stacks).slow(&stacks).unwrap();
    assert_eq!(slow.inner, Some(CodeTime { code: function("std::vector::resize"), ns: 4 * MS, usual_ns: Some(0) }));
    assert_eq!(times(&stacks).functions(&stacks)[0].code, CodeName::Kernel);
}

#[test]
fn time_in_an_interpreter_belongs_to_the_function_that_it_executes() {
    let mut stacks = robot(&[RESIZE; 20], &USUAL);
    stacks.names[RESIZE as usize] = CodeName::Generated { name: "py::resize:/robot.py".into() };
    stacks.names.push(function("_PyEval_EvalFrameDefault"));
    let interpreter = stacks.names.len() as u32 - 1;
    let late = stacks.samples.iter_mut().filter(|sample| sample.ts_ns >= 100 * MS);
    late.for_each(|sample| sample.frames.insert(0, interpreter));
    let resize = CodeTime { code: stacks.names[RESIZE as usize].clone(), ns: 4 * MS, usual_ns: Some(0) };
    assert_eq!(times(&stacks).slow(&stacks).unwrap().inner, Some(resize.clone()));
    assert_eq!(times(&stacks).functions(&stacks)[0], resize);
}

#[test]
fn stacks_that_are_cut_at_different_callers_still_name_the_function() {
    let mut stacks = robot(&[RESIZE; 20], &USUAL);
    let late = stacks.samples.iter_mut().filter(|sample| sample.ts_ns >= 100 * MS);
    for (number, sample) in late.enumerate() {
        sample.frames.truncate(1 + number % 3);
        sample.is_complete = false;
    }
    let slow = times(&stacks).slow(&stacks).unwrap();
    let named = slow.inner.as_ref().unwrap_or(&slow.outer);
    assert_eq!(*named, CodeTime { code: function("std::vector::resize"), ns: 4 * MS, usual_ns: Some(0) });
}

#[test]
fn a_late_run_before_this_one_is_not_ordinary() {
    let mut stacks = robot(&[RESIZE; 20], &USUAL);
    let ends = stacks.switches.iter_mut().find(|switch| switch.ts_ns == 51 * MS).unwrap();
    ends.ts_ns = 54 * MS;
    stacks.samples.extend((52..54).map(|at| sample(at * MS, &[START, LOOP, UPDATE, RESIZE])));
    stacks.samples.sort_by_key(|sample| sample.ts_ns);
    let slow = times(&stacks).slow(&stacks).unwrap();
    assert_eq!((slow.samples.usual_runs, slow.samples.usual), (8, 40));
    assert_eq!(slow.inner.unwrap().usual_ns, Some(0));
}

#[test]
fn few_runs_before_the_late_one_are_not_compared() {
    let mut stacks = robot(&[RESIZE; 20], &USUAL);
    stacks.samples.retain(|sample| sample.ts_ns > 85 * MS);
    stacks.switches.retain(|switch| switch.ts_ns > 85 * MS);
    let times = times(&stacks);
    assert_eq!((times.counts.usual_runs, times.usual_ns), (0, None));
    assert_eq!(times.slow(&stacks).unwrap().outer.usual_ns, None);
}

#[test]
fn a_thread_that_never_slept_ran_all_the_time() {
    let stacks = NamedStacks {
        samples: vec![sample(5, &[START]), sample(9, &[START])],
        names: names(),
        ..NamedStacks::default()
    };
    assert_eq!(Runs::of(&stacks).ran_ns(&(6..9)), 3);
}

const SCHEDULE: u32 = 5;

/// The robot, whose late cycle sleeps at 101 ms for 2 ms, at 103.2 ms for 0.3 ms and is over at 104 ms.
fn sleeper() -> NamedStacks {
    let mut stacks = robot(&[UPDATE; 5], &USUAL);
    stacks.names.push(CodeName::KernelFunction { name: "schedule".into() });
    stacks.switches.pop();
    let turns = [(101_000, SwitchKind::Slept), (103_000, SwitchKind::In), (103_200, SwitchKind::Slept)];
    let ends = [(103_500, SwitchKind::In), (103_700, SwitchKind::Preempted), (103_800, SwitchKind::In)];
    let switch = |(us, kind): (i64, SwitchKind)| ThreadSwitch { ts_ns: us * 1000, kind };
    stacks.switches.extend(turns.into_iter().chain(ends).map(switch));
    stacks.switches.push(ThreadSwitch { ts_ns: 104 * MS, kind: SwitchKind::Slept });
    let leaving = [(100_999, UPDATE), (103_199, SEND), (103_699, SEND), (103_999, LOOP)];
    let of = |(us, function): (i64, u32)| sample(us * 1000, &[START, LOOP, function, SCHEDULE]);
    stacks.departures = leaving.into_iter().map(of).collect();
    stacks
}

#[test]
fn the_places_of_the_sleeps_in_a_late_cycle_are_named_longest_first() {
    let stacks = sleeper();
    let found = waits(&stacks, &(100 * MS..104 * MS), WatchedKind::Cycle);
    assert_eq!(found.iter().map(|wait| (wait.ns, wait.count)).collect::<Vec<_>>(), [(2 * MS, 1), (300_000, 1)]);
    assert_eq!(
        found[0].frames[..2],
        [CodeName::KernelFunction { name: "schedule".into() }, function("update_controllers")]
    );
    assert_eq!(found[1].frames[1], function("send"));
}

#[test]
fn the_sleep_from_which_a_late_wake_up_woke_the_thread_is_not_a_place_in_its_program() {
    let stacks = sleeper();
    let found = waits(&stacks, &(100 * MS..103_500_000), WatchedKind::Timer);
    assert_eq!(found.iter().map(|wait| wait.ns).collect::<Vec<_>>(), [2 * MS]);
}

#[test]
fn a_sleep_without_a_stack_of_its_own_has_no_place() {
    let mut stacks = sleeper();
    stacks.departures.retain(|departure| departure.ts_ns < 101 * MS);
    assert_eq!(waits(&stacks, &(100 * MS..104 * MS), WatchedKind::Cycle).len(), 1);
}

proptest! {
    #[test]
    fn any_samples_share_the_time_of_the_thread(
        samples: Vec<(i64, Vec<u8>)>, switches: Vec<(i64, u8)>, from: i64, to: i64, period_ns: i64,
    ) {
        let mut samples: Vec<StackSample> = samples
            .into_iter()
            .filter(|(_, frames)| !frames.is_empty())
            .map(|(ts_ns, frames)| StackSample { ts_ns, frames: frames.into_iter().map(u32::from).collect(), is_complete: false })
            .collect();
        samples.sort_by_key(|sample| sample.ts_ns);
        let kinds = [SwitchKind::In, SwitchKind::Preempted, SwitchKind::Slept];
        let mut switches: Vec<ThreadSwitch> =
            switches.into_iter().map(|(ts_ns, kind)| ThreadSwitch { ts_ns, kind: kinds[usize::from(kind) % 3] }).collect();
        switches.sort_by_key(|switch| switch.ts_ns);
        let departures = samples.clone();
        let stacks = NamedStacks { period_ns, names: names(), samples, switches, departures };
        let slept = waits(&stacks, &(from..to), WatchedKind::Woken);
        prop_assert!(slept.len() <= WAITS_MAX && slept.iter().all(|wait| wait.count > 0 && wait.ns >= 0));
        if let Some(times) = Times::new(&stacks, &Runs::of(&stacks), &(from..to), WatchedKind::Timer) {
            let shared: i64 = times.functions(&stacks).iter().map(|time| time.ns).sum();
            prop_assert!(shared <= times.late_ns);
            let _ = times.slow(&stacks);
            let (names, folded) = times.folded(&stacks);
            prop_assert!(folded.iter().flat_map(|stack| &stack.frames).all(|frame| (*frame as usize) < names.len()));
        }
    }
}
