//! Sound servers and service managers of users, with their limits and threads, and rtkit's arguments.

use super::file;
use crate::environment::scheduler::real_time_policy;
use crate::environment::tree::Tree;
use archive::facts::{SessionFacts, SessionProgram, SessionThread};
use load::task_stat::TaskStat;
use std::path::Path;

/// Names as the kernel has them: at most 15 bytes.
const SOUND_SERVERS: &[&str] =
    &["jackd", "jackdbus", "pipewire", "pipewire-media-", "pipewire-pulse", "pulseaudio", "wireplumber"];
const SERVICE_MANAGER: &str = "systemd";
const RTKIT: &str = "rtkit-daemon";
const PROGRAMS_MAX: usize = 256;
const THREADS_MAX: usize = 256;

/// The programs and rtkit, and the number of programs and threads left out.
pub fn all(root: &Path, tree: &Tree) -> (SessionFacts, u64) {
    let (mut sessions, mut omitted) = (SessionFacts::default(), 0);
    for (_, process) in tree.numbered("proc", "") {
        let folder = format!("proc/{process}");
        let Some(stat) = stat(tree, &folder) else { continue };
        if stat.name == RTKIT {
            sessions.rtkit_arguments = Some(arguments(tree, &folder));
        }
        let user = user(tree, &folder);
        let manages_a_session = stat.name == SERVICE_MANAGER && user.is_some_and(|user| user != 0);
        if !manages_a_session && !SOUND_SERVERS.contains(&stat.name.as_str()) {
            continue;
        }
        if sessions.programs.len() == PROGRAMS_MAX {
            omitted += 1;
            continue;
        }
        let limits = file::read(root, &format!("/{folder}/limits"));
        let (threads, more) = threads(tree, &folder);
        omitted += more;
        sessions.programs.push(SessionProgram { pid: stat.pid, name: stat.name, user, limits, threads });
    }
    (sessions, omitted)
}

fn stat(tree: &Tree, folder: &str) -> Option<TaskStat> {
    TaskStat::parse(&tree.bytes(&format!("{folder}/stat"))?)
}

fn arguments(tree: &Tree, folder: &str) -> Vec<String> {
    let line = tree.bytes(&format!("{folder}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).skip(1).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn user(tree: &Tree, folder: &str) -> Option<u32> {
    let status = tree.text(&format!("{folder}/status"))?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().next()?.parse().ok()
}

fn threads(tree: &Tree, folder: &str) -> (Vec<SessionThread>, u64) {
    let mut threads = Vec::new();
    let found = tree.numbered(&format!("{folder}/task"), "");
    let omitted = found.len().saturating_sub(THREADS_MAX);
    for (_, thread) in found.into_iter().take(THREADS_MAX) {
        let Some(stat) = stat(tree, &format!("{folder}/task/{thread}")) else { continue };
        let (policy, priority) = real_time_policy(&stat).unwrap_or(("other", 0));
        threads.push(SessionThread { tid: stat.pid, policy: policy.into(), priority, name: stat.name });
    }
    (threads, omitted as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;
    use archive::facts::Fact;

    fn line(tid: i32, name: &str, kernel_priority: i64, rt_priority: u32, policy: u32) -> String {
        let mut fields = vec!["0".to_string(); 50];
        fields[0] = "S".into();
        fields[15] = kernel_priority.to_string();
        fields[37] = rt_priority.to_string();
        fields[38] = policy.to_string();
        format!("{tid} ({name}) {}\n", fields.join(" "))
    }

    #[test]
    fn servers_managers_of_users_and_rtkit_are_listed() {
        let files = [
            ("proc/1/stat", line(1, "systemd", 20, 0, 0)),
            ("proc/1/status", "Name:\tsystemd\nUid:\t0\t0\t0\t0\n".into()),
            ("proc/70/stat", line(70, "systemd", 20, 0, 0)),
            ("proc/70/status", "Uid:\t1000\t1000\t1000\t1000\n".into()),
            ("proc/70/limits", "Max realtime priority     0    0\n".into()),
            ("proc/80/stat", line(80, "pipewire", 9, 0, 0)),
            ("proc/80/status", "Uid:\t1000\t1000\t1000\t1000\n".into()),
            ("proc/80/task/80/stat", line(80, "pipewire", 9, 0, 0)),
            ("proc/80/task/81/stat", line(81, "data-loop.0", -89, 88, 1)),
            ("proc/90/stat", line(90, "rtkit-daemon", 21, 0, 0)),
            ("proc/90/cmdline", "/usr/libexec/rtkit-daemon\0--max-realtime-priority=30\0--no-canary\0".into()),
            ("proc/95/stat", line(95, "bash", 20, 0, 0)),
            ("proc/96/stat", "rubbish".into()),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let root = fake(&files);
        let (found, omitted) = all(root.path(), &Tree::new(root.path()));
        let programs: Vec<String> = found
            .programs
            .iter()
            .map(|program| {
                let threads =
                    program.threads.iter().map(|one| format!(" {} {} {}", one.name, one.policy, one.priority));
                format!("{} {:?}{}", program.name, program.user, threads.collect::<String>())
            })
            .collect();
        assert_eq!(programs, ["systemd Some(1000)", "pipewire Some(1000) pipewire other 0 data-loop.0 fifo 88"]);
        assert_eq!(found.programs[0].limits, Fact::Text("Max realtime priority     0    0\n".into()));
        assert_eq!(found.programs[1].limits, Fact::Absent);
        let expected = ["--max-realtime-priority=30", "--no-canary"].map(String::from).to_vec();
        assert_eq!((found.rtkit_arguments, omitted), (Some(expected), 0));
    }
}
