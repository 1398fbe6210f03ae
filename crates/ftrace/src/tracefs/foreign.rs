//! Tracing enabled by other programs.

use std::fmt;
use std::path::Path;

use super::{Tracefs, file};

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
        self.foreign_tracing_in_pieces(own_prefix, &|| ())
    }

    /// The same, calling `pause` before each buffer: the kernel walks through all of its events to list those enabled.
    pub fn foreign_tracing_in_pieces(&self, own_prefix: &str, pause: &dyn Fn()) -> Vec<ForeignTracing> {
        let is_ours = |name: &str| !own_prefix.is_empty() && name.starts_with(own_prefix);
        let instances = self.instances().into_iter().filter(|name| !is_ours(name));
        let buffers = std::iter::once(None).chain(instances.map(Some));
        buffers
            .filter_map(|instance| {
                pause();
                let folder = match &instance {
                    Some(name) => self.root.join("instances").join(name),
                    None => self.root.clone(),
                };
                tracing_in(&folder, instance)
            })
            .collect()
    }
}

/// The tracing of a recording buffer.
fn tracing_in(folder: &Path, instance: Option<String>) -> Option<ForeignTracing> {
    if file::read_trimmed(&folder.join("tracing_on"))? != "1" {
        return None;
    }
    let tracer = file::read_trimmed(&folder.join("current_tracer")).filter(|name| !name.is_empty() && name != "nop");
    let events = file::read_trimmed(&folder.join("set_event")).unwrap_or_default();
    let events = events.lines().map(str::trim).filter(|line| !line.is_empty());
    let found = ForeignTracing { instance, tracer, events: events.map(str::to_owned).collect() };
    (found.tracer.is_some() || !found.events.is_empty()).then_some(found)
}
