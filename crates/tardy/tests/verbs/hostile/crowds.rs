//! Archives with as many small parts as fit into a few megabytes: the time of each verb grows with their number and not
//! with its square.

use super::Place;
use archive::counted::{CountedLine, OutputCounts};
use archive::frame::Encoder;
use archive::histogram::Histogram;
use archive::message::{Message, RunPhase};
use archive::sample::{Sample, Totals};
use archive::spike::{Spike, SpikeReason};
use archive::tracer::{KernelSeries, KernelSource};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;

/// Parts of each kind.
const CROWD: u32 = 40_000;
/// Threads, problems and traces of kernel tracers, each with lines of its own in a report.
const FEW: u32 = 5_000;
/// Texts that the manifest counts in the output of a command.
const TEXTS: usize = 5_000;

fn spike(number: u32) -> Message {
    Message::Spike(Box::new(Spike::new(
        number,
        0,
        1,
        Sample { cpu: 0, cycle: number.into(), due_ns: i64::from(number), latency_ns: 1_000_000 },
        SpikeReason::NewMaximum,
    )))
}

fn series(number: u32) -> KernelSeries {
    KernelSeries {
        source: KernelSource::Osnoise,
        name: format!("{number:040}"),
        cpu: number,
        count: 1,
        sum_ns: 1,
        min_ns: Some(1),
        max_ns: Some(1),
        histogram: Histogram::default(),
        worst: Vec::new(),
        records_lost: 0,
    }
}

fn line(number: u32) -> CountedLine {
    let (text, monotonic_ns) = (number % TEXTS as u32, Some(i64::from(number)));
    CountedLine { text, monotonic_ns, uncertain_ns: None, line: "x".into() }
}

fn add(place: &Place, messages: impl IntoIterator<Item = Message>) {
    let mut stream = OpenOptions::new().append(true).open(place.run().join("stream.tardy")).unwrap();
    let mut encoder = Encoder::default();
    let bytes: Vec<u8> = messages.into_iter().flat_map(|message| encoder.message(&message)).collect();
    println!("{} bytes", bytes.len());
    stream.write_all(&bytes).unwrap();
}

fn change_manifest(place: &Place, change: impl FnOnce(&mut Value)) {
    let path = place.run().join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(path, manifest.to_string()).unwrap();
}

#[test]
fn a_crowd_of_spikes_that_are_all_dropped_costs_what_its_length_does() {
    let place = Place::new();
    let dropped = |number| Message::SpikeDropped { number, why: String::new() };
    add(&place, (100..CROWD).map(spike).chain((100..CROWD).map(|number| dropped(number + 2 * CROWD))));
    place.every_verb(&[]);
    add(&place, (100..CROWD).map(dropped));
    place.every_verb(&[]);
}

#[test]
fn a_crowd_of_kernel_series_costs_what_its_length_does() {
    let place = Place::new();
    let all: Vec<KernelSeries> = (0..CROWD).map(series).collect();
    add(&place, all.chunks(1000).map(|some| Message::KernelSeries(some.to_vec())));
    place.every_verb(&[]);
}

#[test]
fn a_crowd_of_counted_lines_and_texts_costs_what_its_length_does() {
    let place = Place::new();
    change_manifest(&place, |manifest| {
        let texts: Vec<String> = (0..TEXTS).map(|number| number.to_string()).collect();
        manifest["settings"]["watch"] = json!({"pid": null, "comm": null, "command": ["x"], "count": texts});
    });
    let lines: Vec<CountedLine> = (0..CROWD).map(line).collect();
    let counts =
        |some: &[CountedLine]| Message::OutputCounts(OutputCounts { totals: vec![1; 3], lines: some.to_vec() });
    add(&place, (100..CROWD).map(spike).chain(lines.chunks(500).map(counts)));
    place.every_verb(&[]);
}

#[test]
fn a_crowd_of_explanations_and_recorded_spikes_costs_what_its_length_does() {
    let place = Place::new();
    let spikes: Vec<Value> = (100..CROWD)
        .map(|number| match spike(number) {
            Message::Spike(spike) => serde_json::to_value(*spike).unwrap(),
            _ => Value::Null,
        })
        .collect();
    add(&place, (100..CROWD).map(spike));
    fs::write(place.run().join("recorded.json"), recorded(spikes)).unwrap();
    place.every_verb(&[]);
}

/// The text of a file of spikes that were recorded in a second run.
fn recorded(spikes: Vec<Value>) -> String {
    json!({"recorded_version": 1, "recording": {"samples_identical": 1, "sha256": ""}, "spikes": spikes}).to_string()
}

#[test]
fn a_crowd_of_threads_traces_and_problems_costs_what_its_length_does() {
    let place = Place::new();
    let of_json = |value: Value| serde_json::from_value::<Message>(value).unwrap();
    let thread = |number: u32| Message::Thread {
        thread: number,
        cpu: number,
        totals: Totals { cycles: 1, latency_ns_max: Some(5), ..Totals::default() },
        histogram: Histogram { buckets: vec![(5, 1)] },
        worst: Vec::new(),
    };
    let trace = |number: u32| {
        of_json(
            json!({"latency_trace": {"number": number, "tracer": "wakeup", "latency_ns": 1, "cpu": null, "task": null,
            "started_at": null, "ended_at": null, "entries": 1, "entries_written": 1, "longest_function": null,
            "copied_ns": 1, "cut": false}}),
        )
    };
    let problem = |number: u32| {
        of_json(json!({"problem": {"code": "x.y", "severity": "invalid", "text": number.to_string(), "fix": ""}}))
    };
    let loads = (0..FEW).map(|number| json!({"name": number.to_string(), "unit": "x", "progress": 1, "alive": true}));
    let loads = of_json(json!({"loads": loads.collect::<Vec<_>>()}));
    add(&place, (2..FEW).map(thread).chain((0..FEW).map(trace)).chain((0..FEW).map(problem)).chain([loads]));
    place.every_verb(&[]);
}

#[test]
fn instants_at_the_ends_of_time_are_shown() {
    let place = Place::new();
    let phase = |phase, monotonic_ns| Message::Phase { phase, monotonic_ns };
    let stream = fs::read(place.run().join("stream.tardy")).unwrap();
    fs::write(place.run().join("stream.tardy"), b"").unwrap();
    add(&place, [phase(RunPhase::Measure, i64::MIN), phase(RunPhase::Collect, i64::MAX)]);
    let own = fs::read(place.run().join("stream.tardy")).unwrap();
    fs::write(place.run().join("stream.tardy"), [own, stream].concat()).unwrap();
    change_manifest(&place, |manifest| {
        manifest["virtual_time"] = true.into();
        manifest["started_unix_ns"] = i64::MIN.into();
        manifest["ended_unix_ns"] = i64::MAX.into();
    });
    place.every_verb(&super::FORMATS);
}
