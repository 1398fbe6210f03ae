//! The block device that serves a file.

use super::cgroup_limits;
use archive::storage::StorageDevice;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The device of a file, a directory or a device file; `None` for a file system without one, such as tmpfs.
fn of(path: &Path) -> Option<StorageDevice> {
    let found = fs::metadata(path).ok()?;
    // Device files have a number of their own beside that of the file system they are in.
    let number = if found.rdev() == 0 { found.dev() } else { found.rdev() };
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    if major == 0 {
        return of(&mounted_from(major, minor)?);
    }
    described(Path::new("/sys"), major, minor)
}

/// The one device of all these files and directories; of a file that does not exist, that of its directory.
pub fn of_all(paths: &[PathBuf]) -> Option<StorageDevice> {
    let existing = |path: &Path| if path.exists() { Some(path.to_owned()) } else { path.parent().map(Path::to_owned) };
    let mut devices = paths.iter().map(|path| of(&existing(path)?));
    let first = devices.next()??;
    devices.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// The mounted device where a file system has a number without a device, as btrfs has.
fn mounted_from(major: u32, minor: u32) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&format!("{major}:{minor}")))?;
    let source = line.split(" - ").nth(1)?.split(' ').nth(1)?;
    source.starts_with("/dev/").then(|| source.into())
}

/// A number as the kernel's events have it.
fn event_number(text: &str) -> Option<u32> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
}

fn described(sys: &Path, major: u32, minor: u32) -> Option<StorageDevice> {
    let directory = sys.join(format!("dev/block/{major}:{minor}")).canonicalize().ok()?;
    let is_partition = directory.join("partition").exists();
    let disk = if is_partition { directory.parent()?.to_owned() } else { directory.clone() };
    let number_of = |directory: &Path| event_number(&fs::read_to_string(directory.join("dev")).ok()?);
    let scheduler = fs::read_to_string(disk.join("queue/scheduler")).unwrap_or_default();
    let of_queue = |file: &str| fs::read_to_string(disk.join("queue").join(file)).ok()?.trim().parse::<u64>().ok();
    let number_text = fs::read_to_string(disk.join("dev")).unwrap_or_default();
    let chosen = scheduler.split(['[', ']']).nth(1).unwrap_or_default();
    Some(StorageDevice {
        number: number_of(&disk)?,
        partition: if is_partition { number_of(&directory) } else { None },
        name: directory.file_name()?.to_str()?.to_owned(),
        maps: disk.join("dm").exists() || disk.join("md").exists(),
        scheduler: if chosen == "none" { String::new() } else { chosen.to_owned() },
        interrupts: interrupts(&disk),
        requests_max: of_queue("nr_requests").and_then(|most| u32::try_from(most).ok()).unwrap_or(0),
        throttles_writeback: of_queue("wbt_lat_usec").is_some_and(|goal_us| goal_us > 0),
        cgroup_limits: cgroup_limits::of_this_process(number_text.trim()),
    })
}

/// The interrupts of the controller: of the first directory upwards that has any.
fn interrupts(disk: &Path) -> Vec<u32> {
    let Ok(controller) = disk.join("device").canonicalize() else { return Vec::new() };
    for directory in controller.ancestors().take_while(|directory| directory.starts_with("/sys/devices/")) {
        let messages = fs::read_dir(directory.join("msi_irqs")).into_iter().flatten().flatten();
        let mut found: Vec<u32> = messages.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        if found.is_empty() {
            let line = fs::read_to_string(directory.join("irq")).ok();
            found = line.and_then(|line| line.trim().parse().ok()).filter(|irq| *irq > 0).into_iter().collect();
        }
        if !found.is_empty() {
            found.sort_unstable();
            return found;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_names_the_disk_that_gets_its_requests() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("devices/sda");
        fs::create_dir_all(disk.join("sda1")).unwrap();
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::create_dir_all(root.path().join("dev/block")).unwrap();
        fs::write(disk.join("dev"), "8:0\n").unwrap();
        fs::write(disk.join("queue/scheduler"), "none [mq-deadline] bfq\n").unwrap();
        fs::write(disk.join("queue/nr_requests"), "64\n").unwrap();
        fs::write(disk.join("queue/wbt_lat_usec"), "75000\n").unwrap();
        fs::write(disk.join("sda1/dev"), "8:1\n").unwrap();
        fs::write(disk.join("sda1/partition"), "1\n").unwrap();
        std::os::unix::fs::symlink(disk.join("sda1"), root.path().join("dev/block/8:1")).unwrap();
        let device = described(root.path(), 8, 1).unwrap();
        assert_eq!((device.number, device.partition, device.name.as_str()), (8 << 20, Some(8 << 20 | 1), "sda1"));
        assert_eq!((device.scheduler.as_str(), device.maps), ("mq-deadline", false));
        assert_eq!((device.requests_max, device.throttles_writeback), (64, true));
    }
}
