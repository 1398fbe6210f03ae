//! Synthetic runs, and their judgement.

use archive::environment::Environment;
use archive::histogram::{Histogram, bucket_of};
use archive::manifest::Manifest;
use archive::message::{Ending, RunPhase};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Second, Totals};
use archive::settings::RunSettings;
use archive::summary::RunSummary;
use claims::limit::{Limit, Rate};
use judge::verdict::{Judgement, judge};
use std::collections::BTreeMap;

pub const HOUR: u32 = 3600;

/// The observation of a synthetic thread in a second: maximum in ns, samples over the limit of the run, missed
/// periods.
pub type Seen = (i64, u32, u32);

/// A run on a real machine with a real-time kernel, 1000 wake-ups a second, `limit_ns` 100 µs.
pub fn run(seconds: u32, cpus: u32, seen: impl Fn(u32, u32) -> Seen) -> Run {
    let thread = |cpu: u32| {
        let records: Vec<Second> = (0..seconds)
            .map(|second| {
                let (latency_ns_max, over_limit, missed_periods) = seen(cpu, second);
                Second { thread: cpu, second, cycles: 1000, latency_ns_max, over_limit, missed_periods }
            })
            .collect();
        let totals = Totals {
            cycles: u64::from(seconds) * 1000,
            over_limit: records.iter().map(|record| u64::from(record.over_limit)).sum(),
            latency_ns_max: records.iter().map(|record| record.latency_ns_max).max(),
            missed_periods: records.iter().map(|record| u64::from(record.missed_periods)).sum(),
            ..Totals::default()
        };
        // One sample of each second is its latest, the others are 10 ns late.
        let mut counts = BTreeMap::from([(bucket_of(10).unwrap() as u32, u64::from(seconds) * 999)]);
        for record in &records {
            *counts.entry(bucket_of(record.latency_ns_max.max(0)).unwrap() as u32).or_default() += 1;
        }
        let histogram = Histogram { buckets: counts.into_iter().collect() };
        (cpu, ThreadRun { thread: cpu, cpu, totals, histogram, seconds: records.into(), ..ThreadRun::default() })
    };
    let manifest = serde_json::json!({ "archive_version": 1, "id": "invented", "tool_version": "", "command": [],
        "target": "local", "started_unix_ns": 0, "ended_unix_ns": null, "state": "complete", "problem": null });
    let mut manifest: Manifest = serde_json::from_value(manifest).unwrap();
    manifest.settings = Some(RunSettings { limit_ns: Some(100_000), ..RunSettings::default() });
    let end_ns = i64::from(seconds) * 1_000_000_000;
    Run {
        manifest: Some(manifest),
        environment: Some(Environment {
            preempt_rt: Some(true),
            virtualisation: Some("none".into()),
            ..Environment::default()
        }),
        phases: vec![(RunPhase::Measure, 0), (RunPhase::Collect, end_ns)],
        threads: (0..cpus).map(thread).collect::<BTreeMap<_, _>>(),
        ending: Some((Ending::Complete, end_ns)),
        ..Run::default()
    }
}

pub fn limit(text: &str, allow: &str) -> Limit {
    let time_ns = |text: &str| -> Result<u64, String> {
        Ok(text.strip_suffix("us").ok_or("a unit")?.parse::<u64>().map_err(|error| error.to_string())? * 1000)
    };
    Limit::parse(text, &Rate::parse(allow).unwrap(), time_ns).unwrap()
}

pub fn judged(run: &Run, text: &str, allow: &str) -> Judgement {
    judge(run, &RunSummary::of(run, &[]), &limit(text, allow), 0.95, &[])
}
