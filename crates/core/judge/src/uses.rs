//! Judges a run, which may still go on, for the common uses of a machine.

use crate::lateness::{certainly_late, late_of_thread};
use crate::readings::Readings;
use crate::verdict::judge;
use archive::damage::Damage;
use archive::manifest::RunState;
use archive::message::{Ending, RunPhase};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Second, Totals};
use archive::second_records::SecondRecords;
use archive::summary::RunSummary;
use claims::limit::{Limit, Rate, Requirement};
pub use claims::uses::{AllowedBy, Standing, Use, UseJudgement};
use claims::verdict::Verdict;

/// The rate of late wake-ups that a proof excludes.
const ALLOWED: &str = "1/h";
/// Seconds for which the records of one thread may come later than the records of another.
const LAG_S_MAX: u32 = 10;

/// Judges a run by every use. One that goes on is judged as if it had ended after its last complete second.
pub fn uses(run: &Run, summary: &RunSummary, confidence: f64) -> Vec<UseJudgement> {
    let until_now = RunSummary { measured_ns: Some(so_far(run, summary).measured_ns), ..summary.clone() };
    let (ended, summary_ended) = match goes_on(run) {
        true => until_last_second(run, &until_now),
        false => (None, until_now.clone()),
    };
    let ended = (ended.as_ref().unwrap_or(run), &summary_ended);
    Use::ALL.into_iter().map(|of| judge_use(run, &until_now, ended, of, confidence)).collect()
}

/// A run without an end that nothing cut off.
fn goes_on(run: &Run) -> bool {
    run.ending.is_none() && run.gaps.iter().all(|gap| gap.code != Damage::CUT_OFF.code)
}

/// The part of a run that is complete, as a run that the user stopped there. What was lost stays lost, and a thread that lags behind
/// by more than [`LAG_S_MAX`] lacks seconds.
fn until_last_second(run: &Run, summary: &RunSummary) -> (Option<Run>, RunSummary) {
    let recorded = |thread: &ThreadRun| thread.seconds.iter().map(|second| second.second + 1).max().unwrap_or(0);
    let lengths = || run.threads.values().filter(|thread| run.decides(thread.thread)).map(recorded);
    let longest = lengths().max().unwrap_or(0);
    let length_s = lengths().min().unwrap_or(0).max(longest.saturating_sub(LAG_S_MAX));
    if length_s == 0 {
        return (None, summary.clone());
    }
    let measured_ns = i64::from(length_s) * 1_000_000_000;
    let began_ns = run.phases.iter().find(|(phase, _)| *phase == RunPhase::Measure).map_or(0, |(_, at_ns)| *at_ns);
    let ended = Run {
        manifest: run.manifest.clone(),
        environment: run.environment.clone(),
        effective: run.effective.clone(),
        phases: run.phases.clone(),
        threads: run.threads.iter().map(|(number, thread)| (*number, shortened(thread, length_s))).collect(),
        watched: run.watched.clone(),
        losses: run.losses.clone(),
        problems: run.problems.clone(),
        gaps: run.gaps.iter().filter(|gap| gap.code != Damage::GOES_ON.code).cloned().collect(),
        ending: Some((Ending::Stopped, began_ns.saturating_add(measured_ns))),
        ..Run::default()
    };
    let summary = RunSummary { state: RunState::Interrupted, measured_ns: Some(measured_ns), ..summary.clone() };
    (Some(ended), summary)
}

/// Without later seconds. Totals come less often than seconds: the seconds give their counts, their maximum stays.
fn shortened(thread: &ThreadRun, length_s: u32) -> ThreadRun {
    let seconds: SecondRecords = thread.seconds.iter().filter(|second| second.second < length_s).collect();
    let sum =
        |part: fn(&Second) -> u32| seconds.iter().map(|second| u64::from(part(&second))).fold(0, u64::saturating_add);
    let in_seconds = seconds.iter().filter(|second| second.cycles > 0).map(|second| second.latency_ns_max).max();
    let totals = Totals {
        cycles: sum(|second| second.cycles),
        missed_periods: sum(|second| second.missed_periods),
        latency_ns_max: thread.totals.latency_ns_max.max(in_seconds),
        ..thread.totals
    };
    ThreadRun { totals, seconds, ..thread.clone() }
}

/// The figures of a run up to now. Records of seconds come each second, totals less and less often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoFar {
    pub measured_ns: i64,
    pub samples: u64,
    pub worst_ns: Option<i64>,
}

/// The figures of a run that may go on; one that goes on was measured up to its last complete second.
pub fn so_far(run: &Run, summary: &RunSummary) -> SoFar {
    let threads = || run.threads.values().filter(|thread| run.decides(thread.thread));
    let seconds = threads().map(|thread| thread.seconds.len()).max().unwrap_or(0);
    let complete_ns = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
    let samples = |thread: &ThreadRun| {
        let in_seconds = thread.seconds.iter().map(|second| u64::from(second.cycles)).fold(0, u64::saturating_add);
        thread.totals.cycles.max(in_seconds)
    };
    let worst = |thread: &ThreadRun| {
        let in_seconds = thread.seconds.iter().filter(|second| second.cycles > 0).map(|second| second.latency_ns_max);
        thread.totals.latency_ns_max.into_iter().chain(in_seconds).max()
    };
    SoFar {
        measured_ns: summary.measured_ns.unwrap_or(complete_ns),
        samples: threads().map(samples).fold(0, u64::saturating_add),
        worst_ns: threads().filter_map(worst).max(),
    }
}

/// `ended`: the run, or the part of it that may prove something.
fn judge_use(run: &Run, summary: &RunSummary, ended: (&Run, &RunSummary), of: Use, confidence: f64) -> UseJudgement {
    let allowed_ns = of.allowed_ns();
    let readings = Readings::of(summary);
    let threads = || run.threads.values().filter(|thread| run.decides(thread.thread));
    let SoFar { measured_ns, samples, worst_ns } = so_far(run, summary);
    let late = threads()
        .map(|thread| certainly_late(run, thread, allowed_ns, readings))
        .fold(0, u64::saturating_add)
        .max(u64::from(worst_ns.is_some_and(|worst_ns| worst_ns > allowed_ns)));
    let late_most =
        threads().map(|thread| late_of_thread(run, thread, allowed_ns, readings).1).fold(0, u64::saturating_add);
    let limit = Limit {
        text: format!("latency <= {allowed_ns}ns"),
        requirement: Requirement::Latency { latest_ns: allowed_ns },
        allow: Rate::parse(ALLOWED).ok(),
    };
    let judgement = (samples > 0 && late == 0).then(|| judge(ended.0, ended.1, &limit, confidence, &[]));
    let standing = match &judgement {
        _ if samples == 0 => Standing::NotMeasured,
        None => Standing::TooLate,
        Some(judgement) if judgement.verdict == Verdict::Pass => Standing::Proven,
        Some(_) => Standing::SoFar,
    };
    // No time proves a limit on a machine in doubt.
    let provable = judgement.iter().filter(|judgement| judgement.doubts.is_empty());
    let needed = provable.flat_map(|judgement| &judgement.cpus).map(|cpu| cpu.hours_needed);
    let hours_needed = needed.flatten().reduce(f64::max);
    let mut judged = UseJudgement {
        of,
        standing,
        samples,
        late,
        late_is_exact: run.ending.is_some() && late == late_most,
        worst_ns,
        measured_ns,
        hours_needed,
        confidence,
        sentence: String::new(),
    };
    judged.sentence = words::claims::uses::sentence(&judged);
    judged
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::environment::Environment;
    use archive::histogram::{Histogram, bucket_of};
    use archive::loss::{Loss, LossKind};
    use archive::problem::Remark;

    const CONFIDENCE: f64 = 0.95;

    /// A run of two CPUs for this many seconds, the second of which was once this late.
    fn run(length_s: u32, worst_ns: i64) -> Run {
        let thread = |thread: u32, latency_ns_max: i64| {
            let bucket = |ns| u32::try_from(bucket_of(ns).unwrap()).unwrap();
            let usual = (bucket(20_000), u64::from(length_s) * 1000 - 1);
            let histogram = Histogram { buckets: vec![usual, (bucket(latency_ns_max), 1)] }.normalised();
            let totals = Totals {
                cycles: u64::from(length_s) * 1000,
                latency_ns_max: Some(latency_ns_max),
                ..Totals::default()
            };
            let second = |second| Second {
                thread,
                second,
                cycles: 1000,
                latency_ns_max: if second == 3 { latency_ns_max } else { 20_000 },
                ..Second::default()
            };
            ThreadRun {
                thread,
                cpu: thread,
                totals,
                histogram,
                seconds: (0..length_s).map(second).collect(),
                ..ThreadRun::default()
            }
        };
        Run { threads: [(0, thread(0, 20_000)), (1, thread(1, worst_ns))].into(), ..Run::default() }
    }

    fn judged(length_s: u32, worst_ns: i64) -> Vec<UseJudgement> {
        judged_after(length_s, worst_ns, Some(i64::from(length_s) * 1_000_000_000))
    }

    fn judged_after(length_s: u32, worst_ns: i64, measured_ns: Option<i64>) -> Vec<UseJudgement> {
        judged_of(&run(length_s, worst_ns), measured_ns)
    }

    /// Of a machine that may pass.
    fn judged_of(run: &Run, measured_ns: Option<i64>) -> Vec<UseJudgement> {
        let environment =
            Environment { preempt_rt: Some(true), virtualisation: Some("none".into()), ..Environment::default() };
        let summary =
            RunSummary { environment: Some(environment), measured_ns, valid: true, ..RunSummary::of(run, &[]) };
        uses(run, &summary, CONFIDENCE)
    }

    fn standing(judged: &[UseJudgement], of: Use) -> Standing {
        judged.iter().find(|judged| judged.of == of).unwrap().standing
    }

    #[test]
    fn a_use_fails_by_its_own_lateness_alone_and_a_short_run_proves_none() {
        let judged = judged(42, 3_000_000);
        for of in [Use::Audio64, Use::Audio128, Use::LinuxCncBase, Use::LinuxCncServo] {
            assert_eq!(standing(&judged, of), Standing::TooLate, "{of:?}");
        }
        for of in [Use::Audio256, Use::Klipper, Use::Frames60, Use::Frames144] {
            assert_eq!(standing(&judged, of), Standing::SoFar, "{of:?}");
        }
        let needed = judged.iter().find(|judged| judged.of == Use::Klipper).unwrap().hours_needed.unwrap();
        assert!((2.9..3.1).contains(&needed), "{needed} h");
        assert!(judged.iter().all(|judged| judged.worst_ns == Some(3_000_000) && judged.samples == 84_000));
        assert_eq!(judged[0].late, 1);
    }

    #[test]
    fn a_run_that_goes_on_has_lasted_for_its_complete_seconds() {
        assert_eq!(judged_after(42, 3_000_000, None), judged(42, 3_000_000));
    }

    /// The totals and the last second of a run that is read while it goes on are behind.
    fn going_on(length_s: u32, worst_ns: i64) -> Run {
        let mut run = run(length_s, worst_ns);
        for thread in run.threads.values_mut() {
            thread.totals.cycles -= 400_000;
        }
        let first = run.threads.get_mut(&0).unwrap();
        first.seconds = first.seconds.iter().filter(|second| second.second + 2 < length_s).collect();
        run.gaps.push(Remark::new(&Damage::GoesOn));
        run
    }

    #[test]
    fn a_run_of_four_hours_that_goes_on_proves_what_it_shows() {
        let judged = judged_of(&going_on(4 * 3600, 3_000_000), None);
        assert_eq!(standing(&judged, Use::Klipper), Standing::Proven, "{judged:?}");
        assert_eq!(standing(&judged, Use::Audio256), Standing::Proven);
        assert_eq!(standing(&judged, Use::Audio128), Standing::TooLate);
        let short = judged_of(&going_on(3600, 3_000_000), None);
        assert_eq!(standing(&short, Use::Klipper), Standing::SoFar);
    }

    #[test]
    fn what_a_run_that_goes_on_lost_it_does_not_prove() {
        let mut lost = going_on(4 * 3600, 3_000_000);
        lost.losses.push(Loss { kind: LossKind::WakeUps, count: 1, detail: String::new() });
        assert_eq!(standing(&judged_of(&lost, None), Use::Klipper), Standing::SoFar);
        let mut silent = going_on(4 * 3600, 3_000_000);
        let first = silent.threads.get_mut(&0).unwrap();
        first.seconds = first.seconds.iter().filter(|second| second.second < 3 * 3600).collect();
        assert_eq!(standing(&judged_of(&silent, None), Use::Klipper), Standing::SoFar, "a thread that fell silent");
        let mut cut = going_on(4 * 3600, 3_000_000);
        cut.gaps = vec![Remark::new(&Damage::CutOff)];
        assert_eq!(standing(&judged_of(&cut, None), Use::Klipper), Standing::SoFar);
    }

    #[test]
    fn a_machine_in_doubt_needs_no_further_hours() {
        let run = run(42, 3_000_000);
        let summary = RunSummary { valid: true, ..RunSummary::of(&run, &[]) };
        let judged = uses(&run, &summary, CONFIDENCE);
        assert!(judged.iter().all(|judged| judged.hours_needed.is_none()), "{judged:?}");
        assert_eq!(standing(&judged, Use::Klipper), Standing::SoFar);
    }

    #[test]
    fn totals_that_lag_behind_the_seconds_hide_no_late_wake_up() {
        let mut run = run(10, 3_000_000);
        for thread in run.threads.values_mut() {
            (thread.totals, thread.histogram) = (Totals::default(), Histogram::default());
        }
        let judged = uses(&run, &RunSummary::of(&run, &[]), CONFIDENCE);
        assert_eq!((standing(&judged, Use::Audio128), judged[0].samples), (Standing::TooLate, 20_000));
    }

    #[test]
    fn nothing_measured_is_no_standing() {
        let run = Run::default();
        let judged = uses(&run, &RunSummary::of(&run, &[]), CONFIDENCE);
        assert!(judged.iter().all(|judged| judged.standing == Standing::NotMeasured));
    }

    #[test]
    fn a_lateness_of_exactly_the_allowed_time_is_in_time() {
        let allowed_ns = Use::Audio128.allowed_ns();
        assert_eq!(standing(&judged(10, allowed_ns), Use::Audio128), Standing::SoFar);
        assert_eq!(standing(&judged(10, allowed_ns + 1), Use::Audio128), Standing::TooLate);
    }

    #[test]
    fn the_sentences() {
        let worst = judged(42, 3_000_000);
        let said = |of: Use| worst.iter().find(|judged| judged.of == of).unwrap().sentence.clone();
        fixtures::assert_sentence!("use-too-late", said(Use::Audio128));
        fixtures::assert_sentence!("use-so-far", said(Use::Audio256));
        let proven = UseJudgement { standing: Standing::Proven, hours_needed: None, ..worst[2].clone() };
        fixtures::assert_sentence!("use-proven", words::claims::uses::sentence(&proven));
    }
}
