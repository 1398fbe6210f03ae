//! A meter made of a shell script that replays saved frames, and a place to run `tardy` with it.

use archive::frame::Encoder;
use archive::histogram::{Histogram, bucket_of};
use archive::message::{Ending, FileKind, LoadReport, Message, Problem, RunPhase, Severity, ThreadProgress};
use archive::sample::{Sample, Totals};
use archive::settings::SnapshotMode;
use archive::spike::{Snapshot, Spike, SpikeReason};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A directory with a fake meter in it; `tardy` runs there.
pub struct Bench {
    folder: TempDir,
    encoder: Encoder,
    pieces: usize,
    script: String,
}

impl Bench {
    /// A meter that reads its settings into `settings.json` and continues with the added actions.
    pub fn new() -> Self {
        let script = "#!/bin/sh\n\
            here=$(dirname \"$0\")\n\
            if [ \"$1\" = restore ]; then echo \"restored\" | tee -a \"$here/restored\"; exit 0; fi\n\
            read -r settings; printf '%s' \"$settings\" > \"$here/settings.json\"\n";
        Self { folder: tempfile::tempdir().unwrap(), encoder: Encoder::default(), pieces: 0, script: script.into() }
    }

    /// Another meter in the same directory.
    pub fn again(self) -> Self {
        let Self { script, .. } = Self::new();
        Self { encoder: Encoder::default(), script, ..self }
    }

    /// The meter sends these messages.
    pub fn says(self, messages: &[Message]) -> Self {
        let mut bench = self;
        let bytes = messages.iter().flat_map(|message| bench.encoder.message(message)).collect();
        bench.writes(bytes)
    }

    /// The meter sends a file.
    pub fn sends(mut self, file: u32, kind: FileKind, data: &[u8]) -> Self {
        let begin = self.encoder.message(&Message::FileBegin { file, kind });
        let chunk = self.encoder.chunk(file, 0, data);
        let end = self.encoder.message(&Message::FileEnd { file, bytes: data.len() as u64 });
        self.writes([begin, chunk, end].concat())
    }

    /// The meter writes these bytes, frames or not.
    pub fn writes(mut self, bytes: Vec<u8>) -> Self {
        let name = format!("piece-{}", self.pieces);
        self.pieces += 1;
        fs::write(self.path(&name), bytes).unwrap();
        self.does(&format!("cat \"$here/{name}\""))
    }

    /// The meter runs a line of shell.
    pub fn does(mut self, line: &str) -> Self {
        self.script.push_str(line);
        self.script.push('\n');
        self
    }

    /// These actions are for a meter whose settings contain this text, as if it were the only one.
    pub fn where_asked(mut self, text: &str, actions: impl FnOnce(Self) -> Self) -> Self {
        self.encoder = Encoder::default();
        let begun = self.does(&format!("case \"$settings\" in *'{text}'*)"));
        actions(begun).does(";; esac")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `tardy` with these words, in the directory of the bench, not yet started.
    pub fn tardy(&self, words: &[&str]) -> Command {
        let meter = self.path("meter");
        fs::write(&meter, &self.script).unwrap();
        fs::set_permissions(&meter, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(words).current_dir(self.folder.path()).env("TARDY_METER", meter);
        command
    }

    pub fn run(&self, words: &[&str]) -> Ended {
        Ended::of(self.tardy(words).output().unwrap())
    }
}

/// A `tardy` that has ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output as one JSON document.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {:?} {:?}", self.stdout, self.stderr))
    }
}

pub fn manifest_of(archive: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(archive.join("manifest.json")).unwrap()).unwrap()
}

pub fn hello() -> Message {
    Message::Hello {
        stream_version: archive::STREAM_VERSION,
        meter_version: "0.0.0-fake".into(),
        pid: 42,
        boot_id: "boot".into(),
        realtime_ns: 5,
        monotonic_ns: 1,
    }
}

pub fn phase(phase: RunPhase, monotonic_ns: i64) -> Message {
    Message::Phase { phase, monotonic_ns }
}

pub fn progress() -> Message {
    let thread =
        ThreadProgress { thread: 0, cpu: 0, cycles: 10, latency_ns_last: 5, latency_ns_max: 9, missed_periods: 0 };
    Message::Progress { threads: vec![thread], snapshots: 0 }
}

pub fn sample(latency_ns: i64) -> Sample {
    Sample { cpu: 0, cycle: 7, due_ns: 3_000_000_000, latency_ns }
}

/// Totals of a thread with three samples: 1, 2 and 153.214 µs.
pub fn totals(over_limit: u64) -> Message {
    let totals = Totals {
        cycles: 3,
        over_limit,
        latency_ns_min: Some(1_000),
        latency_ns_max: Some(153_214),
        latency_ns_sum: 156_214,
        worst: Some(sample(153_214)),
        ..Totals::default()
    };
    let mut counts = vec![0u64; 9000];
    for latency_ns in [1_000, 2_000, 153_214] {
        counts[archive::histogram::bucket_of(latency_ns).unwrap()] += 1;
    }
    Message::Thread {
        thread: 0,
        cpu: 0,
        totals,
        histogram: Histogram::from_counts(counts),
        worst: vec![sample(153_214)],
    }
}

pub fn spike(number: u32, latency_ns: i64, reason: SpikeReason) -> Message {
    Message::Spike(Box::new(Spike {
        snapshot: Some(Snapshot {
            mode: SnapshotMode::Flip,
            frozen_ns: 3_000_200_000,
            swap_ns: 100,
            blind_ns: 0,
            coverage: vec![],
            window_covered: true,
            trace_bytes: 5,
            steal_ns: None,
            put_aside_ns: None,
        }),
        ..Spike::new(number, 0, 43, sample(latency_ns), reason)
    }))
}

pub fn load(name: &str) -> Message {
    Message::Loads(vec![LoadReport {
        name: name.into(),
        unit: "messages".into(),
        progress: 1000,
        alive: true,
        detail: String::new(),
    }])
}

pub fn problem(severity: Severity, text: &str, fix: &str) -> Message {
    Message::Problem(Problem { code: Default::default(), severity, text: text.into(), fix: fix.into() })
}

pub fn end(ending: Ending) -> Message {
    Message::End { ending, monotonic_ns: 5_000_000_000 }
}

/// A thousand wake-ups that are `latency_ns` late.
pub fn thousand_at(latency_ns: i64) -> Message {
    let totals = Totals {
        cycles: 1000,
        latency_ns_min: Some(latency_ns),
        latency_ns_max: Some(latency_ns),
        latency_ns_sum: 1000 * latency_ns,
        ..Totals::default()
    };
    let histogram = Histogram { buckets: vec![(bucket_of(latency_ns).unwrap() as u32, 1000)] };
    Message::Thread { thread: 0, cpu: 0, totals, histogram, worst: Vec::new() }
}

/// All output of a meter in a run of a thousand wake-ups that are `latency_ns` late, as bytes.
pub fn all_said_at(latency_ns: i64) -> Vec<u8> {
    let mut encoder = Encoder::default();
    let messages = [
        hello(),
        phase(RunPhase::Measure, 2_000_000_000),
        phase(RunPhase::Collect, 3_000_000_000),
        thousand_at(latency_ns),
        end(Ending::Complete),
    ];
    messages.iter().flat_map(|message| encoder.message(message)).collect()
}

/// A bench whose meter measures well and finds one spike, up to the end of the measurement.
pub fn measuring() -> Bench {
    Bench::new()
        .says(&[hello(), phase(RunPhase::Prepare, 1), phase(RunPhase::Measure, 2_000_000_000), progress()])
        .says(&[spike(1, 153_214, SpikeReason::NewMaximum), load("messaging")])
        .sends(1, FileKind::SpikeTrace { spike: 1 }, b"trace")
}

/// The end of a good measurement.
pub fn ending_well(bench: Bench) -> Bench {
    bench.says(&[
        phase(RunPhase::Collect, 4_000_000_000),
        totals(0),
        phase(RunPhase::Restore, 1),
        end(Ending::Complete),
    ])
}
