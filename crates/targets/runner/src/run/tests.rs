//! Whole runs on the fake target: nothing waits, every ending is covered.

mod lying;

use super::*;
use archive::frame::Encoder;
use archive::histogram::Histogram;
use archive::message::{Ending, FileKind, Message, Problem, Severity, ThreadProgress};
use archive::problem::Code;
use archive::reader::Run;
use archive::sample::Totals;
use archive::summary::RunSummary;
use machines::fake::{FakeLog, FakeTarget, Script, Step};
use machines::{Exit, Output};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

fn phase(phase: RunPhase, monotonic_ns: i64) -> Message {
    Message::Phase { phase, monotonic_ns }
}

fn progress() -> Message {
    let thread =
        ThreadProgress { thread: 0, cpu: 0, cycles: 10, latency_ns_last: 5, latency_ns_max: 9, missed_periods: 0 };
    Message::Progress { threads: vec![thread], snapshots: 0 }
}

fn totals() -> Message {
    let totals =
        Totals { cycles: 3, latency_ns_min: Some(5), latency_ns_max: Some(9), latency_ns_sum: 21, ..Totals::default() };
    Message::Thread {
        thread: 0,
        cpu: 0,
        totals,
        histogram: Histogram { buckets: vec![(5, 1), (7, 1), (9, 1)] },
        worst: vec![],
    }
}

fn end(ending: Ending) -> Message {
    Message::End { ending, monotonic_ns: 9_000_000_000 }
}

fn hello() -> Message {
    Message::Hello {
        stream_version: archive::STREAM_VERSION,
        meter_version: "0".into(),
        pid: 42,
        boot_id: "boot".into(),
        realtime_ns: 5,
        monotonic_ns: 1,
    }
}

/// Converts messages to steps of one numbered stream, which begins with a greeting.
struct Stream(Encoder, Vec<u8>);

impl Stream {
    fn new() -> Self {
        let mut encoder = Encoder::default();
        let greeting = encoder.message(&hello());
        Self(encoder, greeting)
    }

    fn say(&mut self, messages: &[Message]) -> Step {
        let mut bytes = std::mem::take(&mut self.1);
        bytes.extend(messages.iter().flat_map(|message| self.0.message(message)));
        Step::Say(bytes)
    }
}

struct Ran {
    outcome: RunOutcome,
    events: Vec<Event>,
    log: Rc<RefCell<FakeLog>>,
    archive: Run,
    _folder: tempfile::TempDir,
}

impl Ran {
    fn problem(&self) -> &str {
        self.outcome.problem.as_ref().map_or("", |problem| &problem.text)
    }

    fn code(&self) -> &str {
        self.outcome.problem.as_ref().map_or("", |problem| problem.code.as_str())
    }
}

fn request(directory: &Path) -> RunRequest {
    let settings = RunSettings { duration_ns: Some(2_000_000_000), ..RunSettings::default() };
    RunRequest {
        id: "test".into(),
        directory: directory.to_owned(),
        command: vec!["tardy".into(), "run".into()],
        tool_version: "0".into(),
        meter: "/meter".into(),
        limits: TimeLimits::of(&settings, Duration::from_secs(20)),
        settings,
    }
}

fn ran(steps: Vec<Step>, exit: Exit) -> Ran {
    ran_with(steps, exit, |_, _| {})
}

/// Runs the script; a second command, if one is started, is a restore that restored one setting.
fn ran_with(steps: Vec<Step>, exit: Exit, on_event: impl Fn(&Event, &StopRequests)) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let restore = Script { steps: vec![Step::Say(b"put back x\n".to_vec())], exit: Exit::Code(0) };
    let mut target = FakeTarget::new([Script { steps, exit }, restore]);
    let log = Rc::clone(&target.log);
    let stop = StopRequests::default();
    let mut events = Vec::new();
    let outcome = run(&mut target, &request(&folder.path().join("archive")), &stop, &mut |event| {
        on_event(&event, &stop);
        events.push(event);
    })
    .unwrap();
    let archive = Run::open(&outcome.directory).unwrap();
    Ran { outcome, events, log, archive, _folder: folder }
}

#[test]
fn a_normal_run_is_complete_and_valid() {
    let mut stream = Stream::new();
    let steps = vec![
        stream.say(&[phase(RunPhase::Prepare, 1), phase(RunPhase::Measure, 2_000_000_000), progress()]),
        Step::Pass(Duration::from_secs(2)),
        stream.say(&[
            phase(RunPhase::Collect, 4_000_000_000),
            totals(),
            phase(RunPhase::Restore, 5),
            end(Ending::Complete),
        ]),
    ];
    let ran = ran(steps, Exit::Code(0));
    assert_eq!(ran.outcome.state, RunState::Complete);
    let summary = RunSummary::of(&ran.archive, &[]);
    assert!(summary.valid, "{:?}", summary.invalid_because);
    assert_eq!(summary.measured_ns, Some(2_000_000_000));
    assert_eq!(summary.all_cpus.max, Some(9));
    assert_eq!(ran.events.first(), Some(&Event::Phase(RunPhase::Check)));
    assert!(matches!(ran.events.last(), Some(Event::Archived { state: RunState::Complete, .. })));
    let log = ran.log.borrow();
    assert_eq!(log.started.len(), 1, "a meter that ended well needs no restore");
    assert_eq!(log.started[0].arguments, ["measure"]);
    let sent: RunSettings = serde_json::from_slice(&log.input).unwrap();
    assert_eq!(sent.duration_ns, Some(2_000_000_000));
    assert!(log.closed);
    assert!(!ran.outcome.directory.join("reserve.partial").exists());
}

#[test]
fn a_meter_that_dies_fails_the_run_and_its_settings_are_put_back() {
    let mut stream = Stream::new();
    let steps = vec![
        stream.say(&[phase(RunPhase::Measure, 2), progress(), totals()]),
        Step::Complain("thread 'main' panicked".into()),
    ];
    let ran = ran(steps, Exit::Signal(6));
    assert_eq!(ran.outcome.state, RunState::Failed);
    assert!(ran.problem().contains("measure") && ran.problem().contains("signal 6"), "{}", ran.problem());
    assert!(ran.problem().contains("panicked"));
    assert!(ran.events.contains(&Event::Restored { lines: vec!["put back x".into()] }));
    assert_eq!(ran.log.borrow().started[1].arguments, ["restore"]);
    assert_eq!(RunSummary::of(&ran.archive, &[]).cpus[0].cycles, 3, "what was measured is kept");
}

#[test]
fn garbage_on_the_line_is_counted_and_the_run_goes_on() {
    let mut stream = Stream::new();
    let steps = vec![
        stream.say(&[phase(RunPhase::Measure, 2)]),
        Step::Say(b"[  12.3] random: crng init done\n".to_vec()),
        stream.say(&[totals(), end(Ending::Complete)]),
    ];
    let ran = ran(steps, Exit::Code(0));
    assert_eq!(ran.outcome.state, RunState::Complete);
    assert_eq!(ran.archive.losses.len(), 1);
    assert_eq!(ran.archive.losses[0].count, 32);
    assert!(ran.events.iter().any(|event| matches!(event, Event::Loss(_))));
}

#[test]
fn a_silent_meter_is_asked_then_killed() {
    let mut stream = Stream::new();
    let ran = ran(vec![stream.say(&[phase(RunPhase::Measure, 2), totals()]), Step::Hang], Exit::Code(0));
    assert_eq!(ran.outcome.state, RunState::Failed);
    assert_eq!(ran.code(), "run.silent", "{}", ran.problem());
    let log = ran.log.borrow();
    assert!(log.input.ends_with(b"stop\n"));
    assert_eq!(log.kills, 1);
    assert_eq!(log.started.len(), 2, "restored after the kill");
}

#[test]
fn traces_of_a_short_run_on_this_machine_are_stored_after_its_measurement() {
    let minutes = |count: u64| Some(count * 60_000_000_000);
    for (here, duration_ns) in [(true, minutes(10)), (true, minutes(11)), (true, None), (false, minutes(10))] {
        let mut stream = Stream::new();
        let trace = [
            Message::FileBegin { file: 1, kind: FileKind::SpikeTrace { spike: 1 } },
            Message::FileEnd { file: 1, bytes: 0 },
        ];
        let steps = vec![
            stream.say(&[phase(RunPhase::Measure, 2)]),
            stream.say(&trace),
            stream.say(&[progress(), phase(RunPhase::Collect, 3), totals(), end(Ending::Complete)]),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        let stored = path.join("spikes/0001/trace.dat");
        let mut target = FakeTarget::new([Script { steps, exit: Exit::Code(0) }]);
        target.here = here;
        let mut while_measuring = None;
        let mut request = request(&path);
        request.settings.duration_ns = duration_ns;
        let outcome = run(&mut target, &request, &StopRequests::default(), &mut |event| {
            if matches!(event, Event::Progress { .. }) {
                while_measuring = Some(stored.exists());
            }
        });
        assert_eq!(
            (outcome.unwrap().state, while_measuring, stored.exists()),
            (RunState::Complete, Some(!here || duration_ns != minutes(10)), true)
        );
    }
}

#[test]
fn a_host_that_stood_still_does_not_blame_the_meter() {
    let mut stream = Stream::new();
    let steps = vec![
        stream.say(&[phase(RunPhase::Load, 1)]),
        Step::Suspend(Duration::from_secs(3600)),
        stream.say(&[phase(RunPhase::Measure, 2), progress()]),
        Step::Suspend(Duration::from_secs(3600)),
        stream.say(&[totals(), end(Ending::Complete)]),
    ];
    let ran = ran(steps, Exit::Code(0));
    assert_eq!((ran.outcome.state, ran.problem()), (RunState::Complete, ""));
    assert_eq!(ran.log.borrow().kills, 0);
}

#[test]
fn endless_garbage_counts_as_silence() {
    let mut stream = Stream::new();
    let mut steps = vec![stream.say(&[phase(RunPhase::Measure, 2)])];
    for _ in 0..100 {
        steps.push(Step::Say(b"noise".to_vec()));
        steps.push(Step::Pass(Duration::from_secs(1)));
    }
    steps.push(Step::Hang);
    let ran = ran(steps, Exit::Code(0));
    assert_eq!(ran.code(), "run.silent", "{}", ran.problem());
}

#[test]
fn a_measurement_that_never_ends_is_given_up_although_frames_come() {
    let mut stream = Stream::new();
    let mut steps = vec![stream.say(&[phase(RunPhase::Measure, 2)])];
    for _ in 0..1000 {
        steps.push(stream.say(&[progress()]));
        steps.push(Step::Pass(Duration::from_millis(100)));
    }
    let ran = ran(steps, Exit::Code(0));
    assert_eq!(ran.code(), "run.phase-too-long", "{}", ran.problem());
    assert!(ran.problem().contains(" 62 s"), "{}", ran.problem());
}

#[test]
fn one_request_stops_and_the_archive_is_interrupted() {
    let mut stream = Stream::new();
    let steps = vec![
        stream.say(&[phase(RunPhase::Measure, 2), progress()]),
        Step::Await("stop".into()),
        stream.say(&[totals(), end(Ending::Stopped)]),
    ];
    let ran = ran_with(steps, Exit::Code(0), |event, stop| {
        if matches!(event, Event::Progress { .. }) {
            stop.request();
        }
    });
    assert_eq!(ran.outcome.state, RunState::Interrupted);
    assert!(RunSummary::of(&ran.archive, &[]).valid);
    assert_eq!(ran.log.borrow().kills, 0);
}

#[test]
fn a_second_request_kills_and_names_the_fix() {
    let mut stream = Stream::new();
    let steps = vec![stream.say(&[phase(RunPhase::Measure, 2), progress()]), Step::Hang];
    let ran = ran_with(steps, Exit::Code(0), |event, stop| {
        if matches!(event, Event::Progress { .. } | Event::Stopping { .. }) {
            stop.request();
        }
    });
    assert_eq!(ran.outcome.state, RunState::Interrupted);
    assert!(ran.problem().contains("tardy target restore"), "{}", ran.problem());
    assert_eq!(ran.log.borrow().kills, 1);
    assert_eq!(ran.log.borrow().started.len(), 1, "the person decides when to restore");
}

#[test]
fn a_refusal_of_the_meter_is_the_reason_of_the_failure() {
    let mut stream = Stream::new();
    let refusal = Message::Problem(Problem {
        code: Code::new("meter.not-permitted"),
        severity: Severity::Invalid,
        text: "SCHED_FIFO refused".into(),
        fix: "sudo tardy run".into(),
    });
    let ran = ran(vec![stream.say(&[refusal, end(Ending::Failed)])], Exit::Code(3));
    assert_eq!(ran.outcome.state, RunState::Failed);
    assert_eq!(ran.problem(), "SCHED_FIFO refused");
    assert_eq!(ran.outcome.problem.unwrap().code, "meter.not-permitted");
}

#[test]
fn a_meter_of_a_newer_version_is_refused() {
    let mut stream = Stream::new();
    let hello = Message::Hello {
        stream_version: archive::STREAM_VERSION + 1,
        meter_version: "9".into(),
        pid: 1,
        boot_id: String::new(),
        realtime_ns: 0,
        monotonic_ns: 0,
    };
    let steps = vec![stream.say(&[hello]), Step::Await("stop".into()), stream.say(&[end(Ending::Stopped)])];
    let ran = ran(steps, Exit::Code(0));
    assert_eq!(ran.outcome.state, RunState::Failed);
    assert!(ran.problem().contains("stream version 2"), "{}", ran.problem());
}

#[test]
fn a_meter_that_stays_after_its_last_word_is_killed_but_believed() {
    let mut stream = Stream::new();
    let steps = vec![stream.say(&[phase(RunPhase::Measure, 2), totals(), end(Ending::Complete)]), Step::Hang];
    let ran = ran(steps, Exit::Code(0));
    assert_eq!(ran.outcome.state, RunState::Complete);
    assert_eq!(ran.log.borrow().kills, 1);
}

#[test]
fn a_meter_that_cannot_be_started_leaves_an_archive_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut target = FakeTarget::default();
    let stop = StopRequests::default();
    let outcome = run(&mut target, &request(folder.path()), &stop, &mut |_| {}).unwrap();
    assert_eq!(outcome.state, RunState::Failed);
    assert!(outcome.problem.unwrap().text.contains("/meter"));
}

#[test]
fn a_target_that_refuses_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("archive");
    let mut target = FakeTarget { refusal: Some("no power".into()), ..FakeTarget::default() };
    let error = run(&mut target, &request(&directory), &StopRequests::default(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("no power"));
    assert!(!directory.exists());
}

#[test]
fn a_disk_that_cannot_take_a_file_stops_the_run_and_keeps_the_totals() {
    let mut stream = Stream::new();
    let file = Message::FileBegin { file: 1, kind: FileKind::SpikeTrace { spike: 1 } };
    let steps = vec![
        stream.say(&[phase(RunPhase::Measure, 2), progress()]),
        stream.say(&[file]),
        Step::Await("stop".into()),
        stream.say(&[totals(), end(Ending::Stopped)]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("archive");
    let mut target = FakeTarget::new([Script { steps, exit: Exit::Code(0) }]);
    let log = Rc::clone(&target.log);
    let outcome = run(&mut target, &request(&directory), &StopRequests::default(), &mut |event| {
        if matches!(event, Event::Progress { .. }) {
            // A file in place of a directory: the write fails as on a broken disk.
            std::fs::write(directory.join("spikes"), "").unwrap();
        }
    })
    .unwrap();
    assert_eq!(outcome.state, RunState::Failed);
    assert!(outcome.problem.unwrap().text.contains("spikes"));
    assert!(log.borrow().input.ends_with(b"stop\n"));
    let archive = Run::open(&directory).unwrap();
    assert_eq!(archive.threads[&0].totals.cycles, 3);
    assert_eq!(archive.manifest.unwrap().state, RunState::Failed);
}

#[test]
fn a_console_that_cannot_be_stored_is_noted_and_the_run_is_whole() {
    let mut stream = Stream::new();
    let steps = vec![stream.say(&[phase(RunPhase::Measure, 2), progress(), totals(), end(Ending::Complete)])];
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("archive");
    let mut target = FakeTarget::new([Script { steps, exit: Exit::Code(0) }]);
    target.console = b"hello".to_vec();
    let outcome = run(&mut target, &request(&directory), &StopRequests::default(), &mut |event| {
        if matches!(event, Event::Progress { .. }) {
            // A directory in its place: the write fails as on a full disk.
            std::fs::create_dir_all(directory.join("console.log/x")).unwrap();
        }
    })
    .unwrap();
    assert_eq!(outcome.state, RunState::Complete);
    let archive = Run::open(&directory).unwrap();
    assert_eq!(archive.manifest.unwrap().state, RunState::Complete);
    assert!(archive.problems.iter().any(|problem| problem.code == "run.console-not-written"));
}

#[test]
fn the_fake_clock_moves_only_as_scripted() {
    let script = Script { steps: vec![Step::Pass(Duration::from_secs(3600)), Step::Say(vec![1])], exit: Exit::Code(0) };
    let mut target = FakeTarget::new([script]);
    let mut command = target.start(&Command { program: "x".into(), arguments: vec![] }).unwrap();
    assert_eq!(command.read(Duration::from_secs(10_000)), Output::Quiet);
    assert_eq!(command.elapsed(), Duration::from_secs(3600));
    assert_eq!(command.read(Duration::ZERO), Output::Bytes(vec![1]));
}
