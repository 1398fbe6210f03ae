//! Whether and how this run is traced.

use crate::journal::Journal;
use crate::kernel::{descriptors, trace_mount};
use crate::kernel_tracer::refusal::{self, Refusal};
use crate::kernel_tracer::{recording, setup};
use crate::link::Link;
use crate::methods::MeasuringMethod;
use crate::problem::MeterProblem;
use crate::session::plan::Plan;
use crate::trace::arming::{self, Armed, INSTANCE_PREFIX};
use crate::trace::error::TraceError;
use archive::message::Severity;
use archive::settings::{RunSettings, SnapshotMode};
use archive::watched::WatchSettings;
use ftrace::tracefs::Tracefs;
use std::io::Write;

/// Open files in addition to the trace buffers.
const FILES: u64 = 256;
/// Two buffers and a marker, and those of the kernel's tracers.
const FILES_PER_CPU: u64 = 8;

/// A snapshotter that is armed but not started, or `None` if the run is not traced.
///
/// # Errors
/// Another tool is tracing, or an explicitly requested mode is not available.
pub fn prepare<W: Write>(
    settings: &RunSettings,
    method: &dyn MeasuringMethod,
    plan: &Plan,
    journal: &mut Journal,
    link: &mut Link<W>,
) -> Result<Option<Armed>, MeterProblem> {
    // The trace of a sample that is known long after its end is lost.
    let in_time = settings.watch.is_some() || method.sees_samples_at_once();
    if settings.trace.mode == SnapshotMode::Off || !in_time {
        return Ok(None);
    }
    descriptors::allow_files(FILES + FILES_PER_CPU * possible_cpus(plan) as u64);
    let tracefs = match trace_mount::find_or_mount() {
        Ok(tracefs) => tracefs,
        Err(error) => return without_trace(settings, link, error.into()),
    };
    refuse_company(settings, &tracefs, link)?;
    if let Some(tracer) = settings.trace.tracer.as_ref().filter(|tracer| tracer.name != "nop") {
        refusal::available(&tracefs, &tracer.name)?;
    }
    let able = tracefs.capabilities();
    let asked = match (settings.trace.mode, &settings.watch) {
        // For threads of another program, the kernel's own detection is fastest.
        (SnapshotMode::Auto, Some(_)) if able.swaps() && able.hist_triggers => SnapshotMode::Onmax,
        (SnapshotMode::Auto, Some(WatchSettings { guard: Some(_), .. })) if !able.swaps() => SnapshotMode::Live,
        (asked, _) => asked,
    };
    let armed = arming::choose_mode(asked, &able)
        .and_then(|mode| arming::arm(&tracefs, mode, &settings.trace, possible_cpus(plan), journal));
    let armed = match armed {
        Ok(armed) => armed,
        Err(error) => return without_trace(settings, link, error),
    };
    let (asked_kb, given_kb) = (settings.trace.buffer_kb_per_cpu, armed.buffer_kb_per_cpu);
    if given_kb != asked_kb {
        link.problem(Severity::Notice, &MeterProblem::BuffersLimited { asked_kb, given_kb });
    }
    if let Some(tracer) = &settings.trace.tracer {
        armed.snapshotter.recording().into_iter().try_for_each(|instance| recording::arm(instance, tracer))?;
    }
    Ok(Some(armed))
}

/// The kernel's tracers that run in addition to the snapshotter, armed; `None` if the run requests none.
///
/// # Errors
/// The part of an explicit request that this kernel lacks.
pub fn prepare_tracers<W: Write>(
    settings: &RunSettings,
    plan: &Plan,
    journal: &mut Journal,
    link: &mut Link<W>,
) -> Result<Option<setup::Armed>, MeterProblem> {
    if !setup::wanted(settings) {
        return Ok(None);
    }
    let tracefs = trace_mount::find_or_mount().map_err(Refusal::from)?;
    let mut armed = setup::arm(&tracefs, settings, &plan.measured, journal)?;
    for notice in armed.notices.drain(..) {
        link.problem(notice.severity(), &notice);
    }
    Ok(Some(armed))
}

fn possible_cpus(plan: &Plan) -> usize {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/possible").ok();
    let last = listed.and_then(|text| text.trim().rsplit(['-', ',']).next()?.parse::<usize>().ok());
    last.map_or(plan.measured.len(), |last| last + 1)
}

/// Mode `auto` may fall back to none; an explicitly requested mode may not.
fn without_trace<W: Write>(
    settings: &RunSettings,
    link: &mut Link<W>,
    error: TraceError,
) -> Result<Option<Armed>, MeterProblem> {
    if settings.trace.tracer.is_some() {
        return Err(MeterProblem::NoTracer(error));
    }
    if settings.trace.mode != SnapshotMode::Auto {
        return Err(MeterProblem::NoTracing(error));
    }
    link.problem(Severity::Degraded, &MeterProblem::Untraced(error));
    Ok(None)
}

fn refuse_company<W: Write>(settings: &RunSettings, tracefs: &Tracefs, link: &mut Link<W>) -> Result<(), MeterProblem> {
    let others: Vec<String> = tracefs.foreign_tracing(INSTANCE_PREFIX).iter().map(ToString::to_string).collect();
    if others.is_empty() {
        return Ok(());
    }
    let others = others.join("; ");
    if !settings.trace.beside_others {
        return Err(MeterProblem::OtherTracing { others });
    }
    link.problem(Severity::Degraded, &MeterProblem::TracedBeside { others });
    Ok(())
}
