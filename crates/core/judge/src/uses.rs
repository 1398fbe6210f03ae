//! What a run, which may still go on, shows of the common uses of a machine.

use crate::lateness::certainly_late;
use crate::readings::Readings;
use crate::verdict::judge;
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;
use claims::limit::{Limit, Rate, Requirement};
pub use claims::uses::{AllowedBy, Standing, Use, UseJudgement};
use claims::verdict::Verdict;

/// The rate of late wake-ups that a proof excludes.
const ALLOWED: &str = "1/h";

/// Judges a run by every use. A run that goes on proves nothing yet: its end is missing.
pub fn uses(run: &Run, summary: &RunSummary, confidence: f64) -> Vec<UseJudgement> {
    let until_now = RunSummary { measured_ns: Some(so_far(run, summary).measured_ns), ..summary.clone() };
    Use::ALL.into_iter().map(|of| judge_use(run, &until_now, of, confidence)).collect()
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

fn judge_use(run: &Run, summary: &RunSummary, of: Use, confidence: f64) -> UseJudgement {
    let allowed_ns = of.allowed_ns();
    let readings = Readings::of(summary);
    let threads = || run.threads.values().filter(|thread| run.decides(thread.thread));
    let SoFar { measured_ns, samples, worst_ns } = so_far(run, summary);
    let late = threads()
        .map(|thread| certainly_late(run, thread, allowed_ns, readings))
        .fold(0, u64::saturating_add)
        .max(u64::from(worst_ns.is_some_and(|worst_ns| worst_ns > allowed_ns)));
    let limit = Limit {
        text: format!("latency <= {allowed_ns}ns"),
        requirement: Requirement::Latency { latest_ns: allowed_ns },
        allow: Rate::parse(ALLOWED).ok(),
    };
    let judgement = (samples > 0 && late == 0).then(|| judge(run, summary, &limit, confidence, &[]));
    let standing = match &judgement {
        _ if samples == 0 => Standing::NotMeasured,
        None => Standing::TooLate,
        Some(judgement) if judgement.verdict == Verdict::Pass => Standing::Proven,
        Some(_) => Standing::SoFar,
    };
    let needed = judgement.iter().flat_map(|judgement| &judgement.cpus).map(|cpu| cpu.hours_needed);
    let hours_needed = needed.flatten().reduce(f64::max);
    let mut judged = UseJudgement {
        of,
        standing,
        samples,
        late,
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
    use archive::sample::{Second, Totals};

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
        let run = run(length_s, worst_ns);
        let environment =
            Environment { preempt_rt: Some(true), virtualisation: Some("none".into()), ..Environment::default() };
        let summary =
            RunSummary { environment: Some(environment), measured_ns, valid: true, ..RunSummary::of(&run, &[]) };
        uses(&run, &summary, CONFIDENCE)
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
