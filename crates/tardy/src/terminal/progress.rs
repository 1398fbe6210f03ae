//! Shows a run while it goes on: a block that is redrawn on a terminal, problems alone in a pipe. Decides nothing.

mod status;

use crate::terminal::page::may_colour;
use archive::message::Severity;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runner::event::Event;
use status::Status;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};
use words::printable::printable;

/// Seldom, because on a local target every redraw disturbs what is measured.
const REDRAW: Duration = Duration::from_millis(250);

/// The view of one run on standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    status: Status,
    phase_since: Instant,
    /// Whether problems are shown as they come, because there is no block to show them in.
    shows_problems: bool,
    shows_line: bool,
    showed_invalid: bool,
}

impl Progress {
    /// A view that fits where standard error goes. With `summary_elsewhere` problems wait for the end.
    pub fn new(quiet: bool, summary_elsewhere: bool, duration_ns: Option<u64>) -> Self {
        let terminal = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let spinner = if may_colour(&io::stderr()) { "{spinner:.cyan} {msg}" } else { "{spinner} {msg}" };
            bar.set_style(ProgressStyle::with_template(spinner).expect("the template is sound"));
            bar.enable_steady_tick(REDRAW);
            bar
        });
        let shows_problems = bar.is_none() && !quiet && !summary_elsewhere;
        Self {
            bar,
            status: Status::new(duration_ns),
            phase_since: Instant::now(),
            shows_problems,
            shows_line: !quiet,
            showed_invalid: false,
        }
    }

    /// Takes notice of an event and redraws.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Phase(_) => self.phase_since = Instant::now(),
            Event::Problem(problem) if self.shows_problems && problem.severity != Severity::Notice => {
                complain!("tardy: {}", printable(&problem.text));
                self.showed_invalid |= problem.severity == Severity::Invalid;
            }
            // A run that stands still wants an explanation, wherever its summary goes.
            Event::Line(news) if self.shows_line => self.aside(|| complain!("tardy: {}", printable(&news.to_string()))),
            // No archive holds this.
            Event::NotGivenBack(problem) => {
                self.clear();
                complain!("tardy: {}", printable(&problem.text));
            }
            Event::Stopping(reason) if self.bar.is_none() && self.shows_problems => {
                complain!("tardy: stopping ({reason})");
            }
            _ => {}
        }
        self.status.take(event);
        self.draw();
    }

    /// Whether a problem that makes the numbers invalid was shown already.
    pub fn showed_invalid(&self) -> bool {
        self.showed_invalid
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
