//! Snapshots by the kernel, which swaps the live buffer with a spare one.
//!
//! In mode `trigger` the marker of the measuring thread makes the swap, through a trigger on `ftrace:print`. In mode
//! `onmax` the kernel itself compares each wake-up with its deadline and swaps at a new maximum of the run. It tells of
//! the swap through inotify on `tracing_max_latency` where it has that file; otherwise the capturing thread looks at the
//! spike queue now and then. The spare buffer is cleared after it was copied: the next swap would bring its old events
//! back to life.

use super::maxima;
use super::past::{lost_events, newest_ns};
use super::recorder::{CpuCopy, Frozen, Recorder, failed};
use super::wakeup;
use crate::kernel::clock::monotonic_ns;
use crate::measure::thread::MARKER;
use archive::settings::SnapshotMode;
use ftrace::tracefs::{Instance, RawPages};
use rustix::fs::inotify;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

const TRIGGER: &str = "snapshot if buf ~ \"tardy-spike*\"";
/// How often the queue is looked at where the kernel does not tell.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A thread that was stopped before it wrote its marker writes it within this, or its spike has no snapshot.
const MARKED_WITHIN: Duration = Duration::from_millis(50);

/// One instance with a spare buffer.
pub struct KernelSwapRecorder {
    instance: Instance,
    mode: SnapshotMode,
    changes: Option<File>,
    pages: Vec<(u32, RawPages)>,
    /// The live buffers, for spikes that were no maximum of the kernel's.
    live: Vec<(u32, RawPages)>,
    from_live: bool,
    /// Somebody else sets the triggers.
    foreign: bool,
    /// The kernel has told of a swap since the last copy.
    swapped: bool,
    /// Since when the live and the spare buffer hold everything: a swap or a copy ends the past. The latter only in mode
    /// `onmax`.
    live_since_ns: i64,
    spare_since_ns: i64,
}

impl KernelSwapRecorder {
    /// Takes an instance that was just made and allocates its spare buffer when recording starts.
    pub fn new(instance: Instance, mode: SnapshotMode) -> Self {
        Self {
            instance,
            mode,
            changes: None,
            pages: Vec::new(),
            live: Vec::new(),
            from_live: false,
            foreign: false,
            swapped: false,
            live_since_ns: i64::MAX,
            spare_since_ns: i64::MAX,
        }
    }

    /// Lets the kernel compute how late each of our threads gets the CPU: the deadline is what it armed its timer for.
    /// A maximum is never forgotten, so deadlines before the first counted one must not take part.
    fn watch_maxima(&self, count_from_ns: i64) -> Result<(), String> {
        // A thread's context also restarts the scheduler tick, whose deadline is not the thread's.
        let deadline = |function: &str| {
            format!(
                "hist:keys=common_pid:due=expires:clock=mono if {function} && comm ~ \"tardy-cpu*\" && expires >= {count_from_ns}"
            )
        };
        if self.instance.add_trigger("timer", "hrtimer_start", &deadline("function.function==hrtimer_wakeup")).is_err()
        {
            let by_address = deadline(&format!("function==0x{}", hrtimer_wakeup_address()?));
            self.instance.add_trigger("timer", "hrtimer_start", &by_address).map_err(failed)?;
        }
        let maximum = "hist:keys=next_pid:late=common_timestamp-$due:onmax($late).snapshot():clock=mono \
             if next_comm ~ \"tardy-cpu*\" && next_prio < 100";
        self.instance.add_trigger("sched", "sched_switch", maximum).map_err(failed)
    }

    /// Takes the kernel's word for swaps; the instant it is heard at is after that of the swap.
    fn hear_of_swaps(&mut self) {
        let Some(changes) = &mut self.changes else { return };
        let mut events = [0; 4096];
        while matches!(changes.read(&mut events), Ok(count) if count > 0) {
            if !std::mem::replace(&mut self.swapped, true) {
                self.spare_since_ns = self.live_since_ns;
            }
        }
    }

    /// Chooses the buffer to copy; answers since when it holds everything. One that was put aside goes first: the next
    /// swap brings it back to life.
    fn choose(&mut self, wishes_live: bool) -> i64 {
        self.hear_of_swaps();
        // A kernel that does not tell may have swapped at any time.
        self.from_live = wishes_live && !self.swapped && self.changes.is_some();
        if self.from_live { self.live_since_ns } else { std::mem::replace(&mut self.spare_since_ns, i64::MAX) }
    }

    /// A thread announces its spike before it writes the marker, which swaps.
    fn await_marker(&mut self) {
        self.hear_of_swaps();
        if !self.swapped && self.changes.is_some() {
            self.wait(MARKED_WITHIN);
        }
    }

    fn watch(&self) -> Option<File> {
        let watcher: OwnedFd = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).ok()?;
        inotify::add_watch(&watcher, self.instance.max_latency_path(), inotify::WatchFlags::MODIFY).ok()?;
        Some(File::from(watcher))
    }
}

impl Recorder for KernelSwapRecorder {
    fn mode(&self) -> SnapshotMode {
        self.mode
    }

    fn marker(&self) -> Result<File, String> {
        self.instance.open_marker().map_err(failed)
    }

    fn start(&mut self) -> Result<(), String> {
        self.changes = self.watch();
        self.instance.take_snapshot().map_err(failed)?;
        self.instance.clear_snapshot().map_err(failed)?;
        for cpu in self.instance.cpus() {
            self.pages.push((cpu, self.instance.open_snapshot_raw(cpu).map_err(failed)?));
            if self.mode == SnapshotMode::Onmax {
                self.live.push((cpu, self.instance.open_raw(cpu).map_err(failed)?));
            }
        }
        if self.mode == SnapshotMode::Trigger {
            self.instance.add_trigger("ftrace", "print", TRIGGER).map_err(failed)?;
        }
        self.instance.set_tracing_on(true).map_err(failed)?;
        let since_ns = monotonic_ns();
        // The swap that made the spare buffer is no maximum.
        self.hear_of_swaps();
        (self.swapped, self.live_since_ns) = (false, since_ns);
        Ok(())
    }

    fn begin(&mut self, count_from_ns: i64) -> Result<(), String> {
        if self.mode == SnapshotMode::Onmax && !self.foreign { self.watch_maxima(count_from_ns) } else { Ok(()) }
    }

    fn wait(&mut self, timeout: Duration) {
        match &mut self.changes {
            Some(changes) => {
                if wakeup::readable(changes, timeout) {
                    self.hear_of_swaps();
                }
            }
            None => std::thread::sleep(timeout.min(LOOK_EVERY)),
        }
    }

    fn freeze(&mut self, _note: &str, unmarked: bool) -> Result<Frozen, String> {
        if !unmarked && self.mode == SnapshotMode::Trigger {
            self.await_marker();
        }
        let began_ns = monotonic_ns();
        // A marker of a measuring thread has swapped already; swapping again would bring the past back to life.
        if unmarked && self.mode == SnapshotMode::Trigger {
            let mut marker = self.instance.open_marker().map_err(failed)?;
            marker.write_all(MARKER).map_err(|error| format!("failed to write the marker: {error}"))?;
        }
        let frozen_ns = monotonic_ns();
        let swap_ns = (frozen_ns - began_ns) as u64;
        let recording_since_ns = match self.mode {
            SnapshotMode::Onmax => self.choose(unmarked),
            _ => self.live_since_ns,
        };
        Ok(Frozen { frozen_ns, swap_ns, blind_ns: 0, recording_since_ns })
    }

    fn copy(&mut self, into: &mut [CpuCopy]) -> Result<(), String> {
        let pages = if self.from_live { &mut self.live } else { &mut self.pages };
        for (at, (cpu, raw)) in pages.iter_mut().enumerate() {
            let Some(copy) = into.get_mut(at) else { break };
            copy.cpu = *cpu;
            // The counters of the instance are those of its live buffer.
            copy.stats = if self.from_live { Some(self.instance.cpu_stats(*cpu).map_err(failed)?) } else { None };
            copy.layout = Some(raw.layout());
            copy.pages.clear();
            let room = copy.pages.capacity();
            raw.drain_into(&mut copy.pages, room.max(1 << 20)).map_err(failed)?;
            (copy.overwritten, copy.dropped) = lost_events(&copy.pages, &raw.layout());
        }
        // The last event that was put aside is the one that swapped; everything later is in the live buffer.
        let newest = into.iter().filter_map(|copy| newest_ns(&copy.pages, &copy.layout?)).max();
        if self.from_live {
            self.live_since_ns = monotonic_ns();
        } else if self.mode == SnapshotMode::Trigger {
            // Nothing was put aside: the live buffer is what it was.
            self.live_since_ns = newest.unwrap_or(self.live_since_ns);
            // Until the recorder is idle nobody swaps.
            self.hear_of_swaps();
            self.swapped = false;
        } else if std::mem::take(&mut self.swapped) {
            self.live_since_ns = newest.unwrap_or_else(monotonic_ns);
        }
        // While the kernel watches for maxima it lets nobody clear; what was read is gone from the buffer all the same.
        match self.mode {
            SnapshotMode::Onmax => Ok(()),
            _ => self.instance.clear_snapshot().map_err(failed),
        }
    }

    fn forget(&mut self) {
        if self.mode == SnapshotMode::Trigger {
            self.await_marker();
            self.live_since_ns = monotonic_ns();
            let _ = self.instance.clear_snapshot();
            self.hear_of_swaps();
            self.swapped = false;
        }
    }

    fn instance(&self) -> &Instance {
        &self.instance
    }

    fn leaves_maxima_to_others(&mut self) {
        self.foreign = true;
    }
}

/// Address of the timer function of a sleeping thread, for kernels whose filters know no function names.
///
/// # Errors
/// A sentence.
pub fn hrtimer_wakeup_address() -> Result<String, String> {
    let symbols =
        std::fs::read_to_string("/proc/kallsyms").map_err(|error| format!("failed to read /proc/kallsyms: {error}"))?;
    let address = symbols.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next()?;
        (words.nth(1)? == "hrtimer_wakeup").then(|| address.to_owned())
    });
    match address {
        Some(address) if address.bytes().any(|digit| digit != b'0') => Ok(address),
        _ => {
            Err("failed to find hrtimer_wakeup in /proc/kallsyms; as root: echo 1 > /proc/sys/kernel/kptr_restrict"
                .into())
        }
    }
}

/// Takes the triggers off that would keep an instance busy; harmless where there are none.
pub fn release(instance: &Instance) {
    let _ = instance.set_tracing_on(false);
    take_triggers_off(instance);
}

/// The same while recording goes on.
pub fn take_triggers_off(instance: &Instance) {
    // What reads a variable of another trigger goes before it.
    let made_up = std::fs::read_dir(instance.path().join("events/synthetic")).into_iter().flatten().flatten();
    let made_up: Vec<String> = made_up
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(maxima::EVENT_PREFIX))
        .collect();
    let known = [("sched", "sched_switch"), ("timer", "hrtimer_start")];
    for (system, event) in made_up.iter().map(|name| ("synthetic", name.as_str())).chain(known) {
        let path = instance.path().join("events").join(system).join(event).join("trigger");
        let listed = std::fs::read_to_string(path).unwrap_or_default();
        for line in listed.lines().filter(|line| !line.starts_with('#')) {
            // The kernel lists a trigger in full and its state behind it, and wants it in full to remove it.
            let trigger = line.rsplit_once(" [").map_or(line, |(trigger, _state)| trigger);
            let _ = instance.remove_trigger(system, event, trigger);
        }
    }
}

impl Drop for KernelSwapRecorder {
    fn drop(&mut self) {
        release(&self.instance);
    }
}

const _: () = assert!(MARKER.len() < 64, "the marker must stay one short line for the trigger to match");
