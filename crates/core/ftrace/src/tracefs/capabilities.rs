//! Detects the tracing features of this kernel.

use super::{Tracefs, file};

/// Read once before a run; determines the way of taking snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// CONFIG_TRACER_SNAPSHOT: the kernel can swap the live buffer with a spare one.
    pub snapshot: bool,
    /// CONFIG_HIST_TRIGGERS: the kernel can keep maxima and act on a new one.
    pub hist_triggers: bool,
    /// Triggers on `ftrace:print`, which is a write to `trace_marker`.
    pub print_trigger: bool,
    pub instances: bool,
    /// `set_event_notrace_pid`: threads can be excluded from the trace.
    pub notrace_pids: bool,
    /// Names of all trace clocks.
    pub clocks: Vec<String>,
    /// Clock of the top-level buffer; empty if unreadable.
    pub current_clock: String,
    pub tracers: Vec<String>,
    /// Tracer of the top-level buffer; empty if unreadable.
    pub current_tracer: String,
    /// Sub-buffer size of the top-level buffer in KiB, on kernels where it can be set (since 6.8).
    pub subbuf_size_kb: Option<u32>,
    /// Systems with events.
    pub event_systems: Vec<String>,
}

impl Capabilities {
    /// Whether a write to `trace_marker` can make the kernel swap its buffers.
    pub fn swaps(&self) -> bool {
        self.snapshot && self.print_trigger
    }

    pub fn has_clock(&self, name: &str) -> bool {
        self.clocks.iter().any(|clock| clock == name)
    }

    pub fn has_tracer(&self, name: &str) -> bool {
        self.tracers.iter().any(|tracer| tracer == name)
    }
}

impl Tracefs {
    /// Everything that can be determined without changing anything; unreadable features count as absent.
    pub fn capabilities(&self) -> Capabilities {
        let exists = |path: &str| self.root.join(path).exists();
        let words = |path: &str| -> Vec<String> {
            let text = file::read_trimmed(&self.root.join(path)).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        };
        let clocks = words("trace_clock");
        let current_clock = clocks.iter().find_map(|clock| clock.strip_prefix('[')?.strip_suffix(']'));
        Capabilities {
            snapshot: exists("snapshot"),
            hist_triggers: exists("events/sched/sched_switch/hist"),
            print_trigger: exists("events/ftrace/print/trigger"),
            instances: exists("instances"),
            notrace_pids: exists("set_event_notrace_pid"),
            current_clock: current_clock.unwrap_or_default().to_owned(),
            clocks: clocks.iter().map(|clock| clock.trim_matches(['[', ']']).to_owned()).collect(),
            tracers: words("available_tracers"),
            current_tracer: file::read_trimmed(&self.root.join("current_tracer")).unwrap_or_default(),
            subbuf_size_kb: file::read_trimmed(&self.root.join("buffer_subbuf_size_kb"))
                .and_then(|text| text.parse().ok()),
            event_systems: file::folder_names(&self.root.join("events")),
        }
    }
}
