//! A run in progress: its stream grows under the lock of its writer, as that of a measurement does.

use archive::frame::Encoder;
use archive::histogram::Histogram;
use archive::manifest::RunState;
use archive::message::{Message, RunPhase};
use archive::sample::{Sample, Totals};
use archive::spike::{Spike, SpikeReason};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use synthetic_run::SyntheticRun;

/// Spikes that have an explanation.
const EXPLAINED: usize = 5;

pub struct Growing {
    directory: PathBuf,
    run: SyntheticRun,
    file: File,
    encoder: Encoder,
    samples: u64,
    spikes: u32,
    max_ns: i64,
}

impl Growing {
    pub fn start(directory: &Path, board: &str, started_unix_ns: i64) -> Self {
        let mut run = SyntheticRun::of(board, "6.12.8-rt5", started_unix_ns);
        run.limit_ns = Some(100_000);
        run.state = RunState::Running;
        run.spikes = vec![(250_000, Some("irq-off-section".to_owned())); EXPLAINED];
        run.write(directory);
        let stream = directory.join("stream.tardy");
        let environment = archive::environment::Environment {
            hostname: board.to_owned(),
            kernel_release: "6.12.8-rt5".into(),
            ..Default::default()
        };
        let file = OpenOptions::new().write(true).truncate(true).open(stream).unwrap();
        file.lock().unwrap();
        let directory = directory.to_owned();
        let mut growing = Self { directory, run, file, encoder: Encoder::default(), samples: 0, spikes: 0, max_ns: 0 };
        growing.send(&Message::Environment(Box::new(environment)));
        growing.send(&Message::Phase { phase: RunPhase::Measure, monotonic_ns: 1 });
        growing
    }

    /// Adds samples around 5 µs, and a spike of this latency.
    pub fn grow(&mut self, samples: u64, spike_ns: Option<i64>) {
        self.samples += samples;
        self.max_ns = self.max_ns.max(spike_ns.unwrap_or(5_000));
        if let Some(latency_ns) = spike_ns {
            self.spikes += 1;
            let sample = Sample { cpu: 0, cycle: self.samples, due_ns: 1, latency_ns };
            self.send(&Message::Spike(Box::new(Spike::new(self.spikes, 0, 1, sample, SpikeReason::OverLimit))));
        }
        let bucket = |ns| archive::histogram::bucket_of(ns).unwrap() as u32;
        let mut buckets = vec![(bucket(4_000), self.samples / 3), (bucket(5_000), self.samples - self.samples / 3)];
        if self.spikes > 0 {
            buckets.push((bucket(self.max_ns), self.spikes.into()));
        }
        let totals = Totals {
            cycles: self.samples,
            over_limit: self.spikes.into(),
            latency_ns_max: Some(self.max_ns),
            ..Totals::default()
        };
        let histogram = Histogram { buckets };
        self.send(&Message::Thread { thread: 0, cpu: 0, totals, histogram, worst: Vec::new() });
    }

    /// Ends the run; its archive is complete.
    pub fn end(mut self) {
        self.run.state = RunState::Complete;
        self.run.write(&self.directory);
        self.file.flush().unwrap();
    }

    fn send(&mut self, message: &Message) {
        let bytes = self.encoder.message(message);
        self.file.write_all(&bytes).unwrap();
    }
}
