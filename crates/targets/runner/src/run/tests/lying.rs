//! Meters that send more than their run can.

use super::*;
use archive::histogram::Histogram;
use archive::sample::Second;
use archive::spike::{Spike, SpikeReason};
use archive::tracer::LatencyTrace;
use std::fs;

fn spike(number: u32) -> Message {
    let sample = archive::sample::Sample { cpu: 0, cycle: 7, due_ns: 3_000_000_000, latency_ns: 1000 };
    Message::Spike(Box::new(Spike::new(number, 0, 43, sample, SpikeReason::NewMaximum)))
}

fn problem(_: u32) -> Message {
    let text = "a load of words ".repeat(32);
    Message::Problem(Problem { code: Code::default(), severity: Severity::Notice, text, fix: String::new() })
}

fn thread(thread: u32) -> Message {
    let histogram = Histogram { buckets: (0..500).map(|bucket| (bucket, 1)).collect() };
    Message::Thread { thread, cpu: thread, totals: Totals::default(), histogram, worst: vec![] }
}

fn begun(file: u32) -> Message {
    Message::FileBegin { file, kind: FileKind::SpikeTrace { spike: file } }
}

fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| if entry.path().is_dir() { bytes_below(&entry.path()) } else { entry.metadata().unwrap().len() })
        .sum()
}

/// Runs a meter that measures on one CPU and then sends this without an end.
fn flooded(flood: impl Fn(&mut Encoder, u32) -> Vec<u8>) -> Ran {
    let mut stream = Stream::new();
    let mut steps = vec![stream.say(&[phase(RunPhase::Measure, 2), progress()])];
    let mut sent = 0;
    for number in 1.. {
        let bytes = flood(&mut stream.0, number);
        sent += bytes.len();
        steps.push(Step::Say(bytes));
        if sent > 48 << 20 || number == 200_000 {
            break;
        }
    }
    steps.push(Step::Hang);
    let folder = tempfile::tempdir().unwrap();
    let restore = Script { steps: vec![], exit: Exit::Code(0) };
    let mut target = FakeTarget::new([Script { steps, exit: Exit::Code(0) }, restore]);
    let log = Rc::clone(&target.log);
    let mut request = request(&folder.path().join("archive"));
    request.settings.cpus = Some(vec![0]);
    request.settings.trace.budget_bytes = 1 << 20;
    request.settings.trace.controls = 0;
    let outcome = run(&mut target, &request, &StopRequests::default(), &mut |_| {}).unwrap();
    let archive = Run::open(&outcome.directory).unwrap();
    Ran { outcome, events: vec![], log, archive, _folder: folder }
}

fn assert_ended(ran: &Ran, words: &str) {
    assert_eq!(ran.outcome.state, RunState::Failed, "{words}");
    assert_eq!(ran.outcome.problem.as_ref().map(|problem| problem.code.as_str()), Some("run.too-much"), "{words}");
    assert!(ran.problem().contains(words), "{}", ran.problem());
    assert_eq!(ran.log.borrow().kills, 1, "{words}");
    assert_eq!(ran.log.borrow().started.len(), 2, "what the meter changed is put back");
    assert!(bytes_below(&ran.outcome.directory) < 40 << 20, "{words}: {}", bytes_below(&ran.outcome.directory));
}

#[test]
fn a_meter_that_never_stops_sending_ends_its_run() {
    type Made = fn(u32) -> Message;
    let kinds: [(&str, Made); 7] = [
        ("problems", problem),
        ("bytes of figures", thread),
        ("totals of threads", |number| thread(number % 60)),
        ("records of seconds", |second| {
            Message::Seconds((0..500).map(|thread| Second { thread, second, ..Second::default() }).collect())
        }),
        ("files at once", begun),
        ("spikes", spike),
        ("latency traces", |number| {
            Message::LatencyTrace(Box::new(LatencyTrace { number, ..LatencyTrace::default() }))
        }),
    ];
    for (words, made) in kinds {
        assert_ended(&flooded(|encoder, number| encoder.message(&made(number))), words);
    }
}

#[test]
fn chunks_of_a_trace_end_at_the_budget_of_the_traces() {
    let chunk = |encoder: &mut Encoder, number: u32| match number {
        1 => encoder.message(&begun(1)),
        _ => encoder.chunk(1, u64::from(number) << 16, &[0; 1 << 16]),
    };
    assert_ended(&flooded(chunk), "bytes of files");
}

#[test]
fn files_of_latency_traces_need_a_latency_tracer() {
    let file = |encoder: &mut Encoder, number: u32| {
        let begin = encoder.message(&Message::FileBegin { file: number, kind: FileKind::LatencyTrace { number } });
        let end = encoder.message(&Message::FileEnd { file: number, bytes: 1 });
        [begin, encoder.chunk(number, 0, b"x"), end].concat()
    };
    assert_ended(&flooded(file), "a file that the settings do not ask for");
}

#[test]
fn messages_after_the_end_fail_the_run() {
    let mut stream = Stream::new();
    let said = [phase(RunPhase::Measure, 2), totals(), end(Ending::Complete), totals()];
    let ran = ran(vec![stream.say(&said)], Exit::Code(0));
    assert_ended(&ran, "messages after its end");
}

#[test]
fn a_run_without_a_first_message_is_not_complete() {
    let mut stream = Stream(Encoder::default(), Vec::new());
    let ran = ran(vec![stream.say(&[phase(RunPhase::Measure, 2), totals(), end(Ending::Complete)])], Exit::Code(0));
    assert_eq!(ran.outcome.state, RunState::Failed);
    assert_eq!(ran.outcome.problem.as_ref().map(|problem| problem.code.as_str()), Some("run.no-hello"));
}

#[test]
fn output_that_never_ends_after_a_kill_is_not_read_for_ever() {
    let mut stream = Stream::new();
    let steps = vec![stream.say(&[phase(RunPhase::Measure, 2), progress()]), Step::Flood];
    let ran = ran_with(steps, Exit::Code(0), |event, stop| {
        if matches!(event, Event::Progress { .. }) {
            stop.request();
            stop.request();
        }
    });
    assert_eq!(ran.outcome.state, RunState::Interrupted);
}
