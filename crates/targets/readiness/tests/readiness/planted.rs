//! One setting spoilt at a time on a well-configured machine: the rule about it must report it.

use crate::sessions::{program, session};
use crate::{ORDINARY, WELL_SET, all, bad, facts, judged, subject};
use archive::facts::{Fact, Facts, SmiFact, TaskFact};
use readiness::{Checklist, check};

const CPUS: &str = "/sys/devices/system/cpu";

/// The change, and the rule that must report it.
struct Planted {
    id: &'static str,
    spoil: fn(&mut Facts),
    /// Whether the finding must be worse than a notice.
    bad: bool,
}

const fn bad_one(id: &'static str, spoil: fn(&mut Facts)) -> Planted {
    Planted { id, spoil, bad: true }
}

const fn notice(id: &'static str, spoil: fn(&mut Facts)) -> Planted {
    Planted { id, spoil, bad: false }
}

fn set(facts: &mut Facts, path: &str, text: &str) {
    facts.files.insert(path.into(), Fact::Text(format!("{text}\n")));
}

fn sysctl(facts: &mut Facts, name: &str, text: &str) {
    set(facts, &format!("/proc/sys/{}", name.replace('.', "/")), text);
}

fn build(facts: &mut Facts, option: &str) {
    let config = facts.kernel_config.get_or_insert_default();
    config.push_str(&format!("CONFIG_{option}=y\n"));
}

fn leave_out(facts: &mut Facts, option: &str) {
    let config = facts.kernel_config.take().unwrap();
    let begin = format!("CONFIG_{option}=");
    facts.kernel_config =
        Some(config.lines().filter(|line| !line.starts_with(&begin)).map(|line| format!("{line}\n")).collect());
}

fn boot(facts: &mut Facts, words: &str) {
    let line = facts.environment.command_line.get_or_insert_default();
    line.push(' ');
    line.push_str(words);
}

fn boot_without(facts: &mut Facts, begin: &str) {
    let line = facts.environment.command_line.take().unwrap();
    let kept: Vec<&str> = line.split_whitespace().filter(|word| !word.starts_with(begin)).collect();
    facts.environment.command_line = Some(kept.join(" "));
}

fn task(facts: &mut Facts, name: &str, policy: &str, priority: u8, kernel: bool) {
    let cpus_allowed = "0-1".into();
    facts.tasks.push(TaskFact {
        tid: 4242,
        name: name.into(),
        policy: policy.into(),
        priority,
        cpus_allowed,
        kernel,
        bound: false,
    });
}

fn status(facts: &mut Facts, capabilities: &str, limits: &str) {
    set(facts, "/proc/self/status", &format!("CapEff:\t{capabilities}\nCpus_allowed_list:\t0-1"));
    set(facts, "/proc/self/limits", limits);
}

fn group(facts: &mut Facts, file: &str, text: &str) {
    facts.cgroups = vec!["/sys/fs/cgroup/robot".into()];
    for file in ["cpu.max", "cpu.cfs_quota_us", "cpu.rt_runtime_us", "cpuset.cpus.effective", "cpuset.effective_cpus"] {
        facts.files.insert(format!("/sys/fs/cgroup/robot/{file}"), Fact::Absent);
    }
    set(facts, &format!("/sys/fs/cgroup/robot/{file}"), text);
}

fn later_kernel(facts: &mut Facts, runtime: &str) {
    facts.environment.kernel_release = "6.12.1-rt1".into();
    set(facts, "/sys/kernel/debug/sched/fair_server/cpu1/runtime", runtime);
    set(facts, "/sys/kernel/debug/sched/fair_server/cpu1/period", "1000000000");
}

const NO_LIMITS: &str =
    "Max realtime priority     0                    0\nMax locked memory         65536                65536 bytes";

const PLANTED: &[Planted] = &[
    bad_one("kernel.preempt-rt", |facts| facts.environment.preempt_rt = Some(false)),
    bad_one("kernel.preemption-model", |facts| {
        facts.environment.preempt_rt = Some(false);
        facts.environment.preemption = Some("voluntary".into());
    }),
    notice("kernel.threaded-interrupts", |facts| facts.environment.preempt_rt = Some(false)),
    bad_one("kernel.high-resolution-timers", |facts| leave_out(facts, "HIGH_RES_TIMERS")),
    bad_one("kernel.rt-group-scheduling", |facts| build(facts, "RT_GROUP_SCHED")),
    bad_one("kernel.cpu-isolation", |facts| leave_out(facts, "CPU_ISOLATION")),
    bad_one("kernel.rt-mutexes", |facts| {
        leave_out(facts, "FUTEX_PI");
        leave_out(facts, "RT_MUTEXES");
    }),
    bad_one("debugging.lock-proving", |facts| build(facts, "PROVE_LOCKING")),
    bad_one("debugging.lock-checks", |facts| build(facts, "DEBUG_MUTEXES")),
    bad_one("debugging.sanitisers", |facts| build(facts, "KASAN")),
    bad_one("debugging.memory", |facts| build(facts, "DEBUG_OBJECTS")),
    notice("debugging.off-tracers", |facts| build(facts, "IRQSOFF_TRACER")),
    notice("debugging.checks", |facts| build(facts, "LATENCYTOP")),
    bad_one("parameters.tracing", |facts| boot(facts, "trace_event=sched:*")),
    bad_one("parameters.memory-debugging", |facts| boot(facts, "slub-debug=FZ")),
    bad_one("parameters.low-resolution", |facts| boot(facts, "highres=off")),
    bad_one("parameters.tick-always", |facts| boot(facts, "nohz=off")),
    bad_one("parameters.misspelt", |facts| boot(facts, "isolcpu=1")),
    bad_one("parameters.repeated", |facts| boot(facts, "rcu_nocbs=0 rcu_nocbs=1")),
    notice("parameters.idle-poll", |facts| boot(facts, "idle=poll")),
    bad_one("clocks.resolution", |facts| facts.clock_resolution_ns = Some(4_000_000)),
    bad_one("clocks.source", |facts| {
        set(facts, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
    }),
    bad_one("clocks.timer-migration", |facts| sysctl(facts, "kernel.timer_migration", "1")),
    notice("clocks.skewed-tick", |facts| boot_without(facts, "skew_tick")),
    bad_one("scheduler.throttling", |facts| {
        sysctl(facts, "kernel.sched_rt_period_us", "1000000");
        sysctl(facts, "kernel.sched_rt_runtime_us", "500000");
    }),
    bad_one("scheduler.fair-server", |facts| later_kernel(facts, "100000000")),
    notice("scheduler.fair-server", |facts| later_kernel(facts, "50000000")),
    notice("scheduler.fair-server-tick", |facts| {
        later_kernel(facts, "50000000");
        set(facts, "/sys/devices/system/cpu/nohz_full", "1");
    }),
    notice("scheduler.extensible", |facts| set(facts, "/sys/kernel/sched_ext/state", "enabled")),
    notice("scheduler.statistics", |facts| sysctl(facts, "kernel.sched_schedstats", "1")),
    notice("scheduler.bpf-statistics", |facts| sysctl(facts, "kernel.bpf_stats_enabled", "1")),
    bad_one("isolation.not-in-effect", |facts| {
        boot_without(facts, "isolcpus");
        boot(facts, "isolcpus=1,7");
    }),
    bad_one("isolation.not-in-effect", |facts| {
        boot(facts, "nohz_full=1");
        set(facts, &format!("{CPUS}/nohz_full"), "(null)");
    }),
    bad_one("isolation.not-in-effect", |facts| boot(facts, "nohz_full=one")),
    bad_one("isolation.rcu-callbacks", |facts| {
        boot_without(facts, "rcu_nocbs");
        boot_without(facts, "nohz_full");
        set(facts, &format!("{CPUS}/nohz_full"), "");
    }),
    notice("isolation.tick", |facts| {
        boot_without(facts, "nohz_full");
        set(facts, &format!("{CPUS}/nohz_full"), "");
    }),
    notice("isolation.kernel-threads", |facts| task(facts, "kswapd0", "other", 0, true)),
    bad_one("isolation.workqueues", |facts| set(facts, "/sys/devices/virtual/workqueue/cpumask", "3")),
    notice("isolation.writeback", |facts| set(facts, "/sys/bus/workqueue/devices/writeback/cpumask", "3")),
    bad_one("isolation.nothing-left", |facts| {
        facts.environment.cpus_isolated = Some("0-1".into());
        set(facts, &format!("{CPUS}/isolated"), "0-1");
    }),
    bad_one("isolation.siblings", |facts| set(facts, &format!("{CPUS}/cpu1/topology/thread_siblings_list"), "0-1")),
    bad_one("interrupts.affinity", |facts| {
        set(facts, "/sys/kernel/irq/77/actions", "eth0");
        set(facts, "/proc/irq/77/smp_affinity_list", "0-1");
        set(facts, "/proc/irq/77/effective_affinity_list", "1");
    }),
    bad_one("interrupts.default-affinity", |facts| set(facts, "/proc/irq/default_smp_affinity", "3")),
    bad_one("interrupts.balancer", |facts| task(facts, "irqbalance", "other", 0, false)),
    bad_one("power.frequency-governor", |facts| {
        set(facts, &format!("{CPUS}/cpu1/cpufreq/scaling_governor"), "schedutil");
    }),
    bad_one("power.idle-states", |facts| {
        for (file, text) in [("name", "C6"), ("latency", "170"), ("disable", "0")] {
            set(facts, &format!("{CPUS}/cpu1/cpuidle/state0/{file}"), text);
        }
    }),
    notice("power.workqueues", |facts| {
        set(facts, &format!("{CPUS}/nohz_full"), "");
        set(facts, "/sys/module/workqueue/parameters/power_efficient", "Y");
    }),
    notice("power.pcie-links", |facts| {
        set(facts, "/sys/module/pcie_aspm/parameters/policy", "default performance [powersupersave] powersave");
    }),
    bad_one("firmware.management-interrupts", |facts| {
        facts.smi_problem = None;
        facts.smi = vec![SmiFact { cpu: 0, before: 7, after: 9 }];
    }),
    notice("firmware.management-interrupts", |facts| {
        facts.smi_problem = None;
        facts.smi = vec![SmiFact { cpu: 0, before: 5000, after: 5000 }];
        set(facts, "/proc/uptime", "3600.12 7100.00");
    }),
    notice("firmware.machine-check-polling", |facts| {
        set(facts, "/sys/devices/system/machinecheck/machinecheck0/check_interval", "12c");
    }),
    notice("firmware.virtual-machine", |facts| facts.environment.virtualisation = Some("vmware".into())),
    bad_one("tasks.as-urgent", |facts| task(facts, "multipathd", "rr", 99, false)),
    bad_one("tasks.as-urgent", |facts| task(facts, "camera", "deadline", 0, false)),
    notice("tasks.kernel-threads", |facts| task(facts, "irq/77-eth0", "fifo", 90, true)),
    bad_one("tasks.soft-interrupts", |facts| task(facts, "ksoftirqd/1", "fifo", 30, true)),
    notice("tasks.meddlers", |facts| task(facts, "stalld", "other", 0, false)),
    bad_one("memory.huge-pages", |facts| {
        set(facts, "/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
    }),
    bad_one("memory.huge-page-defragmentation", |facts| {
        set(facts, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
        set(facts, "/sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never");
    }),
    bad_one("memory.same-page-merging", |facts| set(facts, "/sys/kernel/mm/ksm/run", "1")),
    bad_one("memory.numa-balancing", |facts| {
        sysctl(facts, "kernel.numa_balancing", "1");
        set(facts, "/sys/devices/system/node/online", "0-1");
    }),
    notice("memory.compaction", |facts| sysctl(facts, "vm.compaction_proactiveness", "20")),
    bad_one("memory.compaction", |facts| sysctl(facts, "vm.compaction_proactiveness", "80")),
    bad_one("memory.locked-pages-move", |facts| sysctl(facts, "vm.compact_unevictable_allowed", "1")),
    notice("memory.swap", |facts| set(facts, "/proc/swaps", "Filename Type\n/dev/sda2 partition 1 0 -2")),
    bad_one("memory.zone-reclaim", |facts| sysctl(facts, "vm.zone_reclaim_mode", "1")),
    notice("memory.statistics", |facts| sysctl(facts, "vm.stat_interval", "1")),
    bad_one("watchdogs.hard-lockups", |facts| sysctl(facts, "kernel.nmi_watchdog", "1")),
    bad_one("watchdogs.soft-lockups", |facts| {
        sysctl(facts, "kernel.watchdog", "1");
        sysctl(facts, "kernel.watchdog_cpumask", "0-1");
    }),
    bad_one("console.level", |facts| sysctl(facts, "kernel.printk", "7\t4\t1\t7")),
    bad_one("console.ignored-level", |facts| set(facts, "/sys/module/printk/parameters/ignore_loglevel", "Y")),
    bad_one("tracing.tracer", |facts| set(facts, "/sys/kernel/tracing/current_tracer", "function")),
    bad_one("tracing.events", |facts| set(facts, "/sys/kernel/tracing/events/enable", "X")),
    bad_one("tracing.stacks", |facts| sysctl(facts, "kernel.stack_tracer_enabled", "1")),
    bad_one("tracing.printed-events", |facts| sysctl(facts, "kernel.tracepoint_printk", "1")),
    notice("tracing.unavailable", |facts| set(facts, "/proc/filesystems", "nodev\tproc")),
    notice("tracing.features", |facts| leave_out(facts, "TRACER_SNAPSHOT")),
    bad_one("limits.real-time-priority", |facts| status(facts, "0000000000000000", NO_LIMITS)),
    bad_one("limits.locked-memory", |facts| status(facts, "0000000000800000", NO_LIMITS)),
    bad_one("limits.processor-time", |facts| group(facts, "cpu.max", "50000 100000")),
    bad_one("limits.processor-time", |facts| group(facts, "cpu.cfs_quota_us", "50000")),
    bad_one("limits.real-time-budget", |facts| group(facts, "cpu.rt_runtime_us", "0")),
    bad_one("limits.processors", |facts| group(facts, "cpuset.cpus.effective", "0")),
    bad_one("sessions.sound-policy", |facts| session(facts, [program("pipewire", "other", "95")], None)),
    bad_one("sessions.real-time-priority", |facts| session(facts, [program("jackd", "fifo", "0")], Some(&[]))),
    notice("sessions.real-time-priority", |facts| session(facts, [program("pipewire", "fifo", "0")], Some(&[]))),
    notice("sessions.locked-memory", |facts| session(facts, [program("systemd", "other", "0")], None)),
    notice("sessions.rtkit", |facts| session(facts, [program("pipewire", "rr", "95")], Some(&[]))),
    notice("limits.container", |facts| facts.environment.container = Some("podman".into())),
];

/// The well-configured machine without its remaining notices, as far as settings cause them.
fn perfect() -> Facts {
    let mut facts = facts(WELL_SET);
    set(&mut facts, "/sys/bus/workqueue/devices/writeback/cpumask", "1");
    set(&mut facts, "/sys/devices/system/machinecheck/machinecheck0/check_interval", "0");
    facts.environment.virtualisation = Some("none".into());
    facts
}

#[test]
fn each_of_them_is_found_and_was_not_there_before() {
    let well_set = perfect();
    let before = judged(&well_set);
    let mut wrong = Vec::new();
    for Planted { id, spoil, bad: is_bad } in PLANTED {
        let mut spoilt = well_set.clone();
        spoil(&mut spoilt);
        let readiness = judged(&spoilt);
        // A notice of the same rule may have existed before, about something else.
        let new = readiness.findings.iter().find(|finding| finding.id == *id && !before.findings.contains(finding));
        match new {
            None => wrong.push(format!("{id}: found {:?}, not known {:?}", all(&readiness), readiness.not_known)),
            Some(new) if new.what.is_empty() || new.fixes.is_empty() => wrong.push(format!("{id} has no fix")),
            Some(_) if *is_bad != bad(&readiness).contains(id) => {
                wrong.push(format!("{id}: worse than a notice are {:?}", bad(&readiness)));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(PLANTED.len() >= 25);
}

#[test]
fn every_rule_has_a_planted_case() {
    let elsewhere = ["isolation.no-such-cpu", "isolation.scheduler", "isolation.boot-cpu", "tasks.priority-99"];
    let groups = readiness::rules();
    let without: Vec<&str> = groups
        .iter()
        .flat_map(|group| group.rules)
        .map(|rule| rule.id)
        .filter(|id| !elsewhere.contains(id) && !PLANTED.iter().any(|planted| planted.id == *id))
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn consequences_of_nohz_full_are_no_findings() {
    let mut facts = facts(WELL_SET);
    set(&mut facts, "/sys/module/workqueue/parameters/power_efficient", "Y");
    assert!(!all(&judged(&facts)).contains(&"power.workqueues"));
}

#[test]
fn the_requested_subject_decides_which_rules_apply() {
    let well_set = facts(WELL_SET);
    let asked = |cpus: Vec<u32>, priority: u8| {
        let subject = readiness::Subject { priority, ..subject(Some(cpus)) };
        check(&well_set, &subject, &Checklist::default(), &[])
    };
    assert!(bad(&asked(vec![7], 80)).contains(&"isolation.no-such-cpu"));
    assert!(bad(&asked(vec![0], 80)).contains(&"isolation.scheduler"));
    assert!(all(&asked(vec![0], 80)).contains(&"isolation.boot-cpu"));
    assert!(all(&asked(vec![1], 99)).contains(&"tasks.priority-99"));
    // Work that shares its CPUs needs no isolation.
    let shared = judged(&facts(ORDINARY));
    assert!(!all(&shared).iter().any(|id| id.starts_with("isolation.") || *id == "interrupts.affinity"));
}
