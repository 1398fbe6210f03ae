//! Reads small files below a root directory.

use crate::compact;
use rustix::fs::{Mode, OFlags, RawDir, open};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

/// Entries of a directory are read in pieces of this size: without preemption the kernel occupies the CPU meanwhile, in
/// /proc some µs for every process.
const ENTRIES_BYTES: usize = 1 << 9;

/// A running machine's file system, or a saved part of it.
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    pub fn new(root: &Path) -> Self {
        Self { root: root.into() }
    }

    /// Whether this is the machine that runs this program.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A file as text without surrounding whitespace and NULs, or `None` if it cannot be read. An empty file is a valid
    /// result.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        let ignored = |character: char| character.is_whitespace() || character == '\0';
        Some(String::from_utf8_lossy(&bytes).trim_matches(ignored).to_string())
    }

    /// The actual path of a path on that machine.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.root.join(path)).ok()
    }

    /// The target of a symbolic link, as written.
    pub fn link(&self, path: &str) -> Option<String> {
        std::fs::read_link(self.root.join(path)).ok()?.into_os_string().into_string().ok()
    }

    pub fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    pub fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Names in a directory, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(directory) = open(self.root.join(path), flags, Mode::empty()) else { return Vec::new() };
        let mut buffer = [MaybeUninit::uninit(); ENTRIES_BYTES];
        let mut entries = RawDir::new(directory, &mut buffer);
        let mut names = Vec::new();
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.file_name().to_str().ok().filter(|name| !matches!(*name, "." | ".."));
            names.extend(name.map(str::to_owned));
        }
        names.sort();
        names
    }

    /// Names in a directory that are `prefix` and a number, sorted by number.
    pub fn numbered(&self, path: &str, prefix: &str) -> Vec<(u32, String)> {
        let names = self.names(path).into_iter();
        let mut numbered: Vec<_> =
            names.filter_map(|name| Some((name.strip_prefix(prefix)?.parse().ok()?, name))).collect();
        compact::sort_by_key(&mut numbered, |(number, _)| *number);
        numbered
    }
}

/// A directory that contains these files.
#[cfg(test)]
pub fn fake(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for (path, contents) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, contents).expect("a file");
    }
    root
}
