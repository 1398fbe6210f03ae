//! Saves the memory of a booted and settled machine in a file, so that the next one need not boot.
//!
//! A state belongs to the bytes it was made with: [`Ingredients`] determine the name of its file. It was saved before
//! the first command, so a restored machine contains nothing that a command did. It does share the randomness of that
//! boot: random numbers, addresses, the boot's id.

pub mod error;
pub mod monitor;
pub mod transfer;

use super::file_error::FileError;
use error::StateError;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Directory below that of the kernels.
const DIRECTORY: &str = "states";
/// Limit of all states together; the least recently used are removed first.
pub const STATES_BYTES_MAX: u64 = 1 << 30;
/// A file that is unfinished after this time never will be finished.
const UNFINISHED: Duration = Duration::from_secs(3600);
const FINISHED: &str = "state";
const PIECE_BYTES: usize = 1 << 20;
/// Options of QEMU that add a disk. Its contents would not match the restored memory.
const DISKS: [&str; 9] = ["-drive", "-blockdev", "-hd", "-cdrom", "-pflash", "-sd", "-mtdblock", "-fd", "file="];

/// Everything that determines whether a state matches.
pub struct Ingredients<'a> {
    pub program: &'a Path,
    /// QEMU's command line, without the parts that differ from start to start.
    pub arguments: &'a [String],
    pub kernel: &'a Path,
    pub initramfs: &'a [u8],
    pub settle_seconds: u32,
}

impl Ingredients<'_> {
    /// The name of the state.
    ///
    /// # Errors
    /// If QEMU does not print its version or the kernel cannot be read.
    pub fn key(&self) -> Result<String, StateError> {
        let mut sum = Sha256::new();
        let mut add = |part: &[u8]| {
            sum.update((part.len() as u64).to_le_bytes());
            sum.update(part);
        };
        add(version(self.program)?.as_bytes());
        add(&(self.arguments.len() as u64).to_le_bytes());
        self.arguments.iter().for_each(|word| add(word.as_bytes()));
        add(self.initramfs);
        add(&self.settle_seconds.to_le_bytes());
        hash_file(&mut sum, self.kernel).map_err(FileError::reading(self.kernel))?;
        Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn hash_file(sum: &mut Sha256, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE_BYTES];
    while let count @ 1.. = file.read(&mut piece)? {
        sum.update(&piece[..count]);
    }
    Ok(())
}

/// The program's version output, and which build of it this is.
fn version(program: &Path) -> Result<String, StateError> {
    let fail = |source| StateError::Version { program: program.to_owned(), source };
    let answer = Command::new(program).arg("--version").stdin(Stdio::null()).output().map_err(fail)?;
    let found = fs::metadata(program).map_err(fail)?;
    let changed = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Ok(format!("{} {} {}", String::from_utf8_lossy(&answer.stdout), found.len(), changed.as_nanos()))
}

/// Whether a machine with these additional arguments of QEMU has a disk.
pub fn has_disk(qemu_arguments: &[String]) -> bool {
    qemu_arguments.iter().any(|word| {
        let word = word.strip_prefix('-').filter(|rest| rest.starts_with('-')).unwrap_or(word);
        DISKS.iter().any(|disk| if disk.starts_with('-') { word.starts_with(disk) } else { word.contains(disk) })
    })
}

/// The states on this disk.
#[derive(Debug, Clone)]
pub struct States {
    directory: PathBuf,
}

impl States {
    /// The states beside the kernels of this cache.
    pub fn beside(kernels: &Path) -> Self {
        Self { directory: kernels.join(DIRECTORY) }
    }

    /// The file of a state, if it exists; marks it as used now.
    pub fn find(&self, key: &str) -> Option<PathBuf> {
        let path = self.path(key);
        let file = File::options().append(true).open(&path).ok()?;
        // On failure it is only removed earlier than it should be.
        let _ = file.set_modified(SystemTime::now());
        Some(path)
    }

    /// Removes a state.
    pub fn remove(&self, key: &str) {
        // Another process may have removed it.
        let _ = fs::remove_file(self.path(key));
    }

    /// A file for a state to be written.
    ///
    /// # Errors
    /// If the directory cannot be created or written.
    pub fn begin(&self) -> io::Result<(File, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let path = self.directory.join(format!("unfinished-{}", std::process::id()));
        Ok((File::create(&path)?, path))
    }

    /// Stores the written file as the state of this name, and removes old states if necessary.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn finish(&self, unfinished: &Path, key: &str) -> io::Result<()> {
        fs::rename(unfinished, self.path(key))?;
        self.make_room(STATES_BYTES_MAX);
        Ok(())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(key).with_extension(FINISHED)
    }

    fn make_room(&self, bytes_max: u64) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((found.modified().ok()?, found.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (changed, bytes, path) in files {
            let finished = path.extension().is_some_and(|ending| ending == FINISHED);
            let abandoned = !finished && changed.elapsed().is_ok_and(|age| age > UNFINISHED);
            if abandoned || finished && total > bytes_max {
                let _ = fs::remove_file(&path);
                total -= bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn whatever_makes_another_machine_makes_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = folder.path().join("kernel");
        fs::write(&kernel, "one").unwrap();
        let arguments = words("-smp 2");
        let same = Ingredients {
            program: Path::new("/bin/true"),
            arguments: &arguments,
            kernel: &kernel,
            initramfs: b"meter",
            settle_seconds: 1,
        };
        let key = same.key().unwrap();
        assert_eq!((key.len(), same.key().unwrap()), (64, key.clone()));
        for other in ["-smp 3", "-smp 2 x", "-smp2"].map(words) {
            assert_ne!(Ingredients { arguments: &other, ..same }.key().unwrap(), key);
        }
        assert_ne!(Ingredients { initramfs: b"newer", ..same }.key().unwrap(), key);
        assert_ne!(Ingredients { settle_seconds: 2, ..same }.key().unwrap(), key);
        assert_ne!(Ingredients { program: Path::new("/bin/echo"), ..same }.key().unwrap(), key);
        fs::write(&kernel, "two").unwrap();
        assert_ne!(same.key().unwrap(), key);
        fs::remove_file(&kernel).unwrap();
        assert!(matches!(same.key(), Err(StateError::File(FileError { path, .. })) if path == kernel));
    }

    #[test]
    fn the_least_recently_used_states_go_first_and_unfinished_ones_in_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let states = States::beside(folder.path());
        let long_ago = SystemTime::now() - 2 * UNFINISHED;
        let keep = |key: &str, age: u32| {
            let (file, path) = states.begin().unwrap();
            file.set_len(100).unwrap();
            file.set_modified(long_ago + Duration::from_secs(u64::from(age))).unwrap();
            states.finish(&path, key).unwrap();
        };
        ["oldest", "older", "young"].into_iter().zip(1..).for_each(|(key, age)| keep(key, age));
        let (abandoned, path) = states.begin().unwrap();
        abandoned.set_modified(long_ago).unwrap();
        assert!(states.find("oldest").is_some(), "it is used, so it is the youngest now");
        states.make_room(250);
        assert!(!path.exists());
        let there = ["oldest", "older", "young"].map(|key| states.find(key).is_some());
        assert_eq!(there, [true, false, true]);
        states.remove("young");
        assert!(states.find("young").is_none() && states.find("absent").is_none());
    }

    #[test]
    fn a_disk_is_seen_however_it_is_written() {
        for line in ["-drive file=x", "--drive if=none", "-hda x", "-device ide-hd -blockdev driver=file", "-cdrom x"] {
            assert!(has_disk(&words(line)), "{line}");
        }
        assert!(!has_disk(&words("-seed 1 -device edu -netdev user,id=n")));
    }
}
