//! Devices that a method opens: what keeps them from being opened.

use archive::method::state::{Obstacle, ObstacleKind};
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a device of the machine whose files are below `root`, to read.
///
/// # Errors
/// Errors of open(2).
pub fn open_below(root: &Path, device: &Path) -> io::Result<File> {
    File::open(root.join(device.strip_prefix("/").unwrap_or(device)))
}

/// Reason why a device cannot be opened.
pub fn obstacle(what: &str, device: &Path, error: &io::Error) -> Obstacle {
    let name = device.display();
    let (kind, text, fix) = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENXIO | libc::ENODEV) => (
            ObstacleKind::Device,
            format!("there is no {what} {name}"),
            "a virtual machine or container may have none; name another one with device=".to_owned(),
        ),
        Some(libc::EBUSY) => (
            ObstacleKind::InUse,
            format!("{name} is in use, or the kernel needs it itself"),
            format!("`fuser -v {name}` shows the program that uses it"),
        ),
        Some(libc::EACCES | libc::EPERM) => {
            (ObstacleKind::Right, format!("no right to open {name}"), "run as root".to_owned())
        }
        _ => (ObstacleKind::Device, format!("{name}: {error}"), String::new()),
    };
    Obstacle { kind, text, fix }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_answers_is_an_obstacle_of_its_kind() {
        let kind = |number| obstacle("clock", Path::new("/dev/rtc0"), &io::Error::from_raw_os_error(number)).kind;
        let expected = [ObstacleKind::Device, ObstacleKind::InUse, ObstacleKind::Right];
        assert_eq!([libc::ENOENT, libc::EBUSY, libc::EACCES].map(kind), expected);
    }
}
