//! A simulated machine: lognormal latencies, a load that comes and goes, a slow drift, and bursts of spikes with a
//! heavy tail. Its runs differ as those of a real machine do.

use archive::histogram::{Histogram, bucket_of};
use archive::message::{Ending, RunPhase};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Second, Totals};
use judge::coin::Coin;
use statrs::distribution::{ContinuousCDF, Normal};
use std::collections::BTreeMap;

/// Wake-ups a second.
pub const PER_SECOND: usize = 1000;
const BODY_NS: f64 = 4_000.0;
const BODY_SIGMA: f64 = 0.35;
/// Factor of the body's latencies under load.
const LOADED: f64 = 1.5;
/// Chance per second that the load starts, and that it ends.
const LOAD_BEGINS: f64 = 1.0 / 20.0;
const LOAD_ENDS: f64 = 1.0 / 10.0;
const DRIFT_MEMORY: f64 = 0.9;
const DRIFT: f64 = 0.03;
/// Bursts of spikes per second, and the chance that another spike follows in a burst.
const BURSTS: f64 = 0.153;
const ANOTHER: f64 = 0.41;
const SPIKE_NS: f64 = 21_300.0;
const SPIKE_SCALE_NS: f64 = 8_000.0;
const SPIKE_XI: f64 = 0.15;

/// The properties of one run of the machine that differ from those of another run.
#[derive(Debug, Clone, Copy)]
pub struct Character {
    pub body: f64,
    pub spike_size: f64,
    pub spike_rate: f64,
    /// Events of 150 µs per second.
    pub rare_mode: f64,
}

impl Character {
    pub const PLAIN: Self = Self { body: 1.0, spike_size: 1.0, spike_rate: 1.0, rare_mode: 0.0 };

    /// Random differences between runs: 4 % of the body, 6 % of the spikes' size, 15 % of their rate.
    pub fn with_run_effect(self, dice: &mut Dice) -> Self {
        Self {
            body: self.body * (0.04 * dice.normal()).exp(),
            spike_size: self.spike_size * (0.06 * dice.normal()).exp(),
            spike_rate: self.spike_rate * (0.15 * dice.normal()).exp(),
            ..self
        }
    }

    /// Drift during a session: 10 % of the body and 15 % of the spikes' size by its end.
    pub fn drifted(self, share: f64) -> Self {
        Self { body: self.body * (1.0 + 0.10 * share), spike_size: self.spike_size * (1.0 + 0.15 * share), ..self }
    }
}

/// Random numbers of the machine.
pub struct Dice {
    coin: Coin,
    /// Latencies of the body, all equally likely.
    body: Vec<f32>,
}

impl Dice {
    pub fn new(seed: u64) -> Self {
        let normal = Normal::standard();
        let latency =
            |at: u32| (BODY_NS * (BODY_SIGMA * normal.inverse_cdf((f64::from(at) + 0.5) / 65_536.0)).exp()) as f32;
        Self { coin: Coin::new(seed), body: (0..65_536).map(latency).collect() }
    }

    /// Starts another sequence.
    pub fn again(&mut self, seed: u64, number: u32) {
        self.coin = Coin::of_round(seed, number);
    }

    pub fn unit(&mut self) -> f64 {
        self.coin.unit()
    }

    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Number of events in one second at a mean of `rate`.
    fn events(&mut self, rate: f64) -> u32 {
        let (mut events, mut chance) = (0, self.unit());
        let limit = (-rate).exp();
        while chance > limit && events < 100 {
            chance *= self.unit();
            events += 1;
        }
        events
    }
}

/// The counts of a thread of the machine.
pub struct Counted {
    buckets: Vec<u64>,
    pub seconds: Vec<i64>,
}

impl Counted {
    fn sample(&mut self, ns: f64) {
        let ns = ns as i64;
        self.buckets[bucket_of(ns).unwrap_or(0)] += 1;
        if let Some(last) = self.seconds.last_mut() {
            *last = (*last).max(ns);
        }
    }
}

/// Measures `seconds` seconds. Without `body` only spikes are simulated, for true values that need long times.
pub fn measure(dice: &mut Dice, character: Character, seconds: usize, body: bool) -> Counted {
    let mut counted =
        Counted { buckets: vec![0; bucket_of(i64::MAX).unwrap() + 1], seconds: Vec::with_capacity(seconds) };
    let mut loaded = dice.unit() < LOAD_BEGINS / (LOAD_BEGINS + LOAD_ENDS);
    let mut drift = dice.normal() * DRIFT;
    for _ in 0..seconds {
        counted.seconds.push(0);
        if dice.unit() < if loaded { LOAD_ENDS } else { LOAD_BEGINS } {
            loaded = !loaded;
        }
        drift = DRIFT_MEMORY * drift + DRIFT * (1.0 - DRIFT_MEMORY * DRIFT_MEMORY).sqrt() * dice.normal();
        let factor = (character.body * drift.exp() * if loaded { LOADED } else { 1.0 }) as f32;
        if body {
            for _ in 0..PER_SECOND / 4 {
                let drawn = dice.coin.next_u64();
                for part in 0..4 {
                    let latency = dice.body[(drawn >> (16 * part)) as usize & 0xffff] * factor;
                    counted.sample(f64::from(latency));
                }
            }
        }
        let rate = BURSTS * character.spike_rate * if loaded { 2.0 } else { 0.5 };
        for _ in 0..dice.events(rate) {
            loop {
                let excess = SPIKE_SCALE_NS * ((1.0 - dice.unit()).powf(-SPIKE_XI) - 1.0) / SPIKE_XI;
                counted.sample(character.spike_size * (SPIKE_NS + excess));
                if dice.unit() >= ANOTHER {
                    break;
                }
            }
        }
        for _ in 0..dice.events(character.rare_mode) {
            let jitter = 5_000.0 * dice.normal();
            counted.sample(150_000.0 + jitter);
        }
    }
    counted
}

impl Counted {
    pub fn histogram(&self) -> Histogram {
        let full = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        Histogram { buckets: full.map(|(bucket, count)| (bucket as u32, *count)).collect() }
    }

    /// The same as a run.
    pub fn run(&self) -> Run {
        let histogram = self.histogram();
        let totals = Totals {
            cycles: histogram.total(),
            latency_ns_max: self.seconds.iter().copied().max(),
            ..Totals::default()
        };
        let second = |(second, latency_ns_max): (usize, &i64)| Second {
            second: second as u32,
            cycles: PER_SECOND as u32,
            latency_ns_max: *latency_ns_max,
            ..Second::default()
        };
        let seconds = self.seconds.iter().enumerate().map(second).collect();
        let end_ns = self.seconds.len() as i64 * 1_000_000_000;
        let manifest = serde_json::json!({ "archive_version": 1, "id": "invented", "tool_version": "", "command": [],
            "target": "local", "started_unix_ns": 0, "ended_unix_ns": null, "state": "complete", "problem": null });
        Run {
            manifest: Some(serde_json::from_value(manifest).expect("it is a manifest")),
            phases: vec![(RunPhase::Measure, 0), (RunPhase::Collect, end_ns)],
            threads: BTreeMap::from([(0, ThreadRun { totals, histogram, seconds, ..ThreadRun::default() })]),
            ending: Some((Ending::Complete, end_ns)),
            ..Run::default()
        }
    }
}
