//! Tracing that another program has switched on.

use std::path::Path;

use super::{Tracefs, file};

/// Tracing in use that is not ours. It costs time on every CPU, so a measurement beside it is not clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignUse {
    /// `None` is the top-level buffer.
    pub instance: Option<String>,
    /// What is switched on there, for people: `tracer wakeup_rt` or `events sched:sched_switch and 11 more`.
    pub what: String,
}

impl Tracefs {
    /// Every buffer that records (`tracing_on` is 1) with a tracer other than `nop` or with enabled events, except
    /// the instances whose name starts with `own_prefix` (an empty one makes none of them ours). Users outside tracefs
    /// (perf, BPF) do not show here.
    pub fn foreign_tracing(&self, own_prefix: &str) -> Vec<ForeignUse> {
        let is_ours = |name: &str| !own_prefix.is_empty() && name.starts_with(own_prefix);
        let instances = self.instances().into_iter().filter(|name| !is_ours(name));
        let buffers = std::iter::once(None).chain(instances.map(Some));
        buffers
            .filter_map(|instance| {
                let folder = match &instance {
                    Some(name) => self.root.join("instances").join(name),
                    None => self.root.clone(),
                };
                what_is_on(&folder).map(|what| ForeignUse { instance, what })
            })
            .collect()
    }
}

fn what_is_on(folder: &Path) -> Option<String> {
    if file::read_trimmed(&folder.join("tracing_on"))? != "1" {
        return None;
    }
    let tracer = file::read_trimmed(&folder.join("current_tracer")).filter(|name| !name.is_empty() && name != "nop");
    let events = file::read_trimmed(&folder.join("set_event")).unwrap_or_default();
    let mut names = events.lines().map(str::trim).filter(|line| !line.is_empty());
    let events = names.next().map(|first| match names.count() {
        0 => format!("event {first}"),
        more => format!("events {first} and {more} more"),
    });
    match (tracer, events) {
        (Some(tracer), Some(events)) => Some(format!("tracer {tracer}, {events}")),
        (Some(tracer), None) => Some(format!("tracer {tracer}")),
        (None, events) => events,
    }
}
