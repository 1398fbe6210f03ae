//! The trace instance of an audit, drained to the host while it records.

use super::proc_scan::ProcScan;
use super::{EVENTS, ThreadList};
use crate::cadence::Every;
use crate::interception::Intercepted;
use crate::journal::Journal;
use crate::kernel::clock;
use crate::link::{GrowingFile, Link};
use crate::trace::error::TraceError;
use crate::trace::share::Share;
use crate::trace::streamed::StreamedTrace;
use archive::audit::{AuditDescription, AuditSettings, DESCRIPTION_VERSION};
use archive::message::{FileKind, LossKind};
use ftrace::tracefs::Tracefs;
use std::io::Write;

/// Programs map libraries and open files in their first moments.
const FIRST_SCANS: u32 = 20;
const FIRST_SCAN_NS: i64 = 50_000_000;
const SCAN_NS: i64 = 1_000_000_000;
/// Calls of a round that shows the cost of recording; the buffers hold all of them.
const COST_CALLS: u32 = 500;
const COST_ROUNDS: u32 = 5;
/// Most bytes that are sent each second in the long run. More of a storm shows nothing more, and takes longer to judge than to
/// record.
const A_SECOND_MAX: u64 = 8 << 20;
/// Most bytes of own calls of a drain; a reader sorts more than these at a time.
const CALLS_BYTES_MAX: u64 = 2 << 20;
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
    trace: StreamedTrace,
    bytes: Vec<u8>,
    budget: u64,
    share: Share,
    duration_ns: Option<u64>,
    settle_ns: i64,
    scan: ProcScan,
    first_scans: Every,
    later_scans: Every,
    scans: u32,
    description: AuditDescription,
    intercepted: Option<OwnCalls>,
}

/// Calls that the program records itself.
struct OwnCalls {
    reader: Intercepted,
    file: Option<GrowingFile>,
    left_out: u64,
}

impl AuditRecording {
    /// Creates the instance, journalled, with its events on and recording off.
    ///
    /// # Errors
    /// [`TraceError`]; the journal undoes the changes.
    pub fn arm(
        tracefs: &Tracefs,
        settings: &AuditSettings,
        duration_ns: Option<u64>,
        threads: ThreadList,
        intercepted: Option<Intercepted>,
        journal: &mut Journal,
    ) -> Result<Self, TraceError> {
        let intercepted = intercepted.map(|reader| OwnCalls { reader, file: None, left_out: 0 });
        let kind = |cpu| FileKind::AuditPages { cpu };
        let mut trace = StreamedTrace::create(tracefs, "audit", settings.buffer_kb_per_cpu, kind, journal)?;
        let instance = &trace.instance;
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
        trace.open(EVENTS, events_absent)?;
        let description = AuditDescription {
            description_version: DESCRIPTION_VERSION,
            machine: rustix::system::uname().machine().to_string_lossy().into_owned(),
            stacks,
            ..AuditDescription::default()
        };
        Ok(Self {
            trace,
            bytes: Vec::new(),
            budget: settings.budget_bytes,
            share: Share::begin(0, 0, None, settings.budget_bytes, A_SECOND_MAX),
            duration_ns,
            settle_ns: i64::try_from(settings.settle_ns).unwrap_or(i64::MAX),
            scan: ProcScan::new(threads),
            first_scans: Every::new(FIRST_SCAN_NS),
            later_scans: Every::new(SCAN_NS),
            scans: 0,
            description,
            intercepted,
        })
    }

    /// Starts recording only these threads and those that they start.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn begin(&mut self) -> Result<(), TraceError> {
        let tids = self.scan.repeat();
        self.trace.instance.set_event_pids(&tids)?;
        let now_ns = clock::monotonic_ns();
        self.description.started_ns = now_ns;
        let length_ns = self.duration_ns.and_then(|ns| i64::try_from(ns).ok());
        let settled_ns = now_ns.saturating_add(self.settle_ns);
        self.share =
            Share::begin(now_ns, settled_ns, length_ns.map(|ns| now_ns.saturating_add(ns)), self.budget, A_SECOND_MAX);
        self.trace.instance.set_tracing_on(true)?;
        Ok(())
    }

    /// Sends what was recorded since the last call, and looks at the program from time to time.
    pub fn drain<W: Write>(&mut self, link: &mut Link<W>) {
        let now_ns = clock::monotonic_ns();
        let early = self.scans < FIRST_SCANS && self.first_scans.is_due(now_ns);
        if early || self.later_scans.is_due(now_ns) {
            self.scans += 1;
            let new = self.scan.repeat();
            // Threads of a name that started meanwhile; children of known ones are recorded by the kernel itself.
            let _ = self.trace.instance.add_event_pids(&new);
        }
        let share = self.share.now(now_ns, self.budget);
        // The trace has the waits and the faults, which the calls must not displace.
        let of_calls = if self.intercepted.is_some() { (share - share / 8).min(CALLS_BYTES_MAX) } else { 0 };
        let left = self.budget;
        self.drain_calls(link, of_calls, Intercepted::drain);
        let of_calls = left - self.budget;
        self.trace.drain_share(link, &mut self.budget, share - of_calls);
        self.share.spend(left - self.budget);
    }

    /// Sends the calls that the program recorded itself.
    fn drain_calls<W: Write>(
        &mut self,
        link: &mut Link<W>,
        bytes_max: u64,
        drain: fn(&mut Intercepted, u64, &mut Vec<u8>) -> u64,
    ) {
        let Some(calls) = &mut self.intercepted else { return };
        self.bytes.clear();
        calls.left_out += drain(&mut calls.reader, bytes_max.min(self.budget), &mut self.bytes);
        if self.bytes.is_empty() {
            return;
        }
        self.budget -= self.bytes.len() as u64;
        calls.file.get_or_insert_with(|| GrowingFile::begin(link, FileKind::AuditCalls)).append(link, &self.bytes);
    }

    /// The additional cost of a call while it is recorded, in ns: the meter's own calls with and without. Nothing of it is sent.
    fn cost_ns(&self) -> Option<u64> {
        self.trace.instance.set_event_pids(&[std::process::id() as i32]).ok()?;
        let bare_ns = calls_ns();
        self.trace.instance.set_tracing_on(true).ok()?;
        let recorded_ns = calls_ns();
        self.trace.instance.set_tracing_on(false).ok()?;
        Some(recorded_ns.saturating_sub(bare_ns) / u64::from(COST_CALLS))
    }

    /// Stops recording, sends the rest and the description.
    pub fn close<W: Write>(mut self, link: &mut Link<W>) {
        self.description.ended_ns = clock::monotonic_ns();
        let _ = self.trace.instance.set_tracing_on(false);
        self.drain(link);
        self.drain_calls(link, CALLS_BYTES_MAX, Intercepted::drain_all);
        let buffers_full = "of the audited threads: the buffers were full; findings count too few";
        let budget_used = "of recorded calls: more than the budget of the audit";
        self.description.recorded = self.trace.close(link, &mut self.budget, buffers_full, budget_used);
        match self.intercepted.take() {
            Some(mut calls) => {
                if let Some(file) = calls.file {
                    file.end(link);
                }
                let described = calls.reader.describe(calls.left_out);
                let detail = "system calls of the intercepted program; findings count too few";
                link.loss(LossKind::Events, described.lost, detail);
                self.description.interception = Some(described);
            }
            // After the end of the files, which have nothing of it.
            None => self.description.cost_ns_per_call = self.cost_ns(),
        }
        self.scan.describe(&mut self.description);
        let text = serde_json::to_vec(&self.description).expect("a description has only string keys");
        link.file(FileKind::AuditDescription, &text);
    }
}
