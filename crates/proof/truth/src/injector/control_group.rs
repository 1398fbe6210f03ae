//! A control group of the first version for one thread, which the second does not move without its process.

use crate::kernel::mount;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The laboratory removes groups of this name.
const NAME: &str = "tardy-truth";

pub struct ControlGroup {
    root: PathBuf,
    path: PathBuf,
}

impl ControlGroup {
    /// A group of this controller below the root, which may be there already.
    pub fn make(controller: &str) -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/mounts")?;
        let root = match mounted(&mounts, controller) {
            Some(root) => root,
            None => {
                let root = std::env::temp_dir().join(format!("{NAME}-{controller}"));
                fs::create_dir_all(&root)?;
                mount("cgroup", &root, controller)
                    .map_err(|error| io::Error::other(format!("no control groups of {controller}: {error}")))?;
                root
            }
        };
        let path = root.join(NAME);
        fs::create_dir_all(&path)?;
        Ok(Self { root, path })
    }

    pub fn set(&self, file: &str, value: &str) -> io::Result<()> {
        write(&self.path.join(file), value)
    }

    pub fn take_in(&self, thread: i32) -> io::Result<()> {
        write(&self.path.join("tasks"), &thread.to_string())
    }

    pub fn put_back(&self, thread: i32) -> io::Result<()> {
        write(&self.root.join("tasks"), &thread.to_string())
    }
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    fs::write(path, value).map_err(|error| io::Error::other(format!("{value} to {}: {error}", path.display())))
}

/// Where `/proc/mounts` has the controller.
fn mounted(mounts: &str, controller: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, path, "cgroup", options, ..] = words[..] else { return None };
        options.split(',').any(|option| option == controller).then(|| path.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_found_by_its_option() {
        let mounts = "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
                      cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpuacct,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw,freezer 0 0\n";
        assert_eq!(mounted(mounts, "cpu"), Some("/sys/fs/cgroup/cpu,cpuacct".into()));
        assert_eq!(mounted(mounts, "freezer"), None);
    }
}
