//! The rules whose fixes act on a cause of late wake-ups.

use archive::culprit::Culprit;

/// Identifiers of the rules that concern this cause.
pub fn suspects(culprit: &Culprit) -> &'static [&'static str] {
    match culprit {
        Culprit::RtThrottling => &["scheduler.throttling"],
        Culprit::FairServer => &["scheduler.fair-server"],
        Culprit::Tick => &["isolation.tick", "parameters.tick-always", "clocks.skewed-tick"],
        Culprit::Watchdog => &["watchdogs.hard-lockups", "watchdogs.soft-lockups"],
        Culprit::ClocksourceWatchdog => &["clocks.source"],
        Culprit::Timers => &["clocks.timer-migration"],
        Culprit::TimerInterrupt => &["clocks.skewed-tick", "clocks.timer-migration"],
        Culprit::PreviousIrq | Culprit::IrqStorm | Culprit::ThreadedIrq | Culprit::Network | Culprit::Storage => {
            &["interrupts.affinity", "interrupts.default-affinity"]
        }
        Culprit::IdleExit => &["power.idle-states"],
        Culprit::CpuFrequency => &["power.frequency-governor"],
        Culprit::SlowBus => &["power.pcie-links"],
        Culprit::Printk => &["console.level", "console.ignored-level"],
        Culprit::Ksm => &["memory.same-page-merging"],
        Culprit::NumaBalancing => &["memory.numa-balancing"],
        Culprit::Compaction => &["memory.compaction", "memory.huge-page-defragmentation", "memory.huge-pages"],
        Culprit::Reclaim => &["memory.zone-reclaim", "memory.huge-page-defragmentation"],
        Culprit::Vmstat => &["memory.statistics"],
        Culprit::Workqueue => &["isolation.workqueues", "power.workqueues", "isolation.writeback"],
        Culprit::Rcu => &["isolation.rcu-callbacks"],
        Culprit::Migration => &["isolation.scheduler"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn suspects_are_rules() {
        let rules: BTreeSet<&str> =
            crate::rules().iter().flat_map(|group| group.rules.iter().map(|rule| rule.id)).collect();
        for culprit in Culprit::ALL {
            assert!(suspects(culprit).iter().all(|rule| rules.contains(rule)), "{culprit}");
        }
        assert!(Culprit::ALL.iter().filter(|culprit| !suspects(culprit).is_empty()).count() > 15);
    }
}
