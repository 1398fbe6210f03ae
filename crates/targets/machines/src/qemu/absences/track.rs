//! Detects from consecutive readings of a thread when it was stopped or waited for a CPU.

use super::processors::Reading;

/// In a virtual machine, shorter stretches make no wake-up late that would not be late anyway.
pub const AWAY_NS_MIN: i64 = 500_000;

/// The time of a reading, by the host's clock: between these instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub from_ns: i64,
    pub to_ns: i64,
}

/// A stretch in which a thread was not executed although it was runnable, or in which it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// The host's clock, in ns.
    pub start_ns: i64,
    pub end_ns: i64,
    /// Error of either instant.
    pub slack_ns: i64,
    pub stopped: bool,
}

impl Away {
    /// From a point within one interval to a point within another.
    fn between(start: (i64, i64), end: (i64, i64), stopped: bool) -> Self {
        let middle = |(from_ns, to_ns): (i64, i64)| from_ns + (to_ns - from_ns) / 2;
        let half_ns = |(from_ns, to_ns): (i64, i64)| (to_ns - from_ns).max(0) / 2;
        let slack_ns = half_ns(start).max(half_ns(end));
        Self { start_ns: middle(start), end_ns: middle(end), slack_ns, stopped }
    }

    pub fn ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

/// One thread.
#[derive(Debug, Default)]
pub struct Track {
    last: Option<(Look, Reading)>,
    /// When it was last switched in, minus the wait before. A thread that sleeps or waits needs a CPU to be stopped,
    /// too, and does nothing else with it.
    last_turn_ns: Option<(i64, i64)>,
    stop: Option<Stop>,
}

/// A stop whose end was not observed yet.
#[derive(Debug, Clone, Copy)]
struct Stop {
    begin_ns: (i64, i64),
    /// Instant at which it was still stopped, and its number of turns then.
    last_seen_ns: i64,
    turns: u64,
}

impl Track {
    /// Processes a reading; returns a stretch that has ended by then.
    pub fn take(&mut self, look: Look, reading: Reading) -> Option<Away> {
        let (last_look, last) = self.last.replace((look, reading)).unwrap_or((look, reading));
        let turns = reading.counters.turns;
        let away = waited((last_look, last), (look, reading));
        if reading.counters != last.counters {
            // Its wait before the turn is already reported if it is long enough.
            let waited_ns = if away.is_some() { 0 } else { waited_ns(last, reading) };
            self.last_turn_ns = Some((last_look.from_ns - waited_ns, look.to_ns - waited_ns));
        }
        if reading.stopped {
            let begin_ns = self.last_turn_ns.unwrap_or((last_look.from_ns, look.to_ns));
            let stop = self.stop.get_or_insert(Stop { begin_ns, last_seen_ns: look.from_ns, turns });
            (stop.last_seen_ns, stop.turns) = (look.from_ns, turns);
            return None;
        }
        match self.stop {
            // It may have been continued without a CPU yet: no difference to the guest.
            Some(stop) if stop.turns == turns => None,
            Some(stop) => {
                self.stop = None;
                let end_ns = (stop.last_seen_ns.max(last_look.from_ns), look.to_ns);
                let away = Away::between(stop.begin_ns, end_ns, true);
                (away.ns() >= AWAY_NS_MIN).then_some(away)
            }
            None => away,
        }
    }
}

fn waited_ns(last: Reading, reading: Reading) -> i64 {
    let waited_ns = reading.counters.waited_ns.saturating_sub(last.counters.waited_ns);
    i64::try_from(waited_ns).unwrap_or(0)
}

/// A wait that ended between two readings.
fn waited((last_look, last): (Look, Reading), (look, reading): (Look, Reading)) -> Option<Away> {
    let waited_ns = waited_ns(last, reading);
    let turns = reading.counters.turns.saturating_sub(last.counters.turns);
    // Of several waits only one that started before the last reading can be distinguished.
    let apart = turns == 1 || waited_ns > 2 * (look.to_ns - last_look.from_ns);
    if waited_ns < AWAY_NS_MIN || !apart {
        return None;
    }
    let end = (last_look.from_ns, look.to_ns);
    Some(Away::between((end.0 - waited_ns, end.1 - waited_ns), end, false))
}

#[cfg(test)]
mod tests {
    use super::super::processors::Counters;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Readings every millisecond: (waited µs, turns, stopped).
    fn follow(readings: &[(u64, u64, bool)]) -> Vec<Away> {
        let mut track = Track::default();
        let looks = readings.iter().enumerate().filter_map(|(index, &(waited_us, turns, stopped))| {
            let at_ns = index as i64 * MS;
            let counters = Counters { executed_ns: 0, waited_ns: waited_us * 1000, turns };
            track.take(Look { from_ns: at_ns, to_ns: at_ns + 10_000 }, Reading { counters, stopped })
        });
        looks.collect()
    }

    #[test]
    fn a_stop_lasts_until_the_thread_has_a_cpu_again() {
        let run = (0, 5, false);
        let found = follow(&[run, run, (0, 5, true), (0, 5, true), (0, 5, true), (0, 5, false), (2000, 6, false), run]);
        assert_eq!(found.len(), 1, "{found:?}");
        let Away { start_ns, end_ns, slack_ns, stopped, .. } = found[0];
        assert_eq!((start_ns, end_ns, slack_ns, stopped), (1_505_000, 5_505_000, 505_000, true));
    }

    #[test]
    fn the_wait_before_a_stop_belongs_to_the_stop() {
        let found =
            follow(&[(0, 5, false), (0, 5, false), (400, 6, false), (400, 6, true), (400, 6, true), (400, 7, false)]);
        let expected = (1, 1_505_000 - 400_000, 4_505_000);
        assert_eq!((found.len(), found[0].start_ns, found[0].end_ns), expected, "{found:?}");
    }

    #[test]
    fn a_stop_that_never_ends_is_not_reported() {
        assert_eq!(follow(&[(0, 5, false), (0, 5, true), (0, 5, true)]), []);
    }

    #[test]
    fn a_wait_is_as_long_as_the_kernel_counted_it() {
        let found = follow(&[(3000, 5, false), (3000, 5, false), (3000, 5, false), (7000, 6, false), (7000, 6, false)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].ns(), found[0].end_ns, found[0].stopped), (4 * MS, 2_505_000, false));
    }

    #[test]
    fn short_waits_are_not_added_up() {
        assert_eq!(follow(&[(0, 5, false), (1000, 15, false), (2000, 25, false)]), []);
    }

    #[test]
    fn a_thread_that_is_stopped_and_goes_on_between_two_looks_was_stopped_all_along() {
        let found = follow(&[(0, 5, false), (0, 5, true), (0, 6, true), (0, 6, true), (0, 7, false)]);
        assert_eq!((found.len(), found[0].ns()), (1, 3 * MS), "{found:?}");
    }
}
