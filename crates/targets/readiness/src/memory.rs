//! Work of the kernel on a program's pages in the background.

use super::cpu_set::CpuSet;
use super::machine::{Machine, choice, quoted};
use super::rule::{Look, Rule, Severity, Sign, fine, sign_if};
use super::unknown::Unknown;

const HUGE: &str = "/sys/kernel/mm/transparent_hugepage";

pub const RULES: &[Rule] = &[
    Rule {
        id: "memory.huge-pages",
        title: "the kernel uses huge pages for all memory",
        reason: "khugepaged copies pages and interrupts all CPUs of the program; a first touch clears 2 MB at once",
        source: "Transparent Hugepage Support",
        severity: Severity::Warning,
        look: huge_pages,
    },
    Rule {
        id: "memory.huge-page-defragmentation",
        title: "a page fault may defragment memory",
        reason: "the task that touches memory first compacts it, for milliseconds",
        source: "Transparent Hugepage Support",
        severity: Severity::Warning,
        look: defragmentation,
    },
    Rule {
        id: "memory.same-page-merging",
        title: "the kernel merges equal pages",
        reason: "ksmd takes CPU time, and a write to a merged page is a fault that copies the page",
        source: "Kernel Samepage Merging",
        severity: Severity::Warning,
        look: same_page_merging,
    },
    Rule {
        id: "memory.numa-balancing",
        title: "the kernel moves pages between NUMA nodes",
        reason: "it unmaps pages of running programs to see who uses them: page faults, also in locked memory",
        source: "Documentation for /proc/sys/kernel/: numa_balancing",
        severity: Severity::Warning,
        look: numa_balancing,
    },
    Rule {
        id: "memory.compaction",
        title: "the kernel compacts memory proactively",
        reason: "kcompactd moves pages and flushes the TLBs of all CPUs",
        source: "Documentation for /proc/sys/vm/: compaction_proactiveness",
        severity: Severity::Notice,
        look: compaction,
    },
    Rule {
        id: "memory.locked-pages-move",
        title: "locked pages may be moved",
        reason: "a program with locked memory still takes page faults while a page moves",
        source: "Documentation for /proc/sys/vm/: compact_unevictable_allowed",
        severity: Severity::Warning,
        look: locked_pages,
    },
    Rule {
        id: "memory.swap",
        title: "memory may be swapped out",
        reason: "memory that the program did not lock is read from disk at the next touch",
        source: "Documentation for /proc/sys/vm/: swappiness",
        severity: Severity::Notice,
        look: swap,
    },
    Rule {
        id: "memory.zone-reclaim",
        title: "an allocation may reclaim its own node first",
        reason: "a task that allocates memory scans and frees pages itself, although other nodes have free pages",
        source: "Documentation for /proc/sys/vm/: zone_reclaim_mode",
        severity: Severity::Warning,
        look: zone_reclaim,
    },
    Rule {
        id: "memory.statistics",
        title: "all CPUs fold their counters every second",
        reason: "a kworker runs on each CPU whose counters have changed",
        source: "Documentation for /proc/sys/vm/: stat_interval",
        severity: Severity::Notice,
        look: statistics,
    },
];

fn huge_pages(machine: &Machine) -> Look {
    let path = format!("{HUGE}/enabled");
    let Some(text) = machine.optional(&path)? else { return fine() };
    sign_if(choice(text) == Some("always"), || {
        let sign = Sign::new("transparent huge pages are made always").write(path, "never");
        match machine.command_line.all("transparent_hugepage").last() {
            Some(one) => sign.boot_without(&one.written).boot("transparent_hugepage=never"),
            None => sign.boot("transparent_hugepage=never"),
        }
    })
}

fn defragmentation(machine: &Machine) -> Look {
    let path = format!("{HUGE}/defrag");
    let (Some(defrag), Some(enabled)) = (machine.optional(&path)?, machine.optional(&format!("{HUGE}/enabled"))?)
    else {
        return fine();
    };
    sign_if(choice(defrag) == Some("always") && choice(enabled) != Some("never"), || {
        Sign::new("page faults defragment always").write(path, "never")
    })
}

fn same_page_merging(machine: &Machine) -> Look {
    let path = "/sys/kernel/mm/ksm/run";
    sign_if(machine.number(path)? == Some(1), || {
        Sign::new("ksmd is running").write(path, "0").by_hand("`echo 2` to the same file also parts what was merged")
    })
}

fn numa_balancing(machine: &Machine) -> Look {
    let path = "/proc/sys/kernel/numa_balancing";
    let on = machine.number(path)?.is_some_and(|value| value != 0);
    sign_if(on, || {
        let nodes = machine.optional("/sys/devices/system/node/online").ok().flatten();
        let one = nodes.and_then(|text| CpuSet::list(text, 0)).is_some_and(|nodes| nodes.len() == 1);
        let severity = if one { Severity::Notice } else { Severity::Warning };
        Sign::new("kernel.numa_balancing is on").severity(severity).write(path, "0").boot("numa_balancing=disable")
    })
}

fn compaction(machine: &Machine) -> Look {
    let path = "/proc/sys/vm/compaction_proactiveness";
    let value = machine.number(path)?.unwrap_or(0);
    sign_if(value > 0, || {
        // 20 is the kernel's default.
        let severity = if value > 20 { Severity::Warning } else { Severity::Notice };
        Sign::new(format!("vm.compaction_proactiveness is {value}"))
            .key(value.to_string())
            .severity(severity)
            .write(path, "0")
    })
}

fn locked_pages(machine: &Machine) -> Look {
    let path = "/proc/sys/vm/compact_unevictable_allowed";
    sign_if(machine.number(path)?.is_some_and(|value| value != 0), || {
        Sign::new("vm.compact_unevictable_allowed is 1").write(path, "0")
    })
}

fn swap(machine: &Machine) -> Look {
    let areas = machine.text("/proc/swaps")?.lines().skip(1).filter(|line| !line.trim().is_empty()).count();
    sign_if(areas > 0, || {
        let what = if areas == 1 { "one swap area is in use".into() } else { format!("{areas} swap areas are in use") };
        Sign::new(what).by_hand("swapoff -a, and lock the memory of the work: mlockall(MCL_CURRENT | MCL_FUTURE)")
    })
}

fn zone_reclaim(machine: &Machine) -> Look {
    let path = "/proc/sys/vm/zone_reclaim_mode";
    let mode = machine.number(path)?.unwrap_or(0);
    sign_if(mode != 0, || Sign::new(format!("vm.zone_reclaim_mode is {mode}")).key(mode.to_string()).write(path, "0"))
}

fn statistics(machine: &Machine) -> Look {
    let path = "/proc/sys/vm/stat_interval";
    let Some(text) = machine.optional(path)? else { return fine() };
    let seconds: u64 = text.parse().map_err(|_| Unknown(format!("{path} is not a number: {}", quoted(text))))?;
    sign_if(machine.dedicated && seconds < 10, || {
        Sign::new(format!("vm.stat_interval is {seconds} s")).key(seconds.to_string()).write(path, "120")
    })
}
