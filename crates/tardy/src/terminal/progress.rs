//! Shows a run while it goes on: a block that is redrawn on a terminal, a line a minute in a log. Decides nothing.

mod status;

use crate::terminal::page::may_colour;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runner::event::Event;
use status::Status;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};
use words::printable::printable;

/// Seldom, because on a local target every redraw disturbs what is measured.
const REDRAW: Duration = Duration::from_millis(250);

/// A log gets a line so often.
const LOG_LINE: Duration = Duration::from_secs(60);

/// The view of one run on standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    status: Status,
    phase_since: Instant,
    /// When a log got its last line.
    logged: Instant,
    quiet: bool,
}

impl Progress {
    /// A view that fits where standard error goes. Problems wait for the summary, which has all of them.
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

    /// Takes notice of an event and redraws.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Phase(_) => self.phase_since = Instant::now(),
            // A run that stands still wants an explanation, wherever its summary goes.
            Event::Line(news) if !self.quiet => self.aside(|| complain!("tardy: {}", printable(&news.to_string()))),
            // No archive holds this.
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

    /// Shows how far explaining is.
    pub fn explaining(&mut self, done: usize, total: usize) {
        self.status.explaining(done, total);
        self.draw();
    }

    /// Does something that prints, with the block out of the way.
    pub fn aside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the block off the terminal.
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
