//! `--json` of cyclictest, signaltest, ptsematest, oslat and related tools, and rtla results converted to the same
//! form.
//!
//! Files of rt-tests 2.4 always have a `histogram`, later ones only with -h. They contain neither the number of
//! wake-ups beyond the histogram nor their values; the number is the difference between `cycles` and the buckets. Two
//! known defects make them invalid JSON, a quote in the command line and a mean of no samples; both are tolerated.

use super::kernel_banner::preemption;
use super::lack::{self, Lack};
use super::problem::{ImportProblem, Lost};
use super::source::{Mean, Series, Source, SourceThread, Unit};
use super::wall_clock::unix_ns_of_rfc2822;
use super::{Head, Hints, ImportFormat};
use archive::environment::Environment;
use archive::measured::Measured;
use archive::message::Severity;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct RtTestsJson;

impl ImportFormat for RtTestsJson {
    fn name(&self) -> &'static str {
        "rt-tests-json"
    }

    fn about(&self) -> &'static str {
        "`--json` of cyclictest and its relatives, and rtla results in the same form"
    }

    fn title(&self) -> &'static str {
        "JSON of rt-tests"
    }

    fn detects(&self, head: &Head<'_>) -> bool {
        ["rt_test_version:", "file_version", "num_threads", "thread"].iter().any(|key| head.has_key(key))
    }

    fn separates_interrupts(&self) -> bool {
        true
    }

    fn read(&self, text: &str, hints: &Hints) -> Result<Vec<Source>, Lack> {
        Ok(vec![read(text, hints)?])
    }
}

/// Parses the file's text.
fn read(text: &str, hints: &Hints) -> Result<Source, Lack> {
    let (document, repaired) = parse(text)?;
    let file = document.as_object().ok_or(Lack::NoObject)?;
    let command = string(file, "cmdline:").or_else(|| string(file, "cmdline"));
    let tool = tool_of(file, command.as_deref());
    let in_ns = file.get("resolution_in_ns").and_then(Value::as_u64) == Some(1);
    let mut source = Source::new(&RtTestsJson, &tool, if in_ns { Unit::Ns } else { Unit::Us });
    source.version = string(file, "rt_test_version:").or_else(|| string(file, "rt_test_version"));
    source.histogram_end = command.as_deref().and_then(histogram_end);
    source.started_unix_ns = string(file, "start_time").and_then(|text| unix_ns_of_rfc2822(&text));
    source.ended_unix_ns = string(file, "end_time").and_then(|text| unix_ns_of_rfc2822(&text));
    source.environment = file.get("sysinfo").and_then(Value::as_object).map(environment);
    source.lasted_from_start_to_end();
    source.command = command;
    if repaired {
        source.problem(Severity::Notice, &ImportProblem::JsonRepaired);
    }
    read_threads(file, &mut source, hints)?;
    remark(file, &mut source);
    Ok(source)
}

fn parse(text: &str) -> Result<(Value, bool), Lack> {
    let error = match serde_json::from_str(text) {
        Ok(document) => return Ok((document, false)),
        Err(error) => error,
    };
    match serde_json::from_str(&repaired(text)) {
        Ok(document) => Ok((document, true)),
        Err(end) if end.is_eof() => Err(Lack::BreaksOff { line: end.line() }),
        Err(_) => Err(Lack::Json(error.to_string())),
    }
}

/// The text with the two defects of rt-tests fixed: unescaped quotes in the command line, and `nan`.
fn repaired(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let quoted = line.trim_end().strip_suffix("\",").and_then(|line| line.split_once("\"cmdline:\": \""));
        lines.push(match quoted {
            Some((indent, command)) => {
                let command = command.replace("\\\"", "\"").replace('\\', "\\\\").replace('"', "\\\"");
                format!("{indent}\"cmdline:\": \"{command}\",")
            }
            None => line.replace(": -nan", ": null").replace(": nan", ": null"),
        });
    }
    lines.join("\n")
}

fn string(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn tool_of(file: &Map<String, Value>, command: Option<&str>) -> String {
    let program = command.and_then(|command| command.split_whitespace().next());
    match program.and_then(|program| program.rsplit('/').next()) {
        Some(name) if !name.is_empty() => name.into(),
        _ if file.contains_key("irq") => "rtla timerlat".into(),
        _ if first_thread(file).is_some_and(|thread| thread.contains_key("over")) => "rtla osnoise".into(),
        _ => "a tool of rt-tests".into(),
    }
}

fn first_thread(file: &Map<String, Value>) -> Option<&Map<String, Value>> {
    file.get("thread")?.as_object()?.values().next()?.as_object()
}

/// The argument of -h or -H: latencies from this value on are in no bucket.
fn histogram_end(command: &str) -> Option<u64> {
    let mut words = command.split_whitespace();
    let mut end = None;
    while let Some(word) = words.next() {
        for option in ["--histogram", "--histofall", "-h", "-H"] {
            let Some(rest) = word.strip_prefix(option) else { continue };
            let argument = if rest.is_empty() { words.next() } else { Some(rest.trim_start_matches('=')) };
            end = argument.and_then(|argument| argument.parse().ok()).or(end);
            break;
        }
    }
    end
}

fn environment(info: &Map<String, Value>) -> Environment {
    let text = |key| string(info, key).unwrap_or_default();
    let realtime = info.get("realtime").and_then(Value::as_i64).map(|realtime| realtime == 1);
    Environment {
        hostname: text("nodename"),
        architecture: text("machine"),
        kernel_release: text("release"),
        kernel_version: text("version"),
        preemption: realtime.filter(|is| *is).map(|_| "preempt_rt".into()).or_else(|| preemption(&text("version"))),
        preempt_rt: realtime,
        ..Environment::default()
    }
}

fn read_threads(file: &Map<String, Value>, source: &mut Source, hints: &Hints) -> Result<(), Lack> {
    let (key, other) = match hints.series {
        Series::Thread => ("thread", "irq"),
        Series::Irq => ("irq", "thread"),
    };
    let Some(threads) = file.get(key).and_then(Value::as_object) else {
        return Err(match (key, file.contains_key("inversion")) {
            ("irq", _) => Lack::InterruptLatencies,
            (_, true) => Lack::PiStress,
            _ => Lack::Latencies("thread"),
        });
    };
    let mut numbered = BTreeMap::new();
    for (name, thread) in threads {
        let number: u32 = name.parse().map_err(|_| Lack::ThreadName(name.clone()))?;
        let thread = thread.as_object().ok_or(Lack::ThreadObject(number))?;
        numbered.insert(number, read_thread(thread).map_err(|value| Lack::OfThread { thread: number, value })?);
    }
    if numbered.is_empty() {
        return Err(Lack::NoThreads);
    }
    let announced = file.get(if key == "irq" { "num_irqs" } else { "num_threads" }).and_then(Value::as_f64);
    if let Some(announced) = announced.filter(|announced| *announced != numbered.len() as f64) {
        source.problem(Severity::Degraded, &ImportProblem::ThreadsMissing { announced, held: numbered.len() });
    }
    source.threads = numbered.into_values().collect();
    if file.contains_key(other) {
        let (which, option) = if other == "irq" { ("interrupt", "irq") } else { ("thread", "thread") };
        source.stated(format!("the file also holds {which} latencies; --series {option} imports those"));
    }
    if key == "irq" {
        source.problem(Severity::Degraded, &ImportProblem::InterruptLatencies);
    }
    Ok(())
}

fn read_thread(thread: &Map<String, Value>) -> Result<SourceThread, lack::Value> {
    // The pair tests have the count at the sender and the latencies at the receiver.
    let figures = thread.get("receiver").and_then(Value::as_object).unwrap_or(thread);
    let sender = thread.get("sender").and_then(Value::as_object);
    let buckets = match figures.get("histogram").or_else(|| thread.get("histogram")) {
        Some(histogram) => buckets(histogram)?,
        None => BTreeMap::new(),
    };
    let count = |map: &Map<String, Value>, key| map.get(key).and_then(Value::as_u64);
    let cycles = count(figures, "cycles")
        .or_else(|| count(figures, "count"))
        .or_else(|| count(figures, "samples"))
        .or_else(|| sender.and_then(|sender| count(sender, "samples")));
    if cycles.is_none() && buckets.is_empty() {
        return Err(lack::Value::NoCycles);
    }
    let whole = |key: &'static str| figures.get(key).and_then(integer).ok_or(lack::Value::Missing(key));
    let mean = match figures.get("avg") {
        Some(Value::Number(number)) => Some(mean_of(number)),
        Some(Value::Null) if cycles == Some(0) => None,
        _ => return Err(lack::Value::Missing("avg")),
    };
    let mut read = SourceThread {
        cpu: count(figures, "cpu").and_then(|cpu| u32::try_from(cpu).ok()),
        buckets,
        cycles,
        beyond: count(figures, "over"),
        min: Some(whole("min")?),
        max: Some(whole("max")?),
        mean,
        ..SourceThread::default()
    };
    if figures.contains_key("freq") {
        part_overflow_of_oslat(&mut read);
    }
    Ok(read)
}

/// The last bucket of oslat also counts everything beyond it.
fn part_overflow_of_oslat(thread: &mut SourceThread) {
    let Some((last, count)) = thread.buckets.last_key_value().map(|(last, count)| (*last, *count)) else { return };
    if thread.max.is_some_and(|max| max > i128::from(last)) {
        thread.buckets.remove(&last);
        thread.beyond = Some(count);
    }
}

fn buckets(histogram: &Value) -> Result<BTreeMap<u64, u64>, lack::Value> {
    let map = histogram.as_object().ok_or(lack::Value::NoObject("histogram"))?;
    let mut buckets = BTreeMap::new();
    for (low, count) in map {
        let low: u64 = low.parse().map_err(|_| lack::Value::Bucket(low.clone()))?;
        let count = count.as_u64().ok_or(lack::Value::Count(low))?;
        if count > 0 {
            buckets.insert(low, count);
        }
    }
    Ok(buckets)
}

fn integer(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn mean_of(number: &serde_json::Number) -> Mean {
    let decimals = number.to_string().split_once('.').map_or(0, |(_, digits)| digits.len() as u32);
    // The parser has dropped trailing zeros; every tool of rt-tests prints at least two decimals.
    let decimals = if number.is_f64() { decimals.max(2) } else { 0 };
    Mean { value: number.as_f64().unwrap_or(f64::NAN), decimals: Some(decimals) }
}

fn remark(file: &Map<String, Value>, source: &mut Source) {
    if let Some(code) = file.get("return_code").and_then(Value::as_i64).filter(|code| *code != 0) {
        source.problem(Severity::Invalid, &ImportProblem::SourceFailed { code });
    }
    if source.tool.starts_with("rtla") {
        source.problem(Severity::Notice, &ImportProblem::BucketWidthAssumed);
        source.lost(Lost::CommandAndTime);
    }
    source.measures(measured_by(&source.tool));
    if source.threads.iter().all(|thread| thread.buckets.is_empty()) {
        source.lost(Lost::Distribution);
    }
}

fn measured_by(tool: &str) -> Measured {
    match tool {
        "oslat" | "hwlatdetect" | "rtla osnoise" => Measured::Interruptions,
        "signaltest" | "ptsematest" | "svsematest" | "pmqtest" | "sigwaittest" => Measured::HandOvers,
        _ => Measured::WakeUps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
  "file_version": 1,
  "cmdline:": "cyclictest -h 30 -D "quoted" --json=x",
  "rt_test_version:": "2.40",
  "return_code": 0,
  "num_threads": 2,
  "resolution_in_ns": 0,
  "thread": {
    "0": { "histogram": {      }, "cycles": 0, "min": 1000000, "max": 0, "avg": -nan, "cpu": 0 },
    "1": { "histogram": {"3": 7, "29": 1}, "cycles": 10, "min": 3, "max": 31, "avg": 8.60, "cpu": 1 }
  }
}"#;

    #[test]
    fn the_two_defects_of_the_tool_are_repaired_and_reported() {
        let source = read(FILE, &Hints::default()).unwrap();
        assert_eq!(source.command.as_deref(), Some("cyclictest -h 30 -D \"quoted\" --json=x"));
        assert_eq!((source.threads[0].cycles, source.threads[0].mean), (Some(0), None));
        assert!(source.problems[0].text.contains("not valid JSON"), "{:?}", source.problems);
        assert_eq!(source.histogram_end, Some(30));
    }

    #[test]
    fn the_end_of_the_histogram_is_read_from_every_spelling() {
        let ends = ["-h 100", "-h100", "--histogram=100", "--histofall 100", "-H100 -q", "-h 5 -h 100"];
        assert_eq!(ends.map(|words| histogram_end(&format!("cyclictest -i 200 {words}"))), [Some(100); 6]);
        assert_eq!(histogram_end("cyclictest --help -q"), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let lacks = |text: &str| read(text, &Hints::default()).unwrap_err().to_string();
        assert!(lacks(&FILE[..FILE.len() / 2]).contains("breaks off in line"));
        assert!(lacks("{\"inversion\": 3}").contains("pi_stress"));
        assert!(lacks("{\"thread\": {}}").contains("no threads"));
        assert!(lacks("{\"thread\": {\"0\": {\"cycles\": 1, \"min\": 1, \"avg\": 1}}}").contains("`max` is missing"));
        assert!(lacks("{\"thread\": {\"0\": {\"min\": 1}}}").contains("how many wake-ups"));
    }
}
