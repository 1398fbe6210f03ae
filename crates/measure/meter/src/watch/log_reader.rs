//! Reads the log of a watched program beside the measurement, and counts its lines with their instants.

mod journal;
mod log_file;

use crate::kernel::{clock, scheduling};
use crate::problem::MeterProblem;
use archive::counted::OutputCounts;
use archive::counted::counting::{Counting, LineInstant};
use archive::watched::log::LogSource;
use journal::JournalFollower;
use log_file::LogFile;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time between two looks at the log, which bounds the uncertainty of a line. A hundred looks a second take less than
/// 0.2 % of a CPU.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Passes each new line of a log with its instant.
trait Lines: Send {
    /// # Errors
    /// The log cannot be read any more.
    fn read(&mut self, now_ns: i64, each: &mut dyn FnMut(&str, LineInstant)) -> io::Result<()>;
}

/// The thread that reads the log.
pub struct LogReader {
    name: String,
    handle: Option<JoinHandle<io::Result<()>>>,
    tid: i32,
    stop: Arc<AtomicBool>,
    counting: Arc<Mutex<Counting>>,
    count_from_ns: Arc<AtomicI64>,
}

impl LogReader {
    /// Reads lines that are written from now on.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn start(source: &LogSource, texts: &[String]) -> Result<Self, MeterProblem> {
        let (name, opened) = open(source);
        let lines = opened.map_err(|source| MeterProblem::LogNotRead { log: name.clone(), source })?;
        let (counting, stop) = (Arc::new(Mutex::new(Counting::new(texts))), Arc::new(AtomicBool::new(false)));
        let count_from_ns = Arc::new(AtomicI64::new(i64::MAX));
        let (shared, from_ns, ends, (announce, known)) =
            (counting.clone(), count_from_ns.clone(), stop.clone(), channel());
        let each = move |line: &str, instant: LineInstant| {
            if instant.monotonic_ns.is_some_and(|at_ns| at_ns >= from_ns.load(Relaxed)) {
                lock(&shared).look_at(line, instant);
            }
        };
        let body = move || follow(lines, each, &ends, &announce);
        let handle = Builder::new().name("tardy-log".into()).spawn(body).map_err(MeterProblem::Thread)?;
        let tid = known.recv().map_err(|_| MeterProblem::FollowingDied)?;
        Ok(Self { name, handle: Some(handle), tid, stop, counting, count_from_ns })
    }

    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Counts the lines of this instant and later; until then, none.
    pub fn count_from(&self, monotonic_ns: i64) {
        self.count_from_ns.store(monotonic_ns, Relaxed);
    }

    /// The changes since the last call, if any.
    pub fn take(&self) -> Option<OutputCounts> {
        lock(&self.counting).take()
    }

    /// Reads the last lines; returns why lines may be missing.
    pub fn end(&mut self) -> Option<MeterProblem> {
        self.stop.store(true, Relaxed);
        let ended = self.handle.take()?.join().unwrap_or_else(|_| Err(io::Error::other("its reader died")));
        ended.err().map(|source| MeterProblem::LogLost { log: self.name.clone(), source })
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        self.end();
    }
}

fn open(source: &LogSource) -> (String, io::Result<Box<dyn Lines>>) {
    match source {
        LogSource::File { path } => {
            let opened = LogFile::open(path.as_ref(), clock::monotonic_ns());
            (path.clone(), opened.map(|file| Box::new(file) as Box<dyn Lines>))
        }
        LogSource::Journal { unit } => {
            let started = JournalFollower::start(unit);
            (format!("of {unit} in the journal"), started.map(|journal| Box::new(journal) as Box<dyn Lines>))
        }
    }
}

fn follow(
    mut lines: Box<dyn Lines>,
    mut each: impl FnMut(&str, LineInstant),
    stop: &AtomicBool,
    tid: &Sender<i32>,
) -> io::Result<()> {
    let _ = tid.send(scheduling::thread_id());
    loop {
        let last = stop.load(Relaxed);
        lines.read(clock::monotonic_ns(), &mut each)?;
        if last {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn lock(counting: &Mutex<Counting>) -> MutexGuard<'_, Counting> {
    counting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn counted(count_from_ns: Option<i64>) -> Vec<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let source = LogSource::File { path: file.path().display().to_string() };
        let mut reader = LogReader::start(&source, &["XRun".into()]).unwrap();
        count_from_ns.into_iter().for_each(|from_ns| reader.count_from(from_ns));
        writeln!(file, "XRun 1\nother\nXRun 2").unwrap();
        assert!(reader.end().is_none());
        reader.take().unwrap().lines.into_iter().map(|line| line.line).collect()
    }

    #[test]
    fn lines_count_once_the_measurement_has_begun() {
        assert_eq!(counted(Some(clock::monotonic_ns())), ["XRun 1", "XRun 2"]);
        assert_eq!(counted(None), [] as [&str; 0], "it is still being armed");
    }

    #[test]
    fn a_log_that_does_not_exist_is_refused() {
        let source = LogSource::File { path: "/nonexistent/log".into() };
        let refused = LogReader::start(&source, &["XRun".into()]).err().unwrap();
        assert!(refused.to_string().contains("/nonexistent/log"), "{refused}");
    }
}
