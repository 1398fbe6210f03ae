//! `tardy check` with the real meter on this machine: settings are planted, found, fixed, and restored byte for byte.

use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Directories of the settings that a check may change. Other processes may change some of them meanwhile.
const ROOTS: &[&str] = &[
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/irq",
    "/sys/devices/system/cpu",
    "/sys/devices/system/clocksource",
    "/sys/devices/system/machinecheck",
    "/sys/devices/virtual/workqueue",
    "/sys/bus/workqueue/devices",
    "/sys/kernel/mm",
    "/sys/module",
];
const FILE_BYTES_MAX: u64 = 64 << 10;
const DEPTH_MAX: u32 = 8;
/// Not a setting, but a writable counter.
const COUNTER: &str = "/proc/sys/kernel/ns_last_pid";
const PATIENCE_S: u32 = 60;

/// Settings that are harmless for some seconds, wrong values for them, and the rule that must report them.
const PLANTED: &[(&str, &str, &str)] = &[
    ("/proc/sys/vm/compaction_proactiveness", "60", "memory.compaction"),
    ("/proc/sys/vm/compact_unevictable_allowed", "1", "memory.locked-pages-move"),
    ("/proc/sys/vm/zone_reclaim_mode", "1", "memory.zone-reclaim"),
    ("/proc/sys/vm/stat_interval", "1", "memory.statistics"),
    ("/proc/sys/kernel/timer_migration", "1", "clocks.timer-migration"),
    ("/proc/sys/kernel/bpf_stats_enabled", "1", "scheduler.bpf-statistics"),
    ("/proc/sys/kernel/sched_schedstats", "1", "scheduler.statistics"),
    ("/proc/sys/kernel/printk", "7 4 1 7", "console.level"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always", "memory.huge-pages"),
    ("/sys/kernel/mm/transparent_hugepage/defrag", "always", "memory.huge-page-defragmentation"),
    ("/sys/kernel/mm/ksm/run", "1", "memory.same-page-merging"),
    ("/sys/module/printk/parameters/ignore_loglevel", "Y", "console.ignored-level"),
];

/// A setting that is restored however the test ends.
struct Planted {
    path: &'static str,
    before: String,
}

impl Planted {
    /// `None` if this kernel lacks the setting or rejects the value.
    fn plant(path: &'static str, value: &str) -> Option<Self> {
        let before = fs::read_to_string(path).ok()?;
        let before = before
            .split_whitespace()
            .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
            .map_or(before.trim().to_owned(), str::to_owned);
        fs::write(path, value).ok()?;
        Some(Self { path, before })
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = fs::write(self.path, &self.before);
    }
}

/// Every file below these directories that can be read and written, byte for byte.
fn snapshot() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    ROOTS.iter().for_each(|root| look(Path::new(root), 0, &mut files));
    files
}

fn look(folder: &Path, depth: u32, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_dir() && depth < DEPTH_MAX {
            look(&path, depth + 1, files);
        } else if found.is_file() && found.permissions().mode() & 0o600 == 0o600 && found.len() <= FILE_BYTES_MAX {
            // Some are write-only, some depend on other settings.
            if let Ok(bytes) = fs::read(&path)
                && path != Path::new(COUNTER)
            {
                files.insert(path, bytes);
            }
        }
    }
}

fn tardy(meter: &Path, state: &Path, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(words).env("TARDY_METER", meter).env("TARDY_STATE_DIR", state);
    Ended::of(command.output().unwrap())
}

#[test]
fn planted_settings_are_found_applied_and_put_back_to_the_byte() {
    let Some(meter) = real_meter() else { return };
    let state = tempfile::tempdir().unwrap();
    let planted: Vec<(Planted, &str)> =
        PLANTED.iter().filter_map(|(path, value, id)| Some((Planted::plant(path, value)?, *id))).collect();
    let judge = |words: &[&str]| tardy(&meter, state.path(), words).json();
    let check = ["check", "--cpus", "1", "--profile", "dedicated", "--notices", "--json"];
    let first = snapshot();
    // Files that change on their own are not settings.
    let before: BTreeMap<_, _> =
        snapshot().into_iter().filter(|(path, bytes)| first.get(path) == Some(bytes)).collect();
    assert!(before.len() > 100, "only {} settings can be read", before.len());

    let found = judge(&check);
    let ids = |document: &serde_json::Value| -> Vec<String> {
        document["findings"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let missing: Vec<&str> =
        planted.iter().map(|(_, id)| *id).filter(|id| !ids(&found).iter().any(|one| one == id)).collect();
    assert!(missing.is_empty(), "not found: {missing:?}");
    eprintln!("{} planted settings found, {} settings in the snapshot", planted.len(), before.len());

    let applied = judge(&[&check[..], &["--apply"]].concat());
    let changed: Vec<&str> = applied["applied"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["problem"].is_null())
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    eprintln!("{} settings changed: {changed:?}", changed.len());
    assert!(changed.len() >= planted.len(), "{}", applied["applied"]);
    let after = snapshot();
    for path in changed.iter().filter(|path| before.contains_key(Path::new(path))) {
        assert_ne!(before.get(Path::new(path)), after.get(Path::new(path)), "{path} was not changed");
    }
    let left: Vec<&str> =
        planted.iter().map(|(_, id)| *id).filter(|id| ids(&applied).iter().any(|one| one == id)).collect();
    assert!(left.is_empty(), "still found: {left:?}");

    let restored = tardy(&meter, state.path(), &["target", "restore"]);
    assert_eq!(restored.code, Some(0), "{}{}", restored.stdout, restored.stderr);
    let different = || -> Vec<PathBuf> {
        let after = snapshot();
        before.keys().filter(|path| after.get(*path) != before.get(*path)).cloned().collect()
    };
    let mut wrong = different();
    let ours = |path: &PathBuf| changed.iter().any(|one| Path::new(one) == path);
    assert!(!wrong.iter().any(ours), "not as they were: {wrong:?}");
    // Other tests measure on this machine meanwhile, and restore what they change.
    for _ in 0..PATIENCE_S {
        if wrong.is_empty() {
            break;
        }
        thread::sleep(Duration::from_secs(1));
        wrong = different();
    }
    assert!(wrong.is_empty(), "not as they were, and not changed by the check: {wrong:?}");
    let restored = tardy(&meter, state.path(), &["target", "restore"]).stdout;
    assert!(!restored.contains(" = "), "nothing is left to put back: {restored}");
}
