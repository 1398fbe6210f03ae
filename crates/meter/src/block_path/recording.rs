//! The trace instance of the block requests, drained to the host while it records.

use super::{EVENTS, OF_MAPPING_DEVICE, Of, device};
use crate::journal::{Entry, Journal};
use crate::kernel::trace_mount;
use crate::link::Link;
use crate::methods::storage::{Place, Requests};
use crate::trace::error::TraceError;
use crate::trace::snapshotter::INSTANCE_PREFIX;
use archive::message::{FileKind, LossKind, Message};
use archive::method::MethodRequest;
use archive::settings::EffectiveThread;
use archive::storage::{DESCRIPTION_VERSION, PAGES_BYTES_MAX, StorageDescription, StorageDevice};
use ftrace::tracefs::{Instance, RawPages};
use std::collections::BTreeMap;
use std::io::Write;

const BUFFER_KB_PER_CPU: u32 = 8192;
/// Most bytes of one CPU per round: the rest of the session's work must not wait for it.
const ROUND_BYTES_MAX: usize = 16 << 20;

/// An armed recording. The journal removes its instance.
pub struct BlockPathRecording {
    instance: Instance,
    pages: Vec<(u32, RawPages)>,
    files: BTreeMap<u32, Growing>,
    bytes: Vec<u8>,
    bytes_left: u64,
    description: StorageDescription,
}

/// A file of the archive that grows.
#[derive(Debug, Clone, Copy)]
struct Growing {
    file: u32,
    bytes: u64,
}

impl BlockPathRecording {
    /// Creates the instance, journalled, with recording off; `None` if no block device serves the requests.
    ///
    /// # Errors
    /// [`TraceError`]; the journal undoes the changes.
    pub fn arm(
        request: &MethodRequest,
        threads: &[EffectiveThread],
        journal: &mut Journal,
    ) -> Result<Option<Self>, TraceError> {
        let place = match Requests::of(request).place {
            Place::FileIn(directory) => directory,
            Place::Device(device) => device,
        };
        let Some(device) = device::of(&place) else { return Ok(None) };
        let tracefs = trace_mount::find_or_mount()?;
        let name = format!("{INSTANCE_PREFIX}{}-storage", std::process::id());
        journal.note(Entry::TraceInstance { name: name.clone() })?;
        let instance = tracefs.create_instance(&name)?;
        instance.set_tracing_on(false)?;
        instance.set_clock("mono")?;
        instance.set_buffer_size_kb(BUFFER_KB_PER_CPU)?;
        // A full buffer loses the newest events, so that what is there has no gaps but one.
        let _ = instance.set_option("overwrite", false);
        let _ = instance.set_option("record-cmd", false);
        let mut wanted = EVENTS.to_vec();
        if device.maps {
            wanted.push(OF_MAPPING_DEVICE);
        }
        let mut events_absent = Vec::new();
        for (system, event, of) in &wanted {
            if !instance.has_event(system, event) {
                events_absent.push(format!("{system}:{event}"));
                continue;
            }
            let filter = filter(*of, &device, threads);
            if !filter.is_empty() {
                instance.set_event_filter(system, event, &filter)?;
            }
            instance.enable_event(system, event)?;
        }
        let names: Vec<(&str, &str)> = wanted.iter().map(|(system, event, _)| (*system, *event)).collect();
        let metadata = instance.metadata(&names)?;
        let mut pages = Vec::new();
        for cpu in instance.cpus() {
            pages.push((cpu, instance.open_raw(cpu)?));
        }
        let description = StorageDescription {
            description_version: DESCRIPTION_VERSION,
            big_endian: cfg!(target_endian = "big"),
            page_bytes: instance.page_layout()?.page_size as u64,
            header_page: metadata.header_page,
            header_event: metadata.header_event,
            event_formats: metadata.event_formats,
            events_absent,
            device,
            threads: threads.iter().map(|thread| (thread.thread, thread.tid)).collect(),
            ..StorageDescription::default()
        };
        Ok(Some(Self {
            instance,
            pages,
            files: BTreeMap::new(),
            bytes: Vec::new(),
            bytes_left: PAGES_BYTES_MAX,
            description,
        }))
    }

    /// Starts recording.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn begin(&mut self) -> Result<(), TraceError> {
        Ok(self.instance.set_tracing_on(true)?)
    }

    /// Sends what was recorded since the last call.
    pub fn drain<W: Write>(&mut self, link: &mut Link<W>) {
        for (cpu, pages) in &mut self.pages {
            self.bytes.clear();
            // What cannot be read is a gap that the next page reports.
            let _ = pages.drain_into(&mut self.bytes, ROUND_BYTES_MAX);
            let length = self.bytes.len() as u64;
            if length == 0 {
                continue;
            }
            if length > self.bytes_left {
                // Requests of the rest would have parts of their events only.
                self.bytes_left = 0;
                let _ = self.instance.set_tracing_on(false);
                self.description.bytes_left_out += length;
                continue;
            }
            self.bytes_left -= length;
            let begin = || Growing { file: link.begin_file(FileKind::StoragePages { cpu: *cpu }), bytes: 0 };
            let growing = self.files.entry(*cpu).or_insert_with(begin);
            link.chunk(growing.file, growing.bytes, &self.bytes);
            growing.bytes += length;
        }
    }

    /// Stops recording, sends the rest and the description.
    pub fn close<W: Write>(mut self, link: &mut Link<W>) {
        let _ = self.instance.set_tracing_on(false);
        self.drain(link);
        for Growing { file, bytes } in self.files.values() {
            link.send(&Message::FileEnd { file: *file, bytes: *bytes });
        }
        self.description.cpus = self.files.keys().copied().collect();
        let stats = self.description.cpus.iter().filter_map(|cpu| self.instance.cpu_stats(*cpu).ok());
        let overrun: u64 = stats.map(|stats| stats.overrun + stats.dropped_events).sum();
        link.loss(LossKind::Events, overrun, "of block requests: the buffers were full; those requests are not split");
        let left_out = self.description.bytes_left_out;
        link.loss(LossKind::FileBytes, left_out, "of block requests: later ones are not split; make the run shorter");
        let text = serde_json::to_vec(&self.description).expect("a description has only string keys");
        link.file(FileKind::StorageDescription, &text);
    }
}

/// The filter of an event; empty for all.
fn filter(of: Of, device: &StorageDevice, threads: &[EffectiveThread]) -> String {
    let any = |conditions: Vec<String>| conditions.join(" || ");
    let each = |fields: &[&str]| {
        any(threads.iter().flat_map(|thread| fields.iter().map(|field| format!("{field} == {}", thread.tid))).collect())
    };
    match of {
        Of::Device => any([Some(device.number), device.partition]
            .iter()
            .flatten()
            .map(|number| format!("dev == {number}"))
            .collect()),
        Of::Woken => each(&["pid"]),
        Of::Switched => each(&["prev_pid", "next_pid"]),
        Of::Running => each(&["common_pid"]),
        Of::Anything(filter) => filter.to_owned(),
    }
}
