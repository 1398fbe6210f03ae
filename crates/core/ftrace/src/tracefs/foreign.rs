//! Tracing enabled by other programs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::{Tracefs, file};
use crate::cpu_stats::CpuStats;

/// Small files that are read between two pauses.
const FILES_AT_ONCE: usize = 16;

/// How many records each buffer had at the last look, by the name of its instance.
#[derive(Clone, Debug, Default)]
pub struct Written(BTreeMap<Option<String>, Option<u64>>);

/// Active tracing of another program. It costs time on every CPU, so it disturbs a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignTracing {
    /// `None` for the top-level buffer.
    pub instance: Option<String>,
    /// `None` if there is no tracer, only events.
    pub tracer: Option<String>,
    /// Enabled events, such as `sched:sched_switch`.
    pub events: Vec<String>,
}

impl fmt::Display for ForeignTracing {
    /// `tracer wakeup_rt in instance x`, or `events sched:sched_switch and 11 more in the top-level buffer`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tracer) = &self.tracer {
            write!(out, "tracer {tracer}{}", if self.events.is_empty() { "" } else { ", " })?;
        }
        match self.events.as_slice() {
            [] => {}
            [event] => write!(out, "event {event}")?,
            [event, more @ ..] => write!(out, "events {event} and {} more", more.len())?,
        }
        match &self.instance {
            Some(name) => write!(out, " in instance {name}"),
            None => out.write_str(" in the top-level buffer"),
        }
    }
}

impl Tracefs {
    /// Every recording buffer (`tracing_on` is 1) with a tracer other than `nop` or with enabled events, except the
    /// instances whose name starts with `own_prefix` (an empty prefix excludes none). Users outside tracefs (perf, BPF)
    /// are not detected.
    pub fn foreign_tracing(&self, own_prefix: &str) -> Vec<ForeignTracing> {
        let recording = self.recording_buffers(own_prefix).into_iter();
        recording.filter_map(|instance| self.tracing_in(instance, true)).collect()
    }

    /// The same, as far as the buffers have been written to since the look before. Calls `pause` before each few files.
    ///
    /// To list the enabled events the kernel walks through all that it has, which takes it 200 µs without preemption.
    pub fn foreign_tracing_since(
        &self,
        own_prefix: &str,
        written: &mut Written,
        pause: &dyn Fn(),
    ) -> Vec<ForeignTracing> {
        pause();
        let mut found = Vec::new();
        for instance in self.recording_buffers(own_prefix) {
            let records = self.records(instance.as_deref(), pause);
            let before = written.0.insert(instance.clone(), records);
            pause();
            found.extend(self.tracing_in(instance, records.is_none() || before != Some(records)));
        }
        found
    }

    fn recording_buffers(&self, own_prefix: &str) -> Vec<Option<String>> {
        let is_ours = |name: &str| !own_prefix.is_empty() && name.starts_with(own_prefix);
        let instances = self.instances().into_iter().filter(|name| !is_ours(name));
        let buffers = std::iter::once(None).chain(instances.map(Some));
        let records = |name: &Option<String>| {
            let switch = self.buffer(name.as_deref()).join("tracing_on");
            file::read_trimmed(&switch).is_some_and(|state| state == "1")
        };
        buffers.filter(records).collect()
    }

    fn buffer(&self, instance: Option<&str>) -> PathBuf {
        instance.map_or_else(|| self.root.clone(), |name| self.root.join("instances").join(name))
    }

    /// Number of records that were ever written to a buffer; `None` if the kernel does not count them.
    fn records(&self, instance: Option<&str>, pause: &dyn Fn()) -> Option<u64> {
        let cpus = self.buffer(instance).join("per_cpu");
        let names = file::folder_names(&cpus);
        let records_of_cpu = |(at, name): (usize, &String)| {
            if at.is_multiple_of(FILES_AT_ONCE) {
                pause();
            }
            let stats = CpuStats::parse(&file::read(&cpus.join(name).join("stats")).ok()?);
            Some(stats.entries.saturating_add(stats.read_events).saturating_add(stats.lost()))
        };
        let counts = names.iter().enumerate().map(records_of_cpu);
        let sum = counts.reduce(|sum, count| Some(sum?.saturating_add(count?)));
        sum.flatten()
    }

    /// The tracing of a recording buffer. Events are looked for if it has records that are new, or a tracer.
    fn tracing_in(&self, instance: Option<String>, has_new_records: bool) -> Option<ForeignTracing> {
        let folder = self.buffer(instance.as_deref());
        let tracer =
            file::read_trimmed(&folder.join("current_tracer")).filter(|name| !name.is_empty() && name != "nop");
        if tracer.is_none() && !has_new_records {
            return None;
        }
        let events = file::read_trimmed(&folder.join("set_event")).unwrap_or_default();
        let events = events.lines().map(str::trim).filter(|line| !line.is_empty());
        let found = ForeignTracing { instance, tracer, events: events.map(str::to_owned).collect() };
        (found.tracer.is_some() || !found.events.is_empty()).then_some(found)
    }
}
