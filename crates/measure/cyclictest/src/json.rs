//! The JSON result: file version 1 of rt-tests, including its irregular keys, with additional data under `tardy`.

use super::date::rfc2822;
use super::figures::Figures;
use super::request::{Compat, Mode, Request};
use super::tracing::KeptTrace;
use meter::measure::thread::policy_words;
use std::fmt::Write;

/// The data of a result.
#[derive(Debug)]
pub struct Document<'a> {
    pub request: &'a Request,
    pub command: &'a str,
    pub started_s: i64,
    pub ended_s: i64,
    pub exit_status: i32,
    pub interrupted: bool,
    pub memory_locked_kb: u64,
    /// Value held in /dev/cpu_dma_latency.
    pub dma_latency_us: Option<i32>,
    pub broke: Option<(i32, i64)>,
    pub traces: &'a [KeptTrace],
    pub figures: &'a [Figures],
}

/// A JSON string, including its quotes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "null".into(), |value| value.to_string())
}

impl Document<'_> {
    /// The whole document with a final newline.
    pub fn text(&self) -> String {
        let request = self.request;
        let uname = rustix::system::uname();
        let realtime = std::fs::read_to_string("/sys/kernel/realtime").is_ok_and(|text| text.trim() == "1");
        let version = if request.compat == Compat::V2_4 { "2.40" } else { "2.10" };
        let word = |text: &std::ffi::CStr| quoted(&text.to_string_lossy());
        let mut out = String::new();
        let _ = write!(
            out,
            "{{\n  \"file_version\": 1,\n  \"cmdline:\": {},\n  \"rt_test_version:\": \"{version}\",\n  \
             \"start_time\": \"{}\",\n  \"end_time\": \"{}\",\n  \"return_code\": {},\n  \"sysinfo\": {{\n    \
             \"sysname\": {},\n    \"nodename\": {},\n    \"release\": {},\n    \"version\": {},\n    \
             \"machine\": {},\n    \"realtime\": {}\n  }},\n  \"num_threads\": {},\n  \"resolution_in_ns\": {},\n  \
             \"thread\": {{\n",
            quoted(self.command),
            rfc2822(self.started_s),
            rfc2822(self.ended_s),
            self.exit_status,
            word(uname.sysname()),
            word(uname.nodename()),
            word(uname.release()),
            word(uname.version()),
            word(uname.machine()),
            u8::from(realtime),
            self.figures.len(),
            u8::from(request.nanoseconds),
        );
        for (at, figures) in self.figures.iter().enumerate() {
            self.thread(&mut out, figures);
            out.push_str(if at + 1 < self.figures.len() { ",\n" } else { "\n" });
        }
        out.push_str("  },\n");
        self.tardy(&mut out);
        out.push_str("}\n");
        out
    }

    fn thread(&self, out: &mut String, figures: &Figures) {
        let line = &figures.line;
        let _ = writeln!(out, "    \"{}\": {{", line.thread);
        if self.request.compat == Compat::V2_4 || !figures.buckets.is_empty() {
            out.push_str("      \"histogram\": {");
            let filled: Vec<(usize, u64)> =
                figures.buckets.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
            for (at, (bucket, count)) in filled.iter().enumerate() {
                let _ = write!(out, "{}\n        \"{bucket}\": {count}", if at > 0 { "," } else { "" });
            }
            out.push_str(if filled.is_empty() { "      },\n" } else { "\n      },\n" });
        }
        let hundredths = figures.mean_hundredths();
        let sign = if hundredths < 0 { "-" } else { "" };
        let _ = write!(
            out,
            "      \"cycles\": {},\n      \"min\": {},\n      \"max\": {},\n      \"avg\": {sign}{}.{:02},\n      \
             \"cpu\": {},\n      \"node\": {}\n    }}",
            line.cycles,
            line.min,
            line.max,
            hundredths.abs() / 100,
            hundredths.abs() % 100,
            figures.job.cpu.map_or(-1, i64::from),
            figures.job.cpu.map_or(-1, node_of),
        );
    }

    fn tardy(&self, out: &mut String) {
        let request = self.request;
        let mode = match request.mode {
            Mode::Absolute => "absolute",
            Mode::Relative => "relative",
            Mode::System => "system",
            Mode::PosixTimer => "posix_timer",
        };
        let _ = write!(
            out,
            "  \"tardy\": {{\n    \"version\": \"{}\",\n    \"interrupted\": {},\n    \"mode\": \"{mode}\",\n    \
             \"clock\": \"{}\",\n    \"memory_locked_kb\": {},\n    \"cpu_dma_latency_us\": {},\n    \
             \"breaktrace\": {},\n    \"break\": {},\n    \"histogram\": {},\n    \"traces\": [",
            env!("CARGO_PKG_VERSION"),
            self.interrupted,
            if request.realtime_clock { "realtime" } else { "monotonic" },
            self.memory_locked_kb,
            optional(self.dma_latency_us),
            optional(request.breaktrace),
            optional(self.broke.map(|(tid, value)| format!("{{ \"tid\": {tid}, \"value\": {value} }}"))),
            request.histogram,
        );
        for (at, trace) in self.traces.iter().enumerate() {
            let _ = write!(
                out,
                "{}\n      {{ \"file\": {}, \"tid\": {}, \"cycle\": {}, \"latency_ns\": {} }}",
                if at > 0 { "," } else { "" },
                quoted(&trace.file),
                trace.tid,
                trace.cycle,
                trace.latency_ns
            );
        }
        out.push_str("],\n    \"threads\": {\n");
        for (at, figures) in self.figures.iter().enumerate() {
            extras(out, figures);
            out.push_str(if at + 1 < self.figures.len() { ",\n" } else { "\n" });
        }
        out.push_str("    }\n  }\n");
    }
}

/// Data of a thread that rt-tests does not have.
fn extras(out: &mut String, figures: &Figures) {
    let (totals, effective) = (&figures.totals, &figures.effective);
    let cpus: Vec<String> = effective.cpus.iter().map(u32::to_string).collect();
    let _ = write!(
        out,
        "      \"{}\": {{\n        \"tid\": {},\n        \"cpus\": [{}],\n        \"policy\": {},\n        \
         \"timer_slack_ns\": {},\n        \"interval_us\": {},\n        \"missed_periods\": {},\n        \
         \"clock_anomalies\": {},\n        \"samples_dropped\": {},\n        \"spikes\": {},\n        \"smis\": {},\n        \
         \"latency_ns\": {{ \"min\": {}, \"max\": {}, \"sum\": {}",
        figures.line.thread,
        effective.tid,
        cpus.join(", "),
        quoted(&policy_words(effective.policy, effective.priority)),
        effective.timer_slack_ns,
        figures.job.interval_us,
        totals.missed_periods,
        totals.clock_anomalies,
        figures.samples_dropped,
        figures.spike_count,
        optional(figures.line.smis),
        optional(totals.latency_ns_min),
        optional(totals.latency_ns_max),
        totals.latency_ns_sum,
    );
    for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)] {
        let value = figures.histogram_ns.quantile_ns(quantile);
        let capped = value.map(|value| value.min(totals.latency_ns_max.unwrap_or(value)));
        let _ = write!(out, ", \"{name}\": {}", optional(capped));
    }
    let _ = write!(out, " }},\n        \"overflows\": {{ \"count\": {}, \"first\": [", figures.overflow_count);
    for (at, (cycle, value)) in figures.overflows.iter().enumerate() {
        let _ = write!(out, "{}[{cycle}, {value}]", if at > 0 { ", " } else { "" });
    }
    out.push_str("] }\n      }");
}

/// NUMA node of a CPU, -1 if unknown.
fn node_of(cpu: u32) -> i64 {
    let entries = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}"));
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.strip_prefix("node")?.parse().ok()).next().unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_figures::figures;
    use serde_json::Value;

    fn document(request: &Request, figures: &[Figures]) -> (String, Value) {
        let text = Document {
            request,
            command: "cyclictest -q \"quoted\" \\",
            started_s: 0,
            ended_s: 1,
            exit_status: 0,
            interrupted: false,
            memory_locked_kb: 0,
            dma_latency_us: Some(0),
            broke: None,
            traces: &[],
            figures,
        }
        .text();
        let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        (text, value)
    }

    #[test]
    fn the_keys_are_the_odd_ones_of_rt_tests() {
        let request = Request { compat: Compat::V2_4, histogram: 3, ..Request::default() };
        let (text, value) = document(&request, &[figures(0, &[0, 2, 0], &[(7, 12)], 1)]);
        assert_eq!(value["cmdline:"], "cyclictest -q \"quoted\" \\");
        assert_eq!(value["rt_test_version:"], "2.40");
        assert_eq!(value["thread"]["0"]["histogram"], serde_json::json!({ "1": 2 }));
        assert_eq!(value["thread"]["0"]["avg"], 4.0);
        assert!(text.contains("      \"avg\": 4.00,\n"), "{text}");
        assert_eq!(value["tardy"]["threads"]["0"]["overflows"]["first"][0][1], 12);
        assert_eq!(value["tardy"]["threads"]["0"]["missed_periods"], 2);
    }

    #[test]
    fn an_empty_histogram_is_there_in_one_layout_only() {
        let old = Request { compat: Compat::V2_4, ..Request::default() };
        assert!(document(&old, &[figures(0, &[], &[], 0)]).0.contains("      \"histogram\": {      },\n"));
        assert!(document(&Request::default(), &[figures(0, &[], &[], 0)]).1["thread"]["0"].get("histogram").is_none());
    }

    #[test]
    fn a_thread_without_cycles_is_valid_json() {
        let mut none = figures(0, &[], &[], 0);
        none.totals = archive::sample::Totals::default();
        none.histogram_ns = archive::histogram::Histogram::default();
        let value = document(&Request::default(), &[none]).1;
        assert_eq!(value["thread"]["0"]["avg"], 0.0);
        assert_eq!(value["tardy"]["threads"]["0"]["latency_ns"]["p99"], Value::Null);
    }
}
