//! A real file system in a file, whose power can be cut.
//!
//! ext4 stops all of its input and output at an ioctl, as for its own crash tests: what it had not written is lost. The
//! next mount recovers it as after a power cut.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// EXT4_IOC_SHUTDOWN: `_IOR('X', 125, __u32)`.
const SHUTDOWN: libc::Ioctl = 0x8004_587d_u32 as libc::Ioctl;

/// The part of the file system's own journal that reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// Nothing more.
    Lost,
    /// All of it: names and lengths of files reach the disk without the contents.
    Written,
}

/// A mounted image.
#[derive(Debug)]
pub struct Image {
    file: PathBuf,
    mounted: PathBuf,
    options: String,
}

impl Image {
    /// Makes an ext4 of this size in an empty directory and mounts it with these options. Needs root and a loop device.
    ///
    /// # Errors
    /// Errors of making and mounting, and of the programs for both.
    pub fn ext4(directory: &Path, megabytes: u64, options: &str) -> io::Result<Self> {
        let (file, mounted) = (directory.join("image"), directory.join("mounted"));
        File::create_new(&file)?.set_len(megabytes << 20)?;
        fs::create_dir(&mounted)?;
        run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&file))?;
        let image = Self { file, mounted, options: format!("loop,{options}") };
        image.mount()?;
        Ok(image)
    }

    /// The directory where it is mounted.
    pub fn path(&self) -> &Path {
        &self.mounted
    }

    /// Cuts the power and mounts the image again.
    ///
    /// # Errors
    /// Errors of the ioctl and of mounting.
    pub fn cut_power(&self, journal: Journal) -> io::Result<()> {
        let flag: u32 = match journal {
            Journal::Written => 1,
            Journal::Lost => 2,
        };
        let root = File::open(&self.mounted)?;
        // SAFETY: the ioctl reads four bytes at the pointer, which `flag` has.
        if unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &raw const flag) } != 0 {
            return Err(io::Error::last_os_error());
        }
        drop(root);
        self.unmount()?;
        self.mount()
    }

    /// A child of another thread holds every open file of this process until it executes its program: a busy mount is tried again.
    fn unmount(&self) -> io::Result<()> {
        const PAUSE: Duration = Duration::from_millis(20);
        const TRIES: u32 = 250;
        let path = CString::new(self.mounted.as_os_str().as_bytes())?;
        for _ in 1..TRIES {
            match unmount(&path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
                ended => return ended,
            }
        }
        unmount(&path)
    }

    fn mount(&self) -> io::Result<()> {
        run(Command::new("mount").args(["-t", "ext4", "-o", &self.options]).args([&self.file, &self.mounted]))
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}

/// The kernel detaches the loop device that the mount attached.
fn unmount(path: &CStr) -> io::Result<()> {
    // SAFETY: the kernel reads the path up to its end.
    if unsafe { libc::umount2(path.as_ptr(), 0) } != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prerequisites::Prerequisite::{Prepared, Program, Root};

    #[test]
    fn a_mount_that_is_busy_for_a_moment_is_unmounted_after_it() {
        let loops = Path::new("/dev/loop-control").exists();
        if !prerequisites::met(&[Root, Program("mkfs.ext4"), Prepared("loop devices (modprobe loop)", loops)]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let image = Image::ext4(directory.path(), 16, "data=ordered").unwrap();
        let held = File::create(image.path().join("file")).unwrap();
        let cut = thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(200));
                drop(held);
            });
            image.cut_power(Journal::Lost)
        });
        cut.unwrap();
        assert!(image.path().join("lost+found").exists(), "mounted again");
    }
}
