//! Chooses the way to take snapshots and sets up its instances.

use super::both_buffers::BothBuffers;
use super::doorbell::DoorbellInstance;
use super::error::TraceError;
use super::events::{BASE_EVENTS, STEAL_CLOCK_EVENT};
use super::flip::InstanceFlip;
use super::kernel_swap::KernelSwap;
use super::live::LiveInstance;
use super::snapshotter::Snapshotter;
use crate::environment::steal_clock;
use crate::journal::{Entry, Journal};
use archive::settings::{SnapshotMode, TraceSettings};
pub use archive::watched::guard::INSTANCE_PREFIX;
use ftrace::tracefs::{Capabilities, Instance, Tracefs};
use std::path::Path;

/// A snapshotter and its recorded events.
pub struct Armed {
    pub snapshotter: Box<dyn Snapshotter>,
    pub events: Vec<String>,
    pub events_absent: Vec<String>,
    pub buffer_kb_per_cpu: u32,
}

/// The best mode of this kernel, or the requested one if supported.
///
/// # Errors
/// [`TraceError`] with what the kernel lacks.
pub fn choose_mode(asked: SnapshotMode, able: &Capabilities) -> Result<SnapshotMode, TraceError> {
    if !able.instances {
        return Err(TraceError::NoInstances);
    }
    if !able.has_clock("mono") {
        return Err(TraceError::NoMonotonicClock);
    }
    match asked {
        SnapshotMode::Auto if able.swaps() => Ok(SnapshotMode::Trigger),
        SnapshotMode::Auto | SnapshotMode::Flip => Ok(SnapshotMode::Flip),
        SnapshotMode::Live => Ok(SnapshotMode::Live),
        SnapshotMode::Trigger if able.swaps() => Ok(SnapshotMode::Trigger),
        SnapshotMode::Trigger => Err(TraceError::NoSnapshots),
        SnapshotMode::Onmax if able.swaps() && able.hist_triggers => Ok(SnapshotMode::Onmax),
        SnapshotMode::Onmax => Err(TraceError::NoMaxima),
        SnapshotMode::Off => Ok(SnapshotMode::Off),
    }
}

/// Creates the instances, journalled, and sets everything except `tracing_on`.
///
/// # Errors
/// [`TraceError`]; the journal undoes what was created.
pub fn arm(
    tracefs: &Tracefs,
    mode: SnapshotMode,
    settings: &TraceSettings,
    cpu_count: usize,
    journal: &mut Journal,
) -> Result<Armed, TraceError> {
    let buffer_kb = affordable_kb(settings.buffer_kb_per_cpu, cpu_count);
    let pid = std::process::id();
    let mut make = |suffix: &str| -> Result<Instance, TraceError> {
        let name = format!("{INSTANCE_PREFIX}{pid}-{suffix}");
        journal.note(Entry::TraceInstance { name: name.clone() })?;
        tracefs.create_instance(&name).map_err(TraceError::from)
    };
    let (snapshotter, recording): (Box<dyn Snapshotter>, Vec<Instance>) = match mode {
        SnapshotMode::Flip => {
            let (first, second, doorbell) = (make("a")?, make("b")?, DoorbellInstance::new(make("bell")?)?);
            let recording = vec![first.clone(), second.clone()];
            (Box::new(InstanceFlip::new(first, second, doorbell)?), recording)
        }
        SnapshotMode::Live => {
            let (instance, doorbell) = (make("a")?, DoorbellInstance::new(make("bell")?)?);
            (Box::new(LiveInstance::new(instance.clone(), doorbell)?), vec![instance])
        }
        SnapshotMode::Onmax => {
            let instance = make("a")?;
            (Box::new(BothBuffers::new(instance.clone(), buffer_kb)), vec![instance])
        }
        _ => {
            let instance = make("a")?;
            (Box::new(KernelSwap::new(instance.clone())), vec![instance])
        }
    };
    let (mut events, mut absent) = (Vec::new(), Vec::new());
    let steal_clock = steal_clock(Path::new("/")) != Some(false);
    for instance in &recording {
        instance.set_tracing_on(false)?;
        instance.set_clock("mono")?;
        instance.set_buffer_size_kb(buffer_kb)?;
        (events, absent) = enable_events(instance, steal_clock)?;
    }
    Ok(Armed { snapshotter, events, events_absent: absent, buffer_kb_per_cpu: buffer_kb })
}

/// Limits the buffers of all CPUs and both instances to an eighth of the machine's memory.
fn affordable_kb(asked_kb: u32, cpu_count: usize) -> u32 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total =
        info.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    let most = total.unwrap_or(1 << 20) / 8 / 2 / cpu_count.max(1) as u64;
    asked_kb.min(most.min(u64::from(u32::MAX)) as u32).max(64)
}

fn enable_events(instance: &Instance, steal_clock: bool) -> Result<(Vec<String>, Vec<String>), TraceError> {
    let (mut events, mut absent) = (Vec::new(), Vec::new());
    let extra = Some(&STEAL_CLOCK_EVENT).filter(|_| steal_clock);
    for event in BASE_EVENTS.iter().chain(extra) {
        let name = format!("{}:{}", event.system, event.name);
        if !event.filter.is_empty() && instance.has_event(event.system, event.name) {
            instance.set_event_filter(event.system, event.name, event.filter)?;
        }
        let enabled = instance.enable_event(event.system, event.name)?;
        if enabled { events.push(name) } else { absent.push(name) }
    }
    Ok((events, absent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn able(snapshot: bool) -> Capabilities {
        Capabilities {
            snapshot,
            print_trigger: true,
            instances: true,
            clocks: vec!["mono".into()],
            ..Capabilities::default()
        }
    }

    #[test]
    fn the_kernel_swaps_where_it_can_and_is_replaced_where_it_cannot() {
        assert_eq!(choose_mode(SnapshotMode::Auto, &able(true)).unwrap(), SnapshotMode::Trigger);
        assert_eq!(choose_mode(SnapshotMode::Auto, &able(false)).unwrap(), SnapshotMode::Flip);
        assert_eq!(choose_mode(SnapshotMode::Flip, &able(true)).unwrap(), SnapshotMode::Flip);
        assert!(matches!(choose_mode(SnapshotMode::Trigger, &able(false)), Err(TraceError::NoSnapshots)));
        assert!(matches!(choose_mode(SnapshotMode::Onmax, &able(true)), Err(TraceError::NoMaxima)));
    }

    #[test]
    fn buffers_shrink_on_machines_with_many_cpus() {
        assert_eq!(affordable_kb(100, 1), 100);
        assert!(affordable_kb(u32::MAX, 1000) < affordable_kb(u32::MAX, 10));
        assert!(affordable_kb(1, 1) >= 64);
    }
}
