//! `storage`: from the instant before a read or write until it is done, as fio measures with one request at a time.
//!
//! [`request`] is what a run asks for, [`target`] the file or device. Each thread has one request at a time, in its own
//! part of the target. With [`fio`] that program makes the requests.

pub mod fio;
mod request;
mod target;

use super::error::MethodError;
use super::{MeasuringMethod, Release, RunContext, ThreadSetup};
use crate::journal::{Entry, Journal, measured_file};
use crate::kernel::clock;
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::Method;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::storage::{Engine, Mode, Storage};
use archive::settings::RunSettings;
use request::{Place, Requests};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Memory of O_DIRECT requests starts at such an address on every device.
const ALIGNED_BYTES: usize = 4096;
/// A device that fails at once must not keep a real-time thread busy.
const AFTER_FAILURE_NS: i64 = 10_000_000;

/// One thread with its part of the target.
struct Requester {
    file: File,
    requests: Requests,
    /// The aligned part of it is read into and written from.
    memory: Vec<u8>,
    aligned_from: usize,
    first_block: u64,
    blocks: u64,
    next_block: u64,
    draw: target::Draw,
    interval_ns: i64,
    /// Of the next request, unless requests are back to back.
    next_ns: Option<i64>,
    over: Arc<AtomicBool>,
}

impl Requester {
    /// The offset of the next request.
    #[inline]
    fn next_offset(&mut self) -> u64 {
        let block = if self.requests.random {
            self.draw.next() % self.blocks
        } else {
            let block = self.next_block;
            self.next_block = (block + 1) % self.blocks;
            block
        };
        (self.first_block + block) * self.requests.block_bytes as u64
    }

    /// One whole request; `false` if the kernel failed it.
    #[inline]
    fn request(&mut self, offset: u64) -> bool {
        let bytes = self.requests.block_bytes;
        let memory = &mut self.memory[self.aligned_from..][..bytes];
        let done = if self.requests.writes {
            rustix::io::pwrite(&self.file, memory, offset)
        } else {
            rustix::io::pread(&self.file, memory, offset)
        };
        if done != Ok(bytes) {
            return false;
        }
        match self.requests.mode {
            Mode::Fsync if self.requests.writes => rustix::fs::fsync(&self.file).is_ok(),
            Mode::Fdatasync if self.requests.writes => rustix::fs::fdatasync(&self.file).is_ok(),
            _ => true,
        }
    }

    /// Waits for the instant of the next request; returns how many were left out.
    #[inline]
    fn keep_pace(&mut self, due_ns: i64) -> u64 {
        let due_ns = self.next_ns.unwrap_or(due_ns);
        let (due_ns, skipped) = if self.requests.back_to_back && self.next_ns.is_some() {
            (clock::monotonic_ns(), 0)
        } else {
            let late_ns = clock::monotonic_ns().saturating_sub(due_ns).max(0);
            let skipped = if self.next_ns.is_some() { late_ns / self.interval_ns } else { 0 };
            let due_ns = due_ns.saturating_add(skipped * self.interval_ns);
            clock::sleep_until_ns(due_ns);
            (due_ns, skipped as u64)
        };
        self.next_ns = Some(due_ns.saturating_add(self.interval_ns));
        skipped
    }
}

impl Waiter for Requester {
    fn prepare(&mut self) -> io::Result<()> {
        self.memory.iter_mut().zip(target::pattern(4096).iter().cycle()).for_each(|(byte, drawn)| *byte = *drawn);
        Ok(())
    }

    #[inline]
    fn wait(&mut self, due_ns: i64) -> Arrival {
        let skipped = self.keep_pace(due_ns);
        if self.over.load(Relaxed) {
            return Arrival::Ended { skipped: 0 };
        }
        let offset = self.next_offset();
        if !self.requests.writes && self.requests.mode != Mode::Direct {
            target::forget_pages(&self.file, offset, self.requests.block_bytes as u64);
        }
        let given_ns = clock::monotonic_ns();
        if !self.request(offset) {
            clock::sleep_until_ns(clock::monotonic_ns().saturating_add(AFTER_FAILURE_NS));
            return Arrival::NoSignal;
        }
        Arrival::Stimulus { given_ns, seen_ns: clock::monotonic_ns(), skipped }
    }
}

/// Why this request cannot be served; changes nothing.
fn obstacle(root: &Path, requests: &Requests, options: &Storage) -> Option<Obstacle> {
    let missing = |kind, text: String, fix: &str| Some(Obstacle { kind, text, fix: fix.into() });
    let below = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    match &requests.place {
        Place::FileIn(directory) if !below(directory).is_dir() => missing(
            ObstacleKind::Device,
            format!("{} is not a directory", directory.display()),
            "set directory= to one on the file system to measure",
        ),
        Place::FileIn(_) if options.overwrite() => {
            missing(ObstacleKind::Device, "overwrite is for a device".into(), "leave it out, or add device=")
        }
        Place::FileIn(directory) => target::check_directory(&below(directory), requests).err().and_then(|error| {
            missing(
                if error.kind() == io::ErrorKind::PermissionDenied {
                    ObstacleKind::Right
                } else {
                    ObstacleKind::Device
                },
                format!("no file can be made in {} ({error})", directory.display()),
                "set directory= to one with enough room where you may write, or a smaller size_mb=",
            )
        }),
        Place::Device(device) if !below(device).metadata().is_ok_and(|found| found.file_type().is_block_device()) => {
            missing(ObstacleKind::Device, format!("{} is not a block device", device.display()), "`lsblk` lists them")
        }
        Place::Device(device) if requests.writes && !options.overwrite() => missing(
            ObstacleKind::Right,
            format!("writes destroy what is on {}", device.display()),
            "if nothing on it is needed, add the option overwrite",
        ),
        Place::Device(_) => None,
    }
}

/// Why this engine cannot make the requests.
fn engine_obstacle(root: &Path, options: &Storage) -> Option<Obstacle> {
    let missing = |kind, text: &str, fix: &str| Some(Obstacle { kind, text: text.into(), fix: fix.into() });
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match options.engine() {
        Engine::Builtin if options.ioengine.is_some() || options.iodepth.is_some() => missing(
            ObstacleKind::Device,
            "ioengine and iodepth are options of fio",
            "add engine=fio, or leave them out: the built-in engine makes one request at a time",
        ),
        Engine::Builtin => None,
        Engine::Fio if !fio::is_installed(root) => missing(
            ObstacleKind::Device,
            "fio is not installed on the target",
            "install fio there, or measure with engine=builtin, which needs no program",
        ),
        Engine::Fio if !options.ioengine().is_none_or(is_name) => {
            missing(ObstacleKind::Device, "ioengine is not the name of a fio engine", "`fio --enghelp` lists them")
        }
        Engine::Fio => None,
    }
}

impl MeasuringMethod for Storage {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let of_place = obstacle(root, &Requests::of(self), self);
        engine_obstacle(root, self).into_iter().chain(of_place).collect()
    }

    /// fio writes its log when it ends.
    fn sees_samples_at_once(&self) -> bool {
        self.engine() == Engine::Builtin
    }

    fn block_places(&self, settings: &RunSettings) -> Vec<PathBuf> {
        let of_jobs = settings.fio_jobs.as_deref().map(fio::places).unwrap_or_default();
        if !of_jobs.is_empty() {
            return of_jobs;
        }
        match Requests::of(self).place {
            Place::FileIn(place) | Place::Device(place) => vec![place],
        }
    }

    fn open(&self, run: &RunContext, journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let requests = Requests::of(self);
        if requests.engine == Engine::Fio {
            return fio::open(run, &requests, self.overwrite(), journal);
        }
        let refused = |action| move |source| MethodError::Refused { method: Method::Storage, action, source };
        let path = match &requests.place {
            Place::Device(device) => device.clone(),
            Place::FileIn(directory) => {
                let directory = directory.canonicalize().map_err(refused("find the directory"))?;
                let path = measured_file::path_in(&directory);
                journal.note(Entry::MeasuredFile { path: path.clone() })?;
                target::make(&path, requests.size_bytes).map_err(refused("make the file"))?;
                path
            }
        };
        // A device may be opened exclusively only once.
        let file = target::open(&requests, &path).map_err(refused("open the file or device"))?;
        let bytes = target::size_bytes(&file).map_err(refused("find the size"))?.min(requests.size_bytes);
        let blocks = bytes / requests.block_bytes as u64 / requests.threads as u64;
        if blocks == 0 {
            let small =
                io::Error::new(io::ErrorKind::InvalidInput, "less than a block for each thread; raise size_mb=");
            return Err(refused("divide the file or device")(small));
        }
        let setup = |at: usize| {
            let cpu = run.measured[at % run.measured.len()];
            let over = Arc::<AtomicBool>::default();
            let memory = vec![0; requests.block_bytes + ALIGNED_BYTES];
            let requester = Requester {
                file: file.try_clone().map_err(refused("share the file among threads"))?,
                requests: requests.clone(),
                aligned_from: memory.as_ptr().align_offset(ALIGNED_BYTES),
                memory,
                first_block: at as u64 * blocks,
                blocks,
                next_block: 0,
                draw: target::Draw::new(at as u64 + 1),
                interval_ns: run.settings.interval_ns.max(1) as i64,
                next_ns: None,
                over: over.clone(),
            };
            let release: Release = Box::new(move || over.store(true, Relaxed));
            let shortest_ns = requests.shortest_ns();
            Ok(ThreadSetup { shortest_ns, release: Some(release), ..ThreadSetup::new(cpu, requester) })
        };
        (0..requests.threads).map(setup).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::obstacles_of;
    use archive::method::storage::{Op, Order};

    fn obstacles(text: &str) -> Vec<Obstacle> {
        obstacles_of(text, Path::new("/"))
    }

    #[test]
    fn a_device_is_only_written_to_with_an_explicit_word() {
        assert!(obstacles("storage:op=write,directory=/").is_empty());
        for wrong in ["/dev/null", "/nowhere"] {
            let key = if wrong == "/nowhere" { "directory" } else { "device" };
            let found = obstacles(&format!("storage:{key}={wrong}"));
            assert!(found[0].kind == ObstacleKind::Device && found[0].text.starts_with(wrong), "{found:?}");
        }
        if Path::new("/dev/loop0").exists() {
            assert!(obstacles("storage:device=/dev/loop0").is_empty());
            assert!(obstacles("storage:op=write,device=/dev/loop0")[0].text.contains("destroy"));
            assert!(obstacles("storage:op=write,device=/dev/loop0,overwrite").is_empty());
        }
    }

    #[test]
    fn an_engine_that_cannot_make_the_requests_is_named_with_what_to_do() {
        let without_fio = tempfile::tempdir().unwrap();
        std::fs::create_dir(without_fio.path().join("data")).unwrap();
        let missing = obstacles_of("storage:engine=fio,directory=/data,size_mb=1", without_fio.path());
        assert!(missing[0].text.starts_with("fio ") && missing[0].fix.contains("engine=builtin"), "{missing:?}");
        assert!(obstacles("storage:iodepth=4,directory=/")[0].fix.contains("engine=fio"));
        assert!(obstacles("storage:ioengine=libaio,directory=/")[0].fix.contains("engine=fio"));
    }

    fn requester(directory: &Path, options: Storage, blocks: u64) -> Requester {
        let requests = Requests::of(&options);
        let path = directory.join("file");
        target::make(&path, 1 << 20).unwrap();
        let memory = vec![7; requests.block_bytes + ALIGNED_BYTES];
        Requester {
            file: target::open(&requests, &path).unwrap(),
            aligned_from: memory.as_ptr().align_offset(ALIGNED_BYTES),
            memory,
            requests,
            first_block: 1,
            blocks,
            next_block: 0,
            draw: target::Draw::new(1),
            interval_ns: 1_000_000,
            next_ns: None,
            over: Arc::default(),
        }
    }

    #[test]
    fn requests_stay_in_the_part_of_the_thread() {
        let directory = tempfile::tempdir().unwrap();
        let (op, order, mode) = (Some(Op::Write), Some(Order::Sequential), Some(Mode::DataSync));
        let ordered = Storage { op, order, mode, ..Storage::default() };
        let mut ordered = requester(directory.path(), ordered, 3);
        let offsets: Vec<u64> = (0..4).map(|_| ordered.next_offset() / 4096).collect();
        assert_eq!(offsets, [1, 2, 3, 1]);
        ordered.requests.random = true;
        assert!((0..100).all(|_| (1..=3).contains(&(ordered.next_offset() / 4096))));
        assert!(ordered.request(4096));
        let written = std::fs::read(directory.path().join("file")).unwrap();
        assert!(written[4096..8192].iter().all(|byte| *byte == 7) && written.len() == 1 << 20);
        assert_ne!(&written[..4096], &[7; 4096], "only the block of the request is written");
    }

    #[test]
    fn a_file_that_exists_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(target::make(&path, 4096).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn instants_that_passed_are_left_out_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        let buffered = Storage { mode: Some(Mode::Buffered), ..Storage::default() };
        let mut paced = requester(directory.path(), buffered, 3);
        let now_ns = clock::monotonic_ns();
        assert_eq!(paced.keep_pace(now_ns), 0);
        paced.next_ns = Some(clock::monotonic_ns() - 3_500_000);
        assert_eq!(paced.keep_pace(0), 3);
        assert!(matches!(paced.wait(0), Arrival::Stimulus { given_ns, seen_ns, .. } if given_ns < seen_ns));
    }
}
