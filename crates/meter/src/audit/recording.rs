//! The trace instance of an audit, drained to the host while it records.

use super::looks::Looks;
use super::{EVENTS, ThreadList};
use crate::cadence::Every;
use crate::interception::Intercepted;
use crate::journal::{Entry, Journal};
use crate::kernel::clock;
use crate::link::Link;
use crate::trace::error::TraceError;
use crate::trace::snapshotter::INSTANCE_PREFIX;
use archive::audit::{AuditDescription, AuditSettings, DESCRIPTION_VERSION};
use archive::message::{FileKind, LossKind, Message};
use ftrace::tracefs::{Instance, RawPages, Tracefs};
use std::collections::BTreeMap;
use std::io::Write;

/// Most bytes of one CPU per round: the rest of the session's work must not wait for it.
const ROUND_BYTES_MAX: usize = 16 << 20;
/// Programs map libraries and open files in their first moments.
const FIRST_LOOKS: u32 = 20;
const FIRST_LOOK_NS: i64 = 50_000_000;
const LOOK_NS: i64 = 1_000_000_000;
/// Calls of a round that shows the cost of recording; the buffers hold all of them.
const COST_CALLS: u32 = 500;
const COST_ROUNDS: u32 = 5;
/// The events that an intercepted program records itself.
const CALLS: &str = "raw_syscalls";

/// The shortest of several rounds of a cheap system call, in ns: the rest is what else the machine does.
fn calls_ns() -> u64 {
    let round = || {
        let start_ns = clock::monotonic_ns();
        (0..COST_CALLS).for_each(|_| _ = rustix::process::getppid());
        u64::try_from(clock::monotonic_ns() - start_ns).unwrap_or(0)
    };
    (0..COST_ROUNDS).map(|_| round()).min().unwrap_or(0)
}

/// An armed audit. The journal removes its instance.
pub struct AuditRecording {
    instance: Instance,
    pages: Vec<(u32, RawPages)>,
    files: BTreeMap<u32, Growing>,
    bytes: Vec<u8>,
    bytes_left: u64,
    looks: Looks,
    first_looks: Every,
    looks_after: Every,
    looked: u32,
    description: AuditDescription,
    intercepted: Option<OwnCalls>,
}

/// Calls that the program records itself.
struct OwnCalls {
    reader: Intercepted,
    file: Option<Growing>,
    left_out: u64,
}

/// A file of the archive that grows.
#[derive(Debug, Clone, Copy)]
struct Growing {
    file: u32,
    bytes: u64,
}

impl AuditRecording {
    /// Creates the instance, journalled, with its events on and recording off.
    ///
    /// # Errors
    /// [`TraceError`]; the journal undoes the changes.
    pub fn arm(
        tracefs: &Tracefs,
        settings: &AuditSettings,
        threads: ThreadList,
        intercepted: Option<Intercepted>,
        journal: &mut Journal,
    ) -> Result<Self, TraceError> {
        let intercepted = intercepted.map(|reader| OwnCalls { reader, file: None, left_out: 0 });
        let name = format!("{INSTANCE_PREFIX}{}-audit", std::process::id());
        journal.note(Entry::TraceInstance { name: name.clone() })?;
        let instance = tracefs.create_instance(&name)?;
        instance.set_tracing_on(false)?;
        instance.set_clock("mono")?;
        instance.set_buffer_size_kb(settings.buffer_kb_per_cpu)?;
        // A full buffer loses the newest events, so that what is there has no gaps but one.
        let _ = instance.set_option("overwrite", false);
        let _ = instance.set_option("record-cmd", false);
        let stacks = settings.stacks && instance.set_option("userstacktrace", true).is_ok();
        // Nothing may be recorded of other threads, so the threads are set before the events are switched on.
        let own = std::process::id() as i32;
        instance.set_event_pids(&[own])?;
        instance.set_option("event-fork", true)?;
        let mut events_absent = Vec::new();
        let wanted = |(system, _): &&(&str, &str)| intercepted.is_none() || *system != CALLS;
        for (system, event) in EVENTS.iter().filter(wanted) {
            if !instance.enable_event(system, event)? {
                events_absent.push(format!("{system}:{event}"));
            }
        }
        let metadata = instance.metadata(EVENTS)?;
        let mut pages = Vec::new();
        for cpu in instance.cpus() {
            pages.push((cpu, instance.open_raw(cpu)?));
        }
        let description = AuditDescription {
            description_version: DESCRIPTION_VERSION,
            machine: rustix::system::uname().machine().to_string_lossy().into_owned(),
            stacks,
            big_endian: cfg!(target_endian = "big"),
            page_bytes: instance.page_layout()?.page_size as u64,
            header_page: metadata.header_page,
            header_event: metadata.header_event,
            event_formats: metadata.event_formats,
            events_absent,
            ..AuditDescription::default()
        };
        Ok(Self {
            instance,
            pages,
            files: BTreeMap::new(),
            bytes: Vec::new(),
            bytes_left: settings.budget_bytes,
            looks: Looks::new(threads),
            first_looks: Every::new(FIRST_LOOK_NS),
            looks_after: Every::new(LOOK_NS),
            looked: 0,
            description,
            intercepted,
        })
    }

    /// Starts recording only these threads and those that they start.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn begin(&mut self) -> Result<(), TraceError> {
        let tids = self.looks.look();
        self.instance.set_event_pids(&tids)?;
        self.description.started_ns = clock::monotonic_ns();
        self.instance.set_tracing_on(true)?;
        Ok(())
    }

    /// Sends what was recorded since the last call, and looks at the program from time to time.
    pub fn drain<W: Write>(&mut self, link: &mut Link<W>) {
        let now_ns = clock::monotonic_ns();
        let early = self.looked < FIRST_LOOKS && self.first_looks.is_due(now_ns);
        if early || self.looks_after.is_due(now_ns) {
            self.looked += 1;
            let new = self.looks.look();
            // Threads of a name that started meanwhile; children of known ones are recorded by the kernel itself.
            let _ = self.instance.add_event_pids(&new);
        }
        self.drain_calls(link, Intercepted::drain);
        for (cpu, pages) in &mut self.pages {
            self.bytes.clear();
            // What cannot be read is a gap that the next page reports.
            let _ = pages.drain_into(&mut self.bytes, ROUND_BYTES_MAX);
            let length = self.bytes.len() as u64;
            if length == 0 {
                continue;
            }
            if length > self.bytes_left {
                self.description.bytes_left_out += length;
                continue;
            }
            self.bytes_left -= length;
            let begin = || Growing { file: link.begin_file(FileKind::AuditPages { cpu: *cpu }), bytes: 0 };
            let growing = self.files.entry(*cpu).or_insert_with(begin);
            link.chunk(growing.file, growing.bytes, &self.bytes);
            growing.bytes += length;
        }
    }

    /// Sends the calls that the program recorded itself.
    fn drain_calls<W: Write>(&mut self, link: &mut Link<W>, drain: fn(&mut Intercepted, u64, &mut Vec<u8>) -> u64) {
        let Some(calls) = &mut self.intercepted else { return };
        self.bytes.clear();
        calls.left_out += drain(&mut calls.reader, self.bytes_left, &mut self.bytes);
        if self.bytes.is_empty() {
            return;
        }
        self.bytes_left -= self.bytes.len() as u64;
        let growing =
            calls.file.get_or_insert_with(|| Growing { file: link.begin_file(FileKind::AuditCalls), bytes: 0 });
        link.chunk(growing.file, growing.bytes, &self.bytes);
        growing.bytes += self.bytes.len() as u64;
    }

    /// What a call costs more while it is recorded, in ns: the meter's own calls with and without. Nothing of it is sent.
    fn cost_ns(&self) -> Option<u64> {
        self.instance.set_event_pids(&[std::process::id() as i32]).ok()?;
        let bare_ns = calls_ns();
        self.instance.set_tracing_on(true).ok()?;
        let recorded_ns = calls_ns();
        self.instance.set_tracing_on(false).ok()?;
        Some(recorded_ns.saturating_sub(bare_ns) / u64::from(COST_CALLS))
    }

    /// Stops recording, sends the rest and the description.
    pub fn close<W: Write>(mut self, link: &mut Link<W>) {
        self.description.ended_ns = clock::monotonic_ns();
        let _ = self.instance.set_tracing_on(false);
        self.drain(link);
        self.drain_calls(link, Intercepted::drain_all);
        let calls = self.intercepted.as_ref().and_then(|calls| calls.file.as_ref());
        for Growing { file, bytes } in self.files.values().chain(calls) {
            link.send(&Message::FileEnd { file: *file, bytes: *bytes });
        }
        if let Some(calls) = &mut self.intercepted {
            let described = calls.reader.describe(calls.left_out);
            link.loss(
                LossKind::Events,
                described.lost,
                "system calls of the intercepted program; findings count too few",
            );
            self.description.interception = Some(described);
        }
        if self.intercepted.is_none() {
            self.description.cost_ns_per_call = self.cost_ns();
        }
        self.description.cpus = self.files.keys().copied().collect();
        self.looks.describe(&mut self.description);
        let overrun: u64 = self
            .description
            .cpus
            .iter()
            .filter_map(|cpu| self.instance.cpu_stats(*cpu).ok())
            .map(|stats| stats.overrun + stats.dropped_events)
            .sum();
        link.loss(LossKind::Events, overrun, "of the audited threads: the buffers were full; findings count too few");
        let left_out = self.description.bytes_left_out;
        link.loss(LossKind::FileBytes, left_out, "of recorded calls: more than the budget of the audit");
        let text = serde_json::to_vec(&self.description).expect("a description has only string keys");
        link.file(FileKind::AuditDescription, &text);
    }
}
