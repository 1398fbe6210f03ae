//! The address of an archive: SHA-256 over the names, lengths and checksums of its recorded files.
//!
//! Files that can be made again, such as explanations and reports, do not count, so that explaining a run does not make it
//! another one.

use archive::directory::ArchiveDirectory;
use archive::layout::{MANIFEST, STREAM};
use archive::recorded::RECORDED_FILE;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Files of an archive that are read; real ones have a hundredth of that.
const FILES_MAX: usize = 100_000;
/// Bytes of a file that are in memory at a time.
pub const PIECE_BYTES: usize = 256 << 10;
/// Files of the archive itself.
const FILES: [&str; 3] = [MANIFEST, RECORDED_FILE, STREAM];
/// Folders with files, and the folder with a folder for each spike.
const FOLDERS: [&str; 4] = ["audit", "samples", "storage", "tracer"];
const SPIKES: &str = "spikes";
/// Files of a run that is still being written.
const UNFINISHED: &str = "partial";

/// Letters of an address: SHA-256 in hexadecimal.
const ADDRESS_LETTERS: usize = 64;

/// Whether a text is the address of an archive.
pub fn is_address(digest: &str) -> bool {
    digest.len() == ADDRESS_LETTERS && digest.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f'))
}

/// A recorded file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordedFile {
    /// Relative to the archive.
    pub name: String,
    pub bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// The recorded files of an archive, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    pub files: Vec<RecordedFile>,
}

impl Contents {
    /// Reads every recorded file of an archive.
    pub fn of(archive: &ArchiveDirectory) -> io::Result<Self> {
        let files = names(archive)?.into_iter().map(|name| recorded_file(archive, name));
        Ok(Self { files: files.collect::<io::Result<_>>()? })
    }

    /// The address of the archive, in hexadecimal.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for file in &self.files {
            hasher.update(format!("{} {} {}\n", file.sha256, file.bytes, file.name));
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Files beside the stream: traces, samples, pages. Everything else about the run is in the index.
    pub fn raw(&self) -> impl Iterator<Item = &RecordedFile> {
        self.files.iter().filter(|file| file.name.contains('/'))
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }
}

/// Names of the recorded files, sorted. A name that the format does not have is not one of them.
fn names(archive: &ArchiveDirectory) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = FILES.into_iter().filter(|name| archive.has(name)).map(str::to_owned).collect();
    let mut folders: Vec<PathBuf> = FOLDERS.into_iter().map(PathBuf::from).collect();
    for spike in inside(archive, Path::new(SPIKES))? {
        folders.push(Path::new(SPIKES).join(spike));
    }
    for folder in folders {
        for name in inside(archive, &folder)? {
            if names.len() >= FILES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "it has more files than an archive can have"));
            }
            let name = folder.join(name);
            if let Some(name) = name.to_str().filter(|name| !is_unfinished(name)) {
                names.push(name.to_owned());
            }
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a file of this name counts as recorded.
pub fn is_recorded(name: &str) -> bool {
    let known = match name.split('/').collect::<Vec<_>>().as_slice() {
        [file] => FILES.contains(file),
        [folder, _] => FOLDERS.contains(folder),
        [spikes, _, _] => *spikes == SPIKES,
        _ => false,
    };
    known && !is_unfinished(name)
}

fn is_unfinished(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|kind| kind == UNFINISHED)
}

/// Names in a folder; none if there is no such folder.
fn inside(archive: &ArchiveDirectory, folder: &Path) -> io::Result<Vec<String>> {
    match archive.names(Some(folder), FILES_MAX) {
        Ok(names) => Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// A file with its length and checksum.
pub fn recorded_file(archive: &ArchiveDirectory, name: String) -> io::Result<RecordedFile> {
    let mut file = archive.file(&name)?;
    let (mut sum, mut buffer) = (Sum::default(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.of(name)),
            count => sum.add(&buffer[..count]),
        }
    }
}

/// Length and checksum of a file, piece by piece.
#[derive(Default)]
pub struct Sum {
    hasher: Sha256,
    bytes: u64,
}

impl Sum {
    pub fn add(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.bytes += piece.len() as u64;
    }

    /// The file with this name that consists of all pieces.
    pub fn of(self, name: String) -> RecordedFile {
        let sha256 = self.hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        RecordedFile { name, bytes: self.bytes, sha256 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn archive_of(files: &[(&str, &str)]) -> (tempfile::TempDir, ArchiveDirectory) {
        let folder = tempfile::tempdir().unwrap();
        let archive = ArchiveDirectory::open(folder.path()).unwrap();
        files.iter().for_each(|(name, text)| archive.replace(name, text.as_bytes()).unwrap());
        (folder, archive)
    }

    #[test]
    fn the_address_is_that_of_the_recorded_files_alone() {
        let recorded =
            [("manifest.json", "{}"), ("stream.tardy", "x"), ("spikes/0001/trace.dat", "t"), ("samples/0.bin", "s")];
        let (folder, archive) = archive_of(&recorded);
        let contents = Contents::of(&archive).unwrap();
        assert_eq!(contents.files.len(), 4);
        archive.replace("explanations.json", b"[]").unwrap();
        fs::write(folder.path().join("report.html"), "page").unwrap();
        archive.create("spikes/0002/trace.partial").unwrap();
        assert_eq!(Contents::of(&archive).unwrap(), contents);
        let (_elsewhere, copy) = archive_of(&recorded);
        assert_eq!(Contents::of(&copy).unwrap().digest(), contents.digest());
        archive.replace("samples/0.bin", b"S").unwrap();
        assert_ne!(Contents::of(&archive).unwrap().digest(), contents.digest());
    }

    #[test]
    fn files_that_count_are_those_whose_names_are_of_the_format() {
        let recorded =
            ["audit/calls.bin", "manifest.json", "samples/0.bin", "spikes/0001/trace.dat", "tracer/0001.txt"];
        let others = [
            "contents.json",
            "explanations.json",
            "pins.json",
            "samples/0.partial",
            "samples/deeper/0.bin",
            "spikes/0001/deeper/trace.dat",
            "spikes/0001/trace.partial",
            "spikes/file",
            "tokens",
        ];
        assert!(recorded.iter().all(|name| is_recorded(name)) && !others.iter().any(|name| is_recorded(name)));
        let deeper = |name: &&str| !name.contains("deeper") && *name != "spikes/file";
        let files: Vec<(&str, &str)> =
            recorded.into_iter().chain(others.into_iter().filter(deeper)).map(|name| (name, name)).collect();
        let (_folder, archive) = archive_of(&files);
        assert_eq!(names(&archive).unwrap(), recorded);
    }

    #[test]
    fn a_link_in_an_archive_is_refused() {
        let (folder, archive) = archive_of(&[("manifest.json", "{}")]);
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("stream.tardy")).unwrap();
        assert!(Contents::of(&archive).is_err());
    }
}
