//! Rounds of a plan at regular times, unattended: a failed round is reported and does not affect the next one.

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

/// Interval between checks of the clock, because the machine may suspend meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Interval and number of the rounds.
pub struct Repetition {
    pub every: Duration,
    /// `None`: until the user stops them.
    pub rounds: Option<u32>,
    /// Directory in which each round gets a directory.
    pub below: Option<PathBuf>,
}

/// Runs rounds until their number is reached or the user stops them. Returns the gravest exit of any round.
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
        // A closed pipe or a full disk on standard output does not end the measurement.
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

/// Time since boot including suspend: this clock cannot be set.
fn uptime() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// Announces when the next round begins; with `--json` or `--quiet` on standard error, because standard output is for
/// the document.
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

/// A broken limit outweighs a failed measurement, which outweighs one that is too short.
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
