//! Follows one meter from its first frame to its end: stores and reports data, handles stop requests, and gives up on a
//! stuck meter.

mod others;

use super::counted_output::CountedOutput;
use super::ending::{Facts, Stuck};
use super::limits::TimeLimits;
use super::meter_requests::MeterRequests;
use super::received::Received;
use crate::event::{Event, StopReason};
use crate::problem::RunProblem;
use crate::roles::Part;
use crate::stimulus::Board;
use archive::STREAM_VERSION;
use archive::absence::SpikeAbsences;
use archive::budget::{Budget, Excess};
use archive::frame::{Decoder, Item};
use archive::message::{Message, Problem, RunPhase, Severity};
use archive::write_error::WriteError;
use archive::writer::RunWriter;
use machines::stop::StopRequests;
use machines::{Output, Outside, RunningCommand};
use std::time::Duration;

/// Interval of checks for stop requests and time limits.
const POLL: Duration = Duration::from_millis(100);
/// While a guard measures, for months: what the meter sends wakes it at once.
const POLL_GUARDING: Duration = Duration::from_millis(250);
/// Time for a stuck meter to react to a stop request.
const LAST_CHANCE: Duration = Duration::from_secs(3);
const EXIT_LIMIT: Duration = Duration::from_secs(10);
/// Longest reading of what was on its way when the meter ended: a program that it started may write for ever.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);
/// Most time that counts against a limit between two reads. A longer one is the host's own: its disk blocked it, its
/// CPUs were busy, or it was suspended, and what the meter sent meanwhile is still unread.
const STEP_MAX: Duration = Duration::from_secs(1);

/// How long a run has lasted at most, by the host's clock.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    /// Time before the session.
    pub before: Duration,
    /// Most seconds of the target in a second of the host.
    pub pace: u32,
}

impl Default for RunClock {
    fn default() -> Self {
        Self { before: Duration::ZERO, pace: 1 }
    }
}

/// A running meter, and the receivers of its data.
pub struct Session<'a> {
    command: Box<dyn RunningCommand>,
    writer: &'a mut RunWriter,
    limits: &'a TimeLimits,
    stop: &'a StopRequests,
    watch: &'a mut dyn FnMut(Event),
    decoder: Decoder,
    budget: Budget,
    clock: RunClock,
    received: Option<&'a mut Received>,
    counted: Option<&'a CountedOutput>,
    board: Option<Board>,
    /// Its part among the runs of one measurement.
    part: Option<&'a Part>,
    requests: Option<&'a MeterRequests>,
    /// Length of the measurement that the board is asked for.
    measured: Option<Duration>,
    /// The user's request to stop waits until the board has ended.
    holds_request: bool,
    stores_afterwards: bool,
    phase: Option<RunPhase>,
    /// Time that counts against the limits, and the host's clock when it was last advanced.
    listened: Duration,
    looked_at: Duration,
    phase_since: Duration,
    last_frame: Duration,
    stopping_since: Option<Duration>,
    /// Spikes for which the host's absences are still unknown: number, due, seen.
    unseen: Vec<(u32, i64, i64)>,
    facts: Facts,
}

impl<'a> Session<'a> {
    pub fn new(
        command: Box<dyn RunningCommand>,
        budget: Budget,
        writer: &'a mut RunWriter,
        limits: &'a TimeLimits,
        stop: &'a StopRequests,
        watch: &'a mut dyn FnMut(Event),
    ) -> Self {
        Self {
            command,
            writer,
            limits,
            stop,
            watch,
            decoder: Decoder::default(),
            budget,
            clock: RunClock::default(),
            received: None,
            counted: None,
            board: None,
            part: None,
            requests: None,
            measured: None,
            holds_request: false,
            stores_afterwards: false,
            phase: None,
            listened: Duration::ZERO,
            looked_at: Duration::ZERO,
            phase_since: Duration::ZERO,
            last_frame: Duration::ZERO,
            stopping_since: None,
            unseen: Vec::new(),
            facts: Facts::default(),
        }
    }

    /// Keeps the received bytes until the run is complete.
    pub fn keeping(mut self, received: Option<&'a mut Received>) -> Self {
        self.received = received;
        self
    }

    /// Stores the files of spikes only after the measurement, which that would disturb.
    pub fn storing_afterwards(mut self, afterwards: bool) -> Self {
        self.stores_afterwards = afterwards;
        self
    }

    /// The allowance of the run grows with this clock where its settings name no end.
    pub fn timed_by(mut self, clock: RunClock) -> Self {
        self.clock = clock;
        self
    }

    /// Also archives counts of a command's output.
    pub fn counting(mut self, counted: Option<&'a CountedOutput>) -> Self {
        self.counted = counted;
        self
    }

    /// Has an external board give stimuli during the measurement.
    pub fn stimulated_by(mut self, board: Option<Board>, measured: Option<Duration>) -> Self {
        self.board = board;
        self.measured = measured;
        self
    }

    /// Keeps the run in step with those of other machines.
    pub fn in_step(mut self, part: Option<&'a Part>) -> Self {
        self.part = part;
        self
    }

    /// Passes on what a guard asks of the meter.
    pub fn asked_by(mut self, requests: Option<&'a MeterRequests>) -> Self {
        self.requests = requests;
        self
    }

    /// Processes the bytes received before the connection was lost.
    pub fn resuming(mut self, before: &[u8]) -> Self {
        let items = self.decoder.push(before);
        self.take(items);
        self
    }

    /// Follows the meter until it ends or is killed.
    pub fn follow(mut self) -> Facts {
        let mut closed = false;
        loop {
            let guards = self.requests.is_some() && self.phase == Some(RunPhase::Measure);
            let output = self.command.read(if guards { POLL_GUARDING } else { POLL });
            self.advance();
            match output {
                Output::Bytes(bytes) => self.receive(&bytes),
                Output::Quiet => {}
                Output::Closed => {
                    closed = true;
                    break;
                }
            }
            self.report_lines_and_events();
            self.keep_what_was_counted();
            self.follow_board();
            self.pass_on_requests();
            self.end_with_others();
            self.report_what_the_host_saw(false);
            if self.facts.excess.is_some() || !self.handle_requests() || !self.check_limits() {
                self.command.kill();
                break;
            }
        }
        self.facts.left_behind = self.command.left_behind();
        if self.facts.left_behind {
            return self.ended();
        }
        if self.facts.excess.is_none() {
            self.drain();
        }
        self.facts.exit = self.command.wait(EXIT_LIMIT);
        if self.facts.exit.is_none() {
            self.facts.cut = closed;
            self.command.kill();
            self.facts.exit = self.command.wait(EXIT_LIMIT);
        }
        // Only now it may become visible that the connection is dead.
        self.facts.left_behind = self.command.left_behind();
        if !self.facts.left_behind && self.facts.excess.is_none() {
            let rest = std::mem::take(&mut self.decoder).finish();
            self.take(rest);
        }
        self.ended()
    }

    fn advance(&mut self) {
        let now = self.command.elapsed();
        self.listened += now.saturating_sub(self.looked_at).min(STEP_MAX);
        self.looked_at = now;
    }

    fn ended(mut self) -> Facts {
        self.hold_files(false);
        self.report_lines_and_events();
        self.keep_what_was_counted();
        self.finish_board();
        if let Some(part) = self.part {
            part.has_measured();
        }
        self.report_what_the_host_saw(true);
        self.facts.phase = self.phase;
        self.facts.diagnostics = self.command.diagnostics();
        self.facts
    }

    fn report_lines_and_events(&mut self) {
        for line in self.command.lines() {
            (self.watch)(Event::Said { line });
        }
        for event in self.command.events() {
            if event.is_kept() {
                // If the archive cannot be written, the next frame shows it.
                let _ = self.writer.append(&Message::Problem(Problem::new(Severity::Notice, &event)));
            }
            (self.watch)(Event::Line(event));
        }
    }

    fn keep_what_was_counted(&mut self) {
        while let Some(counts) = self.counted.and_then(CountedOutput::take) {
            // If the archive cannot be written, the next frame shows it.
            let _ = self.writer.append(&Message::OutputCounts(counts));
        }
    }

    fn pass_on_requests(&mut self) {
        // Before that, the meter reads its control line only for a request to stop.
        if self.phase == Some(RunPhase::Measure)
            && let Some(requests) = self.requests
        {
            let lines = requests.take();
            if !lines.is_empty() && self.received.is_some() {
                let problem = Problem::new(Severity::Notice, &RunProblem::RequestNotPassedOn);
                // If the archive cannot be written, the next frame shows it.
                let _ = self.writer.append(&Message::Problem(problem.clone()));
                (self.watch)(Event::Problem(problem));
            } else if !lines.is_empty() {
                let _ = self.command.write(lines.as_bytes());
            }
        }
    }

    fn report_what_the_host_saw(&mut self, last: bool) {
        for (spike, due_ns, seen_ns) in std::mem::take(&mut self.unseen) {
            match self.command.outside(due_ns, seen_ns, last) {
                Outside::Later => self.unseen.push((spike, due_ns, seen_ns)),
                Outside::Unknown => {}
                Outside::Seen(seen) => {
                    // If the archive cannot be written, the next frame shows it.
                    let _ = self.writer.append(&Message::Absences(SpikeAbsences { spike, ..seen }));
                }
            }
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let kept = self.received.as_mut().filter(|_| self.facts.storage_failure.is_none());
        match kept.map_or(Ok(None), |received| received.append(bytes)) {
            Ok(Some(safe)) => self.command.stored(safe),
            Ok(None) => {}
            Err(error) => self.storage_failed(&error),
        }
        let items = self.decoder.push(bytes);
        self.take(items);
    }

    /// Reads what was on its way when the meter ended.
    fn drain(&mut self) {
        let begun = self.command.elapsed();
        while self.facts.excess.is_none()
            && self.command.elapsed().saturating_sub(begun) < DRAIN_LIMIT
            && let Output::Bytes(bytes) = self.command.read(Duration::ZERO)
        {
            self.receive(&bytes);
        }
    }

    fn take(&mut self, items: Vec<Item>) {
        for item in items {
            if !self.affords(&item) {
                return;
            }
            if !matches!(item, Item::Garbage { .. }) {
                self.last_frame = self.listened;
            }
            self.note(&item);
            if let Item::Message(Message::Phase { phase, .. }) = &item {
                self.hold_files(matches!(phase, RunPhase::Settle | RunPhase::Measure));
            }
            self.store(&item);
            if let Some(event) = Event::of(item) {
                (self.watch)(event);
            }
        }
    }

    /// Whether the run may still send this. The rest of the stream is of no use if not.
    fn affords(&mut self, item: &Item) -> bool {
        if self.facts.excess.is_none() {
            let charged = self.budget.charge(item, self.age());
            self.exceeded(charged);
        }
        self.facts.excess.is_none()
    }

    fn exceeded(&mut self, charged: Result<(), Excess>) {
        if let Err(excess) = charged {
            self.facts.excess = Some(excess);
            (self.watch)(Event::Stopping(StopReason::TooMuch));
        }
    }

    fn age(&self) -> Duration {
        self.clock.before.saturating_add(self.command.elapsed()).saturating_mul(self.clock.pace)
    }

    fn note(&mut self, item: &Item) {
        match item {
            Item::Message(Message::Hello { stream_version, .. }) if *stream_version <= STREAM_VERSION => {
                self.facts.greeted = true;
            }
            Item::Message(Message::Hello { stream_version, .. }) if *stream_version > STREAM_VERSION => {
                self.facts.foreign = Some(*stream_version);
                self.ask_to_stop(StopReason::NewerStream);
            }
            Item::Message(Message::Phase { phase, .. }) => {
                self.phase = Some(*phase);
                self.phase_since = self.listened;
                self.start_or_stop_board(*phase);
                self.report_to_others(*phase);
            }
            Item::Message(Message::Problem(problem)) if problem.severity == Severity::Invalid => {
                self.facts.invalid = Some(problem.clone());
            }
            Item::Message(Message::Spike(spike)) => {
                self.unseen.push((spike.number, spike.sample.due_ns, spike.sample.seen_ns()));
            }
            Item::Message(Message::End { ending, .. }) => self.facts.ending = Some(*ending),
            _ => {}
        }
    }

    fn store(&mut self, item: &Item) {
        let before = self.writer.stream_bytes();
        self.store_item(item);
        let charged = self.budget.charge_stored(self.writer.stream_bytes() - before, self.age());
        self.exceeded(charged);
    }

    fn store_item(&mut self, item: &Item) {
        if self.facts.storage_failure.is_none() {
            if let Err(error) = self.writer.store(item) {
                self.storage_failed(&error);
            }
        } else if matches!(item, Item::Message(Message::Thread { .. } | Message::Problem(_) | Message::End { .. })) {
            // The reserve has space for the totals; without them the whole measurement would be lost.
            let _ = self.writer.store(item);
        }
    }

    fn hold_files(&mut self, hold: bool) {
        if self.stores_afterwards
            && self.facts.storage_failure.is_none()
            && let Err(error) = self.writer.hold_files(hold)
        {
            self.storage_failed(&error);
        }
    }

    fn storage_failed(&mut self, error: &WriteError) {
        self.facts.storage_failure = Some(error.to_string());
        self.writer.release_reserve();
        self.ask_to_stop(StopReason::ArchiveNotWritten);
    }

    fn ask_to_stop(&mut self, reason: StopReason) {
        if self.stopping_since.is_none() {
            self.stopping_since = Some(self.listened);
            // A meter that no longer reads is about to end; otherwise the time limits catch it.
            let _ = self.command.write(b"stop\n");
            (self.watch)(Event::Stopping(reason));
        }
    }

    /// Forwards stop requests; false if the meter must be killed.
    fn handle_requests(&mut self) -> bool {
        let requests = self.stop.count();
        if requests == 0 {
            return true;
        }
        let first = self.facts.stop_requests == 0;
        self.facts.stop_requests = requests;
        if first && requests == 1 && self.board.as_ref().is_some_and(Board::is_measuring) {
            // Stimuli that the target no longer answers would count as lost.
            self.holds_request = true;
            if let Some(board) = &mut self.board {
                board.stop(self.listened);
            }
            return true;
        }
        if first && requests == 1 && self.part.is_some_and(Part::is_needed) {
            // Stimuli that it no longer answers would count as lost: it ends when the other run has.
            return true;
        }
        if first && requests == 1 {
            self.ask_to_stop(StopReason::Requested);
            return true;
        }
        self.facts.killed_by_request = requests > 1;
        requests == 1
    }

    /// Checks the time limits; false if the meter is stuck and has had its last chance.
    fn check_limits(&mut self) -> bool {
        if self.facts.ending.is_some() {
            // Its ending message is valid; only its exit is missing.
            return self.listened.saturating_sub(self.last_frame) < self.limits.stop;
        }
        if self.facts.stuck.is_none() {
            self.facts.stuck = self.stuck();
            if self.facts.stuck.is_none() {
                return true;
            }
            self.ask_to_stop(StopReason::Stuck);
            // An earlier request had no effect; this one starts a new time limit.
            self.stopping_since = Some(self.listened);
        }
        self.stopping_since.is_some_and(|since| self.listened.saturating_sub(since) < LAST_CHANCE)
    }

    fn stuck(&self) -> Option<Stuck> {
        let now = self.listened;
        if now.saturating_sub(self.last_frame) >= self.limits.silence {
            return Some(Stuck::Silent { limit: self.limits.silence });
        }
        let phase = self.phase.unwrap_or(RunPhase::Check);
        let in_phase = now.saturating_sub(self.phase_since);
        if let Some(limit) = self.limits.phase(phase)
            && in_phase >= limit
        {
            return Some(Stuck::PhaseTooLong { limit });
        }
        let since_stop = self.stopping_since.map_or(Duration::ZERO, |since| now.saturating_sub(since));
        let measuring = !matches!(phase, RunPhase::Collect | RunPhase::Restore);
        let limit = self.limits.stop;
        (measuring && since_stop >= limit).then_some(Stuck::PhaseTooLong { limit })
    }
}
