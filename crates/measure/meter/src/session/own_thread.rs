//! A measuring thread, and whether another program changed how it is scheduled.

use super::stall::LastProgress;
use crate::kernel::{clock, scheduling};
use crate::measure::loss_counter::LossCounter;
use crate::measure::thread::{EndState, Measured};
use crate::measure::thread_record::ThreadRecord;
use crate::measure::waiter::WaiterCounts;
use crate::methods::Release;
use crate::problem::MeterProblem;
use archive::effective::EffectiveThread;
use archive::message::{Problem, Severity};
use archive::settings::Policy;
use std::sync::Arc;
use std::thread::JoinHandle;

/// One measuring thread, and what was seen of it.
pub struct OwnThread {
    pub thread: u32,
    pub cpu: u32,
    pub record: Arc<ThreadRecord>,
    pub counts: Arc<WaiterCounts>,
    /// Of its method alone.
    pub losses: Vec<Arc<LossCounter>>,
    pub release: Option<Release>,
    /// Policy and priority that it was asked to have.
    pub scheduling: (Policy, u8),
    pub effective: EffectiveThread,
    pub handle: Option<JoinHandle<Measured>>,
    pub pinned: bool,
    pub policy_changed: bool,
    /// It may run elsewhere, or did.
    pub moved: bool,
    /// When it was set up.
    pub nice: Option<i32>,
    /// As they were when it was looked at last.
    pub migrations: Option<u64>,
    pub progress: LastProgress,
}

impl OwnThread {
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Its scheduling is another than it was set up with. Said once.
    pub fn policy_problem(&mut self, now: (Policy, u8), severity: Severity, now_ns: i64) -> Option<Problem> {
        let changed = !self.policy_changed && now != (self.effective.policy, self.effective.priority);
        self.policy_changed |= changed;
        changed.then(|| Problem::new(severity, &self.scheduling_changed(now_ns)))
    }

    fn scheduling_changed(&self, monotonic_ns: i64) -> MeterProblem {
        MeterProblem::SchedulingChanged { cpu: self.cpu, monotonic_ns }
    }

    /// It may run on other CPUs than it was bound to. Said once.
    pub fn affinity_problem(&mut self, allowed: Vec<u32>, monotonic_ns: i64) -> Option<Problem> {
        let changed = self.pinned && !self.moved && allowed != self.effective.cpus;
        self.moved |= changed;
        let cpu = self.cpu;
        let kind = || match scheduling::is_online(cpu) {
            true => MeterProblem::AffinityChanged { cpu, allowed, monotonic_ns },
            false => MeterProblem::WentOffline { cpu, allowed, monotonic_ns },
        };
        changed.then(|| Problem::new(Severity::Invalid, &kind()))
    }

    /// Its nice value is another than when it was set up. Said once, as for its policy.
    pub fn nice_problem(&mut self, severity: Severity, now_ns: i64) -> Option<Problem> {
        let matters = self.effective.policy == Policy::Other;
        let now = matters.then(|| scheduling::nice_of(self.effective.tid).ok()).flatten();
        let changed = !self.policy_changed && now.is_some() && now != self.nice;
        self.policy_changed |= changed;
        changed.then(|| Problem::new(severity, &self.scheduling_changed(now_ns)))
    }

    /// It ran elsewhere since the last look, even if it is back.
    pub fn migration_problem(&mut self, now: Option<u64>, now_ns: i64) -> Option<Problem> {
        let before = std::mem::replace(&mut self.migrations, now)?;
        let migrations = now?.saturating_sub(before);
        let problem = self.pinned && !self.moved && migrations > 0;
        self.moved |= problem;
        let kind = MeterProblem::Migrated { cpu: self.cpu, migrations, monotonic_ns: now_ns };
        problem.then(|| Problem::new(Severity::Invalid, &kind))
    }

    /// Problems of the thread at its end.
    pub fn end_problems(&mut self, end: EndState, severity: Severity) -> Vec<Problem> {
        let now_ns = clock::monotonic_ns();
        let policy = self.policy_problem((end.effective.policy, end.effective.priority), severity, now_ns);
        let affinity = self.affinity_problem(end.effective.cpus, now_ns);
        let migrated = self.migration_problem(end.migrations, now_ns);
        let elsewhere = self.pinned && !self.moved && end.cpu != self.cpu;
        let kind = MeterProblem::OnAnotherCpu { cpu: self.cpu, now: end.cpu };
        let elsewhere = elsewhere.then(|| Problem::new(Severity::Invalid, &kind));
        [policy, affinity, migrated, elsewhere].into_iter().flatten().collect()
    }
}
