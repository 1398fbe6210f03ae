//! Archives of runs that were never measured, written as a meter and a host would, so that tests and examples have runs
//! of known latencies.

mod explained;
mod latencies;

pub use latencies::Latencies;

use archive::environment::Environment;
use archive::frame::Encoder;
use archive::manifest::{Manifest, RunState};
use archive::message::{Ending, Message, RunPhase};
use archive::reader::Run;
use archive::sample::{Sample, Second, Totals};
use archive::settings::{LoadRequest, RunSettings};
use archive::spike::{Spike, SpikeReason};
use std::fs;
use std::path::Path;

const SECOND_NS: i64 = 1_000_000_000;

/// A run of one measuring thread to write.
#[derive(Debug, Clone)]
pub struct SyntheticRun {
    /// Name of the host that was measured.
    pub board: String,
    /// Release of its kernel; `-rt` in it makes it a PREEMPT_RT kernel.
    pub kernel: String,
    /// Start, in nanoseconds since 1970.
    pub started_unix_ns: i64,
    /// Length of the measured part, in whole seconds.
    pub seconds: u32,
    /// Latencies of all wake-ups but the spikes.
    pub latencies: Latencies,
    /// Latency in nanoseconds and culprit of each spike; one without a culprit is not explained.
    pub spikes: Vec<(i64, Option<String>)>,
    /// Limit of the run, in nanoseconds.
    pub limit_ns: Option<i64>,
    /// Load by its name.
    pub load: Option<String>,
    /// A setting that makes it another scenario.
    pub priority: u8,
    /// A setting that does not.
    pub worst_kept: u32,
    /// How the run ended.
    pub state: RunState,
}

impl SyntheticRun {
    /// A complete run of 1 s with latencies of 3 to 5 µs, without load, limit and spikes.
    pub fn of(board: &str, kernel: &str, started_unix_ns: i64) -> Self {
        let RunSettings { priority, worst_kept, .. } = RunSettings::default();
        Self {
            board: board.into(),
            kernel: kernel.into(),
            started_unix_ns,
            seconds: 1,
            latencies: (0..1000).map(|number| 3_000 + number * 7 % 2_000).collect(),
            spikes: Vec::new(),
            limit_ns: None,
            load: None,
            priority,
            worst_kept,
            state: RunState::Complete,
        }
    }

    /// Writes its archive.
    ///
    /// # Panics
    ///
    /// Where a file cannot be written: a test cannot go on without it.
    pub fn write(&self, directory: &Path) {
        fs::create_dir_all(directory).unwrap();
        let mut encoder = Encoder::default();
        let stream: Vec<u8> = self.messages().iter().flat_map(|message| encoder.message(message)).collect();
        fs::write(directory.join("stream.tardy"), stream).unwrap();
        fs::write(directory.join("manifest.json"), serde_json::to_vec(&self.manifest()).unwrap()).unwrap();
        if !self.spikes.is_empty() {
            Run::open(directory).unwrap().save_explanations(&explained::explanations(&self.spikes)).unwrap();
        }
    }

    fn manifest(&self) -> Manifest {
        let loads = self.load.iter().map(|name| LoadRequest::Builtin { name: name.clone(), workers: 0 }).collect();
        // Spikes come on top, so that runs of one scenario have one interval.
        let wake_ups = self.latencies.count().max(1);
        let settings = RunSettings {
            interval_ns: u64::from(self.seconds) * 1_000_000_000 / wake_ups,
            limit_ns: self.limit_ns,
            loads,
            priority: self.priority,
            worst_kept: self.worst_kept,
            ..RunSettings::default()
        };
        Manifest {
            command: vec!["tardy".into(), "run".into()],
            started_unix_ns: self.started_unix_ns,
            ended_unix_ns: Some(self.started_unix_ns + i64::from(self.seconds) * SECOND_NS),
            state: self.state,
            settings: Some(settings),
            ..Manifest::new(format!("run-{}", self.started_unix_ns), env!("CARGO_PKG_VERSION"), "local")
        }
    }

    fn messages(&self) -> Vec<Message> {
        let mut all = self.latencies.clone();
        all.extend(self.spikes.iter().map(|(ns, _)| *ns));
        let phase = |phase, monotonic_ns| Message::Phase { phase, monotonic_ns };
        let end_ns = (1 + i64::from(self.seconds)) * SECOND_NS;
        let mut messages = vec![
            Message::Environment(Box::new(self.environment())),
            phase(RunPhase::Measure, SECOND_NS),
            Message::Seconds(self.seconds_of(&all)),
            Message::Thread {
                thread: 0,
                cpu: 0,
                totals: Totals {
                    cycles: all.count(),
                    over_limit: self.limit_ns.map_or(0, |limit_ns| all.above(limit_ns)),
                    latency_ns_min: all.min_ns(),
                    latency_ns_max: all.max_ns(),
                    latency_ns_sum: all.sum_ns(),
                    ..Totals::default()
                },
                histogram: all.histogram(),
                worst: Vec::new(),
            },
        ];
        messages.extend(self.spikes.iter().zip(1..).map(|((latency_ns, _), number)| self.spike(number, *latency_ns)));
        messages.push(phase(RunPhase::Collect, end_ns));
        messages.push(Message::End { ending: Ending::Complete, monotonic_ns: end_ns + 1 });
        messages
    }

    fn environment(&self) -> Environment {
        let real_time = self.kernel.contains("-rt");
        Environment {
            hostname: self.board.clone(),
            kernel_release: self.kernel.clone(),
            preempt_rt: Some(real_time),
            preemption: Some(if real_time { "preempt_rt" } else { "voluntary" }.into()),
            ..Environment::default()
        }
    }

    /// The largest latencies are the maxima of the seconds, in no order; the counts add up to the totals.
    fn seconds_of(&self, all: &Latencies) -> Vec<Second> {
        let seconds = u64::from(self.seconds);
        let share = |count: u64, rank: u64| (count / seconds + u64::from(rank < count % seconds)) as u32;
        let over_limit = self.limit_ns.map_or(0, |limit_ns| all.above(limit_ns));
        let stride = (seconds * 5 / 8 + 1..).find(|stride| have_no_divisor(*stride, seconds)).unwrap_or(1);
        let of = |(rank, latency_ns_max): (u64, i64)| Second {
            second: (rank * stride % seconds) as u32,
            cycles: share(all.count(), rank),
            latency_ns_max,
            over_limit: share(over_limit, rank),
            ..Second::default()
        };
        let mut records: Vec<Second> =
            (0..seconds).zip(all.largest_first().chain(std::iter::repeat(0))).map(of).collect();
        records.sort_by_key(|record| record.second);
        records
    }

    fn spike(&self, number: u32, latency_ns: i64) -> Message {
        // At even distances over the run.
        let due_ns =
            SECOND_NS + i64::from(self.seconds) * SECOND_NS * i64::from(number) / (self.spikes.len() as i64 + 1);
        Message::Spike(Box::new(Spike::new(
            number,
            0,
            1,
            Sample { cpu: 0, cycle: number.into(), due_ns, latency_ns },
            SpikeReason::OverLimit,
        )))
    }
}

/// Whether only 1 divides both.
fn have_no_divisor(mut one: u64, mut other: u64) -> bool {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one == 1
}
