//! The connection to the host: the framed stream out, stop requests and the end of the connection in.

mod growing_file;

pub use growing_file::GrowingFile;

use crate::gaps::Gaps;
use crate::kernel::bell::Bell;
use crate::kernel::clock;
use archive::counters::CounterSecond;
use archive::frame::{CHUNK_BYTES, Encoder};
use archive::message::{FileKind, Loss, LossKind, Message, Problem, RunPhase, Severity};
use archive::problem::ProblemKind;
use archive::spike::{RequestSource, SaveRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Most bytes per write: without preemption the kernel occupies the CPU while it copies.
const WRITE_BYTES: usize = 8 << 10;
const LISTEN: Duration = Duration::from_millis(100);
/// With a bell, which rings for everything urgent.
const LISTEN_TO_BELL: Duration = Duration::from_millis(500);

/// The connection to the host, and the signals of this process.
pub struct Lines<W: Write> {
    pub link: Link<W>,
    pub control: File,
    pub signals: OwnedFd,
    /// Of a source that rings for what cannot wait.
    pub bell: Option<Bell>,
}

impl<W: Write> Lines<W> {
    pub fn phase(&mut self, phase: RunPhase) {
        self.link.send(&Message::Phase { phase, monotonic_ns: clock::monotonic_ns() });
    }

    /// Waits for the host, at most a tenth of a second, and then looks for a signal. With a bell it waits longer, and for the bell and for
    /// signals, too.
    ///
    /// Otherwise it does not wait for signals: the kernel would wake this thread at each one that a thread of this process gets,
    /// and the method `signal` sends thousands.
    pub fn listen(&mut self) -> Option<Control> {
        let said = match &self.bell {
            None => readable([self.control.as_fd()], self.link.gaps.timeout(LISTEN))[0],
            Some(bell) => {
                let files = [self.control.as_fd(), self.signals.as_fd(), bell.as_fd()];
                let said = readable(files, LISTEN_TO_BELL)[0];
                bell.quiet();
                said
            }
        };
        if readable([self.signals.as_fd()], Duration::ZERO)[0] {
            return Some(Control::Stop);
        }
        said.then(|| read_control(&mut self.control)).flatten()
    }
}

/// Waits until one of the files is readable, at most this long; returns which are.
fn readable<const N: usize>(files: [BorrowedFd<'_>; N], wait: Duration) -> [bool; N] {
    let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    let mut inputs = files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
    match poll(&mut inputs, Some(&timeout)) {
        Ok(count) if count > 0 => inputs.map(|input| !input.revents().is_empty()),
        _ => [false; N],
    }
}

/// Sends messages to the host. A broken connection is remembered, not reported repeatedly.
#[derive(Debug)]
pub struct Link<W: Write> {
    output: W,
    encoder: Encoder,
    files: u32,
    broken: bool,
    gaps: Gaps,
}

impl<W: Write> Link<W> {
    pub fn new(output: W) -> Self {
        Self { output, encoder: Encoder::default(), files: 0, broken: false, gaps: Gaps::default() }
    }

    /// From now on sends in these gaps, a piece at a time.
    pub fn send_in(&mut self, gaps: Gaps) {
        self.gaps = gaps;
    }

    /// The gaps in which it sends.
    pub fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    /// Whether the host stopped reading.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    pub fn send(&mut self, message: &Message) {
        let frame = self.encoder.message(message);
        self.write(&frame);
    }

    pub fn problem(&mut self, severity: Severity, kind: &impl ProblemKind) {
        self.send(&Message::Problem(Problem::new(severity, kind)));
    }

    /// Shows the host, during a phase without results, that this program is not stuck.
    pub fn still_alive(&mut self) {
        self.send(&Message::Progress { threads: Vec::new(), snapshots: 0 });
    }

    /// Reports a loss; zero is not reported.
    pub fn loss(&mut self, kind: LossKind, count: u64, detail: &str) {
        if count > 0 {
            self.send(&Message::Loss(Loss { kind, count, detail: detail.into() }));
        }
    }

    /// Sends the kernel's counters, if they were read.
    pub fn send_counters(&mut self, second: Option<CounterSecond>) {
        if let Some(second) = second {
            self.send(&Message::Counters(vec![second]));
        }
    }

    /// Sends a whole file.
    pub fn file(&mut self, kind: FileKind, bytes: &[u8]) {
        let file = self.begin_file(kind);
        self.chunk(file, 0, bytes);
        self.send(&Message::FileEnd { file, bytes: bytes.len() as u64 });
    }

    /// Starts a file that grows during the run; returns its number.
    pub fn begin_file(&mut self, kind: FileKind) -> u32 {
        self.files += 1;
        self.send(&Message::FileBegin { file: self.files, kind });
        self.files
    }

    /// Sends a stretch of a file.
    pub fn chunk(&mut self, file: u32, offset: u64, bytes: &[u8]) {
        for (at, piece) in bytes.chunks(CHUNK_BYTES).enumerate() {
            let frame = self.encoder.chunk(file, offset + (at * CHUNK_BYTES) as u64, piece);
            self.write(&frame);
        }
    }

    fn write(&mut self, frame: &[u8]) {
        let mut pieces = frame.chunks(WRITE_BYTES);
        let fails = |piece| {
            self.gaps.wait();
            self.output.write_all(piece).and_then(|()| self.output.flush()).is_err()
        };
        if !self.broken && pieces.any(fails) {
            self.broken = true;
        }
    }
}

/// A request of the host on the control line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    Stop,
    Gone,
    /// The measurement goes on.
    Asked(Asked),
}

/// A request of the host of a watch during the measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Keep the last seconds.
    pub save: Option<SaveRequest>,
    /// Shed this number of kinds of events, and record the others.
    pub shed: Option<usize>,
}

/// Reads control lines; call it only if the input is readable.
pub fn read_control(input: &mut impl Read) -> Option<Control> {
    let mut bytes = [0; 4096];
    match input.read(&mut bytes) {
        Ok(0) => Some(Control::Gone),
        Ok(count) => requested(&bytes[..count]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        Err(_) => Some(Control::Gone),
    }
}

/// The request in the lines that arrived together; a request to stop counts before any other.
fn requested(lines: &[u8]) -> Option<Control> {
    let mut asked = Asked::default();
    for line in lines.split(|byte| *byte == b'\n') {
        match line {
            b"stop" => return Some(Control::Stop),
            b"save" => asked.save = Some(SaveRequest::new(RequestSource::Signal, "")),
            _ => {
                let typed = line.strip_prefix(b"save key").map(String::from_utf8_lossy);
                asked.save = typed.map(|reason| SaveRequest::new(RequestSource::Key, &reason)).or(asked.save);
                let count = line.strip_prefix(b"shed ").and_then(|count| str::from_utf8(count).ok()?.parse().ok());
                asked.shed = count.or(asked.shed);
            }
        }
    }
    (asked != Asked::default()).then_some(Control::Asked(asked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaps::NextDue;
    use std::sync::Arc;

    #[test]
    fn lines_that_arrive_together_are_all_heard() {
        assert_eq!(requested(b"shed 2\nsave\nstop\n"), Some(Control::Stop));
        let by_signal = Some(SaveRequest::new(RequestSource::Signal, ""));
        assert_eq!(
            requested(b"shed 2\nsave\nshed 3\n"),
            Some(Control::Asked(Asked { save: by_signal, shed: Some(3) }))
        );
        let by_key = Some(SaveRequest::new(RequestSource::Key, "the arm shook"));
        assert_eq!(requested(b"save key the arm shook\n"), Some(Control::Asked(Asked { save: by_key, shed: None })));
        assert_eq!(requested(b"hello\nshed x\n"), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks on which CPU it runs")]
    fn a_message_waits_until_the_wake_up_that_is_due_is_over() {
        let due = Arc::new(NextDue::default());
        let every_cpu = (0..1024).map(|cpu| (cpu, due.clone())).collect();
        let mut link = Link::new(Vec::new());
        link.send_in(Gaps::between(every_cpu, 1_000_000_000));
        let due_ns = clock::monotonic_ns() + 150_000;
        due.set(due_ns);
        link.still_alive();
        assert!(clock::monotonic_ns() > due_ns && !link.output.is_empty());
        let sent = link.output.len();
        due.set(clock::monotonic_ns() + 60_000_000_000);
        link.still_alive();
        assert!(link.output.len() > sent);
    }
}
