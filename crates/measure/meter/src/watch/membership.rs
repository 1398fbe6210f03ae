//! Whether a process belongs to a unit, a control group or a container: by /proc/PID/cgroup, so without their clients.

use super::containers::ContainerNames;
use super::targets::{self, ThreadFound};
use archive::watched::group::ProgramGroup;
use std::fs;

/// Where systems mount control groups; users write such paths.
const MOUNTS: [&str; 3] = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"];

/// The processes of a control group.
pub struct Members {
    group: ProgramGroup,
    names: ContainerNames,
}

impl Members {
    pub fn of(group: ProgramGroup) -> Self {
        Self { group, names: ContainerNames::of_this_machine() }
    }

    /// The group, in words.
    pub fn whom(&self) -> String {
        self.group.whom()
    }

    /// The threads of a process, if it belongs to the group.
    pub fn threads(&mut self, pid: i32) -> Vec<ThreadFound> {
        if self.has(pid) { targets::threads_of(pid) } else { Vec::new() }
    }

    fn has(&mut self, pid: i32) -> bool {
        let Ok(groups) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return false };
        paths(&groups).any(|path| includes(&self.group, path, &mut self.names))
    }
}

/// The path of a process in each hierarchy.
fn paths(groups: &str) -> impl Iterator<Item = &str> {
    groups.lines().filter_map(|line| line.splitn(3, ':').nth(2))
}

fn includes(group: &ProgramGroup, path: &str, names: &mut ContainerNames) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match group {
        ProgramGroup::Unit { name } => parts.any(|part| is_unit(part, name)),
        ProgramGroup::Below { path: wanted } => is_below(path, wanted),
        ProgramGroup::Container { name } => parts.any(|part| names.is_called(part, name)),
    }
}

/// As for `systemctl`, a name without a type is a service.
fn is_unit(part: &str, name: &str) -> bool {
    part == name || (!name.contains('.') && part.strip_suffix(".service") == Some(name))
}

fn is_below(path: &str, wanted: &str) -> bool {
    let wanted = MOUNTS.iter().find_map(|mount| wanted.strip_prefix(mount)).unwrap_or(wanted).trim_matches('/');
    let rest = path.trim_matches('/').strip_prefix(wanted);
    wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "/user.slice/user-1000.slice/user@1000.service/session.slice/pipewire.service";

    fn has(group: ProgramGroup, path: &str) -> bool {
        includes(&group, path, &mut ContainerNames::below("/nonexistent"))
    }

    #[test]
    fn a_unit_is_found_in_the_system_and_below_a_user() {
        let unit = |name: &str| ProgramGroup::Unit { name: name.into() };
        assert!(has(unit("pipewire"), USER) && has(unit("pipewire.service"), USER));
        assert!(has(unit("jackd"), "/system.slice/jackd.service"));
        assert!(has(unit("user.slice"), USER));
        assert!(!has(unit("pipewire"), "/system.slice/pipewire-pulse.service"));
        assert!(!has(unit("jackd.socket"), "/system.slice/jackd.service"));
    }

    #[test]
    fn a_group_has_what_is_below_it() {
        let below = |path: &str| ProgramGroup::Below { path: path.into() };
        assert!(has(below("/user.slice"), USER) && has(below(USER), USER));
        assert!(has(below("/sys/fs/cgroup/user.slice/"), USER));
        assert!(!has(below("/user"), USER) && !has(below("/system.slice"), USER));
        assert!(has(below("/sys/fs/cgroup"), "/"));
    }

    #[test]
    fn every_hierarchy_counts() {
        let groups = "12:cpu,cpuacct:/a:b\n1:name=systemd:/system.slice/x.service\n0::/\n";
        assert_eq!(paths(groups).collect::<Vec<_>>(), ["/a:b", "/system.slice/x.service", "/"]);
    }
}
