//! Files that a run sends: which kinds its settings ask for, how many are open at once, and how many bytes are kept.

use super::allowance::{cpus, page_files, threads};
use super::share::{Excess, Share};
use crate::audit::DESCRIPTION_BYTES_MAX;
use crate::frame::Item;
use crate::layout::FileKind;
use crate::message::Message;
use crate::recorded_pages::PAGES_BYTES_MAX;
use crate::settings::RunSettings;
use crate::stacks::STACKS_BYTES_MAX;
use crate::storage;
use crate::tracer::{LATENCY_TRACES_MAX, TRACE_TEXT_BYTES_MAX};
use std::collections::BTreeMap;

/// Formats, names and symbols in each trace, in bytes.
const TRACE_HEAD_BYTES: u64 = 4 << 20;
const SAMPLE_BYTES: u64 = 16;
/// Most samples a second of a thread: no method has a shorter interval.
const SAMPLES_A_SECOND: u64 = 1_000_000;
/// A target sends one file after the other, except for those that grow during the run; a damaged line may lose some ends.
const OPEN_BESIDE: u64 = 64;

/// Open files and bytes of one group.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    open: u64,
    bytes: u64,
}

#[derive(Debug)]
struct SentFile {
    /// The spike whose trace it is.
    spike: Option<u32>,
    kind: Kind,
    open: bool,
    bytes: u64,
}

/// The files of a run so far.
#[derive(Debug)]
pub(super) struct SentFiles {
    traces: Group,
    samples: Group,
    pages: Group,
    tracer: Group,
    files: BTreeMap<u32, SentFile>,
    /// Of each kind, the files above: a run may have any number.
    used: BTreeMap<Kind, Group>,
}

/// Files whose bytes count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Traces,
    Samples,
    Pages,
    Tracer,
}

impl Kind {
    pub(super) fn of(kind: FileKind) -> Self {
        match kind {
            FileKind::SpikeTrace { .. } | FileKind::FlightRecord { .. } | FileKind::SpikeStacks { .. } => Self::Traces,
            FileKind::Samples { .. } => Self::Samples,
            FileKind::LatencyTrace { .. } => Self::Tracer,
            FileKind::AuditPages { .. }
            | FileKind::AuditCalls
            | FileKind::AuditDescription
            | FileKind::StoragePages { .. }
            | FileKind::StorageDescription
            | FileKind::FioResult => Self::Pages,
        }
    }
}

impl SentFiles {
    pub(super) fn of(settings: &RunSettings) -> Self {
        let trace = &settings.trace;
        let both_buffers = u64::from(trace.buffer_kb_per_cpu).saturating_mul(2048).saturating_mul(cpus(settings));
        let one_trace = both_buffers.saturating_add(TRACE_HEAD_BYTES).min(trace.budget_bytes.max(TRACE_HEAD_BYTES * 4));
        let has_stacks = settings.watch.as_ref().is_some_and(|watch| watch.stacks);
        let one_trace = one_trace.saturating_add(u64::from(has_stacks) * STACKS_BYTES_MAX);
        // Controls are never replaced, nor is the largest; one more is on its way.
        let traces = trace.budget_bytes.saturating_add(one_trace.saturating_mul(u64::from(trace.controls) + 2));
        let keeps_samples = u64::from(settings.keeps_every_sample());
        let samples_ns = settings.duration_ns.unwrap_or(u64::MAX).saturating_add(settings.settle_ns);
        let samples = (samples_ns / 1_000_000_000 + 60).saturating_mul(SAMPLE_BYTES * SAMPLES_A_SECOND);
        let pages = page_files(settings);
        let descriptions = DESCRIPTION_BYTES_MAX + 2 * storage::DESCRIPTION_BYTES_MAX;
        let texts = u64::from(trace.tracer.is_some()) * u64::from(LATENCY_TRACES_MAX) * TRACE_TEXT_BYTES_MAX;
        Self {
            traces: Group { open: OPEN_BESIDE, bytes: traces },
            samples: Group {
                open: threads(settings) * keeps_samples,
                bytes: samples.saturating_mul(threads(settings) * keeps_samples),
            },
            pages: Group {
                open: pages + OPEN_BESIDE,
                bytes: descriptions + if pages > 0 { 2 * PAGES_BYTES_MAX } else { 0 },
            },
            tracer: Group { open: OPEN_BESIDE, bytes: texts },
            files: BTreeMap::new(),
            used: BTreeMap::new(),
        }
    }

    pub(super) fn charge(&mut self, item: &Item) -> Result<(), Excess> {
        match item {
            Item::Message(Message::FileBegin { file, kind }) => self.begin(*file, *kind),
            Item::Message(Message::FileEnd { file, .. }) => {
                self.end(*file);
                Ok(())
            }
            Item::Message(Message::SpikeDropped { number, .. }) => {
                let traces = self.files.iter().filter(|(_, file)| file.spike == Some(*number));
                let traces: Vec<u32> = traces.map(|(file, _)| *file).collect();
                for file in traces {
                    self.forget(file);
                }
                Ok(())
            }
            Item::Chunk { file, data, .. } => self.grow(*file, data.len() as u64),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, file: u32, kind: FileKind) -> Result<(), Excess> {
        // A second beginning of a number does not take back the bytes of the first.
        let bytes = self.forget(file).map_or(0, |before| before.bytes);
        let spike = kind.spike();
        let kind = Kind::of(kind);
        self.files.insert(file, SentFile { spike, kind, open: true, bytes });
        let used = self.used.entry(kind).or_default();
        used.open += 1;
        used.bytes = used.bytes.saturating_add(bytes);
        let (open, most) = (used.open, self.group(kind).open);
        if open > most { Err(Excess { share: Share::OpenFiles, most }) } else { Ok(()) }
    }

    fn end(&mut self, file: u32) {
        if let Some(file) = self.files.get_mut(&file).filter(|file| file.open) {
            file.open = false;
            self.used.entry(file.kind).and_modify(|used| used.open -= 1);
        }
    }

    fn forget(&mut self, file: u32) -> Option<SentFile> {
        let file = self.files.remove(&file)?;
        self.used.entry(file.kind).and_modify(|used| {
            used.open -= u64::from(file.open);
            used.bytes = used.bytes.saturating_sub(file.bytes);
        });
        Some(file)
    }

    fn grow(&mut self, file: u32, count: u64) -> Result<(), Excess> {
        // Bytes of a file whose beginning was lost are not stored.
        let Some(file) = self.files.get_mut(&file) else { return Ok(()) };
        file.bytes = file.bytes.saturating_add(count);
        let kind = file.kind;
        self.add(kind, count)
    }

    /// Charges bytes of a file that is not open.
    pub(super) fn add(&mut self, kind: Kind, count: u64) -> Result<(), Excess> {
        let used = self.used.entry(kind).or_default();
        used.bytes = used.bytes.saturating_add(count);
        let (bytes, most) = (used.bytes, self.group(kind).bytes);
        if bytes > most { Err(Excess { share: Share::FileBytes, most }) } else { Ok(()) }
    }

    fn group(&self, kind: Kind) -> Group {
        match kind {
            Kind::Traces => self.traces,
            Kind::Samples => self.samples,
            Kind::Pages => self.pages,
            Kind::Tracer => self.tracer,
        }
    }
}
