//! Sets up the kernel's tracers for a run, apart from the snapshotter: own instances, and settings that are changed and
//! journalled.

use super::catalogue::{self, Role, Tracer};
use super::interference::Interference;
use super::latency::LatencyTracer;
use super::refusal::{self, Refusal};
use super::source::SourceReader;
use crate::journal::{Entry, Journal, read_setting};
use crate::trace::arming::INSTANCE_PREFIX;
use archive::settings::RunSettings;
use archive::tracer::KernelSource;
use ftrace::tracefs::{Instance, Tracefs};
use std::path::Path;

/// Armed tracers that do not record yet.
pub struct Armed {
    pub latency: Option<LatencyTracer>,
    pub sources: Vec<SourceReader>,
    /// Their effect on other figures.
    pub notices: Vec<Interference>,
}

/// Whether a run uses any of these; recording tracers run in the snapshotter's instances.
pub fn wanted(settings: &RunSettings) -> bool {
    latency_tracer(settings).is_some() || !settings.sources.is_empty()
}

/// The requested latency tracer.
pub fn latency_tracer(settings: &RunSettings) -> Option<&'static Tracer> {
    let asked = settings.trace.tracer.as_ref()?;
    catalogue::find(&asked.name).filter(|tracer| tracer.role == Role::Latency)
}

/// Creates the instances and sets the tracers. Everything created and changed is in the journal.
///
/// # Errors
/// The missing feature of the kernel, or its refusal.
pub fn arm(
    tracefs: &Tracefs,
    settings: &RunSettings,
    measured: &[u32],
    journal: &mut Journal,
) -> Result<Armed, Refusal> {
    let mut armed = Armed { latency: None, sources: Vec::new(), notices: Vec::new() };
    if settings.sources.contains(&KernelSource::Timerlat) && settings.sources.contains(&KernelSource::Osnoise) {
        return Err(Refusal::TwoNoiseTracers);
    }
    if let (Some(tracer), Some(asked)) = (latency_tracer(settings), &settings.trace.tracer) {
        refusal::available(tracefs, tracer.name)?;
        let instance = make(tracefs, tracer.name, journal)?;
        armed.latency = Some(LatencyTracer::arm(instance, tracer, asked, journal)?);
        armed.notices.push(Interference::Functions { tracer: tracer.name });
    }
    for source in &settings.sources {
        let tracer = refusal::available(tracefs, catalogue::of_source(*source).name)?;
        let instance = make(tracefs, tracer.name, journal)?;
        let cpus = match source {
            KernelSource::Hwlat => hwlat_cpus(tracefs, &instance, measured, &mut armed.notices)?,
            KernelSource::Timerlat | KernelSource::Osnoise => {
                set_up_noise(tracefs, *source, settings.interval_ns, measured, journal)?;
                armed.notices.push(Interference::of(*source));
                measured.to_vec()
            }
        };
        armed.sources.push(SourceReader::arm(instance, *source, tracer, &cpus)?);
    }
    Ok(armed)
}

fn make(tracefs: &Tracefs, tracer: &str, journal: &mut Journal) -> Result<Instance, Refusal> {
    let name = format!("{INSTANCE_PREFIX}{}-{tracer}", std::process::id());
    journal.note(Entry::TraceInstance { name: name.clone() })?;
    Ok(tracefs.create_instance(&name)?)
}

/// timerlat and osnoise share settings outside the instances, global to the kernel.
fn set_up_noise(
    tracefs: &Tracefs,
    source: KernelSource,
    interval_ns: u64,
    measured: &[u32],
    journal: &mut Journal,
) -> Result<(), Refusal> {
    let folder = tracefs.root().join("osnoise");
    let mut wanted = vec![("cpus", cpu_list(measured)), ("stop_tracing_us", "0".into())];
    wanted.push(("stop_tracing_total_us", "0".into()));
    if source == KernelSource::Timerlat {
        // The kernel accepts 100 µs to 1 s.
        wanted.push(("timerlat_period_us", (interval_ns / 1000).clamp(100, 1_000_000).to_string()));
    }
    for (name, value) in wanted {
        change(&folder.join(name), &value, journal)?;
    }
    Ok(())
}

/// Writes a setting unless it already has this value.
fn change(path: &Path, value: &str, journal: &mut Journal) -> Result<(), Refusal> {
    if read_setting(path).is_ok_and(|now| now.trim() == value) {
        return Ok(());
    }
    let changed = journal.change_setting(path, value);
    changed.map(|_| ()).map_err(Refusal::Setting)
}

/// hwlat stops the CPU on which it runs, so it runs where nothing is measured, if there is such a CPU.
fn hwlat_cpus(
    tracefs: &Tracefs,
    instance: &Instance,
    measured: &[u32],
    notices: &mut Vec<Interference>,
) -> Result<Vec<u32>, Refusal> {
    let all = instance.cpus();
    let spared: Vec<u32> = all.iter().copied().filter(|cpu| !measured.contains(cpu)).collect();
    let number = |name: &str| {
        let text = std::fs::read_to_string(tracefs.root().join("hwlat_detector").join(name)).ok();
        text.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let busy = format!("interrupts off for {} of every {} ms", number("width") / 1000, number("window") / 1000);
    if spared.is_empty() {
        notices.push(Interference::HwlatOnMeasured { busy });
        return Ok(all);
    }
    instance.set_cpus(&spared)?;
    notices.push(Interference::HwlatElsewhere { busy, cpus: cpu_list(&spared) });
    Ok(spared)
}

/// `0-2,5`, in the kernel's format: a journal compares the current value with the one it wrote.
fn cpu_list(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let range = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Header, SettingRoots};
    use std::fs;

    #[test]
    fn cpus_are_written_as_the_kernel_prints_them() {
        assert_eq!(cpu_list(&[0, 1, 2, 5]), "0-2,5");
        assert_eq!((cpu_list(&[3]), cpu_list(&[])), ("3".into(), String::new()));
    }

    #[test]
    fn settings_of_the_sources_are_changed_and_put_back_whatever_they_were() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("osnoise");
        fs::create_dir(&folder).unwrap();
        let odd = [
            ("cpus", "1\n"),
            ("stop_tracing_us", "77\n"),
            ("stop_tracing_total_us", "0\n"),
            ("timerlat_period_us", "333\n"),
        ];
        odd.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        let mut journal = Journal::begin_for(
            SettingRoots::below(root.path()),
            &root.path().join("journal"),
            &Header::of_this_process(),
        )
        .unwrap();
        let tracefs = Tracefs::at(root.path());
        set_up_noise(&tracefs, KernelSource::Timerlat, 50_000, &[0, 1], &mut journal).unwrap();
        let now = |name: &str| fs::read_to_string(folder.join(name)).unwrap().trim().to_owned();
        assert_eq!(
            (now("cpus"), now("stop_tracing_us"), now("timerlat_period_us")),
            ("0-1".into(), "0".into(), "100".into())
        );
        assert!(journal.undo().is_empty());
        odd.iter().for_each(|(name, text)| assert_eq!(now(name), text.trim(), "{name}"));
    }
}
