//! After the last sample: join, count what was lost, send the final figures.

use super::Failure;
use super::team::Team;
use super::watch::{Stopped, Watch};
use crate::kernel::clock;
use crate::link::Link;
use archive::message::{Ending, Message, Problem, Severity};
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Time for the measuring threads to see that they shall stop, beyond one interval.
const STOP_TIME: Duration = Duration::from_secs(5);
/// A wall clock that moved this far against CLOCK_MONOTONIC was set, not slewed.
const STEP_NS: i64 = 10_000_000;
const SUSPEND_NS: i64 = 1_000_000;

/// The clocks that must keep their distance during a run.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    realtime_offset_ns: i64,
    boottime_offset_ns: i64,
}

impl Clocks {
    pub fn now() -> Self {
        let monotonic_ns = clock::monotonic_ns();
        Self {
            realtime_offset_ns: clock::realtime_ns() - monotonic_ns,
            boottime_offset_ns: clock::boottime_ns() - monotonic_ns,
        }
    }

    /// What happened to the clocks between two looks at them.
    pub fn changes_until(self, later: Self) -> Vec<Problem> {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let stepped_ns = later.realtime_offset_ns - self.realtime_offset_ns;
        let suspended_ns = later.boottime_offset_ns - self.boottime_offset_ns;
        let stepped = (stepped_ns.abs() > STEP_NS).then(|| Problem {
            code: Default::default(),
            severity: Severity::Notice,
            text: format!(
                "the wall clock was set by {:+.3} s during the run; latencies are taken on CLOCK_MONOTONIC and stand",
                seconds(stepped_ns)
            ),
            fix: String::new(),
        });
        let suspended = (suspended_ns > SUSPEND_NS).then(|| Problem {
            code: Default::default(),
            severity: Severity::Invalid,
            text: format!("the machine was suspended for {:.3} s during the run", seconds(suspended_ns)),
            fix: "inhibit suspend (systemd-inhibit) and run again".into(),
        });
        stepped.into_iter().chain(suspended).collect()
    }
}

/// Ends all threads and loads and sends what is left. Answers how the run ended.
///
/// # Errors
/// A measuring thread that never came back.
pub fn collect<W: Write>(
    mut team: Team,
    mut watch: Watch,
    clocks: Clocks,
    stopped: Stopped,
    link: &mut Link<W>,
) -> Result<Ending, Failure> {
    if stopped == Stopped::Overdue || !team.all_done_within(STOP_TIME) {
        return Err(Failure::new(
            "a measuring thread never woke up again",
            "real-time throttling, a stopped process or a hung CPU: see dmesg",
        ));
    }
    watch.check_loads(link);
    watch.stop_loads(link);
    watch.drain(&mut team, link);
    if team.kernel_tracing.as_mut().is_some_and(|tracing| !tracing.stop()) {
        let text = "the thread that reads the kernel's tracers died; what they found later is missing";
        link.problem(Severity::Degraded, text, "please report this");
    }
    if team.capturing.as_mut().is_some_and(|capturing| !capturing.stop()) {
        link.problem(Severity::Degraded, "the capturing thread died; later spikes have no trace", "please report this");
    }
    watch.drain(&mut team, link);
    watch.close_samples(link);
    report_losses(&team, link);
    for problem in clocks.changes_until(Clocks::now()) {
        link.send(&Message::Problem(problem));
    }
    send_final(team, link);
    Ok(match stopped {
        Stopped::AsPlanned | Stopped::Overdue => Ending::Complete,
        Stopped::Asked => Ending::Stopped,
        Stopped::LinkLost => Ending::LinkLost,
    })
}

fn report_losses<W: Write>(team: &Team, link: &mut Link<W>) {
    for member in &team.members {
        let dropped = member.books.totals().records_dropped;
        link.loss("records", dropped, &format!("of CPU {}, because the host or the disk was slow", member.cpu));
    }
    if let Some(capturing) = &team.capturing {
        let smaller = capturing.counters.not_worth.load(Relaxed);
        link.loss(
            "snapshots",
            smaller,
            "not taken: every kept one was of a larger spike (raise --snapshots to keep more)",
        );
    }
}

fn send_final<W: Write>(team: Team, link: &mut Link<W>) {
    for member in team.members {
        let worst = member.handle.join().unwrap_or_else(|_| {
            let text = format!("the measuring thread of CPU {} died during the run", member.cpu);
            link.problem(Severity::Invalid, text, "please report this");
            Vec::new()
        });
        link.send(&Message::Thread {
            thread: member.thread,
            cpu: member.cpu,
            totals: member.books.totals(),
            histogram: member.books.histogram(),
            worst,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Clocks = Clocks { realtime_offset_ns: 1_000_000_000_000, boottime_offset_ns: 5_000_000_000 };

    #[test]
    fn a_set_wall_clock_is_told_and_harms_nothing() {
        let after = Clocks { realtime_offset_ns: BEFORE.realtime_offset_ns - 3_600_000_000_000, ..BEFORE };
        let told = BEFORE.changes_until(after);
        assert!(
            matches!(&told[..], [Problem { severity: Severity::Notice, text, .. }] if text.contains("-3600.000 s")),
            "{told:?}"
        );
    }

    #[test]
    fn a_slewed_clock_is_no_news_and_a_suspend_invalidates() {
        let slewed = Clocks { realtime_offset_ns: BEFORE.realtime_offset_ns + 5_000_000, ..BEFORE };
        assert_eq!(BEFORE.changes_until(slewed), []);
        let suspended = Clocks { boottime_offset_ns: BEFORE.boottime_offset_ns + 2_000_000_000, ..BEFORE };
        assert!(matches!(&BEFORE.changes_until(suspended)[..], [Problem { severity: Severity::Invalid, .. }]));
    }
}
