//! The codes of refusals and cautions, with their meaning and what to do.

use archive::problem::Definition;

/// Every code of this crate.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "judge.invalid-run",
        meaning: "The run is not valid, so nothing is claimed from it.",
        fix: "Fix what made the run invalid, then measure again.",
    },
    Definition {
        code: "judge.virtual-time",
        meaning: "The figures are executed instructions of a machine in virtual time, not time on hardware.",
        fix: "Measure on hardware to judge a real-time limit.",
    },
    Definition {
        code: "judge.emulated",
        meaning: "The machine was emulated; its latencies mean nothing as real-time figures.",
        fix: "Measure on hardware.",
    },
    Definition {
        code: "judge.no-seconds",
        meaning: "The archive has no record of what happened in each second.",
        fix: "Measure with this program; imported results often lack it.",
    },
    Definition {
        code: "judge.seconds-damaged",
        meaning: "The seconds of a thread have impossible numbers: the archive is damaged.",
        fix: "Measure again, or restore the archive from a copy.",
    },
    Definition {
        code: "judge.seconds-missing",
        meaning: "More than 1 % of the seconds of a thread have no record.",
        fix: "Measure again; look at the lost records in `tardy report`.",
    },
    Definition {
        code: "judge.no-rate",
        meaning: "The limit does not say how often it may be exceeded.",
        fix: "Add a rate, such as `--allow 1/day`.",
    },
    Definition {
        code: "judge.rate-too-high",
        meaning: "The limit allows more than one event in ten seconds, which the record of each second cannot resolve.",
        fix: "State the limit as a quantile, such as `p99.9 < 50us`.",
    },
    Definition {
        code: "judge.nothing-measured",
        meaning: "A thread measured for less than a second.",
        fix: "Measure for longer.",
    },
    Definition {
        code: "judge.long-bursts",
        meaning: "Late wake-ups come in bursts so long that this run has too few independent ones.",
        fix: "Find the cause of the bursts, or measure for longer.",
    },
    Definition {
        code: "judge.blocks-unknown",
        meaning: "Some blocks lack the record of a second. They count against PASS.",
        fix: "Measure again without lost records.",
    },
    Definition {
        code: "judge.no-end",
        meaning: "The run has no end, so what happened last is unknown. A hang is the worst latency of all.",
        fix: "Measure again. A run that ended early is judged by the time it lasted.",
    },
    Definition {
        code: "judge.records-lost",
        meaning: "Records of wake-ups were lost. Any of them may be late, so the run passes no limit.",
        fix: "Measure again on a line and a disk that keep up.",
    },
    Definition {
        code: "judge.missed-unknown",
        meaning: "The tool that measured does not count periods without a wake-up. Unknown is not zero.",
        fix: "Measure with this program.",
    },
    Definition {
        code: "judge.refuted",
        meaning: "The limit allows no late wake-up, and there was one.",
        fix: "Look at the causes with `tardy explain`, or allow a rate, such as `--allow 1/day`.",
    },
    Definition {
        code: "judge.maximum-unplaced",
        meaning: "The maximum of the run is beyond the limit, and no record of a second shows when it came.",
        fix: "Measure again without lost records.",
    },
    Definition {
        code: "judge.too-short",
        meaning: "The run is too short for this claim.",
        fix: "Measure for at least as long as the message says.",
    },
    Definition {
        code: "judge.not-stationary",
        meaning: "The latencies change during the run, so its tail says nothing about a longer time.",
        fix: "Measure each state by itself, after the machine has settled.",
    },
    Definition {
        code: "judge.all-equal",
        meaning: "The largest latencies are all equal, so there is no tail.",
        fix: "Measure with a finer clock or resolution.",
    },
    Definition {
        code: "judge.blocks-cluster",
        meaning: "Late wake-ups cluster over many minutes: neighbouring blocks resemble each other.",
        fix: "Measure under a load that stays the same.",
    },
    Definition {
        code: "judge.length-unknown",
        meaning: "The archive does not say how long the run measured.",
        fix: "Measure with this program; imported results often lack it.",
    },
    Definition {
        code: "judge.horizon-too-long",
        meaning: "The horizon is more than ten times as long as the run.",
        fix: "Ask for a shorter horizon, or measure for longer.",
    },
    Definition {
        code: "judge.clock-too-coarse",
        meaning: "Many of the largest latencies are equal: the clock, or a rounding, is too coarse.",
        fix: "Measure with nanosecond resolution.",
    },
    Definition {
        code: "judge.outliers",
        meaning: "A few latencies are far above all others, as if from another cause.",
        fix: "Explain those spikes; measure for longer to see how often they come.",
    },
    Definition {
        code: "judge.tail-irregular",
        meaning: "No threshold leaves peaks of one kind.",
        fix: "Explain the spikes and remove one cause, or measure for longer.",
    },
    Definition {
        code: "judge.tail-too-short",
        meaning: "The tail has too few peaks for a level beyond it.",
        fix: "Measure for longer.",
    },
    Definition {
        code: "judge.no-useful-bound",
        meaning: "The interval is more than ten times the estimate.",
        fix: "Measure for longer, or ask for a shorter horizon.",
    },
    Definition {
        code: "judge.no-shape",
        meaning: "The shape of the tail cannot be estimated.",
        fix: "Measure for longer.",
    },
    Definition {
        code: "judge.no-cross-check",
        meaning: "The maxima of blocks allow no second estimate to check the first.",
        fix: "Measure for longer.",
    },
    Definition {
        code: "judge.contradiction",
        meaning: "Two methods give estimates that contradict each other.",
        fix: "Measure for longer; look for several causes.",
    },
    Definition {
        code: "judge.too-few-peaks",
        meaning: "There are too few independent peaks for a tail.",
        fix: "Measure for at least as long as the message says.",
    },
    Definition {
        code: "judge.several-causes",
        meaning: "The largest latencies have several causes, and each has a tail of its own.",
        fix: "Remove all causes but one, or measure each by itself.",
    },
    Definition {
        code: "judge.too-few-rounds",
        meaning: "So few rounds do not reach the confidence, whatever they show.",
        fix: "Run as many rounds as the message says, or lower the confidence.",
    },
    Definition {
        code: "judge.imported",
        meaning: "A run was imported; its tool may count something else as latency.",
        fix: "Measure both runs with the same program.",
    },
    Definition {
        code: "judge.different-recording",
        meaning: "The runs recorded different traces, and recording costs time.",
        fix: "Measure both with the same `--trace` and `--tracer`.",
    },
    Definition {
        code: "judge.different-methods",
        meaning: "The runs measured different paths through the kernel, so their latencies do not compare.",
        fix: "Measure both with the same `--method`.",
    },
    Definition {
        code: "judge.different-length",
        meaning: "One run is at least twice as long, so its maximum is larger for that reason alone.",
        fix: "Compare runs of the same length.",
    },
    Definition {
        code: "judge.different-loads",
        meaning: "The sides ran different loads.",
        fix: "Run both with the same loads.",
    },
    Definition {
        code: "judge.no-spikes",
        meaning: "A run kept no spikes, so it has no causes to compare.",
        fix: "Measure both with traces.",
    },
    Definition {
        code: "judge.no-traces",
        meaning: "A run has no late wake-up with a trace, so its causes are not known.",
        fix: "Measure both with traces.",
    },
    Definition {
        code: "judge.different-circumstances",
        meaning: "The runs differ in load, interval, CPUs, priority or the like, which alone may make a cause come or go.",
        fix: "Measure both with the same settings.",
    },
    Definition {
        code: "judge.unpaired-seed",
        meaning: "Only one side has a run of this seed; it is left out.",
        fix: "Run both sides with the same seeds.",
    },
    Definition {
        code: "judge.ingredients-unknown",
        meaning: "An archive does not say what its virtual machine was made of.",
        fix: "Record it again with this version.",
    },
    Definition {
        code: "judge.partly-explained",
        meaning: "Only some of the runs have explained late wake-ups, so causes are compared only among those.",
        fix: "Run `tardy virtual record` for the others.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caution::{Caution, RunName};
    use crate::refusal::{Change, Refusal};
    use archive::problem::{Code, ProblemKind};

    fn codes() -> Vec<Code> {
        let text = String::new;
        let refusals = [
            Refusal::InvalidRun(text()),
            Refusal::VirtualTime,
            Refusal::Emulated,
            Refusal::NoSeconds,
            Refusal::SecondsDamaged,
            Refusal::SecondsMissing(1.0),
            Refusal::NoRate,
            Refusal::RateTooHigh(text()),
            Refusal::NothingMeasured,
            Refusal::LongBursts,
            Refusal::BlocksUnknown(1),
            Refusal::RecordsOfSecondsMissing(1),
            Refusal::NoEnd,
            Refusal::Lost { count: 1, kind: "frames".into() },
            Refusal::MissedUnknown,
            Refusal::Refuted { largest: "the latest came".into(), missed: 2 },
            Refusal::MaximumUnplaced { certain: true },
            Refusal::TooShort { hours_measured: 1.0, hours_needed: 2.0 },
            Refusal::NotStationary { change: Change::Rises, after_hours: None },
            Refusal::AllEqual,
            Refusal::BlocksCluster(1.0),
            Refusal::LengthUnknown,
            Refusal::HorizonTooLong { asked: 2.0, factor: 10.0, allowed: 1.0 },
            Refusal::ClockTooCoarse(6.0),
            Refusal::StandsApart(1),
            Refusal::TailIrregular,
            Refusal::TailTooShort,
            Refusal::NoUsefulBound,
            Refusal::NoShape,
            Refusal::BlocksNotFitted,
            Refusal::NoCrossCheck,
            Refusal::Contradiction,
            Refusal::TooFewPeaks { peaks: 3, hours_needed: 1.0 },
            Refusal::BurstsOverAMinute,
            Refusal::SeveralCauses(text()),
            Refusal::TooFewRounds { rounds: 1, confidence_max: 0.5, confidence: 0.95, rounds_needed: 6 },
        ];
        let cautions = [
            Caution::InvalidRun { run: RunName::A, reasons: text() },
            Caution::VirtualTime(RunName::A),
            Caution::Emulated(RunName::A),
            Caution::Imported(RunName::A),
            Caution::Recording { a: None, b: None },
            Caution::Methods { a: String::new(), b: String::new() },
            Caution::Length { longer: RunName::B },
            Caution::Work,
            Caution::NoSpikes(RunName::B),
            Caution::NoTraces(RunName::A),
            Caution::Circumstances(text()),
            Caution::LengthUnknown,
            Caution::Unpaired(text()),
            Caution::IngredientsUnknown,
            Caution::Loads,
            Caution::PartlyExplained { a: 1, b: 2, of: 3 },
        ];
        refusals.iter().map(ProblemKind::code).chain(cautions.iter().map(ProblemKind::code)).collect()
    }

    #[test]
    fn every_code_has_one_definition_and_every_definition_a_code() {
        let codes = codes();
        for code in &codes {
            let count = DEFINITIONS.iter().filter(|definition| *code == definition.code).count();
            assert_eq!(count, 1, "{code}");
        }
        for definition in DEFINITIONS {
            assert!(codes.iter().any(|code| *code == definition.code), "{}", definition.code);
        }
    }
}
