//! Files of the host that are memory of the guest: data leaves the guest without any influence of the host.

use super::error::TooManySamples;
use archive::samples_file::RECORD_BYTES;
use archive::settings::RunSettings;
use protocol::guest::{STREAM_PCI_SLOT, SYMBOLS_PCI_SLOT, WRITTEN_BYTES};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes per read.
const READ_BYTES: u64 = 64 << 10;

/// One such file in the scratch directory.
pub struct Shared {
    pub file: &'static str,
    /// Its slot on the guest's first PCI bus.
    pub slot: u8,
    /// A power of two. Only written parts use disk space.
    pub bytes: u64,
}

const STREAM_BYTES: u64 = 512 << 20;
/// Everything except samples is far smaller than this.
const WORDS_BYTES: u64 = 64 << 20;
pub const STREAM_FILE: &str = "stream";
pub const SYMBOLS_FILE: &str = "symbols";

/// All of them, whether or not a guest uses them: it has the same devices in each boot.
pub const SHARED: [Shared; 2] = [
    Shared { file: STREAM_FILE, slot: STREAM_PCI_SLOT, bytes: STREAM_BYTES },
    Shared { file: SYMBOLS_FILE, slot: SYMBOLS_PCI_SLOT, bytes: 16 << 20 },
];

/// Creates the files, empty.
///
/// # Errors
/// Errors of the file system.
pub fn make_files(scratch: &Path) -> io::Result<()> {
    SHARED.iter().try_for_each(|shared| File::create(scratch.join(shared.file))?.set_len(shared.bytes))
}

/// Rejects a measurement whose samples the guest could not hand over.
///
/// # Errors
/// [`TooManySamples`].
pub fn check_room(settings: &RunSettings) -> Result<(), TooManySamples> {
    let by_time = settings.duration_ns.map(|ns| ns / settings.interval_ns.max(1));
    let samples = by_time.into_iter().chain(settings.cycles).min().unwrap_or(0);
    let samples_max = (STREAM_BYTES - WORDS_BYTES) / RECORD_BYTES as u64;
    if settings.every_sample && samples > samples_max {
        return Err(TooManySamples { samples, samples_max });
    }
    Ok(())
}

/// Reads what the guest wrote to one, during and after the run.
#[derive(Debug)]
pub struct SharedFile {
    file: File,
    written_at: u64,
    read: u64,
}

impl SharedFile {
    /// # Errors
    /// If the file cannot be opened, or is too short.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let too_short = || io::Error::new(io::ErrorKind::UnexpectedEof, "the file of shared memory is too short");
        let written_at = file.metadata()?.len().checked_sub(WRITTEN_BYTES as u64).ok_or_else(too_short)?;
        Ok(Self { file, written_at, read: 0 })
    }

    /// The next bytes; empty if there are none yet.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn more(&mut self) -> io::Result<Vec<u8>> {
        let mut number = [0; WRITTEN_BYTES];
        self.file.read_exact_at(&mut number, self.written_at)?;
        // The guest's count is not trusted.
        let written = u64::from_le_bytes(number).min(self.written_at);
        let mut bytes = vec![0; written.saturating_sub(self.read).min(READ_BYTES) as usize];
        self.file.read_exact_at(&mut bytes, self.read)?;
        self.read += bytes.len() as u64;
        Ok(bytes)
    }
}

/// Everything that was written to one.
///
/// # Errors
/// If it cannot be opened or read.
pub fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = SharedFile::open(path)?;
    let mut all = Vec::new();
    loop {
        match file.more()? {
            bytes if bytes.is_empty() => return Ok(all),
            bytes => all.extend(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_at_a_kilohertz_is_refused_and_an_hour_is_not() {
        let lasting = |seconds: u64| RunSettings {
            duration_ns: Some(seconds * 1_000_000_000),
            every_sample: true,
            ..RunSettings::default()
        };
        assert_eq!(check_room(&lasting(3600)), Ok(()));
        assert_eq!(check_room(&lasting(86_400)).unwrap_err().samples, 86_400_000);
        assert_eq!(check_room(&RunSettings { every_sample: false, ..lasting(86_400) }), Ok(()));
    }

    #[test]
    fn written_bytes_come_out_once_and_no_number_leads_outside() {
        let scratch = tempfile::tempdir().unwrap();
        make_files(scratch.path()).unwrap();
        let path = scratch.path().join(SYMBOLS_FILE);
        let guest = File::options().write(true).open(&path).unwrap();
        let mut host = SharedFile::open(&path).unwrap();
        assert_eq!(host.more().unwrap(), b"");
        let say = |bytes: &[u8], at: u64, written: u64| {
            guest.write_all_at(bytes, at).unwrap();
            guest.write_all_at(&written.to_le_bytes(), (16 << 20) - 8).unwrap();
        };
        say(b"first", 0, 5);
        assert_eq!(host.more().unwrap(), b"first");
        assert_eq!(host.more().unwrap(), b"");
        say(b" second", 5, 12);
        assert_eq!(host.more().unwrap(), b" second");
        say(b"", 0, u64::MAX);
        assert_eq!(contents(&path).unwrap().len(), (16 << 20) - 8);
        make_files(scratch.path()).unwrap();
        assert_eq!(contents(&path).unwrap(), b"", "each is a new file");
    }
}
