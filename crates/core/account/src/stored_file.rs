//! The contents of files that an archive names, which may come from elsewhere: a file may be a pipe, a device, or one that the kernel makes
//! up while it is read.

use archive::programs::{PROGRAMS_BYTES_MAX, read_program};
use rustix::fs::{OFlags, fstatfs};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Larger files are not read. Large programs with debug information have several 100 MB.
pub const FILE_BYTES_MAX: u64 = 512 << 20;
/// Most bytes of all files together.
const FILES_BYTES_MAX: u64 = 1 << 30;
/// procfs, sysfs, tracefs and debugfs, as statfs(2) numbers them: reading a file there may wait or change something, such
/// as /proc/kmsg and `trace_pipe`.
const KERNEL_FILE_SYSTEMS: [u64; 4] = [0x9fa0, 0x6265_6572, 0x7472_6163, 0x6462_6720];

/// Reads files that are stored somewhere, up to a limit for all of them.
#[derive(Debug)]
pub struct StoredFiles {
    bytes_left: u64,
    /// The archive whose programs come first, and how many bytes of them are still read.
    archive: Option<(PathBuf, u64)>,
}

impl Default for StoredFiles {
    fn default() -> Self {
        Self { bytes_left: FILES_BYTES_MAX, archive: None }
    }
}

impl StoredFiles {
    /// Reads nothing: for archives from elsewhere, which may name any file of this machine.
    pub fn none() -> Self {
        Self { bytes_left: 0, archive: None }
    }

    /// Also reads the programs that an archive has itself.
    pub fn and_of_archive(self, directory: &Path) -> Self {
        Self { archive: Some((directory.to_owned(), PROGRAMS_BYTES_MAX)), ..self }
    }

    /// The bytes of a regular file that is stored somewhere.
    pub fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        let fits = |about: &fs::Metadata| about.is_file() && about.len() <= FILE_BYTES_MAX.min(self.bytes_left);
        // Opening a device may do something already.
        fs::metadata(path).ok().filter(fits)?;
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
        let length = file.metadata().ok().filter(fits)?.len();
        if KERNEL_FILE_SYSTEMS.contains(&(fstatfs(&file).ok()?.f_type as u64)) {
            return None;
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length as usize).ok()?;
        file.take(length).read_to_end(&mut bytes).ok()?;
        self.bytes_left -= bytes.len() as u64;
        Some(bytes)
    }
}

impl stacks::Files for StoredFiles {
    fn read(&mut self, path: &str) -> Option<Vec<u8>> {
        StoredFiles::read(self, Path::new(path))
    }

    fn of_build(&mut self, build_id: &str) -> Option<Vec<u8>> {
        let (directory, bytes_left) = self.archive.as_mut()?;
        let bytes = read_program(directory, build_id, *bytes_left)?;
        *bytes_left -= bytes.len() as u64;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    fn read(path: PathBuf) -> Option<Vec<u8>> {
        let (done, ended) = mpsc::channel();
        thread::spawn(move || done.send(StoredFiles::default().read(&path)));
        ended.recv_timeout(Duration::from_secs(60)).expect("the file is not waited for")
    }

    #[test]
    fn a_file_that_is_not_stored_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let large = place.path().join("large");
        File::create(&large).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        // The kernel makes up the contents of the last two; reading /proc/kmsg in the same place would wait and take lines away.
        let kernel = ["/proc/version", "/sys/kernel/notes"].map(Path::new);
        for path in
            [&pipe, &large, Path::new("/dev/zero"), Path::new("/proc/self/exe/.."), place.path()].iter().chain(&kernel)
        {
            assert!(read(path.to_path_buf()).is_none(), "{}", path.display());
        }
        let small = place.path().join("small");
        fs::write(&small, "text").unwrap();
        assert_eq!(read(small).as_deref(), Some(&b"text"[..]));
    }

    #[test]
    fn all_files_have_one_limit() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, [7; 100]).unwrap();
        let mut files = StoredFiles { bytes_left: 150, archive: None };
        assert_eq!((files.read(&path).map(|bytes| bytes.len()), files.read(&path)), (Some(100), None));
        assert_eq!(StoredFiles::none().read(&path), None, "of an archive from elsewhere");
    }
}
