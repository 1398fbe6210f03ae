//! `--stimulus`: what gives the stimuli of a run, and what a run needs whose stimuli an external board gives.

use super::RunArguments;
use super::declared::Contradiction;
use archive::method::gpio::Edge;
use archive::method::{MethodOptions, MethodRequest, WiredRole};
use archive::roles::{RoleRequest, RoleWordsError};
use archive::settings::RunSettings;
use archive::stimulus::{StimulusRequest, StimulusWordsError};
use thiserror::Error;

/// The option.
pub(super) const STIMULUS: &str = "stimulus";
/// The longest period that a board accepts.
const INTERVAL_NS_MAX: u64 = 1_000_000_000;
/// A board warms up for a second, then sends a record each second, and ends before the target does.
const DURATION_NS_MIN: u64 = 5_000_000_000;

/// The source of the stimuli, outside of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StimulusSource {
    /// A board that speaks its own protocol with the host.
    Board(StimulusRequest),
    /// Another target, with a meter of its own.
    Machine(RoleRequest),
}

/// Reason why the value of `--stimulus` is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StimulusSourceError {
    #[error(transparent)]
    Board(#[from] StimulusWordsError),
    #[error(transparent)]
    Machine(#[from] RoleWordsError),
}

impl StimulusSource {
    /// Parses the value of `--stimulus`. No target can be called latmon there.
    pub fn parse(text: &str) -> Result<Self, StimulusSourceError> {
        match text.trim_start().starts_with("latmon:") {
            true => Ok(Self::Board(StimulusRequest::parse(text)?)),
            false => Ok(Self::Machine(RoleRequest::parse(text)?)),
        }
    }
}

impl RunArguments {
    /// Adds the board, where everything else of the run fits it. A latmon board gives falling edges and waits for a rising one, so
    /// the target takes those where the user names none.
    pub(super) fn check_stimulus(&self, settings: &mut RunSettings) -> Result<(), Contradiction> {
        let Some(StimulusSource::Board(board)) = &self.measurement.stimulus else { return Ok(()) };
        let refused = |why: &str| Err(Contradiction::new(STIMULUS, why));
        if !is_answer_by_gpio(&settings.method) {
            return refused(
                "the target must answer on GPIO lines: --method gpio:in=LINE,out=LINE; `tardy list methods gpio` says more",
            );
        }
        if settings.cycles.is_some() || self.measurement.stop_at_limit {
            return refused(
                "the board ends before the target does, so the run needs a --duration; leave out --cycles and \
                 --stop-at-limit",
            );
        }
        if settings.dither_seed.is_some() {
            return refused("the board gives its stimuli at equal intervals; leave out --seed");
        }
        if settings.interval_ns > INTERVAL_NS_MAX || !settings.interval_ns.is_multiple_of(1000) {
            return refused("the board takes an --interval of at most 1 s, in whole microseconds");
        }
        if settings.duration_ns.is_some_and(|ns| ns < DURATION_NS_MIN) {
            return refused("the board warms up for a second and reports once a second; --duration 5s is the least");
        }
        // A latmon board gives falling edges and waits for a rising one.
        if let MethodOptions::Gpio(gpio) = &mut settings.method.options
            && gpio.role() == WiredRole::Answer
        {
            gpio.edge.get_or_insert(Edge::Falling);
        }
        settings.stimulus = Some(board.clone());
        Ok(())
    }
}

fn is_answer_by_gpio(method: &MethodRequest) -> bool {
    matches!(&method.options, MethodOptions::Gpio(gpio) if gpio.role() == WiredRole::Answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &str) -> Result<RunSettings, String> {
        let words = format!("--stimulus latmon:board {words}");
        let arguments = RunArguments::of_words(words.split_whitespace()).unwrap();
        arguments.settings(false).map_err(|error| error.to_string())
    }

    #[test]
    fn a_board_needs_a_target_that_answers_long_enough() {
        let asked = settings("--method gpio:in=1,out=2 -D 10s").unwrap();
        assert_eq!(asked.stimulus.map(|board| board.to_string()).as_deref(), Some("latmon:board:2306"));
        assert_eq!(asked.method.text(), "gpio:edge=falling,in=1,out=2");
        let both = settings("--method gpio:in=1,out=2,edge=both -D 10s").unwrap();
        assert_eq!(both.method.text(), "gpio:edge=both,in=1,out=2");
        for (words, named) in [
            ("-D 10s", "--method gpio"),
            ("--method gpio:in=1,out=2,role=stimulus", "must answer"),
            ("--method gpio:in=1,out=2 -l 9", "--cycles"),
            ("--method gpio:in=1,out=2 --limit 1ms --stop-at-limit", "--stop-at-limit"),
            ("--method gpio:in=1,out=2 -i 2s", "at most 1 s"),
            ("--method gpio:in=1,out=2 -i 100500ns", "whole microseconds"),
            ("--method gpio:in=1,out=2 -D 4s", "--duration 5s"),
            ("--method gpio:in=1,out=2 --seed 1", "--seed"),
        ] {
            let refused = settings(words).unwrap_err();
            assert!(refused.contains(named), "{words}: {refused}");
        }
    }
}
