//! Other programs that measure, trace or profile this machine while a run goes on: each is reported once.
//!
//! Programs that traced before the run were reported when it was prepared.

use super::neighbour;
use crate::compact;
use crate::environment::tree::Tree;
use crate::gaps::Gaps;
use crate::journal::restore::other_meters;
use crate::problem::MeterProblem;
use crate::trace::arming::INSTANCE_PREFIX;
use archive::message::Severity;
use ftrace::tracefs::{ForeignTracing, Tracefs, Written};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Target of the link of a descriptor of perf_event_open.
const PERF_EVENT: &str = "anon_inode:[perf_event]";
/// A program opens its events a while after it was started: its descriptors are looked at that often, and at the end.
const LOOKS: u8 = 3;
/// Only other meters are looked for each time; the rest once in this number of looks.
const LOOKS_FOR_ALL: u64 = 5;

/// The other programs that are known.
pub struct CoRunning {
    /// Where every meter of this machine has its journal.
    journals: PathBuf,
    root: PathBuf,
    tracefs: Option<Tracefs>,
    /// This meter has one end of a wire, and the other end may be on the same machine.
    in_role: bool,
    /// Processes of other meters that were reported.
    meters: BTreeSet<i32>,
    /// Buffers that others record into, by the names of their instances.
    traced: BTreeSet<Option<String>>,
    /// Records of others so far.
    written: Written,
    /// Processes, with their names and how often their descriptors were looked at.
    processes: BTreeMap<u32, (String, u8)>,
    profilers: BTreeSet<u32>,
    looks: u64,
}

impl CoRunning {
    /// Notes who traces and profiles already.
    pub fn before(journals: PathBuf, root: &Path, in_role: bool) -> Self {
        let tracefs = Tracefs::find().ok();
        let mut co_running = Self {
            journals,
            root: root.to_owned(),
            tracefs,
            in_role,
            meters: BTreeSet::new(),
            traced: BTreeSet::new(),
            written: Written::default(),
            processes: BTreeMap::new(),
            profilers: BTreeSet::new(),
            looks: 0,
        };
        co_running.traced =
            compact::inserted(co_running.tracing(&Gaps::default()).into_iter().map(|found| found.instance));
        co_running
    }

    /// Who came since the last look. The `last` look spares nothing. Works in these gaps.
    pub fn newcomers(&mut self, last: bool, gaps: &Gaps) -> Vec<(Severity, MeterProblem)> {
        let mut found = Vec::new();
        gaps.wait();
        let tree = Tree::new(&self.root);
        let own = std::process::id() as i32;
        for pid in other_meters(&self.journals).into_iter().filter(|pid| !self.meters.contains(pid)).collect::<Vec<_>>()
        {
            gaps.wait();
            if let Some(judged) = neighbour::judged(&tree, own, self.in_role, pid) {
                self.meters.insert(pid);
                found.push(judged);
            }
        }
        // Tracers and processes cost more to look at.
        self.looks += 1;
        if !last && self.looks % LOOKS_FOR_ALL != 1 {
            return found;
        }
        if last {
            self.written = Written::default();
        }
        for tracing in self.tracing(gaps) {
            if self.traced.insert(tracing.instance.clone()) {
                found.push((Severity::Degraded, MeterProblem::TracedMeanwhile { others: tracing.to_string() }));
            }
        }
        let profilers = self.new_profilers(last, gaps).into_iter();
        found.extend(profilers.map(|(pid, name)| (Severity::Notice, MeterProblem::Profiled { pid, name })));
        found
    }

    fn tracing(&mut self, gaps: &Gaps) -> Vec<ForeignTracing> {
        let Some(tracefs) = &self.tracefs else { return Vec::new() };
        tracefs.foreign_tracing_since(INSTANCE_PREFIX, &mut self.written, &|| gaps.wait())
    }

    fn new_profilers(&mut self, last: bool, gaps: &Gaps) -> Vec<(u32, String)> {
        let tree = Tree::new(&self.root);
        let own = std::process::id();
        let before = std::mem::take(&mut self.processes);
        let mut found = Vec::new();
        for (pid, folder) in gaps.paced(tree.numbered("proc", "").into_iter()) {
            let Some(name) = tree.text(&format!("proc/{folder}/comm")) else { continue };
            // A process that executes another program keeps its number.
            let looks = before.get(&pid).filter(|(known, _)| *known == name).map_or(0, |(_, looks)| *looks);
            let is_due = (looks < LOOKS || last) && pid != own;
            if is_due && holds_perf_events(&tree, &folder) && self.profilers.insert(pid) {
                found.push((pid, name.clone()));
            }
            self.processes.insert(pid, (name, looks.saturating_add(1)));
        }
        found
    }
}

fn holds_perf_events(tree: &Tree, process: &str) -> bool {
    let descriptors = format!("proc/{process}/fd");
    tree.numbered(&descriptors, "")
        .iter()
        .any(|(_, name)| tree.link(&format!("{descriptors}/{name}")).is_some_and(|link| link == PERF_EVENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn process(root: &Path, pid: u32, name: &str, descriptors: &[&str]) {
        let folder = root.join(format!("proc/{pid}/fd"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(root.join(format!("proc/{pid}/comm")), format!("{name}\n")).unwrap();
        for (number, to) in descriptors.iter().enumerate() {
            let _ = symlink(to, folder.join(number.to_string()));
        }
    }

    fn profilers(co_running: &mut CoRunning, last: bool) -> Vec<(u32, String)> {
        co_running.new_profilers(last, &Gaps::default())
    }

    #[test]
    fn a_profiler_is_named_once_whenever_it_starts() {
        let root = tempfile::tempdir().unwrap();
        process(root.path(), 1, "init", &["/dev/null"]);
        process(root.path(), 7, "sh", &["/dev/null"]);
        let mut co_running = CoRunning::before(root.path().join("journals"), root.path(), false);
        assert_eq!(profilers(&mut co_running, false), []);
        process(root.path(), 7, "perf", &["/dev/null", "pipe:[3]", PERF_EVENT]);
        assert_eq!(profilers(&mut co_running, false), [(7, "perf".to_owned())], "the shell became perf");
        assert_eq!(profilers(&mut co_running, true), []);
    }

    #[test]
    fn processes_that_were_looked_at_often_are_looked_at_again_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        process(root.path(), 7, "daemon", &[]);
        let mut co_running = CoRunning::before(root.path().join("journals"), root.path(), false);
        for _ in 0..LOOKS {
            assert_eq!(profilers(&mut co_running, false), []);
        }
        process(root.path(), 7, "daemon", &[PERF_EVENT]);
        assert_eq!(profilers(&mut co_running, false), []);
        assert_eq!(profilers(&mut co_running, true), [(7, "daemon".to_owned())]);
    }
}
