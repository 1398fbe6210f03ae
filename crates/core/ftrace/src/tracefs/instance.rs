//! One own instance: a private ring buffer with its own events, clock and triggers.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{RawPages, TracefsError, file};
use crate::byte_order::ByteOrder;
use crate::cpu_stats::CpuStats;
use crate::header::PageLayout;

/// Numbers of threads that fit into a page as text.
const EVENT_PIDS_AT_ONCE: usize = 256;

/// Dropping it leaves the instance in the kernel: its creator has it in a journal and calls [`Instance::remove`].
#[derive(Clone, Debug)]
pub struct Instance {
    root: PathBuf,
    name: String,
    path: PathBuf,
}

impl Instance {
    pub(super) fn new(root: PathBuf, name: String, path: PathBuf) -> Instance {
        Instance { root, name, path }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Root of its tracing file system.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes it; all its files must be closed.
    pub fn remove(self) -> Result<(), TracefsError> {
        file::remove_folder(&self.path)
    }

    /// `mono` selects timestamps of CLOCK_MONOTONIC. Setting a clock clears the buffer.
    pub fn set_clock(&self, clock: &str) -> Result<(), TracefsError> {
        self.write("trace_clock", clock)
    }

    /// The clock that is set.
    pub fn clock(&self) -> Result<String, TracefsError> {
        let clocks = file::read(&self.path.join("trace_clock"))?;
        let chosen = clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Ok(chosen.map_or_else(String::new, |(clock, _)| clock.to_owned()))
    }

    /// Whether its buffer is in reserved memory, which may hold the events of the last boot (since Linux 6.12).
    pub fn is_in_kept_memory(&self) -> bool {
        self.path.join("last_boot_info").exists()
    }

    /// Whether it records now.
    pub fn tracing_on(&self) -> Result<bool, TracefsError> {
        Ok(file::read(&self.path.join("tracing_on"))?.trim() != "0")
    }

    /// Disables every event.
    pub fn disable_events(&self) -> Result<(), TracefsError> {
        self.write("events/enable", switch(false))
    }

    /// Sets the size of each CPU's buffer; the kernel rounds it to whole sub-buffers.
    pub fn set_buffer_size_kb(&self, per_cpu: u32) -> Result<(), TracefsError> {
        self.write("buffer_size_kb", &per_cpu.to_string())
    }

    /// Sets the size of a sub-buffer, the unit of reading (since Linux 6.8). Clears the buffer.
    pub fn set_subbuffer_size_kb(&self, size: u32) -> Result<(), TracefsError> {
        self.write("buffer_subbuf_size_kb", &size.to_string())
    }

    /// Starts or stops recording; events stay enabled.
    pub fn set_tracing_on(&self, on: bool) -> Result<(), TracefsError> {
        self.write("tracing_on", switch(on))
    }

    /// Sets `nop`, or one of [`Capabilities::tracers`](super::Capabilities::tracers).
    pub fn set_tracer(&self, tracer: &str) -> Result<(), TracefsError> {
        self.write("current_tracer", tracer)
    }

    /// Sets a trace option such as `overwrite` or `record-cmd`.
    pub fn set_option(&self, option: &str, on: bool) -> Result<(), TracefsError> {
        self.write(&format!("options/{option}"), switch(on))
    }

    /// Excludes the events of these threads; an empty list excludes none (since Linux 5.7).
    pub fn set_notrace_pids(&self, pids: &[i32]) -> Result<(), TracefsError> {
        let list: Vec<String> = pids.iter().map(i32::to_string).collect();
        self.write("set_event_notrace_pid", &list.join(" "))
    }

    /// Records only events of these threads, and of those that [`Instance::add_event_pids`] adds. A thread that has ended is
    /// harmless; an empty list records this process alone, because the kernel takes an empty list for every thread.
    pub fn set_event_pids(&self, pids: &[i32]) -> Result<(), TracefsError> {
        self.write("set_event_pid", "")?;
        match pids {
            [] => self.add_event_pids(&[std::process::id() as i32]),
            some => self.add_event_pids(some),
        }
    }

    /// Records events of these threads as well.
    pub fn add_event_pids(&self, pids: &[i32]) -> Result<(), TracefsError> {
        // The kernel accepts a write of up to a page.
        pids.chunks(EVENT_PIDS_AT_ONCE).try_for_each(|some| {
            let list: Vec<String> = some.iter().map(i32::to_string).collect();
            file::append(&self.path.join("set_event_pid"), &format!("{}\n", list.join(" ")))
        })
    }

    pub fn has_event(&self, system: &str, name: &str) -> bool {
        self.event(system, name, "format").exists()
    }

    /// `false` if this kernel has no such event.
    pub fn enable_event(&self, system: &str, name: &str) -> Result<bool, TracefsError> {
        self.switch_event(system, name, true)
    }

    /// `false` if this kernel has no such event.
    pub fn disable_event(&self, system: &str, name: &str) -> Result<bool, TracefsError> {
        self.switch_event(system, name, false)
    }

    fn switch_event(&self, system: &str, name: &str, on: bool) -> Result<bool, TracefsError> {
        let path = self.event(system, name, "enable");
        if !path.exists() {
            return Ok(false);
        }
        file::write(&path, switch(on)).map(|()| true)
    }

    /// Records only events for which the expression holds; `0` removes the filter.
    pub fn set_event_filter(&self, system: &str, name: &str, expression: &str) -> Result<(), TracefsError> {
        file::write(&self.event(system, name, "filter"), expression)
    }

    /// Adds a trigger, such as `snapshot if buf ~ "*newmax*"` on `ftrace:print`.
    pub fn add_trigger(&self, system: &str, name: &str, text: &str) -> Result<(), TracefsError> {
        file::append(&self.event(system, name, "trigger"), text)
    }

    /// Takes the same text as [`Instance::add_trigger`].
    pub fn remove_trigger(&self, system: &str, name: &str, text: &str) -> Result<(), TracefsError> {
        file::append(&self.event(system, name, "trigger"), &format!("!{text}"))
    }

    /// Each write to it becomes an `ftrace:print` event of the writing thread.
    pub fn open_marker(&self) -> Result<File, TracefsError> {
        file::open_for_writing(&self.path.join("trace_marker"))
    }

    /// While it is open, switching the recording is one write of `0` or `1`.
    pub fn open_tracing_on(&self) -> Result<File, TracefsError> {
        file::open_for_writing(&self.path.join("tracing_on"))
    }

    /// Empties the buffers of all CPUs.
    pub fn clear(&self) -> Result<(), TracefsError> {
        self.write("trace", "")
    }

    /// Every CPU that has a buffer, sorted.
    pub fn cpus(&self) -> Vec<u32> {
        let names = file::folder_names(&self.path.join("per_cpu"));
        let mut cpus: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
        cpus.sort_unstable();
        cpus
    }

    pub fn cpu_stats(&self, cpu: u32) -> Result<CpuStats, TracefsError> {
        Ok(CpuStats::parse(&file::read(&self.cpu(cpu, "stats"))?))
    }

    /// Layout of this instance's sub-buffers, with its own size.
    pub fn page_layout(&self) -> Result<PageLayout, TracefsError> {
        let layout = PageLayout::parse(&file::read(&self.root.join("events/header_page"))?, ByteOrder::NATIVE);
        let size_kb = file::read_trimmed(&self.path.join("buffer_subbuf_size_kb"));
        let size = size_kb.and_then(|text| text.parse::<usize>().ok()?.checked_mul(1024));
        Ok(size.map_or(layout, |size| layout.with_page_size(size)))
    }

    /// Reading it consumes the live buffer.
    pub fn open_raw(&self, cpu: u32) -> Result<RawPages, TracefsError> {
        RawPages::open(self.cpu(cpu, "trace_pipe_raw"), self.page_layout()?)
    }

    /// Reading it consumes the snapshot buffer (CONFIG_TRACER_SNAPSHOT).
    pub fn open_snapshot_raw(&self, cpu: u32) -> Result<RawPages, TracefsError> {
        RawPages::open(self.cpu(cpu, "snapshot_raw"), self.page_layout()?)
    }

    /// Allocates the snapshot buffer if necessary and swaps it with the live one.
    pub fn take_snapshot(&self) -> Result<(), TracefsError> {
        self.write("snapshot", "1")
    }

    /// Empties the snapshot buffer. Without this the next swap moves its old events back into the live buffer.
    pub fn clear_snapshot(&self) -> Result<(), TracefsError> {
        self.write("snapshot", "2")
    }

    /// Frees the memory of the snapshot buffer.
    pub fn free_snapshot(&self) -> Result<(), TracefsError> {
        self.write("snapshot", "0")
    }

    /// The file whose inotify events report every snapshot of the kernel; absent without a latency tracer or snapshots.
    pub fn max_latency_path(&self) -> PathBuf {
        self.path.join("tracing_max_latency")
    }

    fn write(&self, name: &str, text: &str) -> Result<(), TracefsError> {
        file::write(&self.path.join(name), text)
    }

    fn event(&self, system: &str, name: &str, leaf: &str) -> PathBuf {
        self.path.join("events").join(system).join(name).join(leaf)
    }

    fn cpu(&self, cpu: u32, leaf: &str) -> PathBuf {
        self.path.join("per_cpu").join(format!("cpu{cpu}")).join(leaf)
    }
}

fn switch(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}
