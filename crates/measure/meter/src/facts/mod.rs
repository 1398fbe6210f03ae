//! Everything that the host needs to check whether this machine is ready for real-time work: contents of files,
//! unjudged.
//!
//! Nothing is changed and nothing fails: unreadable files are listed as such, one by one.

mod cgroups;
mod file;
mod paths;
mod sessions;
mod smi;
mod tasks;

use crate::environment::{OwnPriority, collect, kernel_config, tree::Tree};
use crate::kernel::{clock_resolution, trace_mount};
use crate::methods::{self, OtherMethods};
use archive::facts::{FACTS_VERSION, Fact, Facts};
use std::collections::BTreeMap;
use std::path::Path;

/// Path under which the host finds the tracing files, wherever they are mounted.
const TRACING: &str = "/sys/kernel/tracing";

/// Reads everything below `root`, which is `/` on a running machine. `priority` is that of the work to be judged, `others` the
/// methods beside the meter's own.
pub fn gather(root: &Path, priority: u8, others: OtherMethods) -> Facts {
    let tree = Tree::new(root);
    let mut files = BTreeMap::new();
    let cgroups = cgroups::own(&tree);
    let (paths, mut omitted) = paths::all(&tree, &cgroups);
    for path in paths {
        let fact = file::read(root, &path);
        files.insert(path, fact);
    }
    let (tasks, more) = tasks::all(&tree);
    omitted += more;
    let (sessions, more) = sessions::all(root, &tree);
    omitted += more;
    let tracing_problem = read_tracing(&tree, &mut files);
    let counted = smi::count(&tree);
    Facts {
        facts_version: FACTS_VERSION,
        meter_version: env!("CARGO_PKG_VERSION").into(),
        root: rustix::process::geteuid().is_root(),
        environment: collect(root, &OwnPriority { priority, exclude_tids: Vec::new() }),
        kernel_config: kernel_config(root),
        files,
        clock_resolution_ns: tree.is_live().then(clock_resolution::stated_ns).flatten(),
        smi: counted.cpus,
        smi_pause_ns: counted.pause_ns,
        smi_problem: counted.problem,
        cgroups,
        tasks,
        sessions: Some(sessions),
        omitted,
        tracing_problem,
        methods: methods::states(root, priority, others),
    }
}

/// The tracing file system may be mounted elsewhere, or not at all: then it is mounted for this process alone.
fn read_tracing(tree: &Tree, files: &mut BTreeMap<String, Fact>) -> Option<String> {
    let found = match tree.is_live() {
        true => trace_mount::find_or_mount().map(|tracefs| tracefs.root().to_owned()),
        false => Ok(tree.path(TRACING)),
    };
    match found {
        Ok(place) => {
            for name in paths::TRACING_FILES {
                files.insert(format!("{TRACING}/{name}"), file::read(&place, name));
            }
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;
    use archive::facts::SessionFacts;

    #[test]
    fn missing_files_are_absent_facts() {
        let root = tempfile::tempdir().unwrap();
        let facts = gather(root.path(), 80, |_| None);
        assert!(facts.files.values().all(|fact| *fact == Fact::Absent), "{:?}", facts.files);
        assert_eq!(facts.sessions, Some(SessionFacts::default()));
        assert!(facts.tasks.is_empty() && facts.kernel_config.is_none() && facts.cgroups.is_empty());
        assert!(facts.smi.is_empty() && facts.smi_problem.is_some());
    }

    #[test]
    fn contents_come_byte_for_byte_with_those_of_every_cpu_and_interrupt() {
        let root = fake(&[
            ("proc/sys/kernel/printk", "7\t4\t1\t7\n"),
            ("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu3/cpuidle/state2/latency", "170\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
            ("proc/irq/24/smp_affinity_list", "0-3\n"),
            ("sys/kernel/irq/24/actions", "eth0\n"),
            ("sys/kernel/tracing/current_tracer", "nop\n"),
            ("sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000\n"),
        ]);
        let facts = gather(root.path(), 80, |_| None);
        let text = |path: &str| match &facts.files[path] {
            Fact::Text(text) => text.clone(),
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(text("/proc/sys/kernel/printk"), "7\t4\t1\t7\n");
        assert_eq!(text("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor"), "powersave\n");
        assert_eq!(text("/sys/devices/system/cpu/cpu3/cpuidle/state2/latency"), "170\n");
        assert_eq!(text("/proc/irq/24/smp_affinity_list"), "0-3\n");
        assert_eq!(text("/sys/kernel/irq/24/actions"), "eth0\n");
        assert_eq!(text("/sys/kernel/tracing/current_tracer"), "nop\n");
        assert_eq!(text("/sys/kernel/debug/sched/fair_server/cpu3/runtime"), "50000000\n");
    }

    #[test]
    fn this_machine_shows_something() {
        let facts = gather(Path::new("/"), 80, |_| None);
        assert!(matches!(facts.files["/proc/sys/kernel/printk"], Fact::Text(_)));
        assert!(facts.clock_resolution_ns.is_some_and(|ns| ns > 0));
        assert!(facts.environment.cpus_online.is_some());
        let text = serde_json::to_string(&facts).unwrap();
        assert!(text.len() < archive::facts::FACTS_BYTES_MAX);
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
    }
}
