//! `summary.xml` of rteval: the histogram of each core from its cyclictest, or its rtla timerlat.
//!
//! rteval writes no statistics if a latency was beyond its histogram. For timerlat it adds interrupt, thread and user
//! latencies into one histogram; this is reported, because it cannot be undone.

use super::lack::{self, Lack};
use super::problem::{ImportProblem, Lost};
use super::source::{Mean, Source, SourceThread, Unit};
use super::{Head, Hints, ImportFormat};
use archive::environment::Environment;
use archive::message::Severity;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeMap;

/// More than any summary has; limits the memory that a hostile file can use.
const NODES_MAX: u32 = 8_000_000;

#[derive(Debug)]
pub struct Rteval;

impl ImportFormat for Rteval {
    fn name(&self) -> &'static str {
        "rteval"
    }

    fn about(&self) -> &'static str {
        "summary.xml of rteval"
    }

    fn title(&self) -> &'static str {
        "summary.xml of rteval"
    }

    fn detects(&self, head: &Head<'_>) -> bool {
        head.is_xml() && head.text.contains("<rteval")
    }

    fn read(&self, text: &str, _: &Hints) -> Result<Vec<Source>, Lack> {
        Ok(vec![read(text)?])
    }
}

/// Parses the file's text.
fn read(text: &str) -> Result<Source, Lack> {
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| if text.contains("</rteval>") { Lack::Xml(error) } else { Lack::XmlEnd })?;
    let root = document.root_element();
    if root.tag_name().name() != "rteval" {
        return Err(Lack::Root(root.tag_name().name().to_owned()));
    }
    let measured = |node: &Node| ["cyclictest", "timerlat"].contains(&node.tag_name().name());
    let measurements: Vec<Node> = root.descendants().filter(measured).collect();
    let Some(measurement) = measurements.iter().find(|node| child(**node, "core").is_some()) else {
        return Err(match measurements.first() {
            Some(node) => Lack::NoCores { tool: node.tag_name().name().to_owned() },
            None => Lack::NoMeasurement,
        });
    };
    let tool = measurement.tag_name().name();
    let mut source = Source::new(&Rteval, &format!("rteval ({tool})"), Unit::Us);
    source.version = root.attribute("version").map(str::to_owned);
    source.command = measurement.attribute("command_line").map(str::to_owned);
    source.environment = child(root, "SystemInfo").or(Some(root)).map(environment);
    let mut numbered = BTreeMap::new();
    for core in measurement.children().filter(|node| node.tag_name().name() == "core") {
        let id: u32 = attribute(core, "id")?;
        numbered.insert(id, read_core(core, id).map_err(|value| Lack::OfCore { core: id, value })?);
    }
    source.threads = numbered.into_values().collect();
    state(root, *measurement, &mut source);
    if tool == "timerlat" {
        source.problem(Severity::Degraded, &ImportProblem::MixedHistogram);
        source.lost(Lost::PartsOfLatency);
    }
    source.lost(Lost::TimeZone);
    Ok(source)
}

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.tag_name().name() == name)
}

/// Text at a path of elements.
fn text<'a>(node: Node<'a, '_>, path: &[&str]) -> Option<&'a str> {
    let end = path.iter().try_fold(node, |node, name| child(node, name))?;
    end.text().map(str::trim).filter(|text| !text.is_empty())
}

fn attribute<T: std::str::FromStr>(node: Node, name: &'static str) -> Result<T, lack::Value> {
    let element = || node.tag_name().name().to_owned();
    let missing = || lack::Value::NoAttribute { attribute: name, element: element() };
    let value = node.attribute(name).ok_or_else(missing)?;
    value.parse().map_err(|_| lack::Value::Attribute { attribute: name, element: element() })
}

fn read_core(core: Node, id: u32) -> Result<SourceThread, lack::Value> {
    let statistics = child(core, "statistics").ok_or(lack::Value::Missing("statistics"))?;
    let figure = |name: &'static str| text(statistics, &[name]).ok_or(lack::Value::Missing(name));
    let whole = |name: &'static str| figure(name)?.parse::<i128>().map_err(|_| lack::Value::NotWhole(name));
    let samples = u64::try_from(whole("samples")?).map_err(|_| lack::Value::Negative("samples"))?;
    if samples == 0 {
        return Ok(SourceThread { cpu: Some(id), cycles: Some(0), ..SourceThread::default() });
    }
    let histogram = child(core, "histogram").ok_or(lack::Value::Missing("histogram"))?;
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    for bucket in histogram.children().filter(|node| node.tag_name().name() == "bucket") {
        let count = attribute(bucket, "value")?;
        if count > 0 {
            buckets.insert(attribute(bucket, "index")?, count);
        }
    }
    let mean: f64 = figure("mean")?.parse().map_err(|_| lack::Value::NoNumber("mean"))?;
    Ok(SourceThread {
        cpu: Some(id),
        buckets,
        cycles: Some(samples),
        min: Some(whole("minimum")?),
        max: Some(whole("maximum")?),
        mean: Some(Mean { value: mean, decimals: None }),
        ..SourceThread::default()
    })
}

fn environment(info: Node) -> Environment {
    let said = |path: &[&str]| text(info, path).map(str::to_owned);
    let kernel = child(info, "uname").and_then(|uname| child(uname, "kernel"));
    let current = |node: &Node| node.tag_name().name() == "source" && node.attribute("current") == Some("1");
    Environment {
        hostname: said(&["uname", "node"]).unwrap_or_default(),
        architecture: said(&["uname", "arch"]).unwrap_or_default(),
        kernel_release: said(&["uname", "kernel"]).unwrap_or_default(),
        command_line: said(&["cmdlineInfo", "cmdline"]),
        preemption: kernel.filter(|kernel| kernel.attribute("is_RT") == Some("1")).map(|_| "preempt_rt".into()),
        preempt_rt: kernel.and_then(|kernel| kernel.attribute("is_RT")).map(|is| is == "1"),
        clocksource: info.descendants().find(current).and_then(|node| node.text()).map(|text| text.trim().to_owned()),
        load_average: None,
        ..Environment::default()
    }
}

/// The time that rteval measured for.
fn run_time_ns(info: Node) -> Option<i64> {
    const UNITS: [(&str, i64); 4] = [("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1)];
    let part = |(name, seconds): (&str, i64)| info.attribute(name)?.parse::<i64>().ok()?.checked_mul(seconds);
    let seconds = UNITS.into_iter().map(part).try_fold(0i64, |sum, part| sum.checked_add(part?))?;
    seconds.checked_mul(1_000_000_000)
}

fn state(root: Node, measurement: Node, source: &mut Source) {
    if let (Some(date), Some(time)) = (text(root, &["run_info", "date"]), text(root, &["run_info", "time"])) {
        source.stated(format!("run of {date} {time}"));
    }
    if let Some(info) = child(root, "run_info") {
        let part = |name: &str| info.attribute(name).unwrap_or("0").to_owned();
        source.lasted_ns(run_time_ns(info));
        source.stated(format!(
            "run time {}d {}h {}m {}s",
            part("days"),
            part("hours"),
            part("minutes"),
            part("seconds")
        ));
    }
    for (path, words) in [("runloop_start", "measured from"), ("runloop_stop", "measured until")] {
        if let Some(time) = text(measurement, &["timestamps", path]) {
            source.stated(format!("{words} {time}"));
        }
    }
    if let Some(remark) = text(root, &["run_info", "annotate"]) {
        source.stated(format!("remark: {remark}"));
    }
    if let Some(baseos) = text(root, &["SystemInfo", "uname", "baseos"]) {
        source.stated(format!("operating system {baseos}"));
    }
    if let Some(loads) = child(root, "loads") {
        for load in loads.children().filter(|node| node.tag_name().name() == "command_line") {
            source.stated(format!(
                "load {}: {}",
                load.attribute("name").unwrap_or("?"),
                load.text().unwrap_or("").trim()
            ));
        }
        if let Some(average) = loads.attribute("load_average") {
            source.stated(format!("load average {average}"));
        }
    }
    if let Some(abort) = child(measurement, "abort_report") {
        let latency = child(abort, "breaktrace").and_then(|node| node.attribute("measured_latency"));
        let reason = abort.attribute("reason").unwrap_or("for an unknown reason").to_owned();
        source.problem(Severity::Degraded, &ImportProblem::EndedEarly { reason, latency: latency.map(str::to_owned) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let lacks = |text: &str| read(text).unwrap_err().to_string();
        assert!(lacks("<rteval version=\"3\"><Measurements>").contains("`</rteval>`, is missing"));
        assert!(lacks("<rteval><Measurements/></rteval>").contains("no measurement"));
        assert!(lacks("<rteval><Measurements><cyclictest/></Measurements></rteval>").contains("beyond its histogram"));
        let core = "<rteval><cyclictest><core id=\"0\"><statistics><samples>1</samples></statistics></core></cyclictest></rteval>";
        assert!(lacks(core).contains("core 0: `histogram` is missing"));
    }
}
