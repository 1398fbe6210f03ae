//! An external board that gives the stimuli of a run: starts it with the measurement, keeps what it measured, and ends it
//! before the target stops to answer.
//!
//! The host talks to the board, so the target needs no network. What comes from the board is not trusted: it is bounded by the
//! protocol's numbers, and what contradicts them ends the conversation.

mod line;
pub mod problem;

pub use line::connect;

use archive::loss::{Loss, LossKind};
use archive::problem::{Problem, Severity};
use archive::stimulus::{StimulusBoard, StimulusProtocol};
use line::Line;
use problem::StimulusProblem;
use protocol::latmon::{CELLS_MAX, Decoder, PERIOD_US_MAX, Part, Record, STOP, answers_of_a_record, start};
use std::io;
use std::time::Duration;

/// Longest silence of a board beside the time of a record.
const SILENCE: Duration = Duration::from_secs(10);
/// Time that a board may need for a stimulus beside its period: it sleeps in ticks, and the answer takes its time.
const STIMULUS_OVERHEAD: Duration = Duration::from_millis(2);
/// Time for the rest of a board when the target no longer answers.
const REST: Duration = Duration::from_secs(5);
const REST_STEP: Duration = Duration::from_millis(50);
/// Interval of what is stored while the board measures.
const STORED_EVERY: Duration = Duration::from_secs(60);
/// Most bytes that are read at once: a board sends 24 a second, and 4000 at its end.
const BYTES_AT_ONCE: usize = 16 << 10;
/// Time before the end of the run at which the board is asked to end: it completes the record that it has begun.
const ENDING: Duration = Duration::from_secs(3);

/// How far the conversation with a board has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Connected,
    Measuring { stop_at: Option<Duration> },
    Stopping { since: Duration },
    Over,
}

/// A board that is connected.
pub struct Board {
    line: Box<dyn Line>,
    decoder: Decoder,
    figures: StimulusBoard,
    progress: Progress,
    heard_at: Duration,
    stored_at: Duration,
    /// It has figures that are not stored. Nothing was asked of it: it has none.
    is_changed: bool,
    problem: Option<StimulusProblem>,
}

impl Board {
    /// A board at this address, on which nothing was asked yet.
    pub fn new(line: Box<dyn Line>, address: String, interval_ns: u64) -> Self {
        let period_us = u32::try_from(interval_ns / 1000).unwrap_or(PERIOD_US_MAX).clamp(1, PERIOD_US_MAX);
        Self {
            line,
            decoder: Decoder::new(period_us, CELLS_MAX),
            figures: StimulusBoard::without_answers(StimulusProtocol::Latmon, address, period_us),
            progress: Progress::Connected,
            heard_at: Duration::ZERO,
            stored_at: Duration::ZERO,
            is_changed: false,
            problem: None,
        }
    }

    /// Has the board give stimuli, for a measurement of this length. All instants are of one clock.
    pub fn start(&mut self, now: Duration, duration: Option<Duration>) {
        if self.progress != Progress::Connected {
            return;
        }
        let stop_at = duration.map(|duration| now + duration.saturating_sub(ENDING).max(duration / 2));
        self.progress = Progress::Measuring { stop_at };
        self.heard_at = now;
        self.stored_at = now;
        self.is_changed = true;
        self.send(start(self.figures.period_us, CELLS_MAX));
    }

    /// Has the board end its measurement, and send the rest.
    pub fn stop(&mut self, now: Duration) {
        match self.progress {
            Progress::Connected => self.progress = Progress::Over,
            Progress::Measuring { .. } => {
                self.progress = Progress::Stopping { since: now };
                self.send(STOP);
            }
            Progress::Stopping { .. } | Progress::Over => {}
        }
    }

    pub fn is_over(&self) -> bool {
        self.progress == Progress::Over
    }

    pub fn is_measuring(&self) -> bool {
        matches!(self.progress, Progress::Measuring { .. } | Progress::Stopping { .. })
    }

    /// Reads what the board has sent, and checks its time limits.
    pub fn advance(&mut self, now: Duration) {
        if self.is_measuring() {
            self.read(now);
        }
        let limit = self.silence();
        match self.progress {
            Progress::Measuring { stop_at } => {
                if now.saturating_sub(self.heard_at) >= limit {
                    // What it has counted until then may still come.
                    self.problem = Some(StimulusProblem::Silent { limit, answers: self.figures.answers });
                    self.stop(now);
                } else if stop_at.is_some_and(|stop_at| now >= stop_at) {
                    self.stop(now);
                }
            }
            Progress::Stopping { since } if now.saturating_sub(since) >= limit => {
                let silent = StimulusProblem::Silent { limit, answers: self.figures.answers };
                self.give_up(silent);
            }
            _ => {}
        }
    }

    /// Waits a few seconds for the rest of a board, for a target that no longer answers.
    pub fn finish(&mut self, now: Duration) {
        self.stop(now);
        let mut waited = Duration::ZERO;
        while !self.is_over() && waited < REST {
            self.advance(now);
            if !self.is_over() {
                self.line.pause(REST_STEP);
                waited += REST_STEP;
            }
        }
        if !self.is_over() {
            self.give_up(StimulusProblem::Silent { limit: REST, answers: self.figures.answers });
        }
    }

    /// The message to store, if there is one.
    pub fn figures(&mut self, now: Duration) -> Option<StimulusBoard> {
        let due = self.is_over() || now.saturating_sub(self.stored_at) >= STORED_EVERY;
        if !due || !self.is_changed {
            return None;
        }
        self.is_changed = false;
        self.stored_at = now;
        Some(self.figures.clone())
    }

    /// The problem of the conversation, returned once after its end.
    pub fn problem(&mut self) -> Option<Problem> {
        let problem = if self.is_over() { self.problem.take() } else { None };
        problem.map(|problem| Problem::new(severity(&problem), &problem))
    }

    /// The stimuli of a board that saw no answer: no signal, and so no latency. The overruns of others may be periods that a late
    /// answer took.
    pub fn unanswered(&self) -> Option<Loss> {
        let StimulusBoard { answers, overruns, .. } = self.figures;
        let detail = "to stimuli of the board: no signal came back, so there is no latency".to_owned();
        (self.is_over() && answers == 0 && overruns > 0).then_some(Loss {
            kind: LossKind::Answers,
            count: overruns,
            detail,
        })
    }

    /// Longest silence in which a board can be well.
    fn silence(&self) -> Duration {
        SILENCE + STIMULUS_OVERHEAD * answers_of_a_record(self.figures.period_us)
    }

    fn send(&mut self, request: [u8; 8]) {
        if let Err(error) = self.line.send(&request) {
            self.give_up(StimulusProblem::Cut { why: error.to_string(), answers: self.figures.answers });
        }
    }

    fn read(&mut self, now: Duration) {
        let mut bytes = [0; 4096];
        for _ in 0..BYTES_AT_ONCE / bytes.len() {
            let count = match self.line.receive(&mut bytes) {
                Ok(0) => {
                    let why = "the board closed the connection".to_owned();
                    return self.give_up(StimulusProblem::Cut { why, answers: self.figures.answers });
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return self
                        .give_up(StimulusProblem::Cut { why: error.to_string(), answers: self.figures.answers });
                }
            };
            let mut parts = Vec::new();
            let outcome = self.decoder.push(&bytes[..count], &mut parts);
            parts.into_iter().for_each(|part| self.take(part, now));
            if let Err(contradiction) = outcome {
                return self.give_up(StimulusProblem::WrongAnswer { contradiction });
            }
            if self.decoder.is_complete() {
                return self.complete();
            }
        }
    }

    fn take(&mut self, part: Part, now: Duration) {
        self.is_changed = true;
        match part {
            Part::Record(record) => {
                self.heard_at = now;
                self.add(&record);
            }
            Part::Last { overruns } => self.figures.overruns += u64::from(overruns),
            Part::Cells(cells) => self.figures.cells = cells,
        }
    }

    fn add(&mut self, record: &Record) {
        let figures = &mut self.figures;
        let (min, max) = (u64::from(record.min_ns), u64::from(record.max_ns));
        figures.records += 1;
        figures.answers += u64::from(record.answers);
        figures.overruns += u64::from(record.overruns);
        figures.latency_ns_min = Some(figures.latency_ns_min.map_or(min, |least| least.min(min)));
        figures.latency_ns_max = Some(figures.latency_ns_max.map_or(max, |most| most.max(max)));
        figures.latency_ns_sum = figures.latency_ns_sum.saturating_add(record.sum_ns);
    }

    fn complete(&mut self) {
        if matches!(self.progress, Progress::Measuring { .. }) {
            return self.give_up(StimulusProblem::EndedEarly { answers: self.figures.answers });
        }
        self.figures.complete = true;
        self.progress = Progress::Over;
        self.is_changed = true;
        if self.figures.answers == 0 {
            self.problem = Some(StimulusProblem::NoSignal { overruns: self.figures.overruns });
        }
    }

    fn give_up(&mut self, problem: StimulusProblem) {
        // What was found first led to the rest.
        self.problem.get_or_insert(problem);
        self.progress = Progress::Over;
        self.is_changed = true;
    }
}

/// Without any answer at the board, the latency that the run is for was not measured.
fn severity(problem: &StimulusProblem) -> Severity {
    match problem {
        StimulusProblem::NoSignal { .. } | StimulusProblem::Silent { answers: 0, .. } => Severity::Invalid,
        _ => Severity::Degraded,
    }
}

#[cfg(test)]
mod tests;
