//! Tasks that could delay real-time work.

use crate::environment::scheduler::real_time_policy;
use crate::environment::tree::Tree;
use archive::facts::TaskFact;
use load::task_stat::TaskStat;

/// The kernel's PF_KTHREAD and PF_NO_SETAFFINITY, which are stable in /proc/PID/stat.
const KERNEL_THREAD: u64 = 0x0020_0000;
const BOUND: u64 = 0x0400_0000;
/// Services that change settings or priorities automatically.
const MEDDLERS: &[&str] = &["irqbalance", "stalld", "tuned", "thermald", "numad", "ksmtuned", "power-profiles-"];
const TASKS_MAX: usize = 8192;

/// The tasks, and the number of those left out.
pub fn all(tree: &Tree) -> (Vec<TaskFact>, u64) {
    let (mut tasks, mut omitted) = (Vec::new(), 0);
    for (_, process) in tree.numbered("proc", "") {
        let threads = format!("proc/{process}/task");
        for (_, thread) in tree.numbered(&threads, "") {
            let folder = format!("{threads}/{thread}");
            let stat = tree.bytes(&format!("{folder}/stat")).and_then(|line| TaskStat::parse(&line));
            let Some(stat) = stat.filter(matters) else { continue };
            if tasks.len() == TASKS_MAX {
                omitted += 1;
                continue;
            }
            let (policy, priority) = real_time_policy(&stat).unwrap_or(("other", 0));
            tasks.push(TaskFact {
                tid: stat.pid,
                policy: policy.into(),
                priority,
                cpus_allowed: cpus_allowed(tree, &folder),
                kernel: stat.flags & KERNEL_THREAD != 0,
                bound: stat.flags & BOUND != 0,
                name: stat.name,
            });
        }
    }
    (tasks, omitted)
}

fn matters(stat: &TaskStat) -> bool {
    stat.flags & KERNEL_THREAD != 0 || real_time_policy(stat).is_some() || MEDDLERS.contains(&stat.name.as_str())
}

fn cpus_allowed(tree: &Tree, folder: &str) -> String {
    let status = tree.text(&format!("{folder}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;

    fn line(tid: i32, name: &str, flags: u64, kernel_priority: i64, rt_priority: u32, policy: u32) -> String {
        let mut fields = vec!["0".to_string(); 50];
        fields[0] = "S".into();
        fields[6] = flags.to_string();
        fields[15] = kernel_priority.to_string();
        fields[37] = rt_priority.to_string();
        fields[38] = policy.to_string();
        format!("{tid} ({name}) {}\n", fields.join(" "))
    }

    #[test]
    fn only_tasks_that_matter_are_listed() {
        let files = [
            ("proc/2/task/2/stat", line(2, "kthreadd", KERNEL_THREAD, 20, 0, 0)),
            ("proc/2/task/2/status", "Name:\tkthreadd\nCpus_allowed_list:\t0-3\n".into()),
            ("proc/9/task/9/stat", line(9, "migration/0", KERNEL_THREAD | BOUND, -100, 99, 1)),
            ("proc/50/task/51/stat", line(51, "camera", 0, -91, 90, 2)),
            ("proc/60/task/60/stat", line(60, "shell", 0, 20, 0, 0)),
            ("proc/70/task/70/stat", line(70, "irqbalance", 0, 20, 0, 0)),
            ("proc/80/task/80/stat", "rubbish".into()),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let (tasks, omitted) = all(&Tree::new(fake(&files).path()));
        let listed: Vec<String> = tasks
            .iter()
            .map(|task| format!("{} {} {} {} {}", task.name, task.policy, task.priority, task.kernel, task.bound))
            .collect();
        let expected = [
            "kthreadd other 0 true false",
            "migration/0 fifo 99 true true",
            "camera rr 90 false false",
            "irqbalance other 0 false false",
        ];
        assert_eq!((listed, omitted), (expected.map(String::from).to_vec(), 0));
        assert_eq!(tasks[0].cpus_allowed, "0-3");
    }
}
