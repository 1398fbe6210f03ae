//! Rounds of a plan at regular times, unattended: a round that fails is told and takes nothing from the next one.

use super::{Round, new_round_below};
use crate::archives::RUNS;
use crate::exit::{Exit, in_words};
use crate::measuring::arguments::Showing;
use crate::measuring::rounds::Measuring;
use crate::plans::checked::{CheckedPlan, Overrides};
use crate::terminal::page::Page;
use machines::board::AccessOptions;
use runner::plan::schedule::Schedule;
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use words::calendar::civil;
use words::printable::printable;

/// How often the clock is looked at: the machine may sleep meanwhile.
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
    access: &AccessOptions,
    repetition: &Repetition,
    measuring: &Measuring,
    showing: Showing,
) -> anyhow::Result<Exit> {
    let schedule = Schedule::new(repetition.every);
    let first = uptime();
    let passed = || uptime().saturating_sub(first);
    let below = repetition.below.as_deref().unwrap_or(Path::new(RUNS));
    let mut worst = Exit::Measured;
    for number in 1.. {
        let begun = new_round_below(below, &plan.plan.name)
            .and_then(|directory| Round::begin(plan.clone(), overrides.clone(), access.clone(), directory, measuring));
        match begun.and_then(|mut round| round.run().and_then(|()| round.show(showing))) {
            Ok(exit) => worst = graver(worst, exit),
            Err(error) => {
                complain!("tardy: round {number}: {}", printable(&in_words(&error)));
                worst = graver(worst, Exit::NotMeasured);
            }
        }
        if measuring.stopped() || repetition.rounds.is_some_and(|rounds| number >= rounds) {
            break;
        }
        let Some(next) = schedule.next_after(passed()) else { break };
        // Who reads it may be gone, or the disk that it goes to full: that ends no measurement.
        let _ = announce_next(next.at.saturating_sub(passed()), showing);
        while passed() < next.at && !measuring.stopped() {
            thread::sleep(LOOK_EVERY);
        }
        if measuring.stopped() {
            break;
        }
    }
    Ok(worst)
}

/// Time since this machine was started, with what it slept: nobody sets this clock.
fn uptime() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// Says when the next round begins; beside a document that is none of its business.
fn announce_next(left: Duration, showing: Showing) -> anyhow::Result<()> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_add(left);
    let (day, time) = civil(since_1970.as_secs());
    let line = format!("The next round begins at {day} {time} UTC.");
    if showing.json || showing.quiet {
        complain!("tardy: {line}");
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
        Exit::LimitExceeded => 3,
        _ => 2,
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
