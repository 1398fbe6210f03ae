//! The ledger of a spike in few lines.

use crate::brief::short::Short;
use archive::explanation::{Owner, OwnerKind, Phase, PhaseName};
use serde::Serialize;
use std::cmp::Reverse;

#[derive(Debug, Clone, Serialize)]
pub struct BriefPhase {
    pub name: PhaseName,
    pub ns: i64,
    pub owners: Vec<BriefOwner>,
}

#[derive(Debug, Clone, Serialize)]
pub struct BriefOwner {
    pub kind: OwnerKind,
    pub name: Short,
    pub ns: i64,
}

impl BriefPhase {
    pub fn of(phase: &Phase) -> Self {
        let mut owners: Vec<BriefOwner> = phase.owners.iter().map(BriefOwner::of).collect();
        owners.sort_by_key(|owner| Reverse(owner.ns));
        Self { name: phase.name, ns: phase.ns, owners }
    }
}

impl BriefOwner {
    fn of(owner: &Owner) -> Self {
        Self { kind: owner.kind, name: Short::name(&owner.name), ns: owner.ns }
    }
}

/// Drops the owner with the least time; the first of the longest phase stays.
pub fn with_fewer_owners(phases: &mut [BriefPhase], count: &mut usize) -> bool {
    let owners: usize = phases.iter().map(|phase| phase.owners.len()).sum();
    let shortest = phases.iter_mut().filter(|phase| !phase.owners.is_empty());
    let shortest = shortest.min_by_key(|phase| phase.owners.last().map(|owner| owner.ns));
    let Some(phase) = shortest.filter(|_| owners > 1) else { return false };
    phase.owners.pop();
    *count += 1;
    true
}

/// Drops the shortest phase; the longest stays.
pub fn with_fewer_phases(phases: &mut Vec<BriefPhase>, count: &mut usize) -> bool {
    let shortest = (0..phases.len()).min_by_key(|at| phases[*at].ns);
    let Some(at) = shortest.filter(|_| phases.len() > 1) else { return false };
    phases.remove(at);
    *count += 1;
    true
}
