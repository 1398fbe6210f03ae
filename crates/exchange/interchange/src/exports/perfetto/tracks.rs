//! This tool's analysis of a run as tracks: for each spike its wake-up, phases, owners and findings, and for the whole
//! run the maxima.

use super::super::protobuf::Message;
use super::{SpikeView, TRACE_PACKET, packet};
use crate::recorded::Stretch;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::sample::Sample;
use archive::second_records::SecondRecords;
use archive::spike::Spike;
use archive::summary::RunSummary;
use words::figures::latency;
use words::vocabulary;

pub const TIMESTAMP: u32 = 8;
pub const TRACK_EVENT: u32 = 11;
const TRACK_DESCRIPTOR: u32 = 60;
/// Sequence of packets with tracks, separate from the kernel's.
const SEQUENCE: u64 = 2;
const STATE_CLEARED: u64 = 1;

mod descriptor {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PARENT: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const CHILD_ORDERING: u32 = 11;
    pub const RANK: u32 = 12;
    pub const DESCRIPTION: u32 = 14;
    pub const BY_RANK: u64 = 3;
    pub const UNIT: u32 = 3;
    pub const NANOSECONDS: u64 = 1;
}

pub mod event {
    pub const ANNOTATION: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const TRACK: u32 = 11;
    pub const CATEGORY: u32 = 22;
    pub const NAME: u32 = 23;
    pub const COUNTER: u32 = 30;
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNT: u64 = 4;
}

mod annotation {
    pub const SIGNED: u32 = 4;
    pub const TEXT: u32 = 6;
    pub const NAME: u32 = 10;
}

const ROOT: u64 = 1;
/// First track number; one track per CPU.
const WORST: u64 = 1 << 40;
const SECONDS: u64 = 1 << 41;
/// First track number; eight tracks per spike.
const SPIKES: u64 = 1 << 42;

/// The tracks of one spike, in display order.
#[derive(Debug, Clone, Copy)]
enum Part {
    Group,
    Recorded,
    WakeUp,
    Phases,
    Owners,
    Findings,
    Markers,
}

fn track_of(spike: &Spike, part: Part) -> u64 {
    SPIKES + u64::from(spike.number) * 8 + part as u64
}

/// A value shown with a slice.
pub enum Note<'a> {
    Number(&'static str, i64),
    Text(&'static str, &'a str),
}

#[derive(Debug, Default)]
pub struct Tracks {
    /// Position of the next track below the root.
    rank: i64,
}

impl Tracks {
    /// The root of all other tracks.
    pub fn run(&mut self, summary: &RunSummary, file: &mut Message) {
        let imitated = match (summary.virtual_time, summary.emulated) {
            (true, _) => " (VIRTUAL TIME: executed instructions)",
            (false, true) => " (EMULATED MACHINE: latencies mean nothing)",
            (false, false) => "",
        };
        file.message(TRACE_PACKET, |message| {
            message.unsigned(packet::SEQUENCE, SEQUENCE).unsigned(packet::SEQUENCE_FLAGS, STATE_CLEARED);
            message.message(TRACK_DESCRIPTOR, |track| {
                track.unsigned(descriptor::UUID, ROOT);
                track.text(descriptor::NAME, &format!("tardy {}{imitated}", summary.id));
                track.unsigned(descriptor::CHILD_ORDERING, descriptor::BY_RANK);
            });
        });
    }

    pub fn seconds(&mut self, summary: &RunSummary, seconds: &SecondRecords, file: &mut Message) {
        let Some(start_ns) = summary.measure_start_ns else { return };
        for cpu in &summary.cpus {
            let track = SECONDS + u64::from(cpu.thread);
            let rank = self.next_rank();
            packet_of(file, |message| {
                message.message(TRACK_DESCRIPTOR, |descriptor| {
                    descriptor.unsigned(descriptor::UUID, track).unsigned(descriptor::PARENT, ROOT);
                    descriptor.text(descriptor::NAME, &format!("maximum of each second, CPU {}", cpu.cpu));
                    descriptor.signed(descriptor::RANK, rank);
                    descriptor.message(descriptor::COUNTER, |counter| {
                        counter.unsigned(descriptor::UNIT, descriptor::NANOSECONDS);
                    });
                });
            });
            for second in seconds.iter().filter(|second| second.thread == cpu.thread) {
                let at_ns = start_ns.saturating_add(i64::from(second.second).saturating_mul(1_000_000_000));
                event_at(at_ns, track, event::COUNT, file, |event| {
                    event.signed(event::COUNTER, second.latency_ns_max);
                });
            }
        }
    }

    pub fn worst(&mut self, cpu: u32, worst: &[Sample], file: &mut Message) {
        let track = WORST + u64::from(cpu);
        self.describe(track, ROOT, &format!("worst samples, CPU {cpu}"), "each at the instant it was seen", file);
        let mut worst: Vec<&Sample> = worst.iter().collect();
        worst.sort_by_key(|sample| sample.seen_ns());
        for sample in worst {
            let name = format!("{} late", latency(sample.latency_ns));
            let notes = [Note::Number("latency_ns", sample.latency_ns), Note::Number("due_ns", sample.due_ns)];
            instant(sample.seen_ns(), track, "worst", &name, &notes, file);
        }
    }

    pub fn spike(&mut self, view: SpikeView<'_>, file: &mut Message) {
        let (spike, sample) = (view.spike, &view.spike.sample);
        let late = latency(sample.latency_ns);
        let title =
            format!("spike {}: CPU {}, {late} late, {}", spike.number, sample.cpu, vocabulary::reason(spike.reason));
        let group = track_of(spike, Part::Group);
        self.group(group, &title, "", file);
        for (part, name, meaning) in [
            (Part::Recorded, "recorded", "where the snapshot has events; nothing is known between snapshots"),
            (Part::WakeUp, "wake-up", "from the instant it was due to the instant its thread saw the clock"),
            (Part::Phases, "phases", ""),
            (Part::Owners, "who held the CPU", "the ledger: these lengths sum to the latency"),
            (Part::Findings, "findings", ""),
            (Part::Markers, "markers", "what was written into the trace by hand"),
        ] {
            describe_ranked(track_of(spike, part), group, name, meaning, part as i64, file);
        }
        wake_up(view, &late, file);
        phases(spike, view.stretches, file);
        owners(spike, view.stretches, file);
        if let Some(explanation) = view.explanation {
            findings(spike, explanation, file);
        }
    }

    /// A track below the root that holds others, in the order of their ranks.
    pub fn group(&mut self, track: u64, name: &str, description: &str, file: &mut Message) {
        let rank = self.next_rank();
        packet_of(file, |message| {
            message.message(TRACK_DESCRIPTOR, |group| {
                group.unsigned(descriptor::UUID, track).unsigned(descriptor::PARENT, ROOT);
                group.text(descriptor::NAME, name).signed(descriptor::RANK, rank);
                group.unsigned(descriptor::CHILD_ORDERING, descriptor::BY_RANK);
                if !description.is_empty() {
                    group.text(descriptor::DESCRIPTION, description);
                }
            });
        });
    }

    fn next_rank(&mut self) -> i64 {
        self.rank += 1;
        self.rank
    }

    fn describe(&mut self, track: u64, parent: u64, name: &str, description: &str, file: &mut Message) {
        let rank = self.next_rank();
        describe_ranked(track, parent, name, description, rank, file);
    }
}

/// A slice from due to seen, with both instants.
fn wake_up(view: SpikeView<'_>, late: &str, file: &mut Message) {
    let (spike, sample) = (view.spike, &view.spike.sample);
    let track = track_of(spike, Part::WakeUp);
    let notes = [
        Note::Number("latency_ns", sample.latency_ns),
        Note::Number("cycle", i64::try_from(sample.cycle).unwrap_or(i64::MAX)),
        Note::Number("thread id", i64::from(spike.tid)),
        Note::Text("kept as", vocabulary::reason(spike.reason)),
        Note::Text(
            "status",
            view.explanation.map_or("not explained yet", |explained| vocabulary::status(explained.status)),
        ),
    ];
    instant(sample.due_ns, track, "sample", "due", &[], file);
    slice(sample.due_ns, sample.seen_ns(), track, "sample", &format!("{late} late"), &notes, file);
    instant(sample.seen_ns(), track, "sample", "seen", &[], file);
}

/// Adjacent stretches of one phase on one CPU form one slice.
fn phases(spike: &Spike, stretches: &[Stretch], file: &mut Message) {
    for run in stretches.chunk_by(|one, next| one.phase == next.phase && one.cpu == next.cpu) {
        let [first, .., last] = run else {
            if let [only] = run {
                phase(spike, only, only.end_ns, file);
            }
            continue;
        };
        phase(spike, first, last.end_ns, file);
    }
}

fn phase(spike: &Spike, first: &Stretch, end_ns: i64, file: &mut Message) {
    let notes = [Note::Number("ns", end_ns.saturating_sub(first.start_ns)), Note::Number("cpu", i64::from(first.cpu))];
    slice(first.start_ns, end_ns, track_of(spike, Part::Phases), "phase", first.phase.title(), &notes, file);
}

fn owners(spike: &Spike, stretches: &[Stretch], file: &mut Message) {
    let track = track_of(spike, Part::Owners);
    for run in stretches.chunk_by(|one, next| (one.cpu, one.kind, &one.name) == (next.cpu, next.kind, &next.name)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let notes = [
            Note::Number("ns", last.end_ns.saturating_sub(first.start_ns)),
            Note::Number("cpu", i64::from(first.cpu)),
            Note::Text("kind", vocabulary::owner_kind(first.kind)),
        ];
        slice(first.start_ns, last.end_ns, track, "owner", &first.name, &notes, file);
    }
}

/// Slices over the whole wake-up, the largest finding on top.
fn findings(spike: &Spike, explanation: &Explanation, file: &mut Message) {
    let track = track_of(spike, Part::Findings);
    let (due_ns, seen_ns) = (spike.sample.due_ns, spike.sample.seen_ns());
    if explanation.findings.is_empty() {
        if explanation.status != ExplanationStatus::Explained {
            let caveats: Vec<&str> = explanation.caveats.iter().map(|caveat| caveat.text.as_str()).collect();
            let caveats = caveats.join("\n");
            let notes = [Note::Text("caveats", &caveats)];
            slice(due_ns, seen_ns, track, "finding", vocabulary::status(explanation.status), &notes, file);
        }
        return;
    }
    for finding in &explanation.findings {
        let evidence = finding.evidence.join("\n");
        let notes = [
            Note::Text("culprit", finding.culprit.id()),
            Note::Text("confidence", vocabulary::confidence(finding.confidence)),
            Note::Number("ns", finding.ns),
            Note::Text("evidence", &evidence),
            Note::Text("confirm", &finding.confirm),
            Note::Text("fix", &finding.fix),
        ];
        begin(due_ns, track, "finding", &finding.sentence, &notes, file);
    }
    explanation.findings.iter().for_each(|_| end(seen_ns, track, file));
}

/// A slice from the first to the last event of the snapshot that is not in an earlier one.
pub fn slice_of_snapshot(spike: &Spike, extent: Option<(u64, u64)>, gaps: &[String], file: &mut Message) {
    let Some((begin_ns, end_ns)) = extent else { return };
    let (begin_ns, end_ns) = (begin_ns as i64, end_ns as i64);
    let gaps = gaps.join("\n");
    let notes: &[Note] = if gaps.is_empty() { &[] } else { &[Note::Text("missing", &gaps)] };
    let track = track_of(spike, Part::Recorded);
    slice(begin_ns, end_ns, track, "snapshot", &format!("snapshot of spike {}", spike.number), notes, file);
}

/// Markers that this tool or another program wrote into the trace.
pub fn markers(spike: &Spike, markers: &[(u64, String)], file: &mut Message) {
    for (at_ns, text) in markers {
        instant(*at_ns as i64, track_of(spike, Part::Markers), "marker", text, &[], file);
    }
}

pub fn describe_ranked(track: u64, parent: u64, name: &str, description: &str, rank: i64, file: &mut Message) {
    packet_of(file, |message| {
        message.message(TRACK_DESCRIPTOR, |descriptor| {
            descriptor.unsigned(descriptor::UUID, track).unsigned(descriptor::PARENT, parent);
            descriptor.text(descriptor::NAME, name).signed(descriptor::RANK, rank);
            if !description.is_empty() {
                descriptor.text(descriptor::DESCRIPTION, description);
            }
        });
    });
}

pub fn slice(start_ns: i64, end_ns: i64, track: u64, category: &str, name: &str, notes: &[Note], file: &mut Message) {
    if start_ns < end_ns {
        begin(start_ns, track, category, name, notes, file);
        end(end_ns, track, file);
    }
}

fn begin(at_ns: i64, track: u64, category: &str, name: &str, notes: &[Note], file: &mut Message) {
    event_at(at_ns, track, event::BEGIN, file, |event| worded(event, category, name, notes));
}

fn end(at_ns: i64, track: u64, file: &mut Message) {
    event_at(at_ns, track, event::END, file, |_| {});
}

fn instant(at_ns: i64, track: u64, category: &str, name: &str, notes: &[Note], file: &mut Message) {
    event_at(at_ns, track, event::INSTANT, file, |event| worded(event, category, name, notes));
}

fn worded(event: &mut Message, category: &str, name: &str, notes: &[Note]) {
    event.text(event::CATEGORY, category).text(event::NAME, name);
    for note in notes {
        event.message(event::ANNOTATION, |message| match note {
            Note::Number(name, value) => {
                message.text(annotation::NAME, name).signed(annotation::SIGNED, *value);
            }
            Note::Text(name, value) => {
                message.text(annotation::NAME, name).text(annotation::TEXT, value);
            }
        });
    }
}

/// Perfetto has no times before 0; such a sample is damaged and is left out.
fn event_at(at_ns: i64, track: u64, kind: u64, file: &mut Message, write: impl FnOnce(&mut Message)) {
    let Ok(at_ns) = u64::try_from(at_ns) else { return };
    packet_of(file, |message| {
        message.unsigned(TIMESTAMP, at_ns);
        message.message(TRACK_EVENT, |event| {
            event.unsigned(event::TYPE, kind).unsigned(event::TRACK, track);
            write(event);
        });
    });
}

fn packet_of(file: &mut Message, write: impl FnOnce(&mut Message)) {
    file.message(TRACE_PACKET, |message| {
        message.unsigned(packet::SEQUENCE, SEQUENCE);
        write(message);
    });
}
