//! The named cause of each spike, against its known cause.

use crate::experiments::{Experiment, Length};
use crate::injection::{Injection, injected_ns, unsure_ns};
use crate::place::Place;
use archive::culprit::Culprit;
use archive::explanation::{Confidence, ExplanationStatus, Finding};
use archive::spike::Spike;
use serde::Deserialize;
use std::ops::RangeInclusive;

/// Least part of a spike that must lie in injections for it to be theirs.
const PART_MIN_PERCENT: i64 = 50;
/// The length that was named may differ by this, whichever is more.
const ERROR_MAX_PERCENT: i64 = 5;
const ERROR_MAX_NS: i64 = 5_000;

/// Causes that a machine at rest in this laboratory does not have: no such hardware is there, and nothing does such things. To
/// name one without an injection is wrong.
const NEVER_BY_THEMSELVES: &[Culprit] = &[
    Culprit::Acpi,
    Culprit::CacheFlush,
    Culprit::CfsQuota,
    Culprit::ClockStep,
    Culprit::CpuHotplug,
    Culprit::EfiRuntime,
    Culprit::FirmwareCall,
    Culprit::Graphics,
    Culprit::Ksm,
    Culprit::ModuleLoad,
    Culprit::Nmi,
    Culprit::NumaBalancing,
    Culprit::PageFault,
    Culprit::PriorityChanged,
    Culprit::PriorityInversion,
    Culprit::SlowBus,
    Culprit::Thermal,
    Culprit::ThreadFrozen,
    Culprit::Usb,
];

/// Causes that a machine of its own does not have either. On this one others may run what they like.
const ALONE: &[Culprit] = &[
    Culprit::BoostedTask,
    Culprit::OtherRtTask,
    Culprit::RtThrottling,
    Culprit::ThreadStopped,
    Culprit::TlbShootdown,
    Culprit::TextPatching,
];

/// The answer of `tardy explain --json` about one spike, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    pub spike: u32,
    pub median_ns: i64,
    pub status: ExplanationStatus,
    pub findings: Vec<Finding>,
}

/// The known truth about a spike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// At least half of it lies in injections.
    Injected,
    /// Something else has a part in it, or may have: less than half of it lies in injections, the injection itself took longer
    /// than requested or the injector did not have all of it, two kinds were drawn in it, the wake-up before was still late when
    /// this one was due, or no injection that was written down came later.
    Mixed,
    /// No injection touches it.
    Uninjected,
}

/// The named cause of a spike, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// This culprit first, at *likely* or *certain*.
    Named(Culprit),
    /// Not explained; the first hint, if there is any.
    NotExplained(Option<Culprit>),
    /// There was no trace to explain it from.
    NoTrace,
}

/// A spike with what is known and what was said of it.
#[derive(Debug, Clone)]
pub struct Verdict {
    pub spike: u32,
    pub latency_ns: i64,
    pub known: Known,
    /// The experiment that its injection belongs to.
    pub of: &'static str,
    /// Time of it that lies in injections.
    pub injected_ns: i64,
    pub said: Said,
    /// The right culprit came first, above a hint.
    pub right: bool,
    /// A wrong culprit was given, above a hint, for time that the injection had, or one that cannot be.
    pub wrong: Option<Culprit>,
    /// By how much the time given to the right culprit is out of the bounds of what is known.
    pub error_ns: Option<i64>,
    pub error_is_small: bool,
}

/// Judges one explanation; control samples are not for it. What a wake-up takes anyway, the
/// median, is spent in interrupts on top of the injection and in switches after it. What the injector is unsure of may be
/// left out as well.
pub fn judge(
    experiment: &'static Experiment,
    place: Place,
    injections: &[Injection],
    spike: &Spike,
    said: &Account,
) -> Verdict {
    let sample = &spike.sample;
    let latency_ns = sample.latency_ns;
    let injected_ns = injected_ns(injections, sample.due_ns, sample.seen_ns());
    let shared_ns = |injection: &Injection| injection.shared_ns(sample.due_ns, sample.seen_ns());
    let most = injections.iter().max_by_key(|injection| shared_ns(injection));
    let drawn = most.filter(|injection| shared_ns(injection) > 0).and_then(|injection| injection.drawn);
    let all = experiment;
    let experiment = drawn.unwrap_or(all);
    let requested_ns = i64::try_from(experiment.length_us_at(place) * 1000).unwrap_or(i64::MAX);
    let disturbed = injections.iter().filter(|injection| shared_ns(injection) > 0).any(|injection| {
        let over_ns = injection.ns() - requested_ns;
        let too_long = experiment.length == Length::Requested && over_ns > tolerance_ns(requested_ns);
        let others_ns = injection.held_ns.map_or(0, |held_ns| injection.ns() - held_ns);
        too_long || others_ns > tolerance_ns(injection.ns()) || injection.drawn != drawn
    });
    let unsure_ns = unsure_ns(injections, sample.due_ns, sample.seen_ns());
    // Nobody knows whose most of it was.
    let unsure = unsure_ns * 2 > injected_ns;
    let overlapped = spike.watched.is_none() && spike.previous_seen_ns.is_some_and(|seen_ns| seen_ns > sample.due_ns);
    let known = match injected_ns {
        0 if injections.iter().any(|injection| injection.end_ns > sample.seen_ns()) => Known::Uninjected,
        ns if ns * 100 >= latency_ns * PART_MIN_PERCENT && !disturbed && !unsure && !overlapped => Known::Injected,
        _ => Known::Mixed,
    };
    let is_right = |culprit: &Culprit| experiment.culprits.contains(culprit);
    let first = said.findings.first();
    let above_hint = said.findings.iter().filter(|finding| finding.confidence > Confidence::Hint);
    let named = first.filter(|finding| finding.confidence > Confidence::Hint);
    let counts = |finding: &&Finding| finding.confidence > Confidence::Hint && is_right(&finding.culprit);
    let right_ns: i64 = said.findings.iter().filter(counts).map(|finding| finding.ns).sum();
    // What a wake-up takes anyway lies on top of the injection as well.
    let least_ns = injected_ns - said.median_ns - unsure_ns;
    // A culprit beside the injected one may have what the injection did not take, and no more.
    let rest_ns = match experiment.length {
        Length::AtMost => latency_ns,
        Length::Requested | Length::Exact | Length::AtLeast => latency_ns - least_ns + tolerance_ns(injected_ns),
    };
    let right_named = above_hint.clone().any(|finding| is_right(&finding.culprit));
    let wrong = above_hint.clone().find(|finding| match known {
        // What had any part of it may have had less than another.
        Known::Injected if experiment.length == Length::AtMost && right_named => false,
        Known::Injected => !is_right(&finding.culprit) && (Some(*finding) == named || finding.ns > rest_ns),
        Known::Mixed => false,
        Known::Uninjected => {
            let culprit = &finding.culprit;
            let alone = place != Place::Here && ALONE.contains(culprit);
            (alone || NEVER_BY_THEMSELVES.contains(culprit)) && !all.brings_about(culprit)
        }
    });
    let right = first.as_ref().is_some_and(counts);
    let bounds_ns = match experiment.length {
        Length::Requested | Length::Exact => least_ns..=injected_ns,
        Length::AtLeast => least_ns..=latency_ns,
        Length::AtMost => 0..=latency_ns,
    };
    let error_ns = (known == Known::Injected && right).then(|| distance(right_ns, bounds_ns));
    let error_is_small = error_ns.is_some_and(|error_ns| error_ns.abs() <= tolerance_ns(injected_ns));
    Verdict {
        spike: said.spike,
        latency_ns,
        known,
        of: experiment.name,
        injected_ns,
        said: match (first, named) {
            _ if said.status == ExplanationStatus::NoTrace => Said::NoTrace,
            (_, Some(finding)) => Said::Named(finding.culprit.clone()),
            (first, None) => Said::NotExplained(first.map(|finding| finding.culprit.clone())),
        },
        right,
        wrong: wrong.map(|finding| finding.culprit.clone()),
        error_ns,
        error_is_small,
    }
}

fn distance(ns: i64, bounds_ns: RangeInclusive<i64>) -> i64 {
    ns - ns.clamp(*bounds_ns.start(), (*bounds_ns.end()).max(*bounds_ns.start()))
}

fn tolerance_ns(ns: i64) -> i64 {
    (ns * ERROR_MAX_PERCENT / 100).max(ERROR_MAX_NS)
}

impl Verdict {
    /// Whether an injection was not named, or its length was wrong.
    pub fn is_miss(&self) -> bool {
        self.known == Known::Injected && !(self.right && self.error_is_small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::find;
    use crate::injection::parse_log;
    use archive::sample::Sample;
    use archive::spike::SpikeReason;

    /// A wake-up that was due at 1 ms and 1 ms late, in a run with a median of 10 µs.
    fn spike() -> Spike {
        Spike::new(
            1,
            0,
            1,
            Sample { cpu: 1, cycle: 0, due_ns: 1_000_000, latency_ns: 1_000_000 },
            SpikeReason::OverLimit,
        )
    }

    fn account(findings: &[(&str, Confidence, i64)]) -> Account {
        let finding =
            |&(culprit, confidence, ns): &(&str, Confidence, i64)| Finding::new(culprit.into(), confidence, ns);
        Account {
            spike: 1,
            median_ns: 10_000,
            status: ExplanationStatus::Explained,
            findings: findings.iter().map(finding).collect(),
        }
    }

    fn judged(experiment: &str, place: Place, log: &str, findings: &[(&str, Confidence, i64)]) -> Verdict {
        judge(find(experiment).unwrap(), place, &parse_log(log), &spike(), &account(findings))
    }

    #[test]
    fn the_right_culprit_with_the_right_length_is_right() {
        let verdict =
            judged("rt-task", Place::Here, "900000 1950000\n", &[("other-rt-task", Confidence::Certain, 945_000)]);
        assert_eq!((verdict.known, verdict.injected_ns, verdict.right), (Known::Injected, 950_000, true));
        assert_eq!((verdict.error_ns, verdict.error_is_small), (Some(0), true), "the median lies on top of it");
        assert!(verdict.wrong.is_none() && !verdict.is_miss());
    }

    #[test]
    fn half_of_the_length_is_wrong() {
        let verdict =
            judged("rt-task", Place::Here, "900000 1950000\n", &[("other-rt-task", Confidence::Likely, 400_000)]);
        assert!(verdict.right && !verdict.error_is_small && verdict.is_miss());
    }

    #[test]
    fn an_unsure_injection_may_be_named_or_left_out() {
        let length = |log: &str, ns| judged("rt-task", Place::Here, log, &[("other-rt-task", Confidence::Likely, ns)]);
        let (sure, unsure) = ("900000 1950000 1050000\n", "900000 1950000 1050000 200000\n");
        assert!(!length(sure, 750_000).error_is_small);
        assert_eq!(length(unsure, 750_000).error_ns, Some(0));
        assert_eq!(length(unsure, 950_000).error_ns, Some(0));
        assert!(!length(unsure, 500_000).error_is_small);
    }

    #[test]
    fn another_culprit_first_is_wrong_and_a_hint_is_only_not_right() {
        let named = judged("rt-task", Place::Here, "900000 1950000\n", &[("silence", Confidence::Likely, 900_000)]);
        assert_eq!(named.wrong, Some(Culprit::Silence));
        let hinted = judged("rt-task", Place::Here, "900000 1950000\n", &[("silence", Confidence::Hint, 900_000)]);
        assert!(hinted.wrong.is_none() && !hinted.right);
        assert_eq!(hinted.said, Said::NotExplained(Some("silence".into())));
    }

    #[test]
    fn the_right_culprit_counts_above_a_hint_only() {
        let judged = |findings: &[(&str, Confidence, i64)]| {
            judged("masked", Place::Here, "900000 1950000 1050000\n9000000 9900000\n", findings)
        };
        assert!(judged(&[("irqs-off", Confidence::Likely, 940_000)]).right);
        let hint = judged(&[("irqs-off", Confidence::Hint, 940_000)]);
        assert!(!hint.right && hint.wrong.is_none() && hint.is_miss());
        assert!(judged(&[("steal", Confidence::Likely, 940_000)]).wrong.is_some());
    }

    #[test]
    fn time_beside_an_injection_may_have_another_culprit() {
        let findings = [("other-rt-task", Confidence::Certain, 600_000), ("silence", Confidence::Likely, 390_000)];
        assert!(judged("rt-task", Place::Here, "900000 1600000\n", &findings).wrong.is_none());
        let findings = [("other-rt-task", Confidence::Certain, 590_000), ("silence", Confidence::Likely, 409_000)];
        assert!(judged("rt-task", Place::Here, "900000 1600000\n", &findings).wrong.is_none(), "the median is 10 µs");
        let findings = [("other-rt-task", Confidence::Certain, 600_000), ("silence", Confidence::Likely, 500_000)];
        assert!(judged("rt-task", Place::Here, "900000 1600000\n", &findings).wrong.is_some());
    }

    #[test]
    fn an_injector_that_did_not_have_the_cpu_says_nothing() {
        let findings = [("storage", Confidence::Certain, 900_000)];
        assert_eq!(judged("poll", Place::Here, "900000 1950000 600000\n", &findings).known, Known::Mixed);
        assert_eq!(judged("poll", Place::Here, "900000 1950000 1040000\n", &findings).known, Known::Injected);
    }

    #[test]
    fn of_a_mix_the_injection_says_what_is_right() {
        let log = "stop 100000 200000\nrt-task 900000 1950000\nstop 9000000 9900000\n";
        let verdict = judged("mix-1", Place::Here, log, &[("other-rt-task", Confidence::Certain, 945_000)]);
        assert_eq!((verdict.of, verdict.right, verdict.is_miss()), ("rt-task", true, false));
        let verdict = judged("mix-1", Place::Here, log, &[("thread-stopped", Confidence::Certain, 945_000)]);
        assert_eq!((verdict.right, verdict.wrong), (false, Some(Culprit::ThreadStopped)));
    }

    #[test]
    fn two_kinds_in_one_spike_are_mixed() {
        let log = "stop 900000 1300000\nrt-task 1310000 1950000\n";
        let verdict = judged("mix-1", Place::Here, log, &[("other-rt-task", Confidence::Certain, 640_000)]);
        assert_eq!((verdict.known, verdict.of), (Known::Mixed, "rt-task"));
    }

    #[test]
    fn a_repeated_owner_may_have_any_part_of_the_time() {
        let length = |ns| judged("samples", Place::Here, "900000 1950000\n", &[("irq-storm", Confidence::Likely, ns)]);
        assert!(length(300_000).error_is_small && length(990_000).error_is_small);
        assert!(!length(1_200_000).error_is_small, "more than the whole wake-up");
        let judged =
            |findings: &[(&str, Confidence, i64)]| judged("samples", Place::Here, "900000 1950000\n", findings);
        let steal = ("steal", Confidence::Certain, 600_000);
        let second = judged(&[steal, ("irq-storm", Confidence::Certain, 300_000)]);
        assert!(!second.right && second.wrong.is_none(), "another cause may have had more of it");
        assert_eq!(judged(&[steal]).wrong, Some(Culprit::Steal));
    }

    #[test]
    fn spikes_after_the_last_noted_injection_are_unknown() {
        let findings = [("nmi", Confidence::Certain, 900_000)];
        assert_eq!(judged("stop", Place::Here, "100000 200000\n", &findings).known, Known::Mixed);
        assert_eq!(judged("stop", Place::Here, "", &findings).known, Known::Mixed);
        assert!(judged("stop", Place::Here, "100000 200000\n9000000 9900000\n", &findings).wrong.is_some());
    }

    #[test]
    fn a_wake_up_that_began_inside_of_the_one_before_is_not_its_own() {
        let mut spike = spike();
        spike.previous_seen_ns = Some(1_200_000);
        let account = account(&[("late-arm", Confidence::Certain, 950_000)]);
        let verdict = judge(find("rt-task").unwrap(), Place::Here, &parse_log("900000 1950000\n"), &spike, &account);
        assert_eq!(verdict.known, Known::Mixed);
    }

    #[test]
    fn without_an_injection_only_what_cannot_be_is_wrong() {
        let rt = Place::Virtual("debian:6.1-rt");
        let of = |place, culprit| judged("stop", place, "9000000 9900000\n", &[(culprit, Confidence::Likely, 900_000)]);
        assert_eq!(of(rt, "softirq").known, Known::Uninjected);
        assert!(of(rt, "softirq").wrong.is_none());
        assert!(of(rt, "usb").wrong.is_some() && of(Place::Here, "usb").wrong.is_some());
        assert!(of(rt, "other-rt-task").wrong.is_some() && of(Place::Here, "other-rt-task").wrong.is_none());
    }
}
