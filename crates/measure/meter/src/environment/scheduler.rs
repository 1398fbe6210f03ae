//! Tasks and settings by which the scheduler may delay the measuring threads.

use super::OwnPriority;
use super::tree::Tree;
use crate::compact;
use archive::environment::RtTask;
use load::task_stat::TaskStat;

const FIFO: u32 = 1;
const RR: u32 = 2;
const DEADLINE: u32 = 6;

/// CPU time in ns per period that ordinary tasks get in preference to real-time ones; needs debugfs, since 6.12.
pub fn fair_server_runtime(tree: &Tree) -> Vec<String> {
    fair_server(tree, "runtime")
}

/// The periods of these runtimes in ns.
pub fn fair_server_period(tree: &Tree) -> Vec<String> {
    fair_server(tree, "period")
}

fn fair_server(tree: &Tree, file: &str) -> Vec<String> {
    let directory = "sys/kernel/debug/sched/fair_server";
    let cpus = tree.numbered(directory, "cpu").into_iter();
    cpus.filter_map(|(_, cpu)| Some(format!("{cpu}={}", tree.text(&format!("{directory}/{cpu}/{file}"))?))).collect()
}

/// Real-time tasks that compete with the measuring threads, the most urgent first.
pub fn rivals(tree: &Tree, own: &OwnPriority) -> Vec<RtTask> {
    let mut rivals = Vec::new();
    for (_, process) in tree.numbered("proc", "") {
        let tasks = format!("proc/{process}/task");
        for (_, task) in tree.numbered(&tasks, "") {
            let stat = tree.bytes(&format!("{tasks}/{task}/stat")).and_then(|line| TaskStat::parse(&line));
            rivals.extend(stat.and_then(|stat| rival(stat, own)));
        }
    }
    compact::sort_by_key(&mut rivals, |task| (task.policy != "deadline", std::cmp::Reverse(task.priority), task.tid));
    rivals
}

fn rival(stat: TaskStat, own: &OwnPriority) -> Option<RtTask> {
    if own.exclude_tids.contains(&stat.pid) {
        return None;
    }
    let (policy, priority) = real_time_policy(&stat)?;
    let ahead = policy == "deadline" || priority >= own.priority;
    ahead.then(|| RtTask { tid: stat.pid, name: stat.name, policy: policy.into(), priority })
}

/// Policy and priority of a real-time task; `None` for any other.
pub fn real_time_policy(stat: &TaskStat) -> Option<(&'static str, u8)> {
    // A task that holds a lock needed by a more urgent task runs with that task's priority.
    let inherited = u8::try_from((-1 - stat.kernel_priority).clamp(0, 99)).unwrap_or(0);
    let effective = inherited.max(u8::try_from(stat.rt_priority.min(99)).unwrap_or(0));
    match stat.policy {
        FIFO => Some(("fifo", effective)),
        RR => Some(("rr", effective)),
        DEADLINE => Some(("deadline", 0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;

    /// A line of /proc/PID/stat with the fields of the scheduler.
    fn line(tid: i32, name: &str, kernel_priority: i64, rt_priority: u32, policy: u32) -> String {
        let mut fields = vec!["0".to_string(); 50];
        fields[15] = kernel_priority.to_string();
        fields[37] = rt_priority.to_string();
        fields[38] = policy.to_string();
        fields[0] = "S".into();
        format!("{tid} ({name}) {}\n", fields.join(" "))
    }

    #[test]
    fn tasks_at_or_above_the_own_priority_are_rivals() {
        let lines = [
            ("proc/10/task/10/stat", line(10, "irq/9 (usb)", -51, 50, FIFO)),
            ("proc/10/task/11/stat", line(11, "equal", -81, 80, RR)),
            ("proc/10/task/12/stat", line(12, "measure", -81, 80, FIFO)),
            ("proc/20/task/20/stat", line(20, "migration/0", -100, 99, FIFO)),
            ("proc/20/task/21/stat", line(21, "boosted", -91, 10, FIFO)),
            ("proc/20/task/22/stat", line(22, "camera", -101, 0, DEADLINE)),
            ("proc/30/task/30/stat", line(30, "shell", 20, 0, 0)),
            ("proc/self/task/30/stat", line(30, "not a number", -100, 99, FIFO)),
            ("proc/40/task/40/stat", "rubbish".into()),
        ];
        let files: Vec<_> = lines.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let root = fake(&files);
        let tree = Tree::new(root.path());
        let found = |priority| {
            let tasks = rivals(&tree, &OwnPriority { priority, exclude_tids: vec![12] });
            tasks.iter().map(|task| format!("{} {} {}", task.tid, task.policy, task.priority)).collect::<Vec<_>>()
        };
        assert_eq!(found(80), ["22 deadline 0", "20 fifo 99", "21 fifo 90", "11 rr 80"]);
        assert_eq!(found(0).len(), 5);
        assert_eq!(found(100), ["22 deadline 0"]);
    }

    #[test]
    fn the_fair_server_is_read_for_each_cpu() {
        let root = fake(&[
            ("sys/kernel/debug/sched/fair_server/cpu1/runtime", "0\n"),
            ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n"),
            ("sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000\n"),
        ]);
        let tree = Tree::new(root.path());
        assert_eq!(fair_server_runtime(&tree), ["cpu0=50000000", "cpu1=0"]);
        assert_eq!(fair_server_period(&tree), ["cpu0=1000000000"]);
    }
}
