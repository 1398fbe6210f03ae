//! The fingerprint of this machine: runs are comparable where it agrees.
//!
//! Everything is read from files below a root directory, so that a saved tree works like the running kernel. What
//! cannot be read stays `None` or empty; nothing here fails.

mod config;
mod costly_options;
mod debug_options;
mod preemption;
mod processor;
pub(crate) mod scheduler;
mod surroundings;
pub(crate) mod tree;

use archive::environment::Environment;
use std::path::Path;
use tree::Tree;

/// Determines which tasks compete with the measuring threads.
#[derive(Debug, Clone, Default)]
pub struct OwnPriority {
    /// Priority of the measuring threads: 1 to 99 for FIFO and RR; 0 for OTHER, which competes with every real-time
    /// task; 100 for DEADLINE, which competes only with other deadline tasks.
    pub priority: u8,
    /// The measuring threads themselves.
    pub exclude_tids: Vec<i32>,
}

/// Reads the fingerprint below `root`, which is `/` on a running machine.
pub fn collect(root: &Path, own: &OwnPriority) -> Environment {
    let tree = Tree::new(root);
    let release = kernel_fact(&tree, "osrelease");
    let version = kernel_fact(&tree, "version");
    let command_line = tree.text("proc/cmdline");
    let config = config::read(&tree, &release);
    let found = preemption::find(&tree, &version, command_line.as_deref(), config.as_ref());
    let steal_clock = surroundings::steal_clock(&tree, command_line.as_deref(), config.as_ref());
    Environment {
        hostname: kernel_fact(&tree, "hostname"),
        architecture: kernel_fact(&tree, "arch"),
        preemption: found.model,
        preempt_rt: found.realtime,
        debug_options: debug_options::find(command_line.as_deref(), config.as_ref()),
        config_source: config.as_ref().map(|config| config.source.clone()),
        config: config.map(|config| config.relevant()).unwrap_or_default(),
        cpu_model: processor::model(&tree),
        cpus_online: tree.text("sys/devices/system/cpu/online"),
        cpus_isolated: tree.text("sys/devices/system/cpu/isolated"),
        cpus_nohz_full: processor::nohz_full(&tree),
        smt: tree.text("sys/devices/system/cpu/smt/control"),
        memory_total_kb: processor::memory_total_kb(&tree),
        clocksource: tree.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        idle_driver: tree.text("sys/devices/system/cpu/cpuidle/current_driver"),
        idle_governor: processor::idle_governor(&tree),
        frequency_governors: processor::frequency_governors(&tree),
        rt_period_us: tree.number("proc/sys/kernel/sched_rt_period_us"),
        rt_runtime_us: tree.number("proc/sys/kernel/sched_rt_runtime_us"),
        fair_server_runtime: scheduler::fair_server_runtime(&tree),
        fair_server_period: scheduler::fair_server_period(&tree),
        mitigations: processor::mitigations(&tree),
        virtualisation: surroundings::virtualisation(&tree),
        steal_clock,
        container: surroundings::container(&tree),
        rt_tasks: scheduler::rivals(&tree, own),
        load_average: tree.text("proc/loadavg").map(|text| text.split(' ').take(3).collect::<Vec<_>>().join(" ")),
        kernel_release: release,
        kernel_version: version,
        command_line,
    }
}

/// See [`Environment::steal_clock`].
pub fn steal_clock(root: &Path) -> Option<bool> {
    let tree = Tree::new(root);
    let config = config::read(&tree, &kernel_fact(&tree, "osrelease"));
    surroundings::steal_clock(&tree, tree.text("proc/cmdline").as_deref(), config.as_ref())
}

/// Lines `CONFIG_X=value` of the running kernel's whole configuration, if the machine has it.
pub fn kernel_config(root: &Path) -> Option<String> {
    let tree = Tree::new(root);
    Some(config::read(&tree, &kernel_fact(&tree, "osrelease"))?.set_lines())
}

/// A value of uname(2), by its file name in /proc/sys/kernel.
fn kernel_fact(tree: &Tree, file: &str) -> String {
    let fallback = || {
        // Kernels before 6.1 have no file `arch`. A saved tree of another machine must not get this machine's value.
        let uname = tree.is_live().then(rustix::system::uname)?;
        let value = match file {
            "hostname" => uname.nodename(),
            "osrelease" => uname.release(),
            "version" => uname.version(),
            _ => uname.machine(),
        };
        Some(value.to_string_lossy().into_owned())
    };
    tree.text(&format!("proc/sys/kernel/{file}")).or_else(fallback).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tree::fake;

    #[test]
    fn an_empty_tree_yields_nothing_and_does_not_fail() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(collect(directory.path(), &OwnPriority::default()), Environment::default());
    }

    #[test]
    fn a_whole_machine_is_read() {
        let root = fake(&[
            ("proc/sys/kernel/hostname", "board7\n"),
            ("proc/sys/kernel/arch", "aarch64\n"),
            ("proc/sys/kernel/osrelease", "6.12.5-rt3\n"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT Mon Jan 1\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
            ("proc/cmdline", "console=ttyAMA0 isolcpus=3 slub_debug=FZ\n"),
            ("proc/loadavg", "0.10 0.20 0.30 1/234 5678\n"),
            ("proc/meminfo", "MemTotal:        3884476 kB\nMemFree: 1 kB\n"),
            ("boot/config-6.12.5-rt3", "CONFIG_PREEMPT_RT=y\n# CONFIG_KASAN is not set\nCONFIG_HZ=250\nCONFIG_USB=y\n"),
            ("sys/kernel/realtime", "1\n"),
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/isolated", "3\n"),
            ("sys/devices/system/cpu/smt/control", "notsupported\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter\n"),
            ("sys/devices/system/cpu/cpuidle/current_driver", "psci_idle\n"),
        ]);
        let found = collect(root.path(), &OwnPriority::default());
        let expected = Environment {
            hostname: "board7".into(),
            architecture: "aarch64".into(),
            kernel_release: "6.12.5-rt3".into(),
            kernel_version: "#1 SMP PREEMPT_RT Mon Jan 1".into(),
            command_line: Some("console=ttyAMA0 isolcpus=3 slub_debug=FZ".into()),
            preemption: Some("preempt_rt".into()),
            preempt_rt: Some(true),
            config: vec!["CONFIG_PREEMPT_RT=y".into(), "CONFIG_HZ=250".into()],
            config_source: Some("/boot/config-6.12.5-rt3".into()),
            cpus_online: Some("0-3".into()),
            cpus_isolated: Some("3".into()),
            smt: Some("notsupported".into()),
            memory_total_kb: Some(3_884_476),
            clocksource: Some("arch_sys_counter".into()),
            idle_driver: Some("psci_idle".into()),
            rt_period_us: Some(1_000_000),
            rt_runtime_us: Some(-1),
            steal_clock: Some(false),
            debug_options: vec!["slub_debug=FZ".into()],
            load_average: Some("0.10 0.20 0.30".into()),
            ..Environment::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn this_machine_is_the_one_uname_names() {
        let uname = rustix::system::uname();
        let found = collect(Path::new("/"), &OwnPriority::default());
        assert!(!found.kernel_release.is_empty());
        assert_eq!(found.kernel_release, uname.release().to_string_lossy());
        assert_eq!(found.kernel_version, uname.version().to_string_lossy());
        assert_eq!(found.architecture, uname.machine().to_string_lossy());
        assert!(found.memory_total_kb.is_some_and(|kb| kb > 0));
        assert!(found.cpus_online.is_some());
    }
}
