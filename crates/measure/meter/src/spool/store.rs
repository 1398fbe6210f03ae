//! The bytes of a spool: files of about a megabyte that are deleted from the front, with a bounded total size.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const SEGMENT_BYTES: u64 = 1 << 20;
/// Divisor of the limit: this part is reserved for essential data.
const URGENT_PART: u64 = 8;
/// Reserved disk space, for when another program has filled the disk.
const STUFFING_BYTES: usize = 256 << 10;

/// Writes the bytes of a spool.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    limit_bytes: u64,
    /// Offset and length of each file.
    segments: VecDeque<(u64, u64)>,
    file: Option<File>,
    end: u64,
    stuffing: Option<PathBuf>,
}

impl Store {
    /// Creates an empty store.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn create(directory: &Path, limit_bytes: u64) -> io::Result<Self> {
        let stuffing = Some(stuffed(directory)?);
        Ok(Self { directory: directory.into(), limit_bytes, segments: VecDeque::new(), file: None, end: 0, stuffing })
    }

    /// Number of bytes ever appended.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Appends all of these bytes or none; returns whether it did. Urgent ones may use the reserve.
    pub fn append(&mut self, bytes: &[u8], urgent: bool) -> bool {
        let held = self.end - self.segments.front().map_or(self.end, |(start, _)| *start);
        let limit = if urgent { self.limit_bytes } else { self.limit_bytes - self.limit_bytes / URGENT_PART };
        if held + bytes.len() as u64 > limit {
            return false;
        }
        // What an urgent one has freed is not for the others.
        if !urgent && self.stuffing.is_none() {
            self.stuffing = stuffed(&self.directory).ok();
            if self.stuffing.is_none() {
                return false;
            }
        }
        let written = self.write(bytes);
        if written.is_err()
            && urgent
            && let Some(stuffing) = self.stuffing.take()
        {
            let _ = fs::remove_file(stuffing);
            return self.write(bytes).is_ok();
        }
        written.is_ok()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() || self.segments.back().is_none_or(|(_, length)| *length >= SEGMENT_BYTES) {
            let path = self.directory.join(segment_name(self.end));
            // A file of this name exists only if an earlier attempt to fill it failed.
            self.file = Some(OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?);
            if self.segments.back().is_none_or(|(start, _)| *start != self.end) {
                self.segments.push_back((self.end, 0));
            }
        }
        let (Some(file), Some((_, length))) = (&mut self.file, self.segments.back_mut()) else { return Ok(()) };
        let written = file.write_all(bytes);
        if let Err(error) = written {
            // If a reader has seen a part of it, that part is written again, or is noise.
            let _ = file.set_len(*length).and_then(|()| file.seek(SeekFrom::Start(*length)));
            return Err(error);
        }
        *length += bytes.len() as u64;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Deletes files entirely before this offset: the host has them.
    pub fn forget_before(&mut self, offset: u64) {
        while let Some((start, length)) = self.segments.front().copied()
            && self.segments.len() > 1
            && start + length <= offset
        {
            let _ = fs::remove_file(self.directory.join(segment_name(start)));
            self.segments.pop_front();
        }
    }
}

/// Reserves disk space in a file of zeros.
fn stuffed(directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join("stuffing");
    let written = fs::write(&path, vec![0; STUFFING_BYTES]);
    if written.is_err() {
        let _ = fs::remove_file(&path);
    }
    written.map(|()| path)
}

fn segment_name(start: u64) -> String {
    format!("{start:020}.part")
}

fn segments(directory: &Path) -> Vec<u64> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let start = |name: std::ffi::OsString| name.to_str()?.strip_suffix(".part")?.parse().ok();
    let mut found: Vec<u64> = names.filter_map(start).collect();
    found.sort_unstable();
    found
}

/// The end offset of the bytes in the files.
pub fn written(directory: &Path) -> u64 {
    let last = segments(directory).pop();
    let length = |start| fs::metadata(directory.join(segment_name(start))).map_or(0, |found| found.len());
    last.map_or(0, |start| start + length(start))
}

/// Reads bytes from an offset on; fewer at the end, none if there are none yet.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] for deleted bytes, and those of the file system.
pub fn read_at(directory: &Path, offset: u64, bytes_max: usize) -> io::Result<Vec<u8>> {
    let all = segments(directory);
    let Some(start) = all.iter().rev().find(|start| **start <= offset) else {
        return if all.is_empty() { Ok(Vec::new()) } else { Err(io::ErrorKind::NotFound.into()) };
    };
    let mut file = File::open(directory.join(segment_name(*start)))?;
    file.seek(SeekFrom::Start(offset - start))?;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_across_files_until_they_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), 64 << 20).unwrap();
        let piece = |number: u8| vec![number; 700 << 10];
        for number in 0..5 {
            assert!(store.append(&piece(number), false));
        }
        let all: Vec<u8> = (0..5).flat_map(piece).collect();
        let mut read = Vec::new();
        while (read.len() as u64) < store.end() {
            read.extend(read_at(folder.path(), read.len() as u64, 100_000).unwrap());
        }
        assert_eq!(read, all);
        assert_eq!(read_at(folder.path(), store.end(), 10).unwrap().len(), 0);
        assert_eq!(written(folder.path()), store.end());
        store.forget_before(3 << 20);
        assert!(read_at(folder.path(), 0, 10).is_err());
        assert_eq!(read_at(folder.path(), 3 << 20, 10).unwrap(), &all[3 << 20..][..10]);
    }

    #[test]
    fn a_full_store_keeps_room_for_what_is_urgent() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), 80_000).unwrap();
        assert!(store.append(&[1; 70_000], false));
        assert!(!store.append(&[2; 1000], false));
        assert!(store.append(&[3; 1000], true));
        assert!(!store.append(&[4; 10_000], true));
        assert_eq!(store.end(), 71_000);
        assert_eq!(read_at(folder.path(), 70_000, 5000).unwrap(), [3; 1000]);
    }

    #[test]
    fn a_disk_that_others_filled_still_takes_what_is_urgent() {
        let folder = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| {
            let ended = std::process::Command::new(words[0]).args(&words[1..]).arg(folder.path()).status();
            ended.is_ok_and(|status| status.success())
        };
        let mounted = run(&["mount", "-t", "tmpfs", "-o", "size=640k", "none"]);
        prerequisites::require!(Prepared("the right to mount", mounted));
        let mut store = Store::create(folder.path(), 64 << 20).unwrap();
        fs::write(folder.path().join("others"), vec![0; 100 << 10]).unwrap();
        let mut stored = 0;
        while store.append(&[7; 20_000], false) {
            stored += 20_000;
        }
        let urgent = store.append(&[8; 50_000], true);
        // 256 kB were freed for it: they are for the next urgent ones alone.
        let other = store.append(&[9; 100_000], false);
        let last = store.append(&[8; 50_000], true);
        let read = read_at(folder.path(), stored, 100_000);
        drop(store);
        assert!(run(&["umount"]));
        assert!(urgent && last && !other && stored > 0 && read.unwrap() == [8; 100_000], "{stored}, {other}");
    }
}
