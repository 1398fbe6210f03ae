//! The trace instance of the block requests, drained to the host while it records.

use super::{EVENTS, OF_MAPPING_DEVICE, Of, device};
use crate::journal::Journal;
use crate::kernel::{clock, trace_mount};
use crate::link::Link;
use crate::methods::program::RequestingProgram;
use crate::trace::error::TraceError;
use crate::trace::share::Share;
use crate::trace::streamed::StreamedTrace;
use archive::effective::EffectiveThread;
use archive::message::FileKind;
use archive::recorded_pages::PAGES_BYTES_MAX;
use archive::settings::RunSettings;
use archive::storage::{DESCRIPTION_VERSION, StorageDescription, StorageDevice};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

const BUFFER_KB_PER_CPU: u32 = 8192;
/// Devices with more have one pattern for the threads of all interrupts: the kernel limits a filter to a page.
const INTERRUPTS_NAMED: usize = 16;

/// An armed recording. The journal removes its instance.
pub struct BlockPathRecording {
    trace: StreamedTrace,
    budget: u64,
    share: Share,
    length_ns: Option<i64>,
    description: StorageDescription,
    /// The program that makes the requests in place of the measuring threads: its threads may start later.
    program: Option<Arc<dyn RequestingProgram>>,
    program_threads: BTreeSet<i32>,
}

impl BlockPathRecording {
    /// Creates the instance, journalled, with recording off; `None` if not one block device serves the requests to these places.
    /// `program` makes them, or the measuring threads do.
    ///
    /// # Errors
    /// [`TraceError`]; the journal undoes the changes.
    pub fn arm(
        settings: &RunSettings,
        places: &[PathBuf],
        threads: &[EffectiveThread],
        program: Option<Arc<dyn RequestingProgram>>,
        journal: &mut Journal,
    ) -> Result<Option<Self>, TraceError> {
        let Some(device) = device::of_all(places) else { return Ok(None) };
        let program_threads: BTreeSet<i32> = program.iter().flat_map(|program| program.threads()).collect();
        let threads: Vec<(u32, i32)> = match program {
            None => threads.iter().map(|thread| (thread.thread, thread.tid)).collect(),
            Some(_) => Vec::new(),
        };
        let tids: Vec<i32> = threads.iter().map(|(_, tid)| *tid).chain(program_threads.iter().copied()).collect();
        let tracefs = trace_mount::find_or_mount()?;
        let kind = |cpu| FileKind::StoragePages { cpu };
        let mut trace = StreamedTrace::create(&tracefs, "storage", BUFFER_KB_PER_CPU, kind, journal)?;
        let instance = &trace.instance;
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
            let filter = filter(*of, &device, &tids);
            if !filter.is_empty() {
                instance.set_event_filter(system, event, &filter)?;
            }
            instance.enable_event(system, event)?;
        }
        let names: Vec<(&str, &str)> = wanted.iter().map(|(system, event, _)| (*system, *event)).collect();
        trace.open(&names, events_absent)?;
        let description = StorageDescription {
            description_version: DESCRIPTION_VERSION,
            device,
            threads,
            ..StorageDescription::default()
        };
        let length_ns = settings.duration_ns.map(|ns| ns.saturating_add(settings.settle_ns));
        let length_ns = length_ns.and_then(|ns| i64::try_from(ns).ok());
        let (budget, share) = (PAGES_BYTES_MAX, Share::begin(0, 0, None, PAGES_BYTES_MAX, u64::MAX));
        Ok(Some(Self { trace, budget, share, length_ns, description, program, program_threads }))
    }

    /// Starts recording.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn begin(&mut self) -> Result<(), TraceError> {
        let now_ns = clock::monotonic_ns();
        let ends_ns = self.length_ns.map(|ns| now_ns.saturating_add(ns));
        self.share = Share::begin(now_ns, now_ns, ends_ns, self.budget, u64::MAX);
        Ok(self.trace.instance.set_tracing_on(true)?)
    }

    /// Sends what was recorded since the last call. Of more requests than the budget holds, every part of the run has some.
    pub fn drain<W: Write>(&mut self, link: &mut Link<W>) {
        self.program_threads.extend(self.program.iter().flat_map(|program| program.threads()));
        let share = self.share.now(clock::monotonic_ns(), self.budget);
        let left = self.budget;
        self.trace.drain_share(link, &mut self.budget, share);
        self.share.spend(left - self.budget);
    }

    /// Stops recording, sends the rest and the description.
    pub fn close<W: Write>(mut self, link: &mut Link<W>) {
        let buffers_full = "of block requests: the buffers were full; those requests are not split";
        let budget_used = "of block requests: more than the budget; those requests are not split";
        self.description.fio_threads = self.program_threads.into_iter().collect();
        self.description.recorded = self.trace.close(link, &mut self.budget, buffers_full, budget_used);
        let text = serde_json::to_vec(&self.description).expect("a description has only string keys");
        link.file(FileKind::StorageDescription, &text);
    }
}

/// The filter of an event; empty for all.
fn filter(of: Of, device: &StorageDevice, tids: &[i32]) -> String {
    let any = |conditions: Vec<String>| conditions.join(" || ");
    let each = |fields: &[&str]| {
        any(tids.iter().flat_map(|tid| fields.iter().map(move |field| format!("{field} == {tid}"))).collect())
    };
    // A kernel with threaded interrupts completes in the interrupt's thread; where softirqs are many, ksoftirqd does.
    let completers = || match device.interrupts.len() {
        ..=INTERRUPTS_NAMED => device.interrupts.iter().map(|number| format!("irq/{number}-*")).collect(),
        _ => vec!["irq/*".to_owned()],
    };
    let with_completers = |fields: &[(&str, &str)]| {
        let numbers: Vec<&str> = fields.iter().map(|(number, _)| *number).collect();
        let mut conditions = vec![each(&numbers)];
        for name in completers().iter().map(String::as_str).chain(["ksoftirqd/*"]) {
            conditions.extend(fields.iter().map(|(_, field)| format!("{field} ~ \"{name}\"")));
        }
        any(conditions)
    };
    match of {
        Of::Device => any([Some(device.number), device.partition]
            .iter()
            .flatten()
            .map(|number| format!("dev == {number}"))
            .collect()),
        Of::Woken => with_completers(&[("pid", "comm")]),
        Of::Switched => with_completers(&[("prev_pid", "prev_comm"), ("next_pid", "next_comm")]),
        Of::Running => each(&["common_pid"]),
        Of::Anything(filter) => filter.to_owned(),
    }
}
