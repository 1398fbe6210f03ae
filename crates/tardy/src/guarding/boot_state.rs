//! A file for the guard after the next boot: the boot, the threads that it watched, and what decodes the events in
//! memory that a reset keeps.

use archive::atomic_file::write_for_the_owner;
use archive::watched::guard::KEPT_EVENTS;
use ftrace::tracefs::{Instance, Tracefs};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const FILE: &str = "boot.json";
/// A longer file is not one of a guard.
const BYTES_MAX: u64 = 4 << 20;
const THREADS_MAX: usize = 2000;
/// A clock that was set is written again, one that drifts is not.
const CLOCK_STEP_NS: i64 = 100_000_000;
/// Functions of timers that end a sleep: a thread sets one, and is due then.
const TIMER_FUNCTIONS: [&str; 3] = ["hrtimer_wakeup", "timerfd_tmrproc", "posix_timer_fn"];

/// The state of a guard that ran in a boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BootState {
    pub boot_id: String,
    /// The instance that recorded; `None` as long as none does.
    pub kept_instance: Option<String>,
    /// CLOCK_REALTIME minus CLOCK_MONOTONIC.
    pub realtime_offset_ns: i64,
    pub threads: BTreeMap<i32, StateThread>,
    pub decoding: Option<Decoding>,
}

/// A watched thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateThread {
    pub name: String,
    /// `None` if its policy is not known.
    pub real_time: Option<bool>,
}

/// Formats and addresses that decode the events of a boot. Another kernel has other numbers, and the same one other addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decoding {
    pub header_page: String,
    pub header_event: String,
    pub event_formats: Vec<(String, String)>,
    pub page_bytes: usize,
    pub uname: String,
    /// Lines of /proc/kallsyms: functions of timers.
    pub functions: String,
    /// Where the kernel's code was; `None` if the kernel hides it.
    pub text: Option<(u64, u64)>,
}

impl BootState {
    /// The state that a guard left; `None` if none did, or it ended by itself.
    pub fn read(directory: &Path) -> Option<Self> {
        let path = directory.join(FILE);
        if fs::metadata(&path).ok()?.len() > BYTES_MAX {
            return None;
        }
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }
}

/// Keeps the state on the disk up to date.
pub struct BootWriter {
    path: PathBuf,
    state: BootState,
    written: Option<BootState>,
    /// The instance that this machine has.
    instance: Option<String>,
}

impl BootWriter {
    /// Begins the state of this boot. `instance`: the configured name, if any.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn begin(directory: &Path, instance: &str) -> anyhow::Result<Self> {
        let found = kept_instance(instance);
        let decoding = found.as_ref().and_then(Decoding::of);
        let state = BootState {
            boot_id: boot_id(),
            realtime_offset_ns: realtime_offset_ns(),
            decoding,
            ..BootState::default()
        };
        let instance = found.map(|_| instance.to_owned());
        let mut writer = Self { path: directory.join(FILE), state, written: None, instance };
        writer.write()?;
        Ok(writer)
    }

    /// The instance that this machine has in kept memory.
    pub fn instance(&self) -> Option<&str> {
        self.instance.as_deref()
    }

    /// The threads of the session before may have ended since.
    pub fn begin_session(&mut self) {
        self.state.threads.clear();
    }

    /// A session began, and records into the instance or not.
    pub fn records(&mut self, does: bool) {
        self.state.kept_instance = self.instance.clone().filter(|_| does && self.state.decoding.is_some());
        self.update();
    }

    pub fn thread(&mut self, tid: i32, thread: StateThread) {
        if self.state.threads.len() < THREADS_MAX || self.state.threads.contains_key(&tid) {
            self.state.threads.insert(tid, thread);
        }
    }

    pub fn forget(&mut self, tid: i32) {
        self.state.threads.remove(&tid);
    }

    /// Writes what changed. A state that is a little old is better than no guard, so a full disk ends nothing.
    pub fn update(&mut self) {
        let now_ns = realtime_offset_ns();
        if now_ns.abs_diff(self.state.realtime_offset_ns) > CLOCK_STEP_NS.unsigned_abs() {
            self.state.realtime_offset_ns = now_ns;
        }
        if self.written.as_ref() != Some(&self.state) {
            let _ = self.write();
        }
    }

    fn write(&mut self) -> anyhow::Result<()> {
        // It has addresses of the kernel, which only root may read.
        write_for_the_owner(&self.path, serde_json::to_string(&self.state)?.as_bytes())?;
        self.written = Some(self.state.clone());
        Ok(())
    }

    /// Removes the state of a guard that ends by itself.
    pub fn end(self) {
        let _ = fs::remove_file(self.path);
    }
}

impl Decoding {
    fn of(instance: &Instance) -> Option<Self> {
        let metadata = instance.metadata(KEPT_EVENTS).ok()?;
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Some(Self {
            header_page: metadata.header_page,
            header_event: metadata.header_event,
            event_formats: metadata.event_formats,
            page_bytes: instance.page_layout().ok()?.page_size,
            uname: uname(),
            functions: functions(&symbols),
            text: text_of(&symbols),
        })
    }
}

/// The instance of this name, if the kernel has it in memory that a reset keeps.
pub fn kept_instance(name: &str) -> Option<Instance> {
    let instance = Tracefs::find().ok()?.open_instance(name).ok()?;
    instance.is_in_kept_memory().then_some(instance)
}

/// The identity of this boot; empty if the kernel does not provide it.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The kernel, in the form of a trace.dat.
pub fn uname() -> String {
    let uname = rustix::system::uname();
    let words = [uname.sysname(), uname.nodename(), uname.release(), uname.version(), uname.machine()];
    words.map(|word| word.to_string_lossy()).join(" ")
}

fn functions(symbols: &str) -> String {
    let is_one = |line: &&str| line.split_whitespace().nth(2).is_some_and(|name| TIMER_FUNCTIONS.contains(&name));
    symbols.lines().filter(is_one).map(|line| format!("{line}\n")).collect()
}

/// Begin and end of the kernel's own code, without modules.
pub fn text_of(symbols: &str) -> Option<(u64, u64)> {
    let address = |wanted: &str| {
        let line = symbols.lines().find(|line| line.split_whitespace().nth(2) == Some(wanted))?;
        u64::from_str_radix(line.split_whitespace().next()?, 16).ok().filter(|address| *address != 0)
    };
    Some((address("_text")?, address("_etext")?))
}

fn realtime_offset_ns() -> i64 {
    clock_ns(ClockId::Realtime) - clock_ns(ClockId::Monotonic)
}

pub fn clock_ns(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_there_until_the_guard_ends_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = BootWriter::begin(folder.path(), "tardy-none").unwrap();
        assert_eq!(writer.instance(), None);
        writer.thread(7, StateThread { name: "robot".into(), real_time: Some(true) });
        writer.records(true);
        let state = BootState::read(folder.path()).unwrap();
        assert_eq!((state.boot_id, state.kept_instance), (boot_id(), None), "this machine keeps nothing");
        assert_eq!(state.threads[&7].name, "robot");
        writer.forget(7);
        writer.update();
        assert!(BootState::read(folder.path()).unwrap().threads.is_empty());
        writer.end();
        assert_eq!(BootState::read(folder.path()), None);
    }

    #[test]
    fn code_and_timers_are_found_in_the_symbols() {
        let symbols = "ffffffff81000000 T _text\nffffffff81100010 t hrtimer_wakeup\nffffffff82000000 T _etext\n";
        assert_eq!(text_of(symbols), Some((0xffff_ffff_8100_0000, 0xffff_ffff_8200_0000)));
        assert_eq!(functions(symbols), "ffffffff81100010 t hrtimer_wakeup\n");
        assert_eq!(text_of("0000000000000000 T _text\n0000000000000000 T _etext\n"), None, "hidden");
    }
}
