//! What a run asks of the method: which requests, how, and on what.

use archive::method::MethodRequest;
use std::path::PathBuf;

/// Where the file is made unless the user names a directory: on a disk on most machines, unlike /tmp.
const DIRECTORY: &str = "/var/tmp";

/// When a request is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Past the page cache.
    Direct,
    /// With O_SYNC.
    Sync,
    /// With O_DSYNC.
    DataSync,
    /// When fsync returns.
    Fsync,
    /// When fdatasync returns.
    Fdatasync,
    /// In the page cache.
    Buffered,
}

/// What makes the requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    /// The measuring threads, with one request at a time.
    Builtin,
    /// The program fio, with its own engine and N requests of a thread at a time.
    Fio { ioengine: String, iodepth: u64 },
}

/// The requests of all threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    pub engine: Engine,
    pub writes: bool,
    pub mode: Mode,
    pub block_bytes: usize,
    pub random: bool,
    /// Each starts when the one before is done, not at its instant.
    pub back_to_back: bool,
    pub threads: usize,
    pub size_bytes: u64,
    pub place: Place,
}

/// What is read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file made for the run in this directory.
    FileIn(PathBuf),
    Device(PathBuf),
}

impl Requests {
    pub fn of(request: &MethodRequest) -> Self {
        let mode = match request.value("mode") {
            Some("sync") => Mode::Sync,
            Some("dsync") => Mode::DataSync,
            Some("fsync") => Mode::Fsync,
            Some("fdatasync") => Mode::Fdatasync,
            Some("buffered") => Mode::Buffered,
            _ => Mode::Direct,
        };
        let place = match request.value("device") {
            Some(device) => Place::Device(device.into()),
            None => Place::FileIn(request.value("directory").unwrap_or(DIRECTORY).into()),
        };
        let engine = match request.value("engine") {
            Some("fio") => Engine::Fio {
                ioengine: request.value("ioengine").unwrap_or("psync").to_owned(),
                iodepth: request.number("iodepth"),
            },
            _ => Engine::Builtin,
        };
        Self {
            engine,
            writes: request.value("op") == Some("write"),
            mode,
            block_bytes: bytes(request.value("block").unwrap_or_default()),
            random: request.value("order") == Some("random"),
            back_to_back: request.value("pace") == Some("back-to-back"),
            threads: request.number("threads") as usize,
            size_bytes: request.number("size_mb") << 20,
            place,
        }
    }
}

/// `4k` in bytes.
fn bytes(text: &str) -> usize {
    let digits = text.trim_end_matches(['k', 'm']);
    let unit = match text.as_bytes().last() {
        Some(b'k') => 1 << 10,
        Some(b'm') => 1 << 20,
        _ => 1,
    };
    digits.parse::<usize>().unwrap_or(4) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_of_a_block_is_a_power_of_two_of_whole_sectors() {
        let option = archive::method::Method::Storage.definition().options.iter().find(|option| option.key == "block");
        let Some(archive::method::Values::OneOf(sizes)) = option.map(|option| option.values) else { panic!() };
        let sizes: Vec<usize> = sizes.iter().map(|size| bytes(size)).collect();
        assert_eq!((sizes[0], sizes[1], sizes.last()), (4096, 512, Some(&(1 << 20))));
        assert!(sizes.iter().all(|size| size.is_power_of_two() && *size >= 512));
    }

    #[test]
    fn without_options_it_reads_a_file_of_its_own() {
        let requests = Requests::of(&MethodRequest::parse("storage").unwrap());
        assert!(!requests.writes && requests.random && !requests.back_to_back);
        assert_eq!((requests.mode, requests.threads, requests.size_bytes), (Mode::Direct, 1, 64 << 20));
        assert_eq!(requests.place, Place::FileIn("/var/tmp".into()));
    }
}
