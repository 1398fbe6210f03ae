//! The requests of a run: which ones, how, and on what.

use archive::method::storage::{Engine, Mode, Op, Order, Pace, Storage};
use std::path::PathBuf;

/// Where the file is made unless the user names a directory: on a disk on most machines, unlike /tmp.
const DIRECTORY: &str = "/var/tmp";

/// How fio makes requests.
const IOENGINE: &str = "psync";
/// Requests back to back are hardly shorter.
const SHORTEST_NS: u64 = 20_000;

/// The requests of all threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    pub engine: Engine,
    /// With fio: its own engine, and the requests of a thread that are under way at a time.
    pub ioengine: String,
    pub iodepth: u64,
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

/// The file or device that is read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file made for the run in this directory.
    FileIn(PathBuf),
    Device(PathBuf),
}

impl Requests {
    pub fn of(options: &Storage) -> Self {
        let place = match options.device() {
            Some(device) => Place::Device(device.into()),
            None => Place::FileIn(options.directory().unwrap_or(DIRECTORY).into()),
        };
        Self {
            engine: options.engine(),
            ioengine: options.ioengine().unwrap_or(IOENGINE).to_owned(),
            iodepth: options.iodepth(),
            writes: options.op() == Op::Write,
            mode: options.mode(),
            block_bytes: options.block().bytes(),
            random: options.order() == Order::Random,
            back_to_back: options.pace() == Pace::BackToBack,
            threads: options.threads() as usize,
            size_bytes: options.size_mb() << 20,
            place,
        }
    }

    /// The shortest distance of two samples of a thread, unless it is the interval of the run.
    pub fn shortest_ns(&self) -> Option<u64> {
        self.back_to_back.then_some(SHORTEST_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_it_reads_a_file_of_its_own() {
        let requests = Requests::of(&Storage::default());
        assert!(!requests.writes && requests.random && !requests.back_to_back);
        assert_eq!((requests.mode, requests.threads, requests.size_bytes), (Mode::Direct, 1, 64 << 20));
        assert_eq!(requests.place, Place::FileIn("/var/tmp".into()));
    }
}
