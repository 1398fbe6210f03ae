//! Files that a run sends: which kinds its settings ask for, how many are open at once, and how many bytes are kept.

use super::allowance::{cpus, page_files, threads};
use super::share::{Excess, Share};
use crate::audit::DESCRIPTION_BYTES_MAX;
use crate::frame::Item;
use crate::layout::FileKind;
use crate::message::Message;
use crate::recorded_pages::PAGES_BYTES_MAX;
use crate::settings::RunSettings;
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

/// The most of one group of files.
#[derive(Debug, Clone, Copy)]
struct Group {
    open: u64,
    bytes: u64,
}

#[derive(Debug)]
struct SentFile {
    kind: FileKind,
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
}

/// Files whose bytes count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Traces,
    Samples,
    Pages,
    Tracer,
}

impl Kind {
    fn of(kind: FileKind) -> Self {
        match kind {
            FileKind::SpikeTrace { .. } | FileKind::FlightRecord { .. } => Self::Traces,
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
                self.files.retain(|_, file| file.kind != FileKind::SpikeTrace { spike: *number });
                Ok(())
            }
            Item::Chunk { file, data, .. } => self.grow(*file, data.len() as u64),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, file: u32, kind: FileKind) -> Result<(), Excess> {
        let bytes = self.files.get(&file).map_or(0, |before| before.bytes);
        self.files.insert(file, SentFile { kind, open: true, bytes });
        let kind = Kind::of(kind);
        let open = self.files.values().filter(|file| file.open && Kind::of(file.kind) == kind).count() as u64;
        let most = self.group(kind).open;
        if open > most { Err(Excess { share: Share::OpenFiles, most }) } else { Ok(()) }
    }

    fn end(&mut self, file: u32) {
        if let Some(file) = self.files.get_mut(&file) {
            file.open = false;
        }
    }

    fn grow(&mut self, file: u32, count: u64) -> Result<(), Excess> {
        // Bytes of a file whose beginning was lost are not stored.
        let Some(file) = self.files.get_mut(&file) else { return Ok(()) };
        file.bytes = file.bytes.saturating_add(count);
        let kind = Kind::of(file.kind);
        let of_kind = self.files.values().filter(|file| Kind::of(file.kind) == kind);
        let bytes = of_kind.map(|file| file.bytes).fold(0, u64::saturating_add);
        let most = self.group(kind).bytes;
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
