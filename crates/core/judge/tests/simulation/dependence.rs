//! Claims of one run with dependent late wake-ups: in bursts, in groups minutes apart, with memory. No claim may be
//! wrong more often than it states.

use crate::tables::{Table, publish};
use crate::{error_most, repeated, share};
use archive::environment::Environment;
use archive::histogram::{Histogram, bucket_of};
use archive::manifest::Manifest;
use archive::message::{Ending, RunPhase};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Second, Totals};
use archive::settings::RunSettings;
use archive::summary::RunSummary;
use claims::limit::{DISTURBANCE_S, Limit, Rate, Requirement};
use judge::blocks::{SecondState, Seconds};
use judge::coin::Coin;
use judge::length::needed;
use judge::occasions::{occasion_s, occasions};
use judge::proof::proof;
use judge::verdict::{Verdict, judge};
use std::cmp::Ordering;
use std::collections::BTreeMap;

const PER_SECOND: usize = 1000;
const LIMIT_NS: i64 = 99_999;
const CONFIDENCE: f64 = 0.95;
const HOUR: usize = 3600;

/// How late wake-ups cluster. The event rate follows from the share of late wake-ups.
#[derive(Debug, Clone, Copy)]
enum Together {
    /// This number in a row.
    Burst(usize),
    /// This number of bursts of this number each, one to three minutes apart.
    Group(usize, usize),
    /// Rows of this number on average, their lengths exponential.
    Regime(usize),
    /// The share follows a level that is correlated this much with the second before.
    Memory(f64),
}

const KINDS: [(&str, Together); 12] = [
    ("single wake-ups", Together::Burst(1)),
    ("bursts of 10", Together::Burst(10)),
    ("bursts of 100", Together::Burst(100)),
    ("bursts of 1000, a second", Together::Burst(1000)),
    ("lateness of 10 s", Together::Burst(10_000)),
    ("lateness of 60 s", Together::Burst(60_000)),
    ("regimes of 2 s on average", Together::Regime(2_000)),
    ("regimes of 10 s on average", Together::Regime(10_000)),
    ("regimes of 60 s on average", Together::Regime(60_000)),
    ("groups of 5 bursts of 100, minutes apart", Together::Group(5, 100)),
    ("memory of seconds, AR(1) 0.5", Together::Memory(0.5)),
    ("memory of ten seconds, AR(1) 0.9", Together::Memory(0.9)),
];

/// The observation of a run.
struct Seen {
    late: Vec<u32>,
    max_ns: Vec<i64>,
    late_ns: BTreeMap<u32, u64>,
}

struct Dice(Coin);

impl Dice {
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.0.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.0.unit()).cos()
    }

    /// Time to the next event at `rate` events per second, in seconds.
    fn wait(&mut self, rate: f64) -> f64 {
        -(1.0 - self.0.unit()).ln() / rate
    }

    /// Late wake-ups of a second in which each is late with this probability.
    fn events(&mut self, probability: f64) -> u32 {
        let mean = probability * PER_SECOND as f64;
        // Poisson's distribution where few are late; where many are, the normal one with the deviation of 1000 coins.
        if mean > 30.0 {
            let deviation = (mean * (1.0 - probability)).sqrt();
            return (mean + deviation * self.normal()).round().clamp(0.0, PER_SECOND as f64) as u32;
        }
        let (mut events, left) = (0, (-mean).exp());
        let mut chance = self.0.unit();
        while chance > left {
            chance *= self.0.unit();
            events += 1;
        }
        events.min(PER_SECOND as u32)
    }
}

impl Seen {
    /// Late wake-ups from `first` to before `end`, none of which is late already.
    fn burst(&mut self, first: usize, end: usize, latency_ns: i64) {
        let end = end.min(self.late.len() * PER_SECOND);
        let mut from = first;
        while from < end {
            let second = from / PER_SECOND;
            let until = end.min((second + 1) * PER_SECOND);
            self.late[second] += (until - from) as u32;
            self.max_ns[second] = self.max_ns[second].max(latency_ns);
            from = until;
        }
        let late = end.saturating_sub(first) as u64;
        *self.late_ns.entry(bucket_of(latency_ns).expect("positive") as u32).or_default() += late;
    }
}

/// Latency of a late wake-up: uniform from 100 to 200 µs.
fn latency_ns(dice: &mut Dice) -> i64 {
    100_000 + (100_000.0 * dice.0.unit()) as i64
}

/// A run of `seconds` seconds with this long-run share of late wake-ups.
fn invent(seed: u64, together: Together, share: f64, seconds: usize) -> Seen {
    let mut dice = Dice(Coin::new(seed));
    let mut seen = Seen { late: vec![0; seconds], max_ns: Vec::with_capacity(seconds), late_ns: BTreeMap::new() };
    let (length, group) = match together {
        Together::Burst(length) => (length, 1),
        Together::Group(group, length) => (length, group),
        Together::Regime(mean) => (mean, 1),
        Together::Memory(memory) => {
            remember(&mut dice, &mut seen, memory, share);
            return seen;
        }
    };
    seen.max_ns.extend((0..seconds).map(|_| 20_000 + (5_000.0 * dice.0.unit()) as i64));
    // Clusters may meet, and a wake-up is late once.
    let rate = -(1.0 - share).ln() * PER_SECOND as f64 / (length * group) as f64;
    let mut bursts: Vec<(usize, usize, i64)> = Vec::new();
    // Clusters that start before the run reach into it.
    let mut at = -600.0 + dice.wait(rate);
    while at < seconds as f64 {
        let mut burst_at = at;
        for _ in 0..group {
            let latency = latency_ns(&mut dice);
            let length = match together {
                Together::Regime(mean) => dice.wait(1.0 / mean as f64) as usize,
                _ => length,
            };
            if burst_at + length as f64 / PER_SECOND as f64 > 0.0 {
                let cut = (-burst_at * PER_SECOND as f64).max(0.0) as usize;
                let first = (burst_at.max(0.0) * PER_SECOND as f64) as usize;
                bursts.push((first, first + length - cut.min(length), latency));
            }
            burst_at += 60.0 + 120.0 * dice.0.unit();
        }
        at += dice.wait(rate);
    }
    bursts.sort_unstable();
    let mut late_until = 0;
    for (first, end, latency) in bursts {
        if end > late_until {
            seen.burst(first.max(late_until), end, latency);
            late_until = end;
        }
    }
    seen
}

/// Probability that a wake-up is late at this level. No level makes it larger than one.
fn probability(scale: f64, level: f64) -> f64 {
    const SPREAD: f64 = 1.5;
    (scale * (SPREAD * level).exp()).min(1.0)
}

/// The scale whose probabilities have this mean over all levels.
fn scale_of(share: f64) -> f64 {
    const STEPS: i32 = 400;
    let mean = |scale: f64| {
        let levels = (-STEPS..=STEPS).map(|step| f64::from(step) * 8.0 / f64::from(STEPS));
        let weighted = levels.map(|level| ((-0.5 * level * level).exp(), probability(scale, level)));
        let (all, late) = weighted.fold((0.0, 0.0), |(all, late), (weight, here)| (all + weight, late + weight * here));
        late / all
    };
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if mean(middle) < share { low = middle } else { high = middle }
    }
    high
}

fn remember(dice: &mut Dice, seen: &mut Seen, memory: f64, share: f64) {
    let scale = scale_of(share);
    let mut level = dice.normal();
    for second in 0..seen.late.len() {
        level = memory * level + (1.0 - memory * memory).sqrt() * dice.normal();
        seen.max_ns.push((20_000.0 * (0.3 * level).exp()) as i64);
        let first = second * PER_SECOND;
        for at in first..first + dice.events(probability(scale, level)) as usize {
            seen.burst(at, at + 1, latency_ns(dice));
        }
    }
}

impl Seen {
    fn run(&self, counted: bool) -> Run {
        let second = |second: usize| Second {
            second: second as u32,
            cycles: PER_SECOND as u32,
            latency_ns_max: self.max_ns[second],
            over_limit: self.late[second],
            ..Second::default()
        };
        let late: u64 = self.late_ns.values().sum();
        let cycles = (self.late.len() * PER_SECOND) as u64;
        let mut counts = self.late_ns.clone();
        *counts.entry(bucket_of(15_000).expect("positive") as u32).or_default() += cycles - late;
        let manifest = serde_json::json!({ "archive_version": 1, "id": "invented", "tool_version": "", "command": [],
            "target": "local", "started_unix_ns": 0, "ended_unix_ns": null, "state": "complete", "problem": null });
        let mut manifest: Manifest = serde_json::from_value(manifest).expect("it is a manifest");
        let limit_ns = counted.then_some(LIMIT_NS);
        manifest.settings = Some(RunSettings { limit_ns, ..RunSettings::default() });
        let thread = ThreadRun {
            totals: Totals {
                cycles,
                over_limit: if counted { late } else { 0 },
                latency_ns_max: self.max_ns.iter().copied().max(),
                ..Totals::default()
            },
            histogram: Histogram { buckets: counts.into_iter().collect() },
            seconds: (0..self.late.len()).map(second).collect(),
            ..ThreadRun::default()
        };
        let end_ns = self.late.len() as i64 * 1_000_000_000;
        Run {
            manifest: Some(manifest),
            environment: Some(Environment { preempt_rt: Some(true), ..Environment::default() }),
            phases: vec![(RunPhase::Measure, 0), (RunPhase::Collect, end_ns)],
            threads: BTreeMap::from([(0, thread)]),
            ending: Some((Ending::Complete, end_ns)),
            ..Run::default()
        }
    }
}

fn verdict(run: &Run, requirement: Requirement, per_hour: f64) -> Verdict {
    let allow = Some(Rate { per_hour, text: "as allowed".into() });
    let limit = Limit { text: String::new(), requirement, allow };
    judge(run, &RunSummary::of(run, &[]), &limit, CONFIDENCE, &[]).verdict
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn quantiles_are_seldom_wrong_however_late_wake_ups_come_together() {
    // Just long enough for PASS without a late wake-up, and much longer.
    let lengths = [(0.5, 1200), (0.9, 1925), (0.9, 2 * HOUR), (0.99, 19_140), (0.99, 12 * HOUR), (0.999, 191_400)];
    let title: Vec<String> =
        lengths.iter().map(|(q, seconds)| format!("p{} in {}", q * 100.0, runs_of(*seconds))).collect();
    let mut table = Table::new("wake-ups come as", &title);
    let mut wrong: Vec<(String, f64, f64)> = Vec::new();
    for (kind, (name, together)) in KINDS.into_iter().enumerate() {
        let mut cells = Vec::new();
        for (at, (q, seconds)) in lengths.into_iter().enumerate() {
            let quantile = Requirement::Quantile { q, latest_ns: LIMIT_NS, disturbance_s: DISTURBANCE_S };
            let verdicts = repeated(repetitions(seconds), |number| {
                let seed = ((kind * 100 + at) * 100_000 + number) as u64;
                // With the late samples of each second counted, and without.
                let is = |wrong: Verdict, share: f64, seed: u64| {
                    let seen = invent(seed, together, share, seconds);
                    [true, false].map(|counted| verdict(&seen.run(counted), quantile.clone(), 0.0) == wrong)
                };
                [is(Verdict::Pass, 1.2 * (1.0 - q), seed), is(Verdict::Fail, 0.83 * (1.0 - q), seed + 50_000)]
            });
            let rate = |wrong: usize, counted: usize| {
                share(&verdicts.iter().map(|both| both[wrong][counted]).collect::<Vec<_>>())
            };
            let (passed, failed) = (rate(0, 0).max(rate(0, 1)), rate(1, 0).max(rate(1, 1)));
            cells.push(format!("{:.1} / {:.1}", passed * 100.0, failed * 100.0));
            let most = error_most(0.05, repetitions(seconds));
            wrong.extend([passed, failed].map(|rate| (format!("{name}, {}", title[at]), rate, most)));
        }
        table.row(name, cells);
    }
    publish("quantiles", &table);
    let above: Vec<_> = wrong.iter().filter(|(_, rate, most)| rate > most).collect();
    assert!(above.is_empty(), "{above:?}");
}

/// Long runs take long to invent and to judge.
fn repetitions(seconds: usize) -> usize {
    match seconds {
        ..=20_000 => 400,
        20_001..=100_000 => 200,
        _ => 100,
    }
}

fn runs_of(seconds: usize) -> String {
    format!("{}, {} runs", length(seconds), repetitions(seconds))
}

/// Long-run occasions per hour.
fn occasions_per_hour(together: Together, share: f64, within_s: u32) -> f64 {
    let counts = repeated(200, |number| {
        let seen = invent(9_000_000 + number as u64, together, share, 50 * HOUR);
        let state = |late: &u32| if *late > 0 { SecondState::Bad } else { SecondState::Good };
        occasions(&Seconds { states: seen.late.iter().map(state).collect() }, within_s)
    });
    counts.iter().sum::<u64>() as f64 / (200.0 * 50.0)
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn rates_are_seldom_wrong_however_late_wake_ups_come_together() {
    // The share of late wake-ups for about one occasion of each kind per hour.
    let an_hour = |samples: f64| samples / 3.6e6;
    let kinds: [(&str, Together, f64); 6] = [
        ("single wake-ups", Together::Burst(1), an_hour(1.0)),
        ("bursts of a second", Together::Burst(1000), an_hour(1000.0)),
        ("disturbances of 90 s", Together::Burst(90_000), an_hour(90_000.0)),
        ("groups of 3 bursts, minutes apart", Together::Group(3, 10), an_hour(30.0)),
        ("groups of 5 bursts, minutes apart", Together::Group(5, 10), an_hour(50.0)),
        ("memory of ten seconds, AR(1) 0.9", Together::Memory(0.9), an_hour(1.5)),
    ];
    let lengths = [300, HOUR, 11_200, 12 * HOUR, 48 * HOUR];
    let title: Vec<String> = lengths.iter().map(|seconds| runs_of(*seconds)).collect();
    let mut table = Table::new("wake-ups come as", &title);
    let mut wrong: Vec<(String, f64, f64)> = Vec::new();
    for (kind, (name, together, share_late)) in kinds.into_iter().enumerate() {
        let rate = occasions_per_hour(together, share_late, occasion_s(1.0));
        let mut cells = Vec::new();
        for (at, seconds) in lengths.into_iter().enumerate() {
            let verdicts = repeated(repetitions(seconds), |number| {
                let seed = (7_000_000 + (kind * 100 + at) * 10_000 + number) as u64;
                let run = invent(seed, together, share_late, seconds).run(true);
                let latency = Requirement::Latency { latest_ns: LIMIT_NS };
                let of = |allowed: f64| verdict(&run, latency.clone(), allowed);
                [of(rate / 1.05) == Verdict::Pass, of(rate / 0.95) == Verdict::Fail]
            });
            let of = |which: usize| share(&verdicts.iter().map(|both| both[which]).collect::<Vec<_>>());
            cells.push(format!("{:.1} / {:.1}", of(0) * 100.0, of(1) * 100.0));
            let most = error_most(0.05, repetitions(seconds));
            wrong.extend([of(0), of(1)].map(|rate| (format!("{name}, {}", title[at]), rate, most)));
        }
        table.row(name, cells);
    }
    publish("rates", &table);
    let above: Vec<_> = wrong.iter().filter(|(_, rate, most)| rate > most).collect();
    assert!(above.is_empty(), "{above:?}");
}

#[test]
#[ignore = "minutes; make simulate-judge"]
fn printed_intervals_and_maxima_hold_however_late_wake_ups_come_together() {
    const SECONDS: usize = 8 * HOUR;
    const REPETITIONS: usize = 100;
    let quantiles = [("p99", 0.99)];
    let mut table = Table::new("wake-ups come as", &["p99", "new maximum in as long again"].map(String::from));
    let (mut missed, mut maxima) = (Vec::new(), Vec::new());
    for (kind, (name, together)) in KINDS.into_iter().enumerate() {
        let mut cells = Vec::new();
        for (at, (quantile, q)) in quantiles.into_iter().enumerate() {
            // One in 1.2 of the late wake-ups is over the quantile; they are uniform between 100 and 200 µs.
            let truth_ns = 100_000.0 * (2.0 - 1.0 / 1.2);
            let wrong = repeated(REPETITIONS, |number| {
                let seed = (20_000_000 + (kind * 10 + at) * 10_000 + number) as u64;
                let run = invent(seed, together, 1.2 * (1.0 - q), SECONDS).run(false);
                let proof = proof(&run, &RunSummary::of(&run, &[]), None, CONFIDENCE).expect("it measured");
                let shown = proof.cpus[0].quantiles.iter().find(|shown| shown.quantile == quantile)?;
                let low = shown.low_ns.is_none_or(|ns| ns as f64 <= truth_ns);
                let high = shown.high_ns.is_none_or(|ns| truth_ns <= ns as f64);
                Some(!(low && high))
            });
            let shown: Vec<bool> = wrong.into_iter().flatten().collect();
            cells.push(if shown.is_empty() {
                "not shown".into()
            } else {
                format!("{:.1} of {}", share(&shown) * 100.0, shown.len())
            });
            // Quantiles that are not shown claim nothing and are not errors.
            missed.push((format!("{name}, {quantile}"), shown.iter().filter(|wrong| **wrong).count()));
        }
        let beaten = repeated(REPETITIONS, |number| {
            let seed = (40_000_000 + kind * 10_000 + number) as u64;
            let seen = invent(seed, together, 1.2e-3, 2 * HOUR);
            let (first, second) = seen.max_ns.split_at(HOUR);
            // Equal maxima count half: the claim takes them as neither.
            match second.iter().max().cmp(&first.iter().max()) {
                Ordering::Greater => 1.0,
                Ordering::Equal => 0.5,
                Ordering::Less => 0.0,
            }
        });
        let beaten = beaten.iter().sum::<f64>() / beaten.len() as f64;
        cells.push(format!("{:.1}", beaten * 100.0));
        maxima.push((name, beaten));
        table.row(name, cells);
    }
    publish("intervals", &table);
    let most = error_most(0.05, REPETITIONS) * REPETITIONS as f64;
    let above: Vec<_> = missed.iter().filter(|(_, wrong)| *wrong as f64 > most).collect();
    assert!(above.is_empty(), "{above:?} are above {most:.1} of {REPETITIONS}");
    let most = error_most(0.5, REPETITIONS);
    assert!(maxima.iter().all(|(_, share)| (1.0 - most..=most).contains(share)), "{maxima:?}");
}

/// The time to PASS: power is measured, not assumed.
#[test]
#[ignore = "minutes; make simulate-judge"]
fn quiet_machines_pass_after_the_time_that_a_plan_says() {
    let mut table =
        Table::new("limit", &["nothing late", "single late wake-ups, a tenth of what is allowed"].map(String::from));
    for text in ["p50", "p90", "p99", "p99.9, disturbance < 1s", "p99.99, disturbance < 1s", "1/h"] {
        let (name, disturbance) = text.split_once(',').map_or((text, ""), |(name, _)| (name, ", disturbance < 1s"));
        let (wanted, allow) = if name == "1/h" { ("latency", name) } else { (name, "1/h") };
        let limit = limit_of(&format!("{wanted} <= 99.999us{disturbance}"), allow);
        let tenth = match &limit.requirement {
            Requirement::Quantile { q, .. } => 0.1 * (1.0 - q),
            _ => 0.1 / 3.6e6,
        };
        let planned = (needed(&limit, 1_000_000, CONFIDENCE).lengths[0].hours * 3600.0).ceil() as usize;
        let cells = [0.0, tenth].map(|share_late| {
            let passes = |seconds: usize| {
                let passed = repeated(40, |number| {
                    let seed = 60_000_000 + number as u64;
                    let run = invent(seed, Together::Burst(1), share_late.max(1e-15), seconds).run(true);
                    judge(&run, &RunSummary::of(&run, &[]), &limit, CONFIDENCE, &[]).verdict == Verdict::Pass
                });
                share(&passed) >= 0.8
            };
            let mut seconds = planned;
            while !passes(seconds) {
                seconds = seconds * 21 / 20;
            }
            length(seconds)
        });
        table.row(text, cells.to_vec());
    }
    publish("lengths", &table);
}

pub fn limit_of(text: &str, allow: &str) -> Limit {
    let time_ns = |text: &str| -> Result<u64, String> {
        let (number, unit) = text.strip_suffix("us").map_or((text.trim_end_matches('s'), 1e9), |number| (number, 1e3));
        number.parse::<f64>().map(|number| (number * unit).round() as u64).map_err(|error| error.to_string())
    };
    Limit::parse(text, &Rate::parse(allow).expect("a rate"), time_ns).expect("a limit")
}

pub fn length(seconds: usize) -> String {
    match seconds {
        s if s < 5400 => format!("{:.0} min", s as f64 / 60.0),
        s => format!("{} h", format!("{:.1}", s as f64 / 3600.0).trim_end_matches(".0")),
    }
}
