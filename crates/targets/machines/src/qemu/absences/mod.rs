//! Records when the host did not execute a processor of the guest, in the guest's time.
//!
//! The guest only sees a gap, and cannot distinguish it from masked interrupts. On the host it is visible: the thread
//! that executes the processor was stopped, or was runnable without a CPU. `processors` reads the counters of those
//! threads, `track` converts the readings to stretches, `clocks` converts their instants to the guest's time.
//!
//! A processor that waits for a lock of the emulator sleeps like an idle one, and is not recorded.

mod clocks;
mod processors;
mod track;

use super::error::WatchError;
use super::guest_reports::{GuestReports, lock, monotonic_ns};
use super::virtual_time::steady;
use crate::Outside;
use crate::machine_event::{MachineEvent, ProcessorAbsence};
use archive::absence::{ABSENCES_MAX, Absence, SpikeAbsences};
use clocks::{Clocks, Difference, Exchange};
use processors::Processor;
use protocol::guest::{HostLine, HostWord};
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use track::{Away, Look, Track};

/// Interval between readings, unless a reading itself takes long.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// The pause after a reading is this many times its duration.
const PAUSES: u32 = 30;
/// Interval between questions about the guest's clock, and time limit for an answer.
const ASK_EVERY: Duration = Duration::from_millis(250);
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Most stretches kept for spikes not yet reported; the oldest are dropped.
const AWAYS_MAX: usize = 100_000;

/// A thread that records absences for the lifetime of this value.
#[derive(Debug)]
pub struct AbsenceWatch {
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Everything recorded so far.
#[derive(Debug, Default)]
struct Seen {
    /// By CPU of the guest.
    away: VecDeque<(u32, Away)>,
    /// Before this instant of the host's clock nothing was recorded, or it was dropped.
    since_ns: i64,
    clocks: Clocks,
    /// For each CPU, in ns: time stopped, and time runnable without a CPU.
    sums: Vec<(u32, i64, i64)>,
    /// One thread executes several CPUs.
    in_turns: bool,
}

impl AbsenceWatch {
    /// Watches the `cpus` processors of an emulator. The guest is asked for its clock once it has reported it by
    /// itself.
    ///
    /// # Errors
    /// [`WatchError`] if there is nothing to watch.
    pub fn start(
        process: u32,
        cpus: u32,
        words: UnixStream,
        reports: Arc<Mutex<GuestReports>>,
    ) -> Result<Self, WatchError> {
        let mut processors: Vec<(Processor, Track)> =
            Processor::all_of(process, cpus).into_iter().map(|processor| (processor, Track::default())).collect();
        if processors.is_empty() {
            return Err(WatchError::NoThreads);
        }
        if processors.iter_mut().any(|(processor, _)| processor.read().is_none()) {
            return Err(WatchError::NotCounted);
        }
        let in_turns = processors.iter().any(|(processor, _)| processor.cpus.len() > 1);
        let seen = Arc::new(Mutex::new(Seen { in_turns, ..Seen::default() }));
        let over = Arc::new(AtomicBool::new(false));
        let look = Looking {
            processors,
            asking: Asking { words, reports, asked: None },
            seen: Arc::clone(&seen),
            over: Arc::clone(&over),
        };
        let thread = thread::Builder::new().name("tardy-absences".into()).spawn(move || look.go_on());
        let thread = thread.map_err(WatchError::NoThread)?;
        Ok(Self { seen, over, thread: Some(thread) })
    }

    /// When CPUs were not executed in a stretch of the guest's CLOCK_MONOTONIC. `last`: there will be no later call.
    pub fn outside(&self, from_ns: i64, to_ns: i64, last: bool) -> Outside {
        lock(&self.seen).outside(from_ns, to_ns, last)
    }

    /// How long the host did not execute the processors; `None` if it always did.
    pub fn summary(&self) -> Option<MachineEvent> {
        lock(&self.seen).summary()
    }
}

impl Drop for AbsenceWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // It never panics, and a panic would need no handling here.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Seen {
    fn summary(&self) -> Option<MachineEvent> {
        let absence = |&(cpu, stopped_ns, waited_ns): &(u32, i64, i64)| ProcessorAbsence { cpu, stopped_ns, waited_ns };
        let processors: Vec<ProcessorAbsence> =
            self.sums.iter().map(absence).filter(|one| one.stopped_ns > 0 || one.waited_ns > 0).collect();
        (!processors.is_empty()).then_some(MachineEvent::Absent { stretch_ns: track::AWAY_NS_MIN, processors })
    }

    fn keep(&mut self, cpu: u32, away: Away) {
        let sum = match self.sums.iter_mut().position(|(known, ..)| *known == cpu) {
            Some(index) => &mut self.sums[index],
            None => {
                self.sums.push((cpu, 0, 0));
                let last = self.sums.len() - 1;
                &mut self.sums[last]
            }
        };
        if away.stopped {
            sum.1 += away.ns();
        } else {
            sum.2 += away.ns();
        }
        if self.away.len() == AWAYS_MAX
            && let Some((_, oldest)) = self.away.pop_front()
        {
            self.since_ns = self.since_ns.max(oldest.end_ns);
        }
        self.away.push_back((cpu, away));
    }

    fn outside(&self, from_ns: i64, to_ns: i64, last: bool) -> Outside {
        if !last && !self.clocks.is_settled(to_ns) {
            return Outside::Later;
        }
        let Some(difference) = self.clocks.difference(to_ns) else { return Outside::Unknown };
        let host_ns = |guest_ns: i64| guest_ns.saturating_add(difference.ns);
        if host_ns(from_ns) < self.since_ns {
            return Outside::Unknown;
        }
        let absence = |&(cpu, away): &(u32, Away)| Absence {
            cpu,
            start_ns: away.start_ns - difference.ns,
            end_ns: away.end_ns - difference.ns,
            slack_ns: away.slack_ns + difference.slack_ns,
            stopped: away.stopped,
        };
        let inside = |absence: &Absence| {
            absence.end_ns.saturating_add(absence.slack_ns) > from_ns
                && absence.start_ns.saturating_sub(absence.slack_ns) < to_ns
        };
        let mut found: Vec<Absence> = self.away.iter().map(absence).filter(inside).collect();
        found.sort_by_key(|absence| std::cmp::Reverse(absence.end_ns - absence.start_ns));
        let left_out = found.len().saturating_sub(ABSENCES_MAX) as u64;
        found.truncate(ABSENCES_MAX);
        found.sort_by_key(|absence| (absence.start_ns, absence.cpu));
        let Difference { ns: host_minus_guest_ns, slack_ns } = difference;
        let in_turns = self.in_turns;
        Outside::Seen(SpikeAbsences { spike: 0, absences: found, host_minus_guest_ns, slack_ns, left_out, in_turns })
    }
}

/// State of the thread.
struct Looking {
    processors: Vec<(Processor, Track)>,
    asking: Asking,
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
}

impl Looking {
    fn go_on(mut self) {
        // The reading thread must not wait for a CPU at the same time as the emulator. Without the privilege, readings
        // come late, and record that.
        let _ = steady::before_ordinary_threads();
        while !self.over.load(Ordering::SeqCst) {
            let begun = Instant::now();
            for (processor, track) in &mut self.processors {
                let from_ns = monotonic_ns();
                let Some(reading) = processor.read() else { continue };
                let look = Look { from_ns, to_ns: monotonic_ns() };
                let Some(away) = track.take(look, reading) else { continue };
                let mut seen = lock(&self.seen);
                processor.cpus.clone().for_each(|cpu| seen.keep(cpu, away));
            }
            if let Some(exchange) = self.asking.go_on() {
                lock(&self.seen).clocks.take(exchange);
            }
            thread::sleep(LOOK_EVERY.max(begun.elapsed() * PAUSES));
        }
    }
}

/// Asks the guest for its clock, one question at a time.
struct Asking {
    words: UnixStream,
    reports: Arc<Mutex<GuestReports>>,
    /// The last question, and whether it was answered. `None` until the guest has shown that it understands questions.
    asked: Option<(i64, bool)>,
}

impl Asking {
    /// An answer received since the last call.
    fn go_on(&mut self) -> Option<Exchange> {
        let now_ns = monotonic_ns();
        let reading = lock(&self.reports).clock.take();
        let mut exchange = None;
        match (reading, &mut self.asked) {
            (Some(_), asked @ None) => *asked = Some((i64::MIN, true)),
            (Some(reading), Some((asked_ns, answered))) if reading.asked_ns == *asked_ns => {
                *answered = true;
                exchange = Some(Exchange {
                    asked_ns: *asked_ns,
                    received_ns: reading.received_ns,
                    guest_ns: reading.monotonic_ns,
                });
            }
            _ => {}
        }
        let due_ns = self.asked.map(|(asked_ns, answered)| {
            let pause = if answered { ASK_EVERY } else { ANSWER_LIMIT };
            asked_ns.saturating_add(pause.as_nanos() as i64)
        });
        if due_ns.is_some_and(|due_ns| now_ns >= due_ns) {
            let word = HostWord::Clock { asked_ns: now_ns };
            // A guest that is gone is detected elsewhere.
            let line = serde_json::to_string(&HostLine { data_before: 0, word }).map(|line| line + "\n");
            let _ = line.map(|line| self.words.write_all(line.as_bytes()));
            self.asked = Some((now_ns, false));
        }
        exchange
    }
}

#[cfg(test)]
mod tests;
