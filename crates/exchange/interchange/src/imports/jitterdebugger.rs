//! `results.json` of jitterdebugger. Its histogram ends at 999 and drops larger values without counting them;
//! `samples.raw`, if it was kept, has every value ([`super::samples_raw`]).

use super::kernel_banner::preemption;
use super::lack::{self, Lack};
use super::problem::Lost;
use super::source::{Mean, Source, SourceThread, Unit};
use super::{Companion, Head, Hints, ImportFormat, samples_raw};
use archive::environment::Environment;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Latencies from this value on are in no bucket.
const HISTOGRAM_END: u64 = 1000;

#[derive(Debug)]
pub struct Jitterdebugger;

impl ImportFormat for Jitterdebugger {
    fn name(&self) -> &'static str {
        "jitterdebugger"
    }

    fn about(&self) -> &'static str {
        "results.json of jitterdebugger, with samples.raw beside it"
    }

    fn title(&self) -> &'static str {
        "results.json of jitterdebugger"
    }

    fn detects(&self, head: &Head<'_>) -> bool {
        head.has_key("cpu") && (head.has_key("count") || head.has_key("histogram"))
    }

    fn read(&self, text: &str, _: &Hints) -> Result<Vec<Source>, Lack> {
        Ok(vec![read(text)?])
    }

    fn companion(&self) -> Option<Companion> {
        Some(Companion { file_name: "samples.raw", add: samples_raw::add })
    }
}

/// Parses the file's text.
fn read(text: &str) -> Result<Source, Lack> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        if error.is_eof() { Lack::BreaksOff { line: error.line() } } else { Lack::Json(error.to_string()) }
    })?;
    let file = document.as_object().ok_or(Lack::NoObject)?;
    let cpus = file.get("cpu").and_then(Value::as_object).ok_or(Lack::Latencies("cpu"))?;
    let in_ns = file.get("resolution_in_ns").and_then(Value::as_u64) == Some(1);
    let mut source = Source::new(&Jitterdebugger, "jitterdebugger", if in_ns { Unit::Ns } else { Unit::Us });
    source.histogram_end = Some(HISTOGRAM_END);
    source.environment = file.get("sysinfo").and_then(Value::as_object).map(environment);
    if let Some(version) = file.get("version") {
        source.stated(format!("version {version} of its file format"));
    }
    for key in ["start", "end"] {
        if let Some(time) = file.get("time").and_then(|time| time.get(key)).and_then(Value::as_str) {
            source.stated(format!("{key}: {time}"));
        }
    }
    let mut numbered = BTreeMap::new();
    for (name, thread) in cpus {
        let number: u32 = name.parse().map_err(|_| Lack::ThreadName(name.clone()))?;
        numbered.insert(number, read_thread(thread).map_err(|value| Lack::OfThread { thread: number, value })?);
    }
    if numbered.is_empty() {
        return Err(Lack::NoThreads);
    }
    if numbered.keys().copied().ne(0..numbered.len() as u32) {
        return Err(Lack::ThreadNumbers);
    }
    source.threads = numbered.into_values().collect();
    source.lost(Lost::CommandOfToolAndTime);
    source.lost(Lost::CpuOfThreads);
    Ok(source)
}

fn environment(info: &Map<String, Value>) -> Environment {
    let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Environment {
        hostname: text("nodename"),
        architecture: text("machine"),
        kernel_release: text("release"),
        kernel_version: text("version"),
        preemption: preemption(&text("version")),
        ..Environment::default()
    }
}

fn read_thread(thread: &Value) -> Result<SourceThread, lack::Value> {
    let whole = |key: &'static str| thread.get(key).and_then(Value::as_u64).ok_or(lack::Value::Missing(key));
    let histogram = thread.get("histogram").and_then(Value::as_object).ok_or(lack::Value::Missing("histogram"))?;
    let mut buckets = BTreeMap::new();
    for (low, count) in histogram {
        let low: u64 = low.parse().map_err(|_| lack::Value::Bucket(low.clone()))?;
        let count = count.as_u64().ok_or(lack::Value::Count(low))?;
        if count > 0 {
            buckets.insert(low, count);
        }
    }
    let mean = thread.get("avg").and_then(Value::as_f64).ok_or(lack::Value::Missing("avg"))?;
    Ok(SourceThread {
        buckets,
        cycles: Some(whole("count")?),
        min: Some(i128::from(whole("min")?)),
        max: Some(i128::from(whole("max")?)),
        mean: Some(Mean { value: mean, decimals: Some(2) }),
        ..SourceThread::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let lacks = |text: &str| read(text).unwrap_err();
        assert_eq!(lacks("{\"cpu\": {\"0\": {\"histogram\": {\"3\""), Lack::BreaksOff { line: 1 });
        let second = "{\"cpu\": {\"1\": {\"histogram\": {}, \"count\": 0, \"min\": 0, \"max\": 0, \"avg\": 0}}}";
        assert_eq!(lacks(second), Lack::ThreadNumbers);
        let missing = lacks("{\"cpu\": {\"0\": {\"histogram\": {}}}}");
        assert_eq!(missing, Lack::OfThread { thread: 0, value: lack::Value::Missing("avg") });
    }
}
