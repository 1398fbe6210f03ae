//! Counts how often a watched program was replaced by a new one: a service that restarted, a container made again.

use std::collections::BTreeSet;

/// The processes of the program as they were last seen.
#[derive(Debug, Default)]
pub struct Generations {
    processes: BTreeSet<i32>,
    runs: bool,
    restarts: u64,
}

impl Generations {
    /// The processes at this moment. A program whose old processes are all gone is a new one.
    pub fn see(&mut self, processes: BTreeSet<i32>) {
        self.runs = !processes.is_empty();
        if !self.runs {
            return;
        }
        let is_new = !self.processes.is_empty() && self.processes.is_disjoint(&processes);
        self.restarts += u64::from(is_new);
        self.processes = processes;
    }

    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Whether it had a process when it was last looked at.
    pub fn runs(&self) -> bool {
        self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(all: &[&[i32]]) -> (u64, bool) {
        let mut generations = Generations::default();
        for processes in all {
            generations.see(processes.iter().copied().collect());
        }
        (generations.restarts(), generations.runs())
    }

    #[test]
    fn a_program_whose_processes_are_all_new_has_restarted() {
        assert_eq!(seen(&[&[1], &[2], &[], &[], &[3]]), (2, true));
        assert_eq!(seen(&[&[], &[1]]), (0, true), "the first start does not count");
        assert_eq!(seen(&[&[1, 2], &[2, 3], &[3, 4]]), (0, true), "workers come and go");
        assert_eq!(seen(&[&[1], &[]]), (0, false));
        assert_eq!(seen(&[&[1], &[], &[1]]), (0, true), "it was overlooked once");
    }
}
