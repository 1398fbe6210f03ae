//! Limits on the cgroup of this process for a block device: `io.max`, and what cgroups of version 1 have in its place.

use std::fs;
use std::path::{Path, PathBuf};

/// Files of version 1, and the name of the same limit in version 2.
const OF_VERSION_1: [(&str, &str); 4] = [
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
];

/// The limits for a device, `8:0`: `/background: wiops=200`; empty without.
pub fn of_this_process(device: &str) -> String {
    let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    limits(&membership, Path::new("/sys/fs/cgroup"), device)
}

/// A limit of any cgroup above holds as well.
fn limits(membership: &str, mounted: &Path, device: &str) -> String {
    let mut found = Vec::new();
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(cgroup)) = (fields.next(), fields.next()) else { continue };
        let is_unified = controllers.is_empty();
        if !is_unified && !controllers.split(',').any(|name| name == "blkio") {
            continue;
        }
        for above in Path::new(cgroup).ancestors() {
            let inside = above.strip_prefix("/").unwrap_or(above);
            let set = match is_unified {
                true => of_unified(&unified(mounted).join(inside), device),
                false => of_version_1(&mounted.join("blkio").join(inside), device),
            };
            if !set.is_empty() {
                found.push(format!("{}: {}", above.display(), set.join(" ")));
            }
        }
    }
    found.join("; ")
}

/// Where both versions are mounted, the second one is in a directory of its own.
fn unified(mounted: &Path) -> PathBuf {
    if mounted.join("unified").is_dir() { mounted.join("unified") } else { mounted.to_owned() }
}

fn of_unified(directory: &Path, device: &str) -> Vec<String> {
    let words = of_device(&directory.join("io.max"), device);
    words.into_iter().filter(|word| !word.ends_with("=max")).collect()
}

fn of_version_1(directory: &Path, device: &str) -> Vec<String> {
    let set = OF_VERSION_1.iter().flat_map(|(file, name)| {
        let words = of_device(&directory.join(file), device);
        words.into_iter().map(move |value| format!("{name}={value}"))
    });
    set.collect()
}

/// The words of a device's line in a file.
fn of_device(file: &Path, device: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(device)?.strip_prefix(' '));
    line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn limits_of_a_device_are_found_in_the_cgroup_and_above() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "slow/io.max", "8:16 rbps=1 wbps=max riops=max wiops=max\n8:1 wiops=9\n");
        write(root.path(), "slow/inner/io.max", "8:1 rbps=max wbps=1048576 riops=max wiops=200\n");
        let of = |membership: &str, device: &str| limits(membership, root.path(), device);
        assert_eq!(of("0::/slow/inner\n", "8:1"), "/slow/inner: wbps=1048576 wiops=200; /slow: wiops=9");
        assert_eq!(of("0::/slow/inner\n", "8:16"), "/slow: rbps=1");
        assert_eq!((of("0::/\n", "8:1"), of("", "8:1"), of("0::/slow\n", "8:2")), Default::default());
    }

    #[test]
    fn version_1_has_a_file_for_each_limit() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "blkio/slow/blkio.throttle.write_iops_device", "254:0 200\n");
        write(root.path(), "blkio/slow/blkio.throttle.read_bps_device", "254:0 4096\n");
        fs::create_dir_all(root.path().join("unified")).unwrap();
        let membership = "7:blkio:/slow\n4:memory:/slow\n0::/\n";
        assert_eq!(limits(membership, root.path(), "254:0"), "/slow: rbps=4096 wiops=200");
        assert_eq!(limits("7:blkio:/\n", root.path(), "254:0"), "");
    }
}
