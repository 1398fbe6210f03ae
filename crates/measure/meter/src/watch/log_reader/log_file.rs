//! A log file from its end on, also after it was replaced or cut.

use super::Lines;
use archive::counted::counting::LineInstant;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const CHUNK_BYTES: usize = 64 << 10;
/// Read in one look; a program that logs more keeps the reader behind, which its uncertainty shows.
const CHUNKS_MAX: usize = 16;
/// A longer line is counted in pieces.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The open file.
pub struct LogFile {
    path: PathBuf,
    file: File,
    /// The beginning of a line that is not complete.
    begun: Vec<u8>,
    /// When its end was last seen: further bytes were written later.
    looked_ns: i64,
}

impl LogFile {
    /// # Errors
    /// The file cannot be opened, or is a pipe or a device.
    pub fn open(path: &Path, now_ns: i64) -> io::Result<Self> {
        let mut file = opened(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { path: path.to_owned(), file, begun: Vec::new(), looked_ns: now_ns })
    }

    /// Whether the end was reached.
    fn read_new(&mut self, instant: LineInstant, each: &mut dyn FnMut(&str, LineInstant)) -> io::Result<bool> {
        let mut bytes = Vec::new();
        for _ in 0..CHUNKS_MAX {
            bytes.clear();
            if self.file.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut bytes)? == 0 {
                return Ok(true);
            }
            for byte in &bytes {
                if *byte != b'\n' {
                    self.begun.push(*byte);
                }
                if *byte == b'\n' || self.begun.len() >= LINE_BYTES_MAX {
                    each(&String::from_utf8_lossy(&self.begun), instant);
                    self.begun.clear();
                }
            }
        }
        Ok(false)
    }

    /// Goes on with the file that now has the name: a rotation made a new one, or emptied this one.
    fn follow_rotation(&mut self) -> io::Result<bool> {
        // Between two files there may be none.
        let (Ok(named), own) = (fs::metadata(&self.path), self.file.metadata()?) else { return Ok(false) };
        if (named.dev(), named.ino()) != (own.dev(), own.ino()) {
            self.file = opened(&self.path)?;
            return Ok(true);
        }
        let is_cut = own.len() < self.file.stream_position()?;
        if is_cut {
            self.file.rewind()?;
        }
        Ok(is_cut)
    }
}

/// Opening a pipe that nobody writes would block.
fn opened(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

impl Lines for LogFile {
    fn read(&mut self, now_ns: i64, each: &mut dyn FnMut(&str, LineInstant)) -> io::Result<()> {
        let uncertain_ns = u64::try_from(now_ns.saturating_sub(self.looked_ns)).ok();
        let instant = LineInstant { monotonic_ns: Some(now_ns), uncertain_ns };
        let mut is_at_end = self.read_new(instant, each)?;
        if is_at_end && self.follow_rotation().unwrap_or(false) {
            is_at_end = self.read_new(instant, each)?;
        }
        if is_at_end {
            self.looked_ns = now_ns;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(log: &mut LogFile, now_ns: i64) -> Vec<(String, Option<u64>)> {
        let mut lines = Vec::new();
        log.read(now_ns, &mut |line, instant| lines.push((line.to_owned(), instant.uncertain_ns))).unwrap();
        lines
    }

    fn write(path: &Path, text: &str) {
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn new_lines_were_written_since_the_last_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        write(&path, "old\n");
        let mut log = LogFile::open(&path, 100).unwrap();
        write(&path, "XRun 1\nXRu");
        assert_eq!(read(&mut log, 150), [("XRun 1".to_owned(), Some(50))]);
        assert_eq!(read(&mut log, 160), []);
        write(&path, "n 2\n");
        assert_eq!(read(&mut log, 175), [("XRun 2".to_owned(), Some(15))]);
    }

    #[test]
    fn a_pipe_and_a_device_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            let refused = LogFile::open(path, 0).err().unwrap();
            assert_eq!(refused.to_string(), "it is not a regular file", "{}", path.display());
        }
    }

    #[test]
    fn a_flood_is_read_in_parts_and_its_lines_are_less_certain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        write(&path, "");
        let mut log = LogFile::open(&path, 0).unwrap();
        write(&path, &format!("{}\n", "x".repeat(1023)).repeat(CHUNKS_MAX * CHUNK_BYTES / 1024));
        write(&path, "last\n");
        assert_eq!(read(&mut log, 10).len(), CHUNKS_MAX * CHUNK_BYTES / 1024);
        assert_eq!(read(&mut log, 20), [("last".to_owned(), Some(20))]);
    }

    #[test]
    fn a_rotated_log_loses_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        write(&path, "");
        let mut log = LogFile::open(&path, 0).unwrap();
        write(&path, "a\n");
        fs::rename(&path, folder.path().join("log.1")).unwrap();
        assert_eq!(read(&mut log, 1), [("a".to_owned(), Some(1))], "no new file yet");
        write(&folder.path().join("log.1"), "b\n");
        write(&path, "c\n");
        assert_eq!(read(&mut log, 2), [("b".to_owned(), Some(1)), ("c".to_owned(), Some(1))]);
        File::create(&path).unwrap();
        assert_eq!(read(&mut log, 3), []);
        write(&path, "d\n");
        assert_eq!(read(&mut log, 4), [("d".to_owned(), Some(1))]);
    }
}
