//! Writes an archive of a target that never stopped sending, or of a run of many seconds, to measure what a reader needs for it:
//! `flooded_archive problems|spikes|totals|seconds COUNT DIRECTORY`.

use archive::frame::Encoder;
use archive::histogram::Histogram;
use archive::message::{Message, Problem, Severity};
use archive::problem::Code;
use archive::sample::{Sample, Totals};
use archive::spike::{Spike, SpikeReason};
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;
use synthetic_run::SyntheticRun;

fn problem(number: u32) -> Message {
    let text = format!("problem {number}: {}", "a word ".repeat(100));
    Message::Problem(Problem { code: Code::default(), severity: Severity::Notice, text, fix: String::new() })
}

/// Latencies in no order.
fn spike(number: u32) -> Message {
    let latency_ns = 10_000 + i64::from(number.wrapping_mul(2_654_435_761) % 1_000_000);
    let sample = Sample { cpu: 0, cycle: number.into(), due_ns: 1_000_000_000 + i64::from(number) * 1000, latency_ns };
    Message::Spike(Box::new(Spike::new(number, 0, 1, sample, SpikeReason::OverLimit)))
}

fn totals(thread: u32) -> Message {
    let histogram = Histogram { buckets: (0..500).map(|bucket| (bucket, 1)).collect() };
    Message::Thread { thread, cpu: thread, totals: Totals::default(), histogram, worst: Vec::new() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, count, directory] = arguments.as_slice() else {
        return Err("usage: flooded_archive problems|spikes|totals|seconds COUNT DIRECTORY".into());
    };
    let (count, directory): (u32, _) = (count.parse()?, Path::new(directory));
    if kind == "seconds" {
        SyntheticRun { seconds: count, ..SyntheticRun::of("flood", "6.1.0", 1) }.write(directory);
        return Ok(());
    }
    let of: fn(u32) -> Message = match kind.as_str() {
        "problems" => problem,
        "spikes" => spike,
        "totals" => totals,
        other => return Err(format!("{other}: neither problems, spikes, totals nor seconds").into()),
    };
    SyntheticRun::of("flood", "6.1.0", 1).write(directory);
    let stream = OpenOptions::new().append(true).open(directory.join("stream.tardy"))?;
    let (mut stream, mut encoder) = (BufWriter::new(stream), Encoder::default());
    for number in 1..=count {
        stream.write_all(&encoder.message(&of(number)))?;
    }
    Ok(stream.flush()?)
}
