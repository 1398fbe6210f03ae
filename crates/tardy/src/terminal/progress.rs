//! Shows a run in progress: a block that is redrawn on a terminal, one line a minute in a log. Decides nothing.

mod histogram;
mod status;

use crate::terminal::page::may_colour;
use crate::terminal::screen;
use archive::settings::RunSettings;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runner::event::{Event, StopReason};
use status::Status;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use words::printable::printable;
use words::saved;

/// An upper bound, because on a local target every redraw disturbs the measurement.
const REDRAWS_PER_SECOND: u8 = 4;
const REDRAW: Duration = Duration::from_millis(1000 / REDRAWS_PER_SECOND as u64);

/// The cursor is at the end of a block.
static BLOCK_SHOWN: AtomicBool = AtomicBool::new(false);

/// Leaves the block as it is, so that what is printed next starts on its own line: for a panic, which draws nothing.
pub fn abandon_block() {
    if BLOCK_SHOWN.swap(false, Ordering::SeqCst) {
        complain!("");
    }
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// A block on a terminal, otherwise lines.
    Live,
    Lines,
    Nothing,
}

impl View {
    /// A view for runs of which only the result matters where `quiet`.
    pub fn unless(quiet: bool) -> Self {
        if quiet { Self::Nothing } else { Self::Live }
    }
}

/// Interval between the lines of a log.
const LOG_LINE: Duration = Duration::from_secs(60);

/// The view of one run on standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    status: Status,
    phase_since: Instant,
    /// Time of the last line in a log.
    logged: Instant,
    quiet: bool,
}

impl Progress {
    /// A view suited to standard error. Problems are left to the summary, which has all of them.
    pub fn new(view: View, settings: &RunSettings) -> Self {
        let quiet = view == View::Nothing;
        let terminal = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let bar = (terminal && view == View::Live).then(|| {
            BLOCK_SHOWN.store(true, Ordering::SeqCst);
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND));
            let spinner = if may_colour(&io::stderr()) { "{spinner:.cyan} {msg}" } else { "{spinner} {msg}" };
            bar.set_style(ProgressStyle::with_template(spinner).expect("the template is sound"));
            bar.enable_steady_tick(REDRAW);
            bar
        });
        let now = Instant::now();
        Self { bar, status: Status::new(settings), phase_since: now, logged: now, quiet }
    }

    /// Processes an event and redraws.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Phase(_) => self.phase_since = Instant::now(),
            // A run that stalls needs an explanation, wherever its summary goes.
            Event::Line(news) if !self.quiet => self.aside(|| complain!("tardy: {}", printable(&news.to_string()))),
            Event::Spike(spike) if spike.requested && !self.quiet => {
                let by = printable(&saved::by_whom(spike.request.as_ref()));
                let missing = spike.snapshot_missing.as_ref().filter(|_| spike.snapshot.is_none());
                self.aside(|| match missing {
                    None => complain!("tardy: kept the last seconds as spike {}, {by}", spike.number),
                    Some(why) => complain!("tardy: could not keep the last seconds, {by}: {}", printable(why)),
                });
            }
            // No archive contains this.
            Event::NotGivenBack(problem) => {
                self.clear();
                complain!("tardy: {}", printable(&problem.text));
            }
            // That is how the run of a target ends whose stimuli another machine gives.
            Event::Stopping(StopReason::OthersEnded) => {}
            Event::Stopping(reason) if self.bar.is_none() && !self.quiet => {
                complain!("tardy: stopping ({reason})");
            }
            _ => {}
        }
        self.status.take(event, self.phase_since.elapsed());
        self.draw();
        if self.bar.is_none() && !self.quiet && self.logged.elapsed() >= LOG_LINE {
            self.logged = Instant::now();
            complain!("tardy: {}", self.status.line(self.phase_since.elapsed()));
        }
    }

    /// Whether the view can show a cause before the run is over.
    pub fn is_live(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows the cause of a spike, or why it is not known yet.
    pub fn cause(&mut self, spike: u32, cause: &str) {
        self.status.cause(spike, cause);
        self.draw();
    }

    /// Shows the progress of explaining.
    pub fn explaining(&mut self, done: usize, total: usize) {
        self.status.explaining(done, total);
        self.draw();
    }

    /// Calls a function that prints, with the block removed.
    pub fn aside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Removes the block from the terminal.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            BLOCK_SHOWN.store(false, Ordering::SeqCst);
        }
    }

    fn draw(&mut self) {
        if let Some(bar) = &self.bar {
            // The user may have resized the terminal.
            self.status.fit(screen::size_of_stderr());
            bar.set_message(self.status.lines(self.phase_since.elapsed()).join("\n"));
        }
    }
}
