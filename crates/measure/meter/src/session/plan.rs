//! Applies the settings to this machine: which CPUs, how long, and whether they are valid.

use crate::kernel::scheduling::ProcessCpus;
use crate::problem::MeterProblem;
use archive::settings::{Policy, RunSettings, WORST_KEPT_MAX};

/// The settings, made concrete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// CPUs that are measured, ascending.
    pub measured: Vec<u32>,
    /// CPUs for the other threads of the meter, none of them isolated: the rest of its mask, or all of it if every one is measured.
    pub housekeeping: Vec<u32>,
    /// Whether threads are pinned. Deadline tasks must be allowed on all CPUs; the kernel refuses to pin them.
    pub pinned: bool,
}

impl Plan {
    /// # Errors
    /// Settings that cannot be met, with the fix.
    pub fn of(settings: &RunSettings, cpus: &ProcessCpus) -> Result<Self, MeterProblem> {
        if !(1_000..=3_600_000_000_000).contains(&settings.interval_ns) {
            return Err(MeterProblem::Interval { interval_ns: settings.interval_ns });
        }
        let realtime = matches!(settings.policy, Policy::Fifo | Policy::Rr);
        if realtime && !(1..=99).contains(&settings.priority) {
            return Err(MeterProblem::Priority { priority: settings.priority });
        }
        if settings.worst_kept > WORST_KEPT_MAX {
            return Err(MeterProblem::WorstKept { worst_kept: settings.worst_kept });
        }
        let ProcessCpus { mask, bindable } = cpus;
        let mut measured = settings.cpus.clone().unwrap_or_else(|| mask.clone());
        measured.sort_unstable();
        measured.dedup();
        let refused: Vec<u32> = measured.iter().copied().filter(|cpu| !bindable.contains(cpu)).collect();
        if !refused.is_empty() || measured.is_empty() {
            return Err(MeterProblem::Cpus { refused, allowed: bindable.clone() });
        }
        let rest: Vec<u32> = mask.iter().copied().filter(|cpu| !measured.contains(cpu)).collect();
        let housekeeping = if rest.is_empty() { mask.clone() } else { rest };
        Ok(Self { measured, housekeeping, pinned: settings.policy != Policy::Deadline })
    }
}

/// CPUs that the kernel isolates, in the notation of `--cpus`, if the settings name no CPUs and so leave them out.
pub fn isolated_unmeasured(settings: &RunSettings, cpus: &ProcessCpus, isolated: &[u32]) -> Option<String> {
    let left_out = |cpu: &&u32| cpus.bindable.contains(cpu) && !cpus.mask.contains(cpu);
    let names: Vec<String> = isolated.iter().filter(left_out).map(u32::to_string).collect();
    let chooses = settings.cpus.is_none() && settings.watch.is_none();
    Some(names.join(",")).filter(|names| chooses && !names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::problem::ProblemKind;

    fn cpus(mask: &[u32], bindable: &[u32]) -> ProcessCpus {
        ProcessCpus { mask: mask.to_vec(), bindable: bindable.to_vec() }
    }

    #[test]
    fn an_isolated_cpu_is_measured_when_it_is_named_and_keeps_no_other_thread() {
        let isolated = cpus(&[0, 1], &[0, 1, 2, 3]);
        let named = Plan::of(&RunSettings { cpus: Some(vec![2, 3]), ..RunSettings::default() }, &isolated).unwrap();
        assert_eq!((named.measured, named.housekeeping), (vec![2, 3], vec![0, 1]));
        assert_eq!(Plan::of(&RunSettings::default(), &isolated).unwrap().measured, [0, 1]);
        assert_eq!(isolated_unmeasured(&RunSettings::default(), &isolated, &[2, 3]).as_deref(), Some("2,3"));
        let all = cpus(&[0, 1, 2, 3], &[0, 1, 2, 3]);
        assert_eq!(isolated_unmeasured(&RunSettings::default(), &all, &[2, 3]), None, "the mask has them");
        let chosen = RunSettings { cpus: Some(vec![2]), ..RunSettings::default() };
        assert_eq!(isolated_unmeasured(&chosen, &isolated, &[2, 3]), None);
    }

    #[test]
    fn housekeeping_is_on_cpus_that_are_not_measured() {
        let settings = RunSettings { cpus: Some(vec![3, 1, 3]), ..RunSettings::default() };
        let plan = Plan::of(&settings, &cpus(&[0, 1, 2, 3], &[0, 1, 2, 3])).unwrap();
        assert_eq!((plan.measured, plan.housekeeping), (vec![1, 3], vec![0, 2]));
        let all = Plan::of(&RunSettings::default(), &cpus(&[0, 1], &[0, 1])).unwrap();
        assert_eq!((all.measured, all.housekeeping), (vec![0, 1], vec![0, 1]));
    }

    #[test]
    fn settings_that_cannot_be_met_are_refused_with_a_fix() {
        let refuse = |settings: RunSettings| Plan::of(&settings, &cpus(&[0, 1], &[0, 1])).unwrap_err();
        assert!(refuse(RunSettings { cpus: Some(vec![7]), ..RunSettings::default() }).fix().contains("[0, 1]"));
        assert!(refuse(RunSettings { cpus: Some(vec![]), ..RunSettings::default() }).fix().contains("choose among"));
        assert!(refuse(RunSettings { interval_ns: 0, ..RunSettings::default() }).fix().contains("1us"));
        assert!(refuse(RunSettings { priority: 0, ..RunSettings::default() }).fix().contains("1 to 99"));
        assert!(refuse(RunSettings { worst_kept: 100_001, ..RunSettings::default() }).fix().contains("100000"));
    }
}
