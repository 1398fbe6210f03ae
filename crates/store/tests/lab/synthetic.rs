//! Archives of runs that were never measured, written as a meter and a host would.

use archive::ARCHIVE_VERSION;
use archive::environment::Environment;
use archive::explanation::{Confidence, Explanation, ExplanationStatus, Finding};
use archive::frame::Encoder;
use archive::histogram::{Histogram, bucket_of};
use archive::manifest::{Manifest, RunState};
use archive::message::{Ending, Message, RunPhase};
use archive::reader::Run;
use archive::sample::{Sample, Totals};
use archive::settings::{LoadRequest, RunSettings};
use archive::spike::{Spike, SpikeReason};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A run to write.
#[derive(Debug, Clone)]
pub struct Synthetic {
    pub board: String,
    pub kernel: String,
    pub started_unix_ns: i64,
    pub latencies_ns: Vec<i64>,
    pub limit_ns: Option<i64>,
    pub load: Option<String>,
    /// Latency and culprit of each spike.
    pub spikes: Vec<(i64, Option<String>)>,
    pub priority: u8,
    pub state: RunState,
}

impl Synthetic {
    pub fn of(board: &str, kernel: &str, started_unix_ns: i64) -> Self {
        Self {
            board: board.into(),
            kernel: kernel.into(),
            started_unix_ns,
            latencies_ns: (0..1000).map(|number| 3_000 + number * 7 % 2_000).collect(),
            limit_ns: None,
            load: None,
            spikes: Vec::new(),
            priority: 80,
            state: RunState::Complete,
        }
    }

    pub fn write(&self, directory: &Path) {
        fs::create_dir_all(directory).unwrap();
        let mut encoder = Encoder::default();
        let stream: Vec<u8> = self.messages().iter().flat_map(|message| encoder.message(message)).collect();
        fs::write(directory.join("stream.tardy"), stream).unwrap();
        let manifest = serde_json::to_vec(&self.manifest()).unwrap();
        fs::write(directory.join("manifest.json"), manifest).unwrap();
        if !self.spikes.is_empty() {
            Run::open(directory).unwrap().save_explanations(&self.explanations()).unwrap();
        }
    }

    fn manifest(&self) -> Manifest {
        let loads = self.load.iter().map(|name| LoadRequest::Builtin { name: name.clone(), workers: 0 }).collect();
        let settings =
            RunSettings { limit_ns: self.limit_ns, loads, priority: self.priority, ..RunSettings::default() };
        Manifest {
            archive_version: ARCHIVE_VERSION,
            id: format!("run-{}", self.started_unix_ns),
            tool_version: "0.1.0".into(),
            command: vec!["tardy".into(), "run".into()],
            target: "local".into(),
            emulated: false,
            virtual_time: false,
            ingredients: BTreeMap::new(),
            started_unix_ns: self.started_unix_ns,
            ended_unix_ns: Some(self.started_unix_ns + 1_000_000_000),
            state: self.state,
            problem: None,
            settings: Some(settings),
            imported: None,
        }
    }

    fn messages(&self) -> Vec<Message> {
        let environment = Environment {
            hostname: self.board.clone(),
            kernel_release: self.kernel.clone(),
            preempt_rt: Some(self.kernel.contains("-rt")),
            preemption: Some(if self.kernel.contains("-rt") { "preempt_rt" } else { "voluntary" }.into()),
            ..Environment::default()
        };
        let all: Vec<i64> = self.latencies_ns.iter().copied().chain(self.spikes.iter().map(|(ns, _)| *ns)).collect();
        let buckets = all.iter().filter_map(|ns| Some((bucket_of(*ns)? as u32, 1))).collect();
        let totals = Totals {
            cycles: all.len() as u64,
            over_limit: self.limit_ns.map_or(0, |limit| all.iter().filter(|ns| **ns > limit).count() as u64),
            latency_ns_min: all.iter().min().copied(),
            latency_ns_max: all.iter().max().copied(),
            latency_ns_sum: all.iter().sum(),
            ..Totals::default()
        };
        let phase = |phase, monotonic_ns| Message::Phase { phase, monotonic_ns };
        let mut messages = vec![
            Message::Environment(Box::new(environment)),
            phase(RunPhase::Measure, 1_000_000_000),
            Message::Thread {
                thread: 0,
                cpu: 0,
                totals,
                histogram: Histogram { buckets }.normalised(),
                worst: Vec::new(),
            },
        ];
        messages.extend(self.spikes.iter().zip(1..).map(|((latency_ns, _), number)| {
            Message::Spike(Box::new(Spike {
                number,
                thread: 0,
                tid: 1,
                sample: Sample { cpu: 0, cycle: number.into(), due_ns: 1_100_000_000, latency_ns: *latency_ns },
                reason: SpikeReason::OverLimit,
                previous_seen_ns: None,
                snapshot: None,
                snapshot_missing: None,
                watched: None,
            }))
        }));
        messages.push(phase(RunPhase::Collect, 2_000_000_000));
        messages.push(Message::End { ending: Ending::Complete, monotonic_ns: 2_000_000_001 });
        messages
    }

    fn explanations(&self) -> Vec<Explanation> {
        let explained = |((latency_ns, culprit), spike): (&(i64, Option<String>), u32)| Explanation {
            spike,
            latency_ns: *latency_ns,
            median_ns: 3_000,
            status: match culprit {
                Some(_) => ExplanationStatus::Explained,
                None => ExplanationStatus::NotExplained,
            },
            phases: Vec::new(),
            findings: culprit.iter().map(|culprit| finding(culprit, *latency_ns)).collect(),
            spans: Vec::new(),
            lanes: Vec::new(),
            marks: Vec::new(),
            elsewhere: Vec::new(),
            functions: None,
            recording: None,
            caveats: Vec::new(),
        };
        self.spikes.iter().zip(1..).map(explained).collect()
    }
}

fn finding(culprit: &str, ns: i64) -> Finding {
    Finding {
        culprit: culprit.into(),
        sentence: String::new(),
        confidence: Confidence::Certain,
        ns,
        evidence: Vec::new(),
        confirm: String::new(),
        fix: String::new(),
    }
}
