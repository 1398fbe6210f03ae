//! The printing thread during the measurement: the live screen, the stream of samples, signals and readers.

use super::figures::{Line, MeasuringThread};
use super::request::Request;
use super::status_fifo::StatusFifo;
use super::status_file::StatusFile;
use super::text;
use super::thread::Shared;
use super::tracing::Tracing;
use meter::kernel::{clock, signals};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

/// Prints a line to standard error; the test continues.
pub fn warn(text: &str) {
    eprintln!("WARN: {text}");
}

const LIVE_NS: i64 = 10_000_000;
const TRACE_NS: i64 = 50_000_000;
const FIFO_NS: i64 = 500_000_000;
const LOAD_AVERAGE_NS: i64 = 1_000_000_000;

/// How the measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Over,
    Signalled,
    /// The reader of standard output is gone.
    Unread,
}

/// Everything the printing thread handles.
pub struct Printer<'a> {
    pub request: &'a Request,
    pub members: &'a [MeasuringThread],
    pub shared: &'a Shared,
    pub signals: &'a OwnedFd,
    pub fifo: Option<StatusFifo>,
    pub status_file: StatusFile,
    pub tracing: Option<&'a mut Tracing>,
    pub state: ScreenState,
}

/// State of the output.
#[derive(Debug, Default)]
pub struct ScreenState {
    frames: u64,
    cycles: u64,
    max: i64,
    load_average: String,
    /// Output that a slow reader has not taken yet.
    unprinted: String,
    load_average_due_ns: i64,
    fifo_due_ns: i64,
    /// Largest sample and number of samples since the last line of `-o`, by thread.
    reduced: Vec<Option<(super::tally::Streamed, u64)>>,
}

impl Printer<'_> {
    fn live(&self) -> bool {
        !self.request.quiet && !self.request.verbose
    }

    /// Prints until the test is over; by then all threads were asked to stop.
    pub fn print_until_done(&mut self) -> Ended {
        loop {
            self.wait();
            let mut signalled = false;
            while let Some(signal) = signals::taken(self.signals) {
                match signal {
                    libc::SIGUSR1 => eprint!("{}", self.status()),
                    libc::SIGUSR2 => {
                        if let Err(error) = self.status_file.fill(&self.status()) {
                            eprintln!("WARN: {error}");
                        }
                    }
                    _ => signalled = true,
                }
            }
            let over = self.shared.stop.load(Relaxed);
            let mut out = std::mem::take(&mut self.state.unprinted);
            // While a reader is slow, samples wait in their queue, which counts those that do not fit.
            if out.is_empty() {
                self.stream(&mut out);
                if !over && !signalled {
                    self.frame(&mut out, false);
                }
            }
            let printed = print(&mut out, self.signals);
            self.state.unprinted = out;
            let unread = printed.is_err_and(|error| error.kind() != std::io::ErrorKind::Interrupted);
            self.serve_readers();
            if over || signalled || unread {
                self.shared.stop.store(true, Relaxed);
                return match (signalled, unread) {
                    (_, true) => Ended::Unread,
                    (true, _) => Ended::Signalled,
                    _ => Ended::Over,
                };
            }
        }
    }

    fn wait(&self) {
        let mut timeout_ns = i64::MAX;
        if !self.request.quiet || self.request.verbose {
            timeout_ns = LIVE_NS;
        } else if self.tracing.is_some() {
            timeout_ns = TRACE_NS;
        } else if self.fifo.is_some() {
            timeout_ns = FIFO_NS;
        }
        // The first frame is printed immediately.
        if self.live() && self.state.frames == 0 {
            timeout_ns = 0;
        }
        let mut watched = [PollFd::new(self.signals, PollFlags::IN), PollFd::new(&self.shared.ended, PollFlags::IN)];
        let time = Timespec { tv_sec: timeout_ns / 1_000_000_000, tv_nsec: timeout_ns % 1_000_000_000 };
        let _ = poll(&mut watched, (timeout_ns != i64::MAX).then_some(&time));
    }

    fn serve_readers(&mut self) {
        if let Some(tracing) = &mut self.tracing {
            tracing.keep_captured();
        }
        if let Some(fifo) = &self.fifo
            && clock::monotonic_ns() >= self.state.fifo_due_ns
        {
            self.state.fifo_due_ns = clock::monotonic_ns() + FIFO_NS;
            fifo.serve(|| self.lines_text());
        }
    }

    fn lines(&self) -> Vec<Line> {
        self.members.iter().map(|member| Line::of(member, self.request.nanoseconds)).collect()
    }

    fn lines_text(&self) -> String {
        let mut out = String::new();
        for line in self.lines() {
            text::thread_line(&mut out, &line, self.request.nanoseconds);
        }
        out
    }

    fn status(&self) -> String {
        text::status(&self.lines(), self.request.nanoseconds)
    }

    /// One frame of the live screen, if anything has changed. The last one stays on the screen.
    fn frame(&mut self, out: &mut String, last: bool) {
        if !self.live() {
            return;
        }
        let rows = self.members.len() + 2;
        let lines = self.lines();
        let cycles = lines.iter().map(|line| line.cycles).sum();
        let max = lines.iter().map(|line| line.max).max().unwrap_or(0);
        if self.request.refresh_on_max && last {
            let _ = write!(out, "\x1b[{rows}B");
            return;
        }
        let news = if self.request.refresh_on_max { max > self.state.max } else { cycles != self.state.cycles };
        if self.state.frames > 0 && !news && !last {
            return;
        }
        if self.state.frames > 0 && !self.request.refresh_on_max {
            let _ = write!(out, "\x1b[{rows}A");
        }
        let now_ns = clock::monotonic_ns();
        if now_ns >= self.state.load_average_due_ns {
            self.state.load_average_due_ns = now_ns + LOAD_AVERAGE_NS;
            let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
            text.trim_end().clone_into(&mut self.state.load_average);
        }
        text::screen_head(out, self.request.policy, &self.state.load_average);
        for line in &lines {
            text::thread_line(out, line, self.request.nanoseconds);
        }
        if self.request.refresh_on_max {
            let _ = write!(out, "\x1b[{rows}A");
        }
        (self.state.frames, self.state.cycles, self.state.max) = (self.state.frames + 1, cycles, max);
    }

    /// Samples of `-v` that have not been printed yet.
    fn stream(&mut self, out: &mut String) {
        if !self.request.verbose {
            return;
        }
        self.state.reduced.resize(self.members.len(), None);
        for (member, reduced) in self.members.iter().zip(&mut self.state.reduced) {
            while let Some(sample) = member.pages.tally.take() {
                let (largest, count) = match reduced.take() {
                    Some((largest, count)) if largest.value >= sample.value => (largest, count + 1),
                    Some((_, count)) => (sample, count + 1),
                    None => (sample, 1),
                };
                if count >= self.request.oscope {
                    text::sample_line(out, member.job.thread, largest, member.job.smi);
                } else {
                    *reduced = Some((largest, count));
                }
            }
        }
    }

    /// Prints the rest once every thread has stopped.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.state.unprinted));
        self.stream(out);
        self.frame(out, true);
    }
}

/// Bytes that a writable pipe accepts without blocking.
const CHUNK_BYTES: usize = 4096;

/// Writes to standard output and removes the written part from the text. A signal interrupts it, so that a stalled
/// reader cannot delay the end of a test.
///
/// # Errors
/// `Interrupted` if a signal is pending; anything else if the reader is gone or there is no space.
pub fn print(text: &mut String, signals: &OwnedFd) -> std::io::Result<()> {
    let output = std::io::stdout();
    let (mut done, mut answer) = (0, Ok(()));
    while done < text.len() && answer.is_ok() {
        let mut watched = [PollFd::new(&output, PollFlags::OUT), PollFd::new(signals, PollFlags::IN)];
        answer = poll(&mut watched, None).map_err(std::io::Error::from).and_then(|_| {
            if watched[0].revents().is_empty() {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            let end = text.len().min(done + CHUNK_BYTES);
            done += rustix::io::write(&output, &text.as_bytes()[done..end])?;
            Ok(())
        });
    }
    // A character that was written partially is written again completely.
    let whole = (0..=done).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.drain(..whole);
    answer
}

/// The same for the final output: another stop signal cancels it, other signals are ignored.
///
/// # Errors
/// Not everything could be written.
pub fn print_all(text: &mut String, signals: &OwnedFd) -> std::io::Result<()> {
    loop {
        match print(text, signals) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {
                if signals::taken(signals).is_some_and(|signal| signal != libc::SIGUSR1 && signal != libc::SIGUSR2) {
                    return Err(error);
                }
            }
            answer => return answer,
        }
    }
}
