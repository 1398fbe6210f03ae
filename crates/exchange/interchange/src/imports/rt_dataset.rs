//! The dataset in JSON that OSADL's latency plots are drawn from: for each core the number of samples of each class.

use super::lack::{self, Lack};
use super::problem::Lost;
use super::source::{Source, SourceThread, Unit};
use super::wall_clock::unix_ns_of_iso_8601;
use super::{Head, Hints, ImportFormat};
use archive::environment::Environment;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct RtDataset;

impl ImportFormat for RtDataset {
    fn name(&self) -> &'static str {
        "rt-dataset"
    }

    fn about(&self) -> &'static str {
        "JSON of OSADL's latency plots, with machine, kernel and command line"
    }

    fn title(&self) -> &'static str {
        "a dataset of OSADL"
    }

    fn detects(&self, head: &Head<'_>) -> bool {
        let named = head.has_key("format") || head.has_key("format-test");
        named && ["RT Dataset", "RT Cyclictest"].iter().any(|name| head.text.contains(name))
    }

    fn read(&self, text: &str, _: &Hints) -> Result<Vec<Source>, Lack> {
        Ok(vec![read(text)?])
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Dataset {
    timestamps: Timestamps,
    system: System,
    processor: Processor,
    kernel: Kernel,
    condition: Condition,
    latency: Option<Latency>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Timestamps {
    /// When the measurement ended: its file was written.
    origin: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct System {
    hostname: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Processor {
    family: Option<String>,
    vendor: Option<String>,
    #[serde(rename = "type")]
    name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kernel {
    version: Option<String>,
    cmdline: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    load: Option<String>,
    cycles: Option<u64>,
    /// In µs.
    interval: Option<u64>,
    cyclictest: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Latency {
    granularity: Option<String>,
    cores: Vec<Vec<u64>>,
    maxima: Vec<i64>,
}

fn read(text: &str) -> Result<Source, Lack> {
    let file: Dataset = serde_json::from_str(text).map_err(|error| {
        if error.is_eof() { Lack::BreaksOff { line: error.line() } } else { Lack::Json(error.to_string()) }
    })?;
    let latency = file.latency.as_ref().ok_or(Lack::Latencies("latency"))?;
    let unit = match latency.granularity.as_deref() {
        Some("microseconds") => Unit::Us,
        Some("nanoseconds") => Unit::Ns,
        Some(other) => return Err(Lack::Granularity(other.to_owned())),
        None => return Err(lack::Value::Missing("granularity").into()),
    };
    let mut source = Source::new(&RtDataset, "cyclictest", unit);
    source.threads = threads(latency, &mut source.stated)?;
    // Every class has a count, also an empty one.
    source.histogram_end = latency.cores.first().map(|counts| counts.len() as u64);
    source.ended_unix_ns = file.timestamps.origin.as_deref().and_then(unix_ns_of_iso_8601);
    let length_us = file.condition.cycles.zip(file.condition.interval).and_then(|(cycles, us)| cycles.checked_mul(us));
    source.lasted_ns(length_us.and_then(|us| i64::try_from(us).ok()?.checked_mul(1000)));
    let start = |(end, length): (i64, i64)| end.checked_sub(length);
    source.started_unix_ns = source.ended_unix_ns.zip(source.length_ns).and_then(start);
    source.environment = Some(environment(&file));
    source.command = file.condition.cyclictest.filter(|command| !command.is_empty());
    source.stated.extend(file.condition.load.map(|load| format!("load: {load}")));
    if source.command.is_none() {
        source.lost(Lost::Command);
    }
    if latency.maxima.is_empty() {
        source.maximum_is_truncated();
    } else if source.threads.iter().any(|thread| thread.beyond.is_some()) {
        source.lost(Lost::BeyondLastRow);
    }
    Ok(source)
}

/// Some writers of the format take the column of latencies for a core.
fn is_index(counts: &[u64]) -> bool {
    counts.len() > 1 && (0..).zip(counts).all(|(at, count): (u64, &u64)| *count == at)
}

fn threads(latency: &Latency, stated: &mut Vec<String>) -> Result<Vec<SourceThread>, Lack> {
    let (index, cores) = match latency.cores.split_first() {
        Some((first, rest)) if is_index(first) && !rest.is_empty() => (true, rest),
        _ => (false, &latency.cores[..]),
    };
    if index {
        stated
            .push("the first list counts from 0 upwards: it holds the latencies of the others and was left out".into());
    }
    if !latency.maxima.is_empty() && latency.maxima.len() != cores.len() {
        return Err(Lack::Maxima { cores: cores.len(), maxima: latency.maxima.len() });
    }
    Ok(cores.iter().enumerate().map(|(core, counts)| thread(core, counts, latency.maxima.get(core))).collect())
}

fn thread(core: usize, counts: &[u64], max: Option<&i64>) -> SourceThread {
    let buckets: BTreeMap<u64, u64> =
        (0..).zip(counts).filter(|(_, count)| **count > 0).map(|(low, count)| (low, *count)).collect();
    let last = buckets.last_key_value().map(|(low, _)| i128::from(*low));
    SourceThread {
        cpu: u32::try_from(core).ok(),
        min: buckets.first_key_value().map(|(low, _)| i128::from(*low)),
        max: max.map(|max| i128::from(*max)).or(last),
        // A maximum beyond the classes shows one value more; how many there were is not in the file.
        beyond: max.zip(last).filter(|(max, last)| i128::from(**max) > *last).map(|_| 1),
        buckets,
        ..SourceThread::default()
    }
}

fn environment(file: &Dataset) -> Environment {
    let processor = [&file.processor.vendor, &file.processor.name].into_iter().flatten().cloned().collect::<Vec<_>>();
    Environment {
        hostname: file.system.hostname.clone().unwrap_or_default(),
        architecture: file.processor.family.clone().unwrap_or_default(),
        kernel_release: file.kernel.version.clone().unwrap_or_default(),
        command_line: file.kernel.cmdline.clone(),
        cpu_model: (!processor.is_empty()).then(|| processor.join(" ")),
        ..Environment::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"format": {"name": "RT Dataset", "version": "1.0"},
        "timestamps": {"origin": "2026-02-27T10:00:20+01:00", "dataset": "2026-02-28T10:00:00+01:00"},
        "system": {"hostname": "rack0slot8"}, "kernel": {"version": "6.12.43-rt12", "cmdline": "isolcpus=1"},
        "condition": {"load": "idle", "cycles": 100000, "interval": 200, "cyclictest": "cyclictest -l100000 -i200"},
        "latency": {"granularity": "microseconds", "cores": [[0, 0, 9, 4], [0, 1, 2, 0]], "maxima": [9, 2]}}"#;

    #[test]
    fn the_classes_of_each_core_and_its_maximum_are_read() {
        let source = read(FILE).unwrap();
        let max: Vec<_> = source.threads.iter().map(|thread| thread.max).collect();
        assert_eq!((max, source.length_ns), (vec![Some(9), Some(2)], Some(20_000_000_000)));
        assert_eq!(source.threads[0].buckets, BTreeMap::from([(2, 9), (3, 4)]));
        assert_eq!((source.threads[0].beyond, source.threads[1].beyond), (Some(1), None));
        assert_eq!(source.ended_unix_ns, Some(1_772_182_820_000_000_000));
    }

    #[test]
    fn a_list_of_latencies_is_no_core() {
        let source = read(&FILE.replace("[[0, 0, 9, 4], ", "[[0, 1, 2, 3], [0, 0, 9, 4], ")).unwrap();
        assert_eq!((source.threads.len(), source.stated[0].contains("left out")), (2, true));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(read(&FILE.replace("microseconds", "parsecs")), Err(Lack::Granularity("parsecs".into())));
        assert_eq!(read(&FILE.replace("[9, 2]", "[9]")), Err(Lack::Maxima { cores: 2, maxima: 1 }));
        assert_eq!(read(&FILE.replace("\"latency\"", "\"x\"")), Err(Lack::Latencies("latency")));
    }
}
