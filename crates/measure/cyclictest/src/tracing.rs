//! The trace of `--snapshot` and `--breaktrace`: armed before the first sample, stored in numbered files.

use super::error::Error;
use super::figures::MeasuringThread;
use super::output_file::OutputFile;
use super::request::Request;
use super::thread::Shared;
use archive::settings::{SnapshotMode, TraceSettings};
use archive::spike::{Spike, SpikeReason};
use ftrace::tracefs::Tracefs;
use meter::gaps::Gaps;
use meter::journal::Journal;
use meter::kernel::trace_mount;
use meter::measure::start_instant::StartInstant;
use meter::trace::arming::{self, Armed, INSTANCE_PREFIX};
use meter::trace::capture::{Captured, MeasuredThread};
use meter::trace::capturing::{Capturing, Place, Spikes};
use meter::trace::error::TraceError;
use std::path::Path;
use std::sync::Arc;

/// A trace stored in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTrace {
    pub file: String,
    /// Whether it was stored for `--snapshot`, otherwise for `--breaktrace`.
    pub snapshot: bool,
    pub tid: i32,
    pub cycle: u64,
    pub latency_ns: i64,
    number: u32,
}

/// Whether the command line requests a trace, and whether it is required.
pub fn wanted(request: &Request) -> Option<bool> {
    let required = request.snapshot.is_some() || request.tracer.is_some();
    let helpful = request.breaktrace.is_some() && !request.tracemark;
    (required || helpful).then_some(required)
}

/// Creates and arms a snapshotter. Everything created is in the journal.
///
/// # Errors
/// The missing feature of the kernel or the machine, with the fix.
pub fn arm(request: &Request, cpu_count: usize, journal: &mut Journal) -> Result<Armed, Error> {
    if request.realtime_clock {
        return Err(Error::RealtimeTrace);
    }
    let probe = Path::new(&request.snapshot_dir).join(file_name(true, 1));
    OutputFile::prepare(&probe.to_string_lossy()).map_err(Error::SnapshotDirectory)?;
    let tracefs =
        trace_mount::find_or_mount().map_err(|error| Error::NoTracing(TraceError::from(error).to_string()))?;
    if let Some(other) = tracefs.foreign_tracing(INSTANCE_PREFIX).into_iter().next() {
        return Err(Error::ForeignTracing(other));
    }
    let able = tracefs.capabilities();
    if let Some(tracer) = &request.tracer {
        tracer_is_there(tracer, &able.tracers)?;
    }
    let settings = settings();
    let armed = arming::choose_mode(SnapshotMode::Auto, &able)
        .and_then(|mode| arming::arm(&tracefs, mode, &settings, cpu_count, journal))
        .map_err(|error| Error::Recorder(error.to_string()))?;
    if let Some(tracer) = request.tracer.as_deref().filter(|tracer| *tracer != "nop") {
        choose_tracer(&tracefs, tracer)?;
    }
    Ok(armed)
}

fn settings() -> TraceSettings {
    TraceSettings { snapshots_max: 10_000, budget_bytes: u64::MAX, controls: 0, ..TraceSettings::default() }
}

/// The option of the kernel configuration that a tracer needs.
fn config_of(tracer: &str) -> Option<&'static str> {
    Some(match tracer {
        "function" => "CONFIG_FUNCTION_TRACER",
        "function_graph" => "CONFIG_FUNCTION_GRAPH_TRACER",
        "irqsoff" => "CONFIG_IRQSOFF_TRACER",
        "preemptoff" => "CONFIG_PREEMPT_TRACER",
        "preemptirqsoff" => "CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER",
        "wakeup" | "wakeup_rt" | "wakeup_dl" => "CONFIG_SCHED_TRACER",
        "hwlat" => "CONFIG_HWLAT_TRACER",
        "osnoise" => "CONFIG_OSNOISE_TRACER",
        "timerlat" => "CONFIG_TIMERLAT_TRACER",
        "blk" => "CONFIG_BLK_DEV_IO_TRACE",
        "mmiotrace" => "CONFIG_MMIOTRACE",
        _ => return None,
    })
}

fn tracer_is_there(tracer: &str, tracers: &[String]) -> Result<(), Error> {
    if tracers.iter().any(|there| there == tracer) {
        return Ok(());
    }
    Err(match config_of(tracer) {
        Some(config) => Error::MissingTracer { tracer: tracer.into(), config },
        None => Error::UnknownTracer { tracer: tracer.into(), there: tracers.to_vec() },
    })
}

/// Sets the tracer in every recording instance of this process.
fn choose_tracer(tracefs: &Tracefs, tracer: &str) -> Result<(), Error> {
    let own = format!("{INSTANCE_PREFIX}{}-", std::process::id());
    for name in tracefs.instances() {
        if name.strip_prefix(&own).is_some_and(|suffix| suffix != "bell") {
            let path = tracefs.root().join("instances").join(&name).join("current_tracer");
            std::fs::write(&path, tracer).map_err(|source| {
                let config = config_of(tracer).unwrap_or("its configuration option");
                Error::RefusedTracer { tracer: tracer.into(), config, source }
            })?;
        }
    }
    Ok(())
}

fn file_name(snapshot: bool, number: u32) -> String {
    let pid = std::process::id();
    if snapshot { format!("snapshot-{pid}-{number}.dat") } else { format!("breaktrace-{pid}.dat") }
}

/// A running snapshotter.
pub struct Tracing {
    capturing: Capturing,
    directory: String,
    snapshots: u32,
    largest_ns: i64,
    kept: Vec<KeptTrace>,
    /// Failures of single traces.
    pub complaints: Vec<String>,
}

impl Tracing {
    /// Starts recording and the thread that waits for spikes.
    ///
    /// # Errors
    /// The capturing thread cannot be started.
    fn start(
        armed: Armed,
        request: &Request,
        watched: Vec<MeasuredThread>,
        cpus: Vec<u32>,
        start: Arc<StartInstant>,
    ) -> Result<Self, Error> {
        let place = Place { cpus, gaps: Gaps::default() };
        let capturing = Capturing::start(armed, settings(), Spikes::Signalled(watched), place, start)
            .map_err(|error| Error::Capturing(error.to_string()))?;
        Ok(Self {
            capturing,
            directory: request.snapshot_dir.clone(),
            snapshots: 0,
            largest_ns: i64::MIN,
            kept: Vec::new(),
            complaints: Vec::new(),
        })
    }

    /// Writes snapshots captured since the last call.
    pub fn keep_captured(&mut self) {
        for captured in self.capturing.received() {
            match captured {
                Captured::Spike { spike, parts, .. } if spike.snapshot.is_some() => {
                    // Each thread announces its own maxima; only those of the whole test get a file.
                    if spike.reason == SpikeReason::OverLimit || spike.sample.latency_ns > self.largest_ns {
                        let trace = self.capturing.trace_dat(&parts);
                        self.write(&spike, &trace);
                    }
                    self.capturing.done_with(&parts, 0);
                }
                Captured::Spike { spike, .. } => {
                    let why = spike.snapshot_missing.unwrap_or_default();
                    self.complaints.push(format!("a trace is missing: {why}"));
                }
                Captured::Broken { error } => self.complaints.push(error.to_string()),
                Captured::Dropped { number } => {
                    if let Some(at) = self.kept.iter().position(|kept| kept.number == number) {
                        let _ = std::fs::remove_file(self.kept.remove(at).file);
                    }
                }
            }
        }
    }

    fn write(&mut self, spike: &Spike, trace: &[u8]) {
        let snapshot = spike.reason != SpikeReason::OverLimit;
        self.snapshots += u32::from(snapshot);
        self.largest_ns = self.largest_ns.max(spike.sample.latency_ns);
        let file = Path::new(&self.directory).join(file_name(snapshot, self.snapshots)).to_string_lossy().into_owned();
        match OutputFile::prepare(&file).and_then(|output| output.finish(trace)) {
            Ok(()) => self.kept.push(KeptTrace {
                file,
                snapshot,
                tid: spike.tid,
                cycle: spike.sample.cycle,
                latency_ns: spike.sample.latency_ns,
                number: spike.number,
            }),
            Err(error) => self.complaints.push(error.to_string()),
        }
    }

    /// Ends the recording; returns the stored traces in chronological order.
    pub fn finish(mut self) -> (Vec<KeptTrace>, Vec<String>) {
        if !self.capturing.stop() {
            self.complaints.push("the capturing thread died; later traces are missing".into());
        }
        self.keep_captured();
        (self.kept, self.complaints)
    }
}

/// Starts the snapshotter for the measuring threads.
///
/// # Errors
/// The capturing thread cannot be started.
pub fn start_beside(
    armed: Armed,
    request: &Request,
    members: &[MeasuringThread],
    allowed: &[u32],
    shared: &Shared,
) -> Result<Tracing, Error> {
    let watched = members
        .iter()
        .map(|member| MeasuredThread {
            thread: member.job.thread,
            tid: member.effective.tid,
            record: member.pages.record.clone(),
        })
        .collect();
    Tracing::start(armed, request, watched, allowed.to_vec(), shared.start.clone())
}

/// The lines about snapshots at the end.
pub fn snapshot_lines(out: &mut String, traces: &[KeptTrace], nanoseconds: bool) {
    use std::fmt::Write;
    let snapshots: Vec<&KeptTrace> = traces.iter().filter(|trace| trace.snapshot).collect();
    let _ = writeln!(out, "# Snapshot taking time: {}", snapshots.len());
    if let Some(last) = snapshots.last() {
        let value = super::tally::in_unit(last.latency_ns, nanoseconds);
        let _ = write!(out, "# Snapshot thread: {}\n# Snapshot value: {value}\n", last.tid);
    }
    for trace in snapshots {
        let value = super::tally::in_unit(trace.latency_ns, nanoseconds);
        let _ =
            writeln!(out, "# Snapshot file: {} thread {} cycle {} value {value}", trace.file, trace.tid, trace.cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tracer_is_named_with_its_option() {
        let there = ["nop".to_owned(), "function".to_owned()];
        assert!(tracer_is_there("function", &there).is_ok());
        let missing = tracer_is_there("wakeup_rt", &there).unwrap_err();
        assert!(missing.to_string().contains("CONFIG_SCHED_TRACER") && missing.exit_status() == 3, "{missing:?}");
        let unknown = tracer_is_there("magic", &there).unwrap_err();
        assert!(unknown.to_string().contains("nop, function") && unknown.exit_status() == 2, "{unknown:?}");
    }

    #[test]
    fn snapshots_are_listed_with_the_last_one_first() {
        let trace = |number, latency_ns| KeptTrace {
            file: format!("s{number}"),
            snapshot: true,
            tid: 7,
            cycle: 3,
            latency_ns,
            number,
        };
        let mut out = String::new();
        snapshot_lines(&mut out, &[trace(1, 5_100), trace(2, 9_900)], false);
        assert!(out.starts_with("# Snapshot taking time: 2\n# Snapshot thread: 7\n# Snapshot value: 9\n"), "{out}");
        assert!(out.ends_with("# Snapshot file: s2 thread 7 cycle 3 value 9\n"), "{out}");
    }
}
