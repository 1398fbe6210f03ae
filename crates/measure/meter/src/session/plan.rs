//! Applies the settings to this machine: which CPUs, how long, and whether they are valid.

use crate::problem::MeterProblem;
use archive::settings::{Policy, RunSettings, WORST_KEPT_MAX};

/// The settings, made concrete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// CPUs that are measured, ascending.
    pub measured: Vec<u32>,
    /// CPUs for the other threads of the meter: those that are not measured, or all if every CPU is.
    pub housekeeping: Vec<u32>,
    /// Whether threads are pinned. Deadline tasks must be allowed on all CPUs; the kernel refuses to pin them.
    pub pinned: bool,
}

impl Plan {
    /// # Errors
    /// Settings that cannot be met, with the fix.
    pub fn of(settings: &RunSettings, allowed: &[u32]) -> Result<Self, MeterProblem> {
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
        let mut measured = settings.cpus.clone().unwrap_or_else(|| allowed.to_vec());
        measured.sort_unstable();
        measured.dedup();
        let refused: Vec<u32> = measured.iter().copied().filter(|cpu| !allowed.contains(cpu)).collect();
        if !refused.is_empty() || measured.is_empty() {
            return Err(MeterProblem::Cpus { refused, allowed: allowed.to_vec() });
        }
        let rest: Vec<u32> = allowed.iter().copied().filter(|cpu| !measured.contains(cpu)).collect();
        let housekeeping = if rest.is_empty() { allowed.to_vec() } else { rest };
        Ok(Self { measured, housekeeping, pinned: settings.policy != Policy::Deadline })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::problem::ProblemKind;

    #[test]
    fn housekeeping_is_on_cpus_that_are_not_measured() {
        let settings = RunSettings { cpus: Some(vec![3, 1, 3]), ..RunSettings::default() };
        let plan = Plan::of(&settings, &[0, 1, 2, 3]).unwrap();
        assert_eq!((plan.measured, plan.housekeeping), (vec![1, 3], vec![0, 2]));
        let all = Plan::of(&RunSettings::default(), &[0, 1]).unwrap();
        assert_eq!((all.measured, all.housekeeping), (vec![0, 1], vec![0, 1]));
    }

    #[test]
    fn settings_that_cannot_be_met_are_refused_with_a_fix() {
        let refuse = |settings: RunSettings| Plan::of(&settings, &[0, 1]).unwrap_err();
        assert!(refuse(RunSettings { cpus: Some(vec![7]), ..RunSettings::default() }).fix().contains("[0, 1]"));
        assert!(refuse(RunSettings { cpus: Some(vec![]), ..RunSettings::default() }).fix().contains("choose among"));
        assert!(refuse(RunSettings { interval_ns: 0, ..RunSettings::default() }).fix().contains("1us"));
        assert!(refuse(RunSettings { priority: 0, ..RunSettings::default() }).fix().contains("1 to 99"));
        assert!(refuse(RunSettings { worst_kept: 100_001, ..RunSettings::default() }).fix().contains("100000"));
    }
}
