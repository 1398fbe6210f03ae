//! Directories of kernel settings: the journal changes and restores nothing outside them.

use std::path::{Component, Path, PathBuf};

/// The tracing file system is below /sys, too.
const KERNEL: [&str; 3] = ["/proc/sys", "/proc/irq", "/sys"];

/// Directories with kernel settings.
#[derive(Debug, Clone)]
pub struct SettingRoots(Vec<PathBuf>);

impl SettingRoots {
    /// Directories of the kernel.
    pub fn of_kernel() -> Self {
        Self(KERNEL.iter().map(PathBuf::from).collect())
    }

    #[cfg(test)]
    pub fn below(directory: &Path) -> Self {
        Self(vec![directory.to_owned()])
    }

    /// Whether a file is a setting, also after its links are resolved.
    pub fn contain(&self, path: &Path) -> bool {
        let below_one = |path: &Path| self.0.iter().any(|root| path.starts_with(root) && path != root);
        let straight = !path.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir));
        // A file that does not exist now has no links to resolve.
        straight && below_one(path) && path.canonicalize().map_or(true, |real| below_one(&real))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_the_kernel_are_inside() {
        let roots = SettingRoots::of_kernel();
        for inside in ["/proc/sys/kernel/sched_rt_runtime_us", "/proc/irq/1/smp_affinity", "/sys/kernel/tracing/x"] {
            assert!(roots.contain(Path::new(inside)), "{inside}");
        }
        for outside in
            ["/etc/passwd", "/proc/1/oom_score_adj", "/proc/sys/../../etc/passwd", "/proc/sys", "proc/sys/x", ""]
        {
            assert!(!roots.contain(Path::new(outside)), "{outside}");
        }
    }

    #[test]
    fn a_link_that_leads_outside_is_outside() {
        let root = tempfile::tempdir().unwrap();
        let (inside, outside) = (root.path().join("sys"), root.path().join("file"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(&outside, "1").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        assert!(!SettingRoots::below(&inside).contain(&inside.join("link")));
        assert!(SettingRoots::below(&inside).contain(&inside.join("absent")));
    }
}
