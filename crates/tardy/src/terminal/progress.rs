//! Shows a run in progress: a block that is redrawn on a terminal, one line a minute in a log. Decides nothing.

mod status;

use crate::terminal::page::may_colour;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runner::event::Event;
use status::Status;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};
use words::printable::printable;

/// Long, because on a local target every redraw disturbs the measurement.
const REDRAW: Duration = Duration::from_millis(250);

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
    pub fn new(quiet: bool, duration_ns: Option<u64>) -> Self {
        let terminal = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let spinner = if may_colour(&io::stderr()) { "{spinner:.cyan} {msg}" } else { "{spinner} {msg}" };
            bar.set_style(ProgressStyle::with_template(spinner).expect("the template is sound"));
            bar.enable_steady_tick(REDRAW);
            bar
        });
        let now = Instant::now();
        Self { bar, status: Status::new(duration_ns), phase_since: now, logged: now, quiet }
    }

    /// Processes an event and redraws.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Phase(_) => self.phase_since = Instant::now(),
            // A run that stalls needs an explanation, wherever its summary goes.
            Event::Line(news) if !self.quiet => self.aside(|| complain!("tardy: {}", printable(&news.to_string()))),
            // No archive contains this.
            Event::NotGivenBack(problem) => {
                self.clear();
                complain!("tardy: {}", printable(&problem.text));
            }
            Event::Stopping(reason) if self.bar.is_none() && !self.quiet => {
                complain!("tardy: stopping ({reason})");
            }
            _ => {}
        }
        self.status.take(event);
        self.draw();
        if self.bar.is_none() && !self.quiet && self.logged.elapsed() >= LOG_LINE {
            self.logged = Instant::now();
            complain!("tardy: {}", self.status.line(self.phase_since.elapsed()));
        }
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
        }
    }

    fn draw(&self) {
        if let Some(bar) = &self.bar {
            bar.set_message(self.status.lines(self.phase_since.elapsed()).join("\n"));
        }
    }
}
