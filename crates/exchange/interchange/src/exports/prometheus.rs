//! Prometheus text format, for node_exporter's textfile collector or a push gateway.

use super::judged_results::JudgedResults;
use crate::results::{Outcome, Question, RunResults};
use archive::histogram::bucket_high_ns;
use archive::reader::ThreadRun;
use std::fmt::Write;

pub const PROMETHEUS: JudgedResults = JudgedResults {
    name: "prometheus",
    about: "Prometheus' text format",
    file_name: "tardy.prom",
    takes_several: true,
    options: &[],
    document: |input, results| {
        let measured = input.runs().zip(results);
        let measured = measured.map(|(run, results)| Measured { results, threads: run.threads.values().collect() });
        Ok(document(&measured.collect::<Vec<_>>()).into_bytes())
    },
};

/// Upper edges of the histogram's buckets, in µs.
const EDGES_US: [i64; 16] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000, 1_000_000];

/// A run's results with its threads, whose histograms have every bucket.
struct Measured<'a> {
    results: &'a RunResults,
    threads: Vec<&'a ThreadRun>,
}

/// The document. Latencies are in seconds, as is Prometheus' convention.
fn document(runs: &[Measured]) -> String {
    let mut text = String::new();
    head(
        &mut text,
        "tardy_wakeup_latency_seconds",
        "histogram",
        "Latencies: of a timer, how late the thread was woken",
    );
    for run in runs {
        run.threads.iter().for_each(|thread| histogram(run.results, thread, &mut text));
    }
    type Value = fn(&ThreadRun) -> Option<f64>;
    // Other tools count neither.
    const OF_OWN_RUNS: [&str; 2] = ["tardy_missed_periods", "tardy_over_limit"];
    let gauges: [(&str, &str, Value); 4] = [
        ("tardy_wakeup_latency_max_seconds", "The largest latency; no bound", |thread| {
            thread.totals.latency_ns_max.map(|ns| ns as f64 / 1e9)
        }),
        ("tardy_cycles", "Samples", |thread| Some(thread.totals.cycles as f64)),
        ("tardy_missed_periods", "Periods without a sample", |thread| Some(thread.totals.missed_periods as f64)),
        ("tardy_over_limit", "Samples over the run's limit", |thread| Some(thread.totals.over_limit as f64)),
    ];
    for (name, help, value) in gauges {
        head(&mut text, name, "gauge", help);
        let is_counted = |run: &&Measured| run.results.summary.imported.is_none() || !OF_OWN_RUNS.contains(&name);
        for run in runs.iter().filter(is_counted) {
            for thread in &run.threads {
                if let Some(value) = value(thread) {
                    let _ = writeln!(text, "{name}{{{}}} {value}", labels(run.results, thread));
                }
            }
        }
    }
    head(&mut text, "tardy_limit", "gauge", "1: the run shows that it holds, 0: that it is broken, -1: neither");
    for run in runs {
        for case in run.results.cases.iter().filter(|case| case.question == Question::Limit) {
            let value = match case.outcome {
                Outcome::Pass => 1,
                Outcome::Fail => 0,
                Outcome::Undecided | Outcome::Measured | Outcome::Error => -1,
            };
            let _ = writeln!(text, "tardy_limit{{{},limit=\"{}\"}} {value}", common(run.results), case.name);
        }
    }
    head(&mut text, "tardy_run_valid", "gauge", "1: the figures may be used, 0: they may not");
    for run in runs {
        let _ = writeln!(text, "tardy_run_valid{{{}}} {}", common(run.results), u8::from(run.results.summary.valid));
    }
    head(&mut text, "tardy_run_start_time_seconds", "gauge", "When the run began, since 1970");
    for run in runs {
        let Some(started) = run.results.started_unix_s() else { continue };
        let _ = writeln!(text, "tardy_run_start_time_seconds{{{}}} {started}", common(run.results));
    }
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn histogram(run: &RunResults, thread: &ThreadRun, text: &mut String) {
    let labels = labels(run, thread);
    let name = "tardy_wakeup_latency_seconds";
    let total = thread.totals.cycles.max(thread.histogram.total());
    for edge_us in EDGES_US {
        let below = thread.histogram.buckets.iter();
        let below = below.take_while(|(bucket, _)| bucket_high_ns(*bucket as usize) <= edge_us * 1000);
        let count: u64 = below.map(|(_, count)| count).fold(0, |sum, count| sum.saturating_add(*count));
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{}\"}} {count}", edge_us as f64 / 1e6);
    }
    let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {total}");
    let _ = writeln!(text, "{name}_sum{{{labels}}} {}", thread.totals.latency_ns_sum as f64 / 1e9);
    let _ = writeln!(text, "{name}_count{{{labels}}} {total}");
}

fn common(run: &RunResults) -> String {
    let circumstances = run.circumstances();
    let value = |wanted: &str| circumstances.iter().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value);
    format!(
        "run=\"{}\",name=\"{}\",kernel=\"{}\",time=\"{}\"",
        escaped(value("run")),
        run.name,
        escaped(value("kernel")),
        value("time")
    )
}

fn labels(run: &RunResults, thread: &ThreadRun) -> String {
    format!("{},cpu=\"{}\",thread=\"{}\"", common(run), thread.cpu, thread.thread)
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
