//! Everything that a setup may change, to the byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files and directories with their text.
const TEXTS: [&str; 7] = [
    "/etc/group",
    "/etc/gshadow",
    "/etc/fstab",
    "/etc/security",
    "/etc/systemd/system",
    "/etc/tmpfiles.d",
    "/usr/local/libexec",
];
const SETTINGS: [&str; 4] = [
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/kptr_restrict",
    "/proc/sys/kernel/unprivileged_bpf_disabled",
    "/proc/sys/kernel/sched_rt_runtime_us",
];
/// Files whose owner counts. Each run has instances and events of its own.
const OWNED: [&str; 2] = ["/dev/cpu_dma_latency", "/sys/kernel/tracing"];
const OF_RUNS: [&str; 4] = ["instances", "synthetic", "kprobes", "uprobes"];

#[derive(PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, String>);

impl Snapshot {
    pub fn taken() -> Self {
        let mut found = BTreeMap::new();
        TEXTS.iter().chain(&SETTINGS).for_each(|path| look(Path::new(path), true, &mut found));
        OWNED.iter().for_each(|path| look(Path::new(path), false, &mut found));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let tracing: String = mounts.lines().filter(|line| line.contains(" - tracefs ")).collect();
        found.insert("mounts".into(), tracing);
        let capabilities = Command::new("getcap").args(["-r", "/usr/local"]).output();
        let capabilities = capabilities.map(|output| output.stdout).unwrap_or_default();
        found.insert("capabilities".into(), String::from_utf8_lossy(&capabilities).into());
        assert!(found.len() > 1000, "only {} files", found.len());
        Self(found)
    }

    /// # Panics
    /// If anything differs now.
    pub fn assert_same(&self, when: &str) {
        let now = Self::taken();
        let differs = |path: &&PathBuf| self.0.get(*path) != now.0.get(*path);
        let different: Vec<&PathBuf> = self.0.keys().chain(now.0.keys()).filter(differs).collect();
        assert!(different.is_empty(), "{when}: {different:?}");
    }
}

fn look(path: &Path, with_text: bool, found: &mut BTreeMap<PathBuf, String>) {
    let Ok(about) = fs::symlink_metadata(path) else { return };
    let text = if with_text && about.is_file() { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&text);
    found.insert(path.to_owned(), format!("{:o} {}:{} {text}", about.mode(), about.uid(), about.gid()));
    let is_of_runs = OF_RUNS.iter().any(|name| path.ends_with(name));
    if about.is_dir() && !is_of_runs {
        fs::read_dir(path).into_iter().flatten().flatten().for_each(|entry| look(&entry.path(), with_text, found));
    }
}
