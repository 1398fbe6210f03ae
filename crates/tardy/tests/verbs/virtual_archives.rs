//! Archives of a machine in virtual time according to their manifest, made by a fake meter whose samples depend on seed
//! and kernel.

use archive::effective::{EffectiveSettings, EffectiveThread};
use archive::message::{Ending, FileKind, RunPhase};
use archive::sample::{Sample, Totals};
use archive::settings::Policy;
use archive::{frame::Encoder, histogram::Histogram, message::Message};
use fixtures::fake_meter::*;
use std::fs;

const SAMPLES: i64 = 1000;
/// Names of kernels, and by how many ns each is later.
pub const KERNELS: [(&str, i64); 2] = [("old", 0), ("new", 400)];
pub const SEEDS: std::ops::RangeInclusive<i64> = 1..=9;

/// One thread measures.
fn effective() -> Message {
    let thread =
        EffectiveThread { thread: 0, tid: 83, cpus: vec![0], policy: Policy::Fifo, priority: 80, timer_slack_ns: 0 };
    Message::Effective(Box::new(EffectiveSettings { threads: vec![thread], ..EffectiveSettings::untraced() }))
}

/// Frames of a run with the samples of a seed, each later by `longer_ns`.
fn frames(seed: i64, longer_ns: i64) -> Vec<u8> {
    let latency_ns = |at: i64| 3000 + (at * 7 + seed * 13) % 500 + longer_ns;
    let data: Vec<u8> =
        (0..SAMPLES).flat_map(|at| [(at * 1_000_000).to_le_bytes(), latency_ns(at).to_le_bytes()].concat()).collect();
    let longest = (0..SAMPLES).map(latency_ns).max().unwrap();
    let totals = Totals {
        cycles: SAMPLES as u64,
        latency_ns_min: (0..SAMPLES).map(latency_ns).min(),
        latency_ns_max: Some(longest),
        latency_ns_sum: (0..SAMPLES).map(latency_ns).sum(),
        worst: Some(Sample { cpu: 0, cycle: 1, due_ns: 0, latency_ns: longest }),
        ..Totals::default()
    };
    let mut counts = vec![0u64; 9000];
    (0..SAMPLES).for_each(|at| counts[archive::histogram::bucket_of(latency_ns(at)).unwrap()] += 1);
    let histogram = Histogram::from_counts(counts);
    let mut encoder = Encoder::default();
    let mut bytes: Vec<u8> = Vec::new();
    for message in [hello(), effective(), phase(RunPhase::Measure, 2_000_000_000)] {
        bytes.extend(encoder.message(&message));
    }
    bytes.extend(encoder.message(&Message::FileBegin { file: 1, kind: FileKind::Samples { thread: 0 } }));
    bytes.extend(encoder.chunk(1, 0, &data));
    bytes.extend(encoder.message(&Message::FileEnd { file: 1, bytes: data.len() as u64 }));
    let thread = Message::Thread { thread: 0, cpu: 0, totals, histogram, worst: Vec::new() };
    for message in [phase(RunPhase::Collect, 3_000_000_000), thread, end(Ending::Complete)] {
        bytes.extend(encoder.message(&message));
    }
    bytes
}

/// A bench with the output of a meter for the seeds 1 to 9 of each kernel, in files like `old-1`.
pub fn bench_of_seeds() -> Bench {
    let bench = Bench::new();
    for (kernel, longer_ns) in KERNELS {
        SEEDS.for_each(|seed| fs::write(bench.path(&format!("{kernel}-{seed}")), frames(seed, longer_ns)).unwrap());
    }
    bench
}

/// A bench whose meter measures seeds 1 to 9.
pub fn bench() -> Bench {
    bench_of_seeds()
        .does("seed=$(sed 's/.*\"dither_seed\":\\([0-9]*\\).*/\\1/' \"$here/settings.json\")")
        .does("cat \"$here/$(cat \"$here/kernel\")-$seed\"")
}

/// Makes an archive of one seed of a kernel, and writes the kernel and virtual time into its manifest.
pub fn make(bench: &Bench, kernel: &str, seed: u64, archive: &str, options: &[&str]) {
    fs::write(bench.path("kernel"), kernel).unwrap();
    let words = ["run", "--every-sample", "--seed", &seed.to_string(), "--out", archive, "--quiet"];
    let ended = bench.run(&[&words[..], options].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let path = bench.path(archive).join("manifest.json");
    let mut manifest = manifest_of(&bench.path(archive));
    manifest["virtual_time"] = true.into();
    manifest["emulated"] = true.into();
    manifest["ingredients"] = serde_json::json!({ "kernel": format!("sha256:{kernel}") });
    fs::write(path, serde_json::to_vec(&manifest).unwrap()).unwrap();
}

/// Makes a directory with several seeds.
pub fn make_seeds(
    bench: &Bench,
    kernel: &str,
    seeds: std::ops::RangeInclusive<u64>,
    directory: &str,
    options: &[&str],
) {
    fs::create_dir(bench.path(directory)).unwrap();
    seeds.for_each(|seed| make(bench, kernel, seed, &format!("{directory}/seed-{seed:04}"), options));
}
