//! One injection: the stretch in which an injector made a CPU late, and the lines it is written down in.

use crate::experiments::{Experiment, find};
use archive::absence::Absence;

/// A stretch of CLOCK_MONOTONIC on the machine that was made late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injection {
    /// The drawn experiment, where an injector draws.
    pub drawn: Option<&'static Experiment>,
    pub begin_ns: i64,
    pub end_ns: i64,
    /// Time of it in which the injector had the CPU, where it looked: others may have had the rest.
    pub held_ns: Option<i64>,
    /// Time of it for which the injector cannot show whether it was its own: steps that took far longer than usual, because of
    /// an interrupt, of the host, or by themselves.
    pub unsure_ns: i64,
}

impl Injection {
    /// Reads `BEGIN END`, `BEGIN END HELD` or `BEGIN END HELD UNSURE`, all in ns, behind the name of an experiment or none.
    pub fn parse(line: &str) -> Option<Self> {
        let (drawn, line) = match line.split_once(' ') {
            Some((name, rest)) if name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                (Some(find(name)?), rest)
            }
            _ => (None, line),
        };
        let numbers: Vec<i64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let (begin_ns, end_ns, held_ns, unsure_ns) = match numbers[..] {
            [begin_ns, end_ns] => (begin_ns, end_ns, None, 0),
            [begin_ns, end_ns, held_ns] => (begin_ns, end_ns, Some(held_ns), 0),
            [begin_ns, end_ns, held_ns, unsure_ns] => (begin_ns, end_ns, Some(held_ns), unsure_ns.max(0)),
            _ => return None,
        };
        (begin_ns < end_ns).then_some(Self { drawn, begin_ns, end_ns, held_ns, unsure_ns })
    }

    pub fn ns(&self) -> i64 {
        self.end_ns - self.begin_ns
    }

    /// Time it shares with another stretch, in ns.
    pub fn shared_ns(&self, from_ns: i64, to_ns: i64) -> i64 {
        (self.end_ns.min(to_ns) - self.begin_ns.max(from_ns)).max(0)
    }
}

/// The time that injectors had of their CPU where the host of their machine did not execute it all the time.
pub fn as_executed(injections: &[Injection], absences: &[Absence], cpu: u32) -> Vec<Injection> {
    let executed = |injection: &Injection| {
        let own = absences.iter().filter(|absence| absence.cpu == cpu);
        let absent_ns: i64 = own.map(|absence| injection.shared_ns(absence.start_ns, absence.end_ns)).sum();
        let held_ns = injection.held_ns.unwrap_or(injection.ns()) - absent_ns;
        Injection { held_ns: if absent_ns > 0 { Some(held_ns) } else { injection.held_ns }, ..*injection }
    };
    injections.iter().map(executed).collect()
}

/// All injections of a log. A last line that was cut off is no injection.
pub fn parse_log(log: &str) -> Vec<Injection> {
    log.lines().filter_map(Injection::parse).collect()
}

/// Time of the injections that a stretch touches for which the injector cannot show whose it was, in ns.
pub fn unsure_ns(injections: &[Injection], from_ns: i64, to_ns: i64) -> i64 {
    injections.iter().filter(|injection| injection.shared_ns(from_ns, to_ns) > 0).map(|one| one.unsure_ns).sum()
}

/// Time of a stretch that lies in any injection, in ns; injections do not overlap.
pub fn injected_ns(injections: &[Injection], from_ns: i64, to_ns: i64) -> i64 {
    injections.iter().map(|injection| injection.shared_ns(from_ns, to_ns)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_as_far_as_it_was_written() {
        let log = "10 20\n30 50 15\n60\n70 x\n90 80\nstop 60 70 9 4\nnothing 60 70\n1 2 3 4 5\n";
        let expected = [
            Injection { drawn: None, begin_ns: 10, end_ns: 20, held_ns: None, unsure_ns: 0 },
            Injection { drawn: None, begin_ns: 30, end_ns: 50, held_ns: Some(15), unsure_ns: 0 },
            Injection { drawn: find("stop"), begin_ns: 60, end_ns: 70, held_ns: Some(9), unsure_ns: 4 },
        ];
        assert_eq!(parse_log(log), expected);
    }

    #[test]
    fn time_that_the_host_took_does_not_count_for_the_injector() {
        let absence = |cpu, start_ns, end_ns| Absence { cpu, start_ns, end_ns, slack_ns: 1, stopped: false };
        let absences = [absence(1, 5, 12), absence(0, 10, 20), absence(1, 18, 19)];
        let executed = as_executed(&parse_log("10 20\n30 50 15\n"), &absences, 1);
        assert_eq!(executed, parse_log("10 20 7\n30 50 15\n"));
    }

    #[test]
    fn only_the_shared_part_counts() {
        let injections = parse_log("10 20\n30 50\n");
        assert_eq!(injected_ns(&injections, 0, 100), 30);
        assert_eq!(injected_ns(&injections, 15, 35), 10);
        assert_eq!(injected_ns(&injections, 20, 30), 0);
    }

    #[test]
    fn unsure_time_counts_wherever_in_an_injection_it_was() {
        let injections = parse_log("10 20 10 3\n30 50 20 5\n");
        assert_eq!(unsure_ns(&injections, 0, 31), 8);
        assert_eq!(unsure_ns(&injections, 20, 30), 0);
    }
}
