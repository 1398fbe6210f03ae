//! Another meter on this machine: whether it is the other end of the same measurement, and which CPUs both measure on.
//!
//! Two meters disturb each other where they share a CPU. Those of the two ends of a wire are meant to run together.

use crate::environment::tree::Tree;
use crate::problem::MeterProblem;
use archive::load::cpu_list;
use archive::message::Severity;
use std::collections::BTreeSet;

/// Names of the threads that measure, give stimuli and answer.
const THREADS: [&str; 3] = ["tardy-cpu", "tardy-stim", "tardy-answer"];

/// CPUs on which a meter's threads may measure, give stimuli or answer; none before they start.
fn busy_cpus(tree: &Tree, meter: i32) -> BTreeSet<u32> {
    let tasks = format!("proc/{meter}/task");
    let named = |task: &String| {
        let name = tree.text(&format!("{tasks}/{task}/comm")).unwrap_or_default();
        THREADS.iter().any(|start| name.starts_with(start))
    };
    let busy = tree.numbered(&tasks, "").into_iter().map(|(_, task)| task).filter(named);
    let allowed = busy.filter_map(|task| cpu_list(&field(tree, &format!("{tasks}/{task}"), "Cpus_allowed_list:")?));
    allowed.flatten().collect()
}

/// A line of the status of a process or thread.
fn field(tree: &Tree, process: &str, name: &str) -> Option<String> {
    let status = tree.text(&format!("{process}/status"))?;
    status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}

/// The host's side of a meter.
fn parent(tree: &Tree, meter: i32) -> Option<i32> {
    field(tree, &format!("proc/{meter}"), "PPid:")?.parse().ok().filter(|parent| *parent > 1)
}

/// Effect of a running meter on this one, which has one end of a wire if it is `in_role`; `None` while that is not known.
pub fn judged(tree: &Tree, own: i32, in_role: bool, other: i32) -> Option<(Severity, MeterProblem)> {
    let host = parent(tree, own);
    if !in_role || host.is_none() || host != parent(tree, other) {
        return Some((Severity::Degraded, MeterProblem::AnotherRun { pid: other }));
    }
    let (ours, theirs) = (busy_cpus(tree, own), busy_cpus(tree, other));
    if ours.is_empty() || theirs.is_empty() {
        return None;
    }
    let shared: BTreeSet<u32> = ours.intersection(&theirs).copied().collect();
    Some(match shared.is_empty() {
        true => (Severity::Notice, MeterProblem::OtherRole { pid: other, cpus: words(&theirs) }),
        false => (Severity::Degraded, MeterProblem::OtherRoleShares { pid: other, cpus: words(&shared) }),
    })
}

fn words(cpus: &BTreeSet<u32>) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;
    use archive::problem::ProblemKind;

    /// Words to meter 10 about another one, both with the threads of a measurement on these CPUs.
    fn said(in_role: bool, parents: [i32; 2], cpus: [&str; 2]) -> Option<(Severity, String)> {
        let mut files = Vec::new();
        for (pid, (parent, cpus)) in [10, 20].into_iter().zip(parents.into_iter().zip(cpus)) {
            files.push((format!("proc/{pid}/status"), format!("Name:\ttardy-meter\nPPid:\t{parent}\n")));
            files.push((format!("proc/{pid}/task/{pid}/comm"), "tardy-meter\n".to_owned()));
            files.push((format!("proc/{pid}/task/{pid}/status"), "Cpus_allowed_list:\t0-3\n".to_owned()));
            if !cpus.is_empty() {
                files.push((format!("proc/{pid}/task/{}/comm", pid + 1), "tardy-cpu1\n".to_owned()));
                files.push((format!("proc/{pid}/task/{}/status", pid + 1), format!("Cpus_allowed_list:\t{cpus}\n")));
            }
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let root = fake(&files);
        let judged = judged(&Tree::new(root.path()), 10, in_role, 20);
        judged.map(|(severity, problem)| (severity, problem.code().to_string()))
    }

    #[test]
    fn the_other_end_of_a_wire_disturbs_only_on_the_same_cpu() {
        let known = |severity, code: &str| Some((severity, code.to_owned()));
        assert_eq!(said(true, [5, 5], ["0", "1"]), known(Severity::Notice, "meter.other-role"));
        assert_eq!(said(true, [5, 5], ["0-1", "1"]), known(Severity::Degraded, "meter.other-role-shares"));
        assert_eq!(said(true, [5, 5], ["0", ""]), None, "its threads have not started");
    }

    #[test]
    fn any_other_meter_disturbs_wherever_it_runs() {
        let another = Some((Severity::Degraded, "meter.another-run".to_owned()));
        assert_eq!(said(false, [5, 5], ["0", "1"]), another);
        assert_eq!(said(true, [5, 6], ["0", "1"]), another, "that of another tardy");
        assert_eq!(said(true, [1, 1], ["0", "1"]), another, "both outlived theirs");
    }
}
