//! The control groups of this process that can limit its CPUs, with all their ancestors.

use crate::environment::tree::Tree;

/// Relevant controllers of cgroup v1.
const CONTROLLERS: &[&str] = &["cpu", "cpuset"];
const DIRECTORIES_MAX: usize = 64;

/// Directories of the process's groups as absolute paths, the innermost first. Unmounted ones are not found.
pub fn own(tree: &Tree) -> Vec<String> {
    let groups = tree.text("proc/self/cgroup").unwrap_or_default();
    let mounts = tree.text("proc/self/mountinfo").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let wanted = controllers.is_empty() || controllers.split(',').any(|name| CONTROLLERS.contains(&name));
        let place = wanted.then(|| mounts.lines().find_map(|mount| mounted_at(mount, controllers))).flatten();
        let Some((point, root)) = place else { continue };
        let inside = path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path);
        // A group outside the namespace reads `/../..`: its limits are not visible from here.
        let mut inside = if inside.contains("..") { "" } else { inside.trim_end_matches('/') };
        loop {
            let directory = format!("{point}{inside}");
            if !found.contains(&directory) && found.len() < DIRECTORIES_MAX {
                found.push(directory);
            }
            match inside.rfind('/') {
                Some(end) => inside = &inside[..end],
                None => break,
            }
        }
    }
    found
}

/// Mount point and root of the file system with these controllers (empty: cgroup v2), from a line of mountinfo.
fn mounted_at<'a>(line: &'a str, controllers: &str) -> Option<(&'a str, &'a str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
    let matches = match controllers {
        "" => kind == "cgroup2",
        _ => kind == "cgroup" && controllers.split(',').all(|name| options.split(',').any(|option| option == name)),
    };
    matches.then_some((point, root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;

    #[test]
    fn both_versions_are_found_with_all_that_is_above() {
        let root = fake(&[
            ("proc/self/cgroup", "4:memory:/far\n3:cpuset:/\n1:cpu,cpuacct:/a/b\n0::/user.slice/x.scope\nrubbish\n"),
            (
                "proc/self/mountinfo",
                "25 1 0:22 / /sys/fs/cgroup/cpu rw,relatime shared:1 - cgroup cgroup rw,cpu,cpuacct\n\
                 26 1 0:23 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                 27 1 0:24 /user.slice /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\nrubbish\n",
            ),
        ]);
        let expected = [
            "/sys/fs/cgroup/cpuset",
            "/sys/fs/cgroup/cpu/a/b",
            "/sys/fs/cgroup/cpu/a",
            "/sys/fs/cgroup/cpu",
            "/sys/fs/cgroup/unified/x.scope",
            "/sys/fs/cgroup/unified",
        ];
        assert_eq!(own(&Tree::new(root.path())), expected);
    }

    #[test]
    fn noise_is_no_group() {
        for noise in ["", ":::", "0::/../..", "1:cpu:", "\n\n:\u{fffd}"] {
            let root = fake(&[("proc/self/cgroup", noise), ("proc/self/mountinfo", noise)]);
            assert!(own(&Tree::new(root.path())).is_empty(), "{noise:?}");
        }
    }
}
