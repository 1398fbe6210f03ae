//! Lists the files to read. A rule on the host that needs another file adds it here.

use crate::environment::tree::Tree;

const PLAIN: &[&str] = &[
    "/proc/cmdline",
    "/proc/consoles",
    "/proc/filesystems",
    "/proc/irq/default_smp_affinity",
    "/proc/self/limits",
    "/proc/self/status",
    "/proc/swaps",
    "/proc/sys/kernel/bpf_stats_enabled",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/printk",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_schedstats",
    "/proc/sys/kernel/stack_tracer_enabled",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/tracepoint_printk",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/vm/compact_unevictable_allowed",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/zone_reclaim_mode",
    "/proc/uptime",
    "/sys/bus/workqueue/devices/writeback/cpumask",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/cpuidle/current_driver",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/smt/active",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/machinecheck/machinecheck0/check_interval",
    "/sys/devices/system/node/online",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/fs/cgroup/cpuset.cpus.isolated",
    "/sys/kernel/debug/sched/preempt",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/rcu_expedited",
    "/sys/kernel/sched_ext/state",
    "/sys/module/pcie_aspm/parameters/policy",
    "/sys/module/printk/parameters/ignore_loglevel",
    "/sys/module/workqueue/parameters/power_efficient",
];

/// Below the tracing file system.
pub const TRACING_FILES: &[&str] = &["available_tracers", "current_tracer", "events/enable"];

const CPUS: &str = "/sys/devices/system/cpu";
const CPU_FILES: &[&str] = &[
    "cpufreq/scaling_governor",
    "cpufreq/scaling_available_governors",
    "topology/thread_siblings_list",
    "power/pm_qos_resume_latency_us",
];
const IDLE_STATE_FILES: &[&str] = &["name", "latency", "disable"];
const FAIR_SERVERS: &str = "/sys/kernel/debug/sched/fair_server";
const FAIR_SERVER_FILES: &[&str] = &["runtime", "period"];
const CGROUP_FILES: &[&str] = &[
    "cpu.max",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.rt_runtime_us",
    "cpuset.cpus.effective",
    "cpuset.effective_cpus",
];
/// Number of files on a large server; a kernel that claims more is not trusted.
const PATHS_MAX: usize = 50_000;

/// The files to read, and the number of those left out.
pub fn all(tree: &Tree, cgroups: &[String]) -> (Vec<String>, u64) {
    let mut paths: Vec<String> = PLAIN.iter().map(|path| (*path).to_owned()).collect();
    let below =
        |folder: &str, names: &[&str]| -> Vec<String> { names.iter().map(|name| format!("{folder}/{name}")).collect() };
    for cgroup in cgroups {
        paths.extend(below(cgroup, CGROUP_FILES));
    }
    for (_, cpu) in tree.numbered(relative(CPUS), "cpu") {
        let folder = format!("{CPUS}/{cpu}");
        paths.extend(below(&folder, CPU_FILES));
        for (_, state) in tree.numbered(relative(&format!("{folder}/cpuidle")), "state") {
            paths.extend(below(&format!("{folder}/cpuidle/{state}"), IDLE_STATE_FILES));
        }
    }
    for (_, cpu) in tree.numbered(relative(FAIR_SERVERS), "cpu") {
        paths.extend(below(&format!("{FAIR_SERVERS}/{cpu}"), FAIR_SERVER_FILES));
    }
    for (_, irq) in tree.numbered("proc/irq", "") {
        paths.extend(below(&format!("/proc/irq/{irq}"), &["smp_affinity_list", "effective_affinity_list"]));
        paths.push(format!("/sys/kernel/irq/{irq}/actions"));
    }
    let omitted = paths.len().saturating_sub(PATHS_MAX);
    paths.truncate(PATHS_MAX);
    (paths, omitted as u64)
}

fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}
