//! A run as a trace for Perfetto: the kernel's events of every snapshot, and this tool's analysis of them.
//!
//! All times are CLOCK_MONOTONIC of the target. Perfetto assumes CLOCK_BOOTTIME for times without a clock; since all
//! packets use the same clock, their relative times are correct.

mod chains;
mod edges;
mod ftrace_event;
mod kernel_packets;
mod tracks;

use super::protobuf::Message;
use super::spike_choice::{self, SPIKE, SpikeChoice};
use super::{ExportError, ExportFormat, ExportInput, ExportOption};
use crate::recorded::{RecordedItem, Recording, Source, Stretch};
use account::SpikeTrace;
use archive::chain::ChainAccount;
use archive::explanation::Explanation;
use archive::sample::Sample;
use archive::second_records::SecondRecords;
use archive::spike::Spike;
use archive::summary::RunSummary;
use edges::{Edges, Threads};
use ftrace_event::{FtraceEvents, FunctionNames};
use kernel_packets::KernelPackets;
use std::collections::HashMap;
use std::io::Write;
use tracks::{Tracks, slice_of_snapshot};

const TRACE_PACKET: u32 = 1;

mod packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const SEQUENCE: u32 = 10;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const SYSTEM_INFO: u32 = 45;
}

/// The format: one trace with all requested spikes, one after the other.
#[derive(Debug)]
pub struct Perfetto;

impl ExportFormat for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn about(&self) -> &'static str {
        "Snapshots with ledgers and findings, for ui.perfetto.dev and its trace processor"
    }

    fn options(&self) -> &'static [&'static ExportOption] {
        &[&SPIKE]
    }

    fn file_name(&self, input: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok(match SpikeChoice::of(input) {
            Some(SpikeChoice::Number(number)) => format!("spike-{number:04}.pftrace"),
            Some(SpikeChoice::All) | None => "run.pftrace".into(),
        })
    }

    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
        let (run, choice) = (input.run(), SpikeChoice::of(input).unwrap_or(SpikeChoice::All));
        let data = input.account().report_data();
        let mut spikes: Vec<&Spike> = match choice {
            SpikeChoice::All => run.spikes.iter().collect(),
            SpikeChoice::Number(number) => vec![spike_choice::spike_of(run, number)?],
        };
        spikes.sort_by_key(|spike| (spike.sample.due_ns, spike.number));
        let mut trace = PerfettoTrace::new(&data.summary);
        if choice == SpikeChoice::All {
            trace.add_chains(&data.summary.chains);
            trace.add_seconds(&data.summary, &data.seconds);
            run.threads.values().for_each(|thread| trace.add_worst(thread.cpu, &thread.worst));
        }
        for spike in spikes {
            let recorded = if spike.snapshot.is_some() { SpikeTrace::open(run, spike.number).ok() } else { None };
            let recorded = recorded.unwrap_or_default();
            let explanation = input.account().explanation_of(spike.number);
            let stretches = input.account().stretches(spike, recorded.source());
            trace.add_spike(SpikeView { spike, explanation, stretches: &stretches, trace: recorded.source() });
        }
        Ok(out.write_all(&trace.finish())?)
    }
}

/// One spike with all its data.
#[derive(Debug, Clone, Copy)]
struct SpikeView<'a> {
    pub spike: &'a Spike,
    pub explanation: Option<&'a Explanation>,
    /// The ledger from due to seen.
    pub stretches: &'a [Stretch],
    /// Its trace.dat; empty if there is none.
    pub trace: Source<'a>,
}

/// A trace being written. Spikes must come in order of time.
#[derive(Debug)]
struct PerfettoTrace {
    file: Message,
    functions: FunctionNames,
    tracks: Tracks,
    /// The newest event of each CPU in the file: buffers of successive snapshots may overlap.
    newest_ns: HashMap<u32, u64>,
    kernel_packets: u64,
}

impl PerfettoTrace {
    pub fn new(summary: &RunSummary) -> Self {
        let mut file = Message::default();
        system_info(summary, &mut file);
        process_tree(summary, &mut file);
        let mut trace = Self {
            file,
            functions: FunctionNames::default(),
            tracks: Tracks::default(),
            newest_ns: HashMap::new(),
            kernel_packets: 0,
        };
        trace.tracks.run(summary, &mut trace.file);
        trace
    }

    /// The critical paths of the chains.
    pub fn add_chains(&mut self, accounts: &[ChainAccount]) {
        for (number, account) in (0..).zip(accounts) {
            chains::add(number, account, &mut self.tracks, &mut self.file);
        }
    }

    /// The maximum of each second as a curve for each CPU.
    pub fn add_seconds(&mut self, summary: &RunSummary, seconds: &SecondRecords) {
        self.tracks.seconds(summary, seconds, &mut self.file);
    }

    /// The worst samples of one CPU, with or without a snapshot.
    pub fn add_worst(&mut self, cpu: u32, worst: &[Sample]) {
        self.tracks.worst(cpu, worst, &mut self.file);
    }

    pub fn add_spike(&mut self, view: SpikeView<'_>) {
        self.tracks.spike(view, &mut self.file);
        let recording = Recording::open(view.trace);
        let mut extent: Option<(u64, u64)> = None;
        let mut markers = Vec::new();
        let threads = Threads::of(&recording);
        for cpu in recording.cpus() {
            if let Some((first_ns, last_ns)) = self.add_cpu(&recording, &threads, cpu, &mut markers) {
                let (begin_ns, end_ns) = extent.unwrap_or((first_ns, last_ns));
                extent = Some((begin_ns.min(first_ns), end_ns.max(last_ns)));
            }
        }
        slice_of_snapshot(view.spike, extent, &recording.gaps(), &mut self.file);
        markers.sort();
        tracks::markers(view.spike, &markers, &mut self.file);
    }

    /// Returns the times of the first and last event; appends the markers found.
    fn add_cpu(
        &mut self,
        recording: &Recording<'_>,
        threads: &Threads,
        cpu: u32,
        markers: &mut Vec<(u64, String)>,
    ) -> Option<(u64, u64)> {
        let known_ns = self.newest_ns.get(&cpu).copied();
        let mut writer = FtraceEvents::new(recording, &mut self.functions);
        let mut packets = KernelPackets::new(&mut self.file, &mut self.kernel_packets, cpu);
        let mut edges = Edges::new(cpu);
        let mut extent: Option<(u64, u64)> = None;
        for item in recording.items(cpu) {
            let event = match item {
                RecordedItem::Event(event) => event,
                RecordedItem::Lost { .. } => {
                    edges.end(&mut packets);
                    packets.put(writer.functions());
                    packets.say_lost();
                    continue;
                }
            };
            // Perfetto cannot represent later times, which no clock shows.
            if known_ns.is_some_and(|known_ns| event.ts_ns <= known_ns) || i64::try_from(event.ts_ns).is_err() {
                continue;
            }
            let (first_ns, last_ns) = extent.unwrap_or((event.ts_ns, event.ts_ns));
            extent = Some((first_ns.min(event.ts_ns), last_ns.max(event.ts_ns)));
            if event.system() == "ftrace" && event.name() == "print" {
                markers.push((event.ts_ns, event.text("buf").unwrap_or_default().trim_end().to_owned()));
                continue;
            }
            edges.before(&event, threads, recording, &mut packets);
            packets.event(|message| writer.write(&event, message));
            if packets.is_long() {
                packets.put(writer.functions());
            }
        }
        edges.end(&mut packets);
        packets.put(writer.functions());
        if let Some((_, last_ns)) = extent {
            self.newest_ns.insert(cpu, last_ns);
        }
        extent
    }

    pub fn finish(self) -> Vec<u8> {
        self.file.into_bytes()
    }
}

/// Without the kernel's release Perfetto decodes thread states by an old table.
fn system_info(summary: &RunSummary, file: &mut Message) {
    let Some(environment) = &summary.environment else { return };
    file.message(TRACE_PACKET, |message| {
        message.message(packet::SYSTEM_INFO, |info| {
            info.message(1, |utsname| {
                utsname.text(1, "Linux");
                utsname.text(2, &environment.kernel_version);
                utsname.text(3, &environment.kernel_release);
                utsname.text(4, &environment.architecture);
            });
        });
    });
}

/// The threads of the meter. Other threads are known only by the names in their events.
fn process_tree(summary: &RunSummary, file: &mut Message) {
    const PROCESSES: u32 = 1;
    const THREADS: u32 = 2;
    let Some(effective) = &summary.effective else { return };
    let Some(&meter) = effective.tool_tids.first() else { return };
    let measuring = effective.threads.iter().map(|thread| thread.tid);
    let threads: Vec<i32> = measuring.chain(effective.tool_tids.iter().copied()).filter(|&tid| tid != meter).collect();
    file.message(TRACE_PACKET, |message| {
        message.message(packet::PROCESS_TREE, |tree| {
            tree.message(PROCESSES, |process| {
                process.signed(1, i64::from(meter)).text(3, "tardy-meter");
            });
            for tid in threads {
                tree.message(THREADS, |thread| {
                    thread.signed(1, i64::from(tid)).signed(3, i64::from(meter));
                });
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::reader::Run;
    use proptest::prelude::*;

    const TRACE: &[u8] = include_bytes!("../../../../../corpus/explain/not-explained--missing-switch/trace.dat");
    const CASE: &str = include_str!("../../../../../corpus/explain/not-explained--missing-switch/spike.json");

    fn exported(trace: &[u8]) -> Vec<u8> {
        let case: serde_json::Value = serde_json::from_str(CASE).unwrap();
        let spike: Spike = serde_json::from_value(case["spike"].clone()).unwrap();
        let mut file = PerfettoTrace::new(&RunSummary::of(&Run::default(), &[]));
        file.add_spike(SpikeView { spike: &spike, explanation: None, stretches: &[], trace: trace.into() });
        file.finish()
    }

    #[test]
    fn a_trace_cut_short_is_exported_as_far_as_it_goes() {
        let lengths = [0, 20, TRACE.len() - 5000, TRACE.len()].map(|length| exported(&TRACE[..length]).len());
        assert_eq!(lengths[0], lengths[1], "nothing without pages");
        assert!(lengths[1] < lengths[2] && lengths[2] < lengths[3], "{lengths:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn any_damage_is_survived(
            damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..60),
        ) {
            let mut trace = TRACE.to_vec();
            for (place, value) in damage {
                let length = trace.len();
                trace[place.index(length)] = value;
            }
            exported(&trace);
        }
    }
}
