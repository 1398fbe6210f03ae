//! Rounds of a plan at regular times, unattended: a round that fails is told and takes nothing from the next one.

use super::{Round, Showing, new_round_below};
use crate::cli::archives::RUNS;
use crate::cli::exit::Exit;
use crate::cli::plan::checked::{CheckedPlan, Overrides};
use crate::cli::rounds::Measuring;
use crate::text::calendar::civil;
use crate::text::page::Page;
use crate::text::printable::printable;
use runner::plan::schedule::{Schedule, Start};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often the clock is looked at: it may be set, and the machine may sleep.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// When and how often.
pub struct Repetition {
    pub every: Duration,
    /// `None`: until somebody stops it.
    pub rounds: Option<u32>,
    /// Directory in which each round gets one of its own.
    pub below: Option<PathBuf>,
}

/// Runs rounds until there were enough, or somebody stops it. Ends as the gravest of them did.
///
/// # Errors
/// Never because of a round.
pub fn repeat(
    plan: &CheckedPlan,
    overrides: &Overrides,
    repetition: &Repetition,
    measuring: &Measuring,
    showing: Showing,
) -> anyhow::Result<Exit> {
    let schedule = Schedule::new(SystemTime::now(), repetition.every);
    let below = repetition.below.as_deref().unwrap_or(Path::new(RUNS));
    let mut worst = Exit::Measured;
    for number in 1.. {
        match one(plan, overrides, below, measuring, showing) {
            Ok(exit) => worst = graver(worst, exit),
            Err(error) => {
                eprintln!("tardy: round {number}: {}", printable(&format!("{error:#}")));
                worst = graver(worst, Exit::NotMeasured);
            }
        }
        if measuring.stopped() || repetition.rounds.is_some_and(|rounds| number >= rounds) {
            break;
        }
        let Some(next) = schedule.next_after(SystemTime::now()) else { break };
        tell_next(&next, showing)?;
        while SystemTime::now() < next.at && !measuring.stopped() {
            thread::sleep(LOOK_EVERY);
        }
        if measuring.stopped() {
            break;
        }
    }
    Ok(worst)
}

fn one(
    plan: &CheckedPlan,
    overrides: &Overrides,
    below: &Path,
    measuring: &Measuring,
    showing: Showing,
) -> anyhow::Result<Exit> {
    let directory = new_round_below(below, &plan.plan.name)?;
    let mut round = Round::begin(plan.clone(), overrides.clone(), directory, measuring)?;
    round.run()?;
    round.show(showing)
}

/// Says when the next round begins; beside a document that is none of its business.
fn tell_next(next: &Start, showing: Showing) -> anyhow::Result<()> {
    let since_1970 = next.at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (day, time) = civil(since_1970.as_secs());
    let line = format!("The next round begins at {day} {time} UTC.");
    if showing.json || showing.quiet {
        eprintln!("tardy: {line}");
        return Ok(());
    }
    let mut page = Page::for_stdout();
    page.line(&line);
    page.line("");
    Ok(page.print()?)
}

/// A broken limit outweighs what could not be measured, and that what was too short.
fn graver(one: Exit, other: Exit) -> Exit {
    let weight = |exit: Exit| match exit {
        Exit::Measured => 0,
        Exit::NotEnoughData => 1,
        Exit::Usage | Exit::NotMeasured | Exit::Untestable | Exit::GiveUp => 2,
        Exit::LimitExceeded => 3,
    };
    if weight(other) > weight(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_round_counts() {
        use Exit::{LimitExceeded, Measured, NotEnoughData, NotMeasured};
        assert_eq!(graver(Measured, NotEnoughData), NotEnoughData);
        assert_eq!(graver(NotMeasured, NotEnoughData), NotMeasured);
        assert_eq!(graver(LimitExceeded, NotMeasured), LimitExceeded);
    }
}
