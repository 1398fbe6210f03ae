//! A table of watched threads on the terminal: how late each wakes now, how late it was at worst, and why.
//!
//! It measures nothing itself. The watch is the one of a guard ([`crate::guarding`]): its events become figures in
//! [`threads`], with quantiles of the last [`minute`]; [`explaining`] accounts for the worst wake-up of each thread. [`table`] is the
//! text, [`view`] the picture, [`screen`] and [`keys`] the terminal; [`drawing`] draws what is [`live`].

mod drawing;
mod explaining;
mod keys;
mod live;
mod minute;
pub mod screen;
mod table;
mod threads;
mod view;

use crate::archives::new_below;
use crate::exit::{Exit, UsageError};
use crate::guarding::config::{GuardConfig, Time};
use crate::guarding::known::KnownRun;
use crate::guarding::session;
use crate::guarding::weighing::Weighing;
use crate::measuring::signals::Signals;
use crate::nothing_measured::{NothingMeasured, with_fix};
use crate::terminal::page::Page;
use anyhow::Context;
use archive::layout::STREAM;
use archive::manifest::RunState;
use archive::message::RunPhase;
use archive::settings::{RunSettings, TraceSettings};
use archive::watched::WatchSettings;
use archive::watched::guard::GuardSettings;
use drawing::Drawing;
use explaining::Explaining;
use live::{Live, Shared, Stage};
use machines::KnownTarget;
use machines::board::AccessOptions;
use machines::meter_places::MeterPlaces;
use machines::scratch::Scratch;
use machines::stop::StopRequests;
use runner::event::Event;
use runner::run::{MeterRequests, RunOutcome, RunRequest, TimeLimits, run_guarding};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use table::{Snapshot, Sort};

/// Without a limit: wake-ups below this are on time on most machines, and tracing each new maximum costs.
const TRACED_FROM_NS: i64 = 100_000;
/// Interval between states of the histograms, of which the quantiles of the last minute are the difference.
const TOTALS_NS: u64 = 5_000_000_000;
/// Only a new maximum gets a trace: the table shows the worst.
const REST_NS: u64 = 365 * 86_400 * 1_000_000_000;
/// Traces on the disk; when they are full, a worse wake-up replaces the least one.
const TRACES_BYTES_MAX: u64 = 64 << 20;
/// Length of the archive's stream at which the view ends: days, with a few hundred threads.
const STREAM_BYTES_MAX: u64 = 512 << 20;
/// A real-time task may keep the meter from the CPU for a while.
const SILENCE: Duration = Duration::from_secs(120);
/// The cost line names the events that are not recorded.
const EVENTS_SHED: &str = "meter.events-shed";
/// Columns of a plain table that no terminal shows.
const PLAIN_COLUMNS: usize = 200;

/// The request of the user.
#[derive(Debug)]
pub struct Asked {
    pub watch: WatchSettings,
    pub limit_ns: Option<i64>,
    pub budget_percent: f64,
    /// Place of the archive, if it is kept.
    pub directory: Option<PathBuf>,
    /// Prints one table after this time.
    pub once_ns: Option<u64>,
}

/// Watches until a key or a signal ends it, or the process that it watches has ended.
///
/// # Errors
/// If it could not begin.
pub fn top(asked: Asked, typed: Vec<String>) -> anyhow::Result<Exit> {
    if asked.once_ns.is_none() && !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(no_terminal().into());
    }
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    let scratch = match asked.directory {
        Some(_) => None,
        None => Some(Scratch::make("top").context("failed to make a temporary directory; set TMPDIR, or --directory")?),
    };
    let place = asked.directory.as_deref().or(scratch.as_ref().map(Scratch::path)).unwrap_or(Path::new("."));
    let here = KnownTarget::local();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (directory, id) = new_below(place, since_1970.as_secs(), &here.host_name())?;
    let settings = settings(&asked);
    let shared = Shared::of(Live {
        host: here.host_name(),
        whom: asked.watch.whom(),
        limit_ns: asked.limit_ns,
        traced_from_ns: settings.trace.threshold_ns,
        budget_percent: asked.budget_percent,
        threads: threads::Threads::of(asked.watch.real_time),
        ..Live::default()
    });
    let mut following = Following {
        known: KnownRun::of(&directory, settings.clone()),
        weighing: Weighing::of(asked.budget_percent),
        explaining: Explaining::start().context("failed to start a thread")?,
        requests: MeterRequests::default(),
        shared: shared.clone(),
        meter: None,
        problems: BTreeMap::new(),
        stream: None,
    };
    let request = RunRequest {
        id,
        directory,
        command: typed,
        tool_version: env!("CARGO_PKG_VERSION").into(),
        meter: meter.clone(),
        limits: TimeLimits::of(&settings, SILENCE),
        settings,
    };
    let stop = signals.requests().clone();
    // Its reports would be in the middle of the table.
    let mut target = here.open(&meter, AccessOptions::default(), stop.clone())?;
    following.stream = Some((request.directory.join(STREAM), stop.clone()));
    let drawing = match asked.once_ns {
        None => Some(Drawing::start(shared.clone(), stop.clone()).context("failed to use the terminal")?),
        Some(_) => None,
    };
    let requests = following.requests.clone();
    let outcome = run_guarding(target.as_mut(), &request, &requests, &stop, &mut |event| following.take(&event));
    let last = shared.lock().snapshot();
    let drawn = drawing.map(Drawing::end).transpose();
    let once = asked.once_ns.is_some();
    following.end(once, &stop);
    let outcome = outcome?;
    failure(&outcome)?;
    drawn.context("failed to use the terminal")?;
    let exceeded = once && last.missed() > 0;
    let last = Snapshot { rows: shared.lock().threads.rows(last.elapsed), ..last };
    show(last, &outcome, once, asked.directory.is_some())?;
    Ok(if exceeded { Exit::LimitExceeded } else { Exit::Measured })
}

fn no_terminal() -> UsageError {
    let text = "the table needs a terminal as standard input and output; --once prints one table, `tardy watch` measures for a time, and \
                `tardy guard` writes an account of each late wake-up";
    UsageError(text.into())
}

/// The settings of a guard, without an end, for accounts of new maxima alone.
fn settings(asked: &Asked) -> RunSettings {
    let mut config = GuardConfig::default();
    config.watch.limit = asked.limit_ns.map(|ns| Time(ns.unsigned_abs()));
    let guards = session::settings(&config, None, None);
    let guard = guards.watch.as_ref().and_then(|watch| watch.guard.clone());
    let guard = guard.map(|guard| GuardSettings { totals_ns: Some(TOTALS_NS), kept_instance: None, ..guard });
    RunSettings {
        duration_ns: asked.once_ns,
        trace: TraceSettings {
            threshold_ns: asked.limit_ns.unwrap_or(TRACED_FROM_NS),
            budget_bytes: TRACES_BYTES_MAX,
            rest_ns: REST_NS,
            ..guards.trace
        },
        watch: Some(WatchSettings { guard, ..asked.watch.clone() }),
        ..guards
    }
}

/// Takes the events of the watch.
struct Following {
    known: KnownRun,
    weighing: Weighing,
    explaining: Explaining,
    requests: MeterRequests,
    shared: Shared,
    meter: Option<i32>,
    /// By code, each once.
    problems: BTreeMap<String, String>,
    /// The stream of the archive, which nobody reads, and the end of the watch.
    stream: Option<(PathBuf, StopRequests)>,
}

impl Following {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Greeted { pid } => self.meter = Some(*pid),
            Event::Phase(RunPhase::Measure) => {
                {
                    let mut live = self.shared.lock();
                    (live.begun, live.stage) = (Some(Instant::now()), live.stage.max(Stage::Watching));
                }
                if let Some(meter) = self.meter {
                    self.weighing.begin(meter, None, vec![self.explaining.tid]);
                }
            }
            Event::Phase(RunPhase::Collect) => {
                let mut live = self.shared.lock();
                (live.ended, live.stage) = (Some(Instant::now()), Stage::Ending);
            }
            Event::Progress { .. } => {
                self.weigh();
                self.look_after_room();
            }
            Event::Problem(problem) if problem.code.as_str() != EVENTS_SHED => {
                let text = with_fix(problem);
                self.shared.lock().notice = Some(words::printable::printable(&text));
                self.problems.insert(problem.code.to_string(), text);
            }
            _ => {}
        }
        let spike = self.known.take(event);
        let mut live = self.shared.lock();
        let now = live.elapsed();
        live.threads.take(event, now);
        if let Some(spike) = spike.filter(|spike| live.threads.spike(spike)) {
            self.explaining.add(spike);
        }
        drop(live);
        if let Some(explained) = self.explaining.look(&self.known) {
            self.shared.lock().threads.explained(explained);
        }
    }

    fn weigh(&mut self) {
        let weighed = self.weighing.look();
        if let Some(kinds) = weighed.and_then(|weighed| weighed.shed) {
            self.requests.shed(kinds);
        }
        let mut live = self.shared.lock();
        (live.cost_percent, live.shed) = (self.weighing.recent_percent(), self.weighing.kinds());
    }

    /// Ends the watch when its archive has become large: it may be in memory.
    fn look_after_room(&mut self) {
        let is_full = |(path, _): &(PathBuf, StopRequests)| {
            fs::metadata(path).is_ok_and(|stream| stream.len() > STREAM_BYTES_MAX)
        };
        if let Some((_, stop)) = self.stream.take_if(|stream| is_full(stream)) {
            self.problems.insert(STREAM.into(), words::top::full(STREAM_BYTES_MAX));
            stop.request();
        }
    }

    /// Prints the problems of the watch; waits for the accounts if `all`, until it is asked to stop.
    fn end(&mut self, all: bool, stop: &StopRequests) {
        let asked = stop.count();
        while let Some(explained) = if all { self.explaining.next(&self.known, || stop.count() > asked) } else { None }
        {
            self.shared.lock().threads.explained(explained);
        }
        for text in self.problems.values() {
            complain!("tardy top: {text}");
        }
    }
}

/// # Errors
/// The problem that failed the watch.
fn failure(outcome: &RunOutcome) -> anyhow::Result<()> {
    match &outcome.problem {
        Some(problem) if outcome.state == RunState::Failed => {
            Err(NothingMeasured { problem: problem.clone(), kept: String::new(), command: None }.into())
        }
        _ => Ok(()),
    }
}

/// Prints the table, or only its figures after it was on the terminal, and where the archive is.
fn show(mut last: Snapshot, outcome: &RunOutcome, table: bool, kept: bool) -> anyhow::Result<()> {
    let mut page = Page::for_stdout();
    if table {
        page.line(&last.title());
    }
    page.line(&last.figures());
    page.line(&last.cost());
    if table {
        let columns = crate::terminal::screen::width().unwrap_or(PLAIN_COLUMNS);
        page.blank();
        page.line(&last.header(columns));
        let mut rows = std::mem::take(&mut last.rows);
        Sort::default().sort(&mut rows);
        rows.iter().for_each(|row| page.line(&last.row(row, columns)));
    }
    if kept {
        page.line(&format!("archive: {}", outcome.directory.display()));
    }
    Ok(page.print()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_watches_as_a_guard_does_and_traces_new_maxima_alone() {
        let watch = WatchSettings { real_time: true, ..WatchSettings::default() };
        let asked = Asked { watch, limit_ns: None, budget_percent: 0.5, directory: None, once_ns: None };
        let found = settings(&asked);
        assert_eq!((found.duration_ns, found.limit_ns, found.trace.threshold_ns), (None, None, TRACED_FROM_NS));
        let watch = found.watch.unwrap();
        assert!(
            watch.real_time
                && watch.guard.is_some_and(|guard| (guard.totals_ns, guard.kept_instance) == (Some(TOTALS_NS), None))
        );
        let guards = session::settings(&GuardConfig::default(), None, None);
        assert_eq!(found.trace.buffer_kb_per_cpu, guards.trace.buffer_kb_per_cpu);
        let limited = settings(&Asked { limit_ns: Some(50_000), once_ns: Some(5), ..asked });
        assert_eq!(
            (limited.duration_ns, limited.limit_ns, limited.trace.threshold_ns),
            (Some(5), Some(50_000), 50_000)
        );
        // The capturing thread adds it to the time.
        assert!(i64::try_from(limited.trace.rest_ns).is_ok_and(|ns| ns < i64::MAX / 4));
    }
}
