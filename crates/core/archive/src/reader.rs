//! Opens an archive directory, whatever a crash, a full disk or an attacker did to it.
//!
//! Opening never fails because of the contents: it returns what is readable plus [`Run::gaps`], each a sentence that
//! names the file and the missing part. The archive is untrusted input; sizes are bounded.

mod beside;
mod deciding;
mod late;
mod role_figures;
mod room;
mod worst_spikes;

pub use room::{Part, Room};

use crate::absence::SpikeAbsences;
use crate::budget::{Budget, Share};
use crate::counted::{LINES_KEPT_MAX, OutputCounts};
use crate::counters::{CounterSecond, joined};
use crate::damage::Damage;
use crate::directory::ArchiveDirectory;
use crate::effective::EffectiveSettings;
use crate::energy::{EnergyUse, SOURCES_MAX};
use crate::environment::Environment;
use crate::frame::{Decoder, Item};
use crate::histogram::Histogram;
use crate::layout::{FileKind, MANIFEST, MANIFEST_BYTES_MAX, STREAM, file_path};
use crate::manifest::Manifest;
use crate::message::{Ending, LoadReport, Loss, Message, Problem, RunPhase};
use crate::planned::PlannedStep;
use crate::problem::Remark;
use crate::recorded::{FlightRecording, RECORDED_BYTES_MAX, RECORDED_FILE, RECORDED_VERSION, Recorded};
use crate::roles::{RoleFigures, RunRole};
use crate::sample::{Sample, Second, Totals};
use crate::second_records::SecondRecords;
use crate::spike::Spike;
use crate::stimulus::StimulusBoard;
use crate::tracer::{KernelSeries, LatencyTrace};
use crate::watched::WatchedSeries;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Bytes outside frames that a stream may have in addition to the bytes in frames; beyond that the rest is not read.
const DAMAGED_BYTES_MAX: u64 = 16 << 20;
/// Bytes of counters in memory; with more, neighbours are joined.
const COUNTERS_BYTES_MAX: u64 = 32 << 20;

/// Most threads of a run; a watched program has a thousand.
const THREADS_MAX: usize = 16_384;

/// Why there is no archive to open.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("failed to open {0}: no such archive; `tardy list` shows the runs")]
    Missing(PathBuf),
    #[error("failed to open {0}: not a run archive (neither manifest.json nor stream.tardy in it)")]
    Foreign(PathBuf),
    #[error("failed to read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// State of an archive without its stream.
#[derive(Debug, Clone, PartialEq)]
pub struct ArchiveState {
    /// Absent if it cannot be read.
    pub manifest: Option<Manifest>,
    /// A process on this machine is writing it.
    pub goes_on: bool,
}

impl ArchiveState {
    /// The state of the archive in a directory.
    ///
    /// # Errors
    /// As [`Run::open`].
    pub fn of(directory: &Path) -> Result<Self, OpenError> {
        let inside = opened(directory)?;
        let manifest = read_manifest(&inside).ok();
        Ok(Self { manifest, goes_on: inside.file(STREAM).is_ok_and(|file| is_written(&file)) })
    }
}

/// The data of one measuring thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadRun {
    pub thread: u32,
    pub cpu: u32,
    pub totals: Totals,
    pub histogram: Histogram,
    pub worst: Vec<Sample>,
    pub seconds: SecondRecords,
}

/// An opened archive.
#[derive(Debug, Clone, Default)]
pub struct Run {
    pub directory: PathBuf,
    pub manifest: Option<Manifest>,
    /// A process on this machine is writing it.
    pub goes_on: bool,
    /// The step of a plan that the run belongs to.
    pub planned: Option<PlannedStep>,
    pub meter_version: Option<String>,
    /// Of the boot of the target in which it ran.
    pub boot_id: Option<String>,
    /// CLOCK_REALTIME minus CLOCK_MONOTONIC of the target, in ns.
    pub realtime_offset_ns: Option<i64>,
    pub environment: Option<Environment>,
    pub effective: Option<EffectiveSettings>,
    /// Phases the meter entered, with their instants.
    pub phases: Vec<(RunPhase, i64)>,
    pub threads: BTreeMap<u32, ThreadRun>,
    /// Description of each watched series, by its number.
    pub watched: BTreeMap<u32, WatchedSeries>,
    /// Lines of the watched command's output that were to be counted.
    pub output: OutputCounts,
    /// Figures of the external board that gave the stimuli.
    pub stimulus_board: Option<StimulusBoard>,
    /// Figures of the other machines of the same measurement.
    pub roles: BTreeMap<RunRole, RoleFigures>,
    /// In chronological order, without dropped ones; those recorded afterwards come last. The worst, at most [`SPIKES_MAX`](crate::spike::SPIKES_MAX), which
    /// a run that is still read may exceed by half.
    pub spikes: Vec<Spike>,
    /// Smaller spikes, without room.
    pub spikes_left_out: u64,
    /// When the host did not execute the machine's CPUs, by number of the spike. Absent if no host recorded it.
    pub absences: BTreeMap<u32, SpikeAbsences>,
    /// Flight records in virtual time, by number of the spike.
    pub recordings: BTreeMap<u32, FlightRecording>,
    pub loads: Vec<LoadReport>,
    /// Counts of the kernel, in chronological order.
    pub counters: Vec<CounterSecond>,
    /// Energy of the parts of the machine that count it.
    pub energy: Vec<EnergyUse>,
    /// In chronological order.
    pub latency_traces: Vec<LatencyTrace>,
    /// By name and CPU.
    pub kernel_series: BTreeMap<(String, u32), KernelSeries>,
    pub losses: Vec<Loss>,
    pub problems: Vec<Problem>,
    pub ending: Option<(Ending, i64)>,
    /// Missing and damaged parts.
    pub gaps: Vec<Remark>,
    /// Bytes of the parts above that are kept, and the number of records without room.
    pub room: Room,
}

impl Run {
    /// Opens the archive in a directory.
    ///
    /// # Errors
    /// Only if there is no archive at all: [`OpenError::Missing`], [`OpenError::Foreign`].
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, OpenError> {
        Self::open_with(directory.into(), Decoder::default())
    }

    /// Opens an archive for a summary of the whole run: [`ThreadRun::seconds`] and [`Run::counters`] are empty, which
    /// saves most of the time for a long run.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_without_seconds(directory: impl Into<PathBuf>) -> Result<Self, OpenError> {
        Self::open_with(directory.into(), Decoder::without_seconds())
    }

    fn open_with(directory: PathBuf, decoder: Decoder) -> Result<Self, OpenError> {
        let inside = opened(&directory)?;
        let mut run = Run { directory, ..Run::default() };
        run.read_manifest(&inside);
        run.read_stream(&inside, decoder);
        run.read_recorded(&inside);
        run.leave_out_small_spikes();
        run.note_missing_parts(&inside);
        Ok(run)
    }

    fn read_manifest(&mut self, inside: &ArchiveDirectory) {
        match read_manifest(inside) {
            Ok(manifest) => {
                if manifest.archive_version > crate::ARCHIVE_VERSION {
                    self.note(&Damage::ManifestNewer { version: manifest.archive_version });
                }
                self.expect_seconds(&manifest);
                self.manifest = Some(manifest);
            }
            Err(error) => self.note(&Damage::ManifestUnreadable { error: error.to_string() }),
        }
    }

    /// A long run on many CPUs has more records of seconds than a run without settings may bring.
    fn expect_seconds(&mut self, manifest: &Manifest) {
        let Some(settings) = manifest.settings.as_ref().filter(|_| manifest.imported.is_none()) else { return };
        self.room.expect_seconds(Budget::of(settings).most(Share::Seconds, manifest.lasted()));
    }

    fn read_recorded(&mut self, inside: &ArchiveDirectory) {
        let bytes = match inside.read(RECORDED_FILE, RECORDED_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                return self.note(&Damage::RecordingsUnreadable { file: RECORDED_FILE, error: error.to_string() });
            }
        };
        let recorded = match serde_json::from_slice::<Recorded>(&bytes) {
            Ok(recorded) if recorded.recorded_version <= RECORDED_VERSION => recorded,
            Ok(_) => return self.note(&Damage::RecordingsNewer { file: RECORDED_FILE }),
            Err(error) => {
                return self.note(&Damage::RecordingsUnreadable { file: RECORDED_FILE, error: error.to_string() });
            }
        };
        let mut known: BTreeSet<u32> = self.spikes.iter().map(|spike| spike.number).collect();
        for spike in recorded.spikes {
            self.recordings.insert(spike.number, recorded.recording.clone());
            // A spike that also has a snapshot of the kernel is already known.
            if known.insert(spike.number) {
                self.add_spike(spike);
            }
        }
    }

    fn read_stream(&mut self, inside: &ArchiveDirectory, mut decoder: Decoder) {
        let mut file = match inside.file(STREAM) {
            Ok(file) => file,
            Err(error) => return self.note(&Damage::StreamUnreadable { error: error.to_string() }),
        };
        self.goes_on = is_written(&file);
        let mut buffer = vec![0; 256 << 10];
        let (mut bytes, mut damaged) = (0, 0);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let items = decoder.push(&buffer[..count]);
                    bytes += count as u64;
                    damaged += items.iter().map(damaged_bytes).sum::<u64>();
                    self.take(items);
                    if damaged > DAMAGED_BYTES_MAX + bytes / 2 {
                        self.note(&Damage::StreamAbandoned { bytes });
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.note(&Damage::StreamUnreadable { error: error.to_string() });
                    break;
                }
            }
        }
        self.take(decoder.finish());
    }

    /// Applies items of a stream, from a file or live.
    pub fn take(&mut self, items: Vec<Item>) {
        // Number of a dropped spike, and the length of `spikes` at that time. They are removed together: each removal
        // visits every spike.
        let mut dropped: BTreeMap<u32, usize> = BTreeMap::new();
        for item in items {
            match item {
                Item::Message(Message::SpikeDropped { number, .. }) => {
                    self.spikes_left_out -= u64::from(self.room.spikes.forget(number));
                    dropped.insert(number, self.spikes.len());
                }
                Item::Message(message) => self.apply(message),
                Item::Chunk { .. } => {}
                Item::Unknown { why } => self.note(&Damage::MessageUnknown { why }),
                Item::Garbage { bytes } => self.note(&Damage::BytesDamaged { bytes: bytes.len() }),
                Item::FramesLost { count } => self.note(&Damage::FramesMissing { count: count.into() }),
            }
        }
        if !dropped.is_empty() {
            let mut place = 0;
            self.spikes.retain(|spike| {
                place += 1;
                dropped.get(&spike.number).is_none_or(|before| place > *before)
            });
        }
        self.leave_out_small_spikes_of_many();
    }

    fn apply(&mut self, message: Message) {
        match message {
            Message::Hello { meter_version, boot_id, realtime_ns, monotonic_ns, .. } => {
                self.meter_version = Some(meter_version);
                self.boot_id = Some(boot_id).filter(|id| !id.is_empty());
                self.realtime_offset_ns = realtime_ns.checked_sub(monotonic_ns);
            }
            // The host wrote it before the target sent anything.
            Message::Planned(planned) => drop(self.planned.get_or_insert(*planned)),
            Message::Environment(environment) => self.environment = Some(*environment),
            Message::Effective(effective) => self.effective = Some(*effective),
            Message::Phase { phase, monotonic_ns } => {
                if self.room.admits(Part::Phases, 0) {
                    self.phases.push((phase, monotonic_ns));
                }
            }
            Message::Progress { .. } => {}
            Message::Seconds(seconds) => seconds.into_iter().for_each(|second| self.add_second(second)),
            Message::PackedSeconds(packed) => packed.unpacked().iter().for_each(|second| self.add_second(second)),
            Message::Thread { thread, cpu, totals, histogram, worst } => {
                let bytes = room::figure_bytes(&histogram, &worst);
                if !self.room.admits_state(Part::Totals, "", thread, bytes) {
                    return;
                }
                let Some(entry) = self.thread(thread) else { return };
                entry.cpu = cpu;
                entry.totals = totals;
                entry.histogram = histogram.normalised();
                entry.worst = worst;
            }
            Message::Spike(spike) => self.add_spike(*spike),
            Message::SpikeDropped { .. } => {}
            Message::Absences(seen) => {
                if self.room.admits_state(Part::Absences, "", seen.spike, room::stored_bytes(&seen)) {
                    self.absences.insert(seen.spike, seen);
                }
            }
            Message::FileBegin { .. } | Message::FileEnd { .. } => {}
            Message::Loads(loads) => self.loads = loads,
            Message::Energy(sources) => self.energy = sources.into_iter().take(SOURCES_MAX).collect(),
            Message::Counters(seconds) => seconds.into_iter().for_each(|second| self.add_counters(second)),
            Message::LatencyTrace(trace) => {
                if self.room.admits(Part::LatencyTraces, room::stored_bytes(&*trace)) {
                    self.latency_traces.push(*trace);
                }
            }
            Message::KernelSeries(series) => series.into_iter().for_each(|series| self.replace_series(series)),
            Message::Watched(series) => {
                for one in series {
                    if self.room.admits_state(Part::WatchedSeries, "", one.thread, room::stored_bytes(&one)) {
                        self.watched.insert(one.thread, one);
                    }
                }
            }
            Message::OutputCounts(counts) => {
                self.output.totals = counts.totals;
                let room = LINES_KEPT_MAX - self.output.lines.len();
                self.output.lines.extend(counts.lines.into_iter().take(room));
            }
            Message::StimulusBoard(board) => self.stimulus_board = Some(board.normalised()),
            Message::Role(figures) => drop(self.roles.insert(figures.role, figures.normalised())),
            Message::Loss(loss) => self.add_loss(loss),
            Message::Problem(problem) => {
                let bytes = room::text_bytes(&problem.text) + room::text_bytes(&problem.fix);
                if self.room.admits(Part::of(&problem), bytes + problem.code.as_str().len() as u64) {
                    self.problems.push(problem);
                }
            }
            Message::End { ending, monotonic_ns } => self.ending = Some((ending, monotonic_ns)),
        }
    }

    fn add_second(&mut self, second: Second) {
        if self.room.admits(Part::Seconds, 0)
            && let Some(thread) = self.thread(second.thread)
        {
            thread.seconds.push(second);
        }
    }

    /// The data of a thread, if there is room for one more.
    fn thread(&mut self, thread: u32) -> Option<&mut ThreadRun> {
        if self.threads.len() >= THREADS_MAX && !self.threads.contains_key(&thread) {
            return None;
        }
        let new = || ThreadRun { thread, cpu: thread, ..ThreadRun::default() };
        Some(self.threads.entry(thread).or_insert_with(new))
    }

    /// The sum of each kind of loss is exact, whatever is left out.
    fn add_loss(&mut self, loss: Loss) {
        if self.room.admits(Part::Losses, room::text_bytes(&loss.detail) + loss.kind.as_str().len() as u64) {
            self.losses.push(loss);
        } else if let Some(known) = self.losses.iter_mut().rev().find(|known| known.kind == loss.kind) {
            known.count = known.count.saturating_add(loss.count);
        }
    }

    /// Over the bound, two neighbours become one: each count is still there once.
    fn add_counters(&mut self, second: CounterSecond) {
        self.room.counters_bytes += room::counter_bytes(&second);
        self.counters.push(second);
        if self.room.counters_bytes > COUNTERS_BYTES_MAX {
            self.counters = joined(&self.counters, 2);
            self.room.counters_bytes = self.counters.iter().map(room::counter_bytes).sum();
        }
    }

    fn replace_series(&mut self, series: KernelSeries) {
        let bytes = room::figure_bytes(&series.histogram, &[]);
        if !self.room.admits_state(Part::KernelSeries, &series.name, series.cpu, bytes) {
            return;
        }
        let series = KernelSeries { histogram: series.histogram.normalised(), ..series };
        self.kernel_series.insert((series.name.clone(), series.cpu), series);
    }

    /// Whether it holds what a latency tracer of another tool's user found, and no samples.
    pub fn is_stretch(&self) -> bool {
        let imported = self.manifest.as_ref().is_some_and(|manifest| manifest.imported.is_some());
        imported && self.threads.is_empty() && !self.latency_traces.is_empty()
    }

    fn note_missing_parts(&mut self, inside: &ArchiveDirectory) {
        if self.ending.is_none() {
            self.note(if self.goes_on { &Damage::GoesOn } else { &Damage::CutOff });
        }
        if !self.is_stretch() && self.threads.values().all(|thread| thread.totals.cycles == 0) {
            self.note(&Damage::NoTotals);
        }
        let left_out: Vec<(Part, u64)> = self.room.left_out().collect();
        for (part, count) in left_out {
            let (part, figures) = (part.to_string(), part.has_figures());
            let damage =
                if figures { Damage::FiguresLeftOut { part, count } } else { Damage::RecordsLeftOut { part, count } };
            self.gaps.push(Remark::new(&damage));
        }
        if self.spikes_left_out > 0 {
            self.note(&Damage::SpikesLeftOut { count: self.spikes_left_out });
        }
        if self.is_published() {
            return self.note(&Damage::Published);
        }
        let absent = |kind| !inside.has(file_path(kind));
        let traces = self.spikes.iter().filter(|spike| spike.snapshot.is_some()).map(|spike| spike.number);
        let traces = traces.filter(|spike| absent(FileKind::SpikeTrace { spike: *spike }));
        let texts = self.latency_traces.iter().map(|trace| trace.number);
        let texts = texts.filter(|number| absent(FileKind::LatencyTrace { number: *number }));
        let missing: Vec<Damage> = traces
            .map(|spike| Damage::TraceMissing { spike })
            .chain(texts.map(|number| Damage::TracerTextMissing { number }))
            .collect();
        missing.iter().for_each(|damage| self.note(damage));
    }

    /// Whether the archive was made anonymous for others: its explanations cannot be made again.
    pub fn is_published(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.published.is_some())
    }

    fn note(&mut self, damage: &Damage) {
        let remark = Remark::new(damage);
        if self.room.admits(Part::Gaps, room::text_bytes(&remark.text)) {
            self.gaps.push(remark);
        }
    }
}

/// The directory of an archive.
fn opened(directory: &Path) -> Result<ArchiveDirectory, OpenError> {
    if !directory.is_dir() {
        return Err(OpenError::Missing(directory.to_owned()));
    }
    let inside = ArchiveDirectory::open(directory);
    let inside = inside.map_err(|source| OpenError::Io { path: directory.to_owned(), source })?;
    if !inside.has(MANIFEST) && !inside.has(STREAM) {
        return Err(OpenError::Foreign(directory.to_owned()));
    }
    Ok(inside)
}

fn read_manifest(inside: &ArchiveDirectory) -> io::Result<Manifest> {
    Ok(serde_json::from_slice(&inside.read(MANIFEST, MANIFEST_BYTES_MAX)?)?)
}

/// Whether a process on this machine is writing a stream: it holds a lock for its lifetime. The lock of this test is released
/// with the file.
fn is_written(stream: &File) -> bool {
    flock(stream, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

/// Bytes of an item outside any frame.
fn damaged_bytes(item: &Item) -> u64 {
    match item {
        Item::Garbage { bytes } => bytes.len() as u64,
        _ => 0,
    }
}
