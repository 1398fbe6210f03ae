//! The exports of a real run, read back: every format, by readers that share no code with the writers. `make
//! check-results` and `make check-perfetto` use third-party readers.

use crate::lab::{Lab, text};
use crate::traced;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::reader::Run;
use fixtures::perfetto_reader;
use roxmltree::Document;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A step of a plan that was measured on an emulated machine: its limits are not decided.
pub struct Step<'l> {
    pub lab: &'l Lab,
    /// Directory of the plan's round, with one step, and of that step's archive.
    pub round: &'l str,
    pub archive: &'l str,
    pub run: &'l Run,
    pub explanations: &'l [Explanation],
}

impl Step<'_> {
    /// All formats.
    pub fn assert_exports_are_read(&self) {
        self.perfetto();
        self.trace();
        self.document();
        self.tables();
        self.junit();
        self.lines();
        self.databases();
    }

    fn export(&self, format: &str, of: &str, words: &[&str]) -> PathBuf {
        let to = self.lab.path(&format!("exported.{format}"));
        let all = [&["export", of, "--format", format, "-o", to.to_str().unwrap()], words].concat();
        let ended = self.lab.tardy(&all).output().unwrap();
        assert!(ended.status.success(), "{format}: {}", String::from_utf8_lossy(&ended.stderr));
        to
    }

    fn text(&self, format: &str) -> String {
        text(&self.export(format, self.round, &[]))
    }

    fn json(&self, format: &str) -> Value {
        serde_json::from_str(&self.text(format)).unwrap()
    }

    fn perfetto(&self) {
        let trace = perfetto_reader::read(&fs::read(self.export("perfetto", self.archive, &[])).unwrap());
        assert!(!trace.events.is_empty() && !trace.function_names.is_empty());
        // A spike without a recording has no slice in a trace.
        let recorded = |one: &&Explanation| one.status != ExplanationStatus::NoTrace && !one.phases.is_empty();
        for explanation in self.explanations.iter().filter(recorded) {
            let group = format!("spike {}: CPU ", explanation.spike);
            let phases = trace.slices.iter().filter(|it| it.track == "phases" && it.parent.starts_with(&group));
            let sum: u64 = phases.map(|phase| phase.end_ns - phase.start_ns).sum();
            assert_eq!(i64::try_from(sum), Ok(explanation.latency_ns), "{group}");
            let of_findings: Vec<_> =
                trace.slices.iter().filter(|it| it.track == "findings" && it.parent.starts_with(&group)).collect();
            for finding in &explanation.findings {
                assert!(of_findings.iter().any(|slice| slice.name == finding.sentence), "{group}: {finding:?}");
            }
        }
    }

    fn trace(&self) {
        // A snapshot may have been taken after newer events had overwritten those of its spike.
        let explained = self.explanations.iter().filter(|one| one.status == ExplanationStatus::Explained);
        let number = explained.max_by_key(|one| one.latency_ns).unwrap().spike.to_string();
        let exported = self.export("trace-dat", self.archive, &["--spike", &number]);
        let events = traced::events(&exported);
        assert!(events.iter().any(|event| event.text.starts_with("function:")), "spike {number}");
    }

    fn document(&self) {
        let document: Value = serde_json::from_str(&text(&self.export("json", self.archive, &[]))).unwrap();
        let spikes = document["summary"]["spikes"].as_array().unwrap();
        assert_eq!(spikes.len(), self.run.spikes.len());
        for explanation in self.explanations {
            let spike = spikes.iter().find(|spike| spike["number"] == explanation.spike).unwrap();
            assert_eq!(spike["latency_ns"], explanation.latency_ns);
            let findings = spike["explanation"]["findings"].as_array().unwrap();
            let culprits: Vec<_> = findings.iter().map(|finding| finding["culprit"].as_str().unwrap()).collect();
            assert!(
                culprits.iter().copied().eq(explanation.findings.iter().map(|finding| finding.culprit.id())),
                "{spike}"
            );
        }
    }

    /// Each row has as many cells as the first, and the counts sum to the run's cycles.
    fn tables(&self) {
        let cycles: u64 = self.run.threads.values().map(|thread| thread.totals.cycles).sum();
        let column = |format: &str, name: &str| -> Vec<u64> {
            let table = text(&self.export(format, self.archive, &[]));
            let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let head = rows.next().unwrap();
            let index = head.iter().position(|cell| *cell == name).unwrap_or_else(|| panic!("{format}: {head:?}"));
            let cell = |row: Vec<&str>| {
                assert_eq!(row.len(), head.len(), "{format}: {row:?}");
                row[index].parse().unwrap()
            };
            rows.map(cell).collect()
        };
        assert_eq!(column("histogram-csv", "count").iter().sum::<u64>(), cycles);
        assert_eq!(column("seconds-csv", "cycles").iter().sum::<u64>(), cycles);
        // The worst sample may have come while the recorder was busy, and then it is not a spike.
        let spike = self.run.spikes.iter().map(|spike| spike.sample.latency_ns).max().unwrap();
        assert!(column("worst-csv", "latency_ns").into_iter().max() >= u64::try_from(spike).ok());
        assert!(!column("counters-csv", "from_ns").is_empty());
        // The plan keeps every sample.
        let samples = std::fs::read(self.export("parquet", self.archive, &[])).unwrap();
        assert!(samples.starts_with(b"PAR1"));
    }

    fn junit(&self) {
        let junit = self.text("junit");
        let document = Document::parse(&junit).unwrap();
        let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        let outcomes = ["testcase", "skipped", "failure", "error"].map(count);
        assert_eq!(outcomes, [2, 2, 0, 0], "the measurement and a limit that nothing decides: {junit}");
    }

    /// Line-based formats. None reports a limit of an emulated machine as met or as not met.
    fn lines(&self) {
        for format in ["tap", "ktap"] {
            let tap = self.text(format);
            let cases: Vec<&str> = tap.lines().map(str::trim).filter(|line| line.starts_with("ok ")).collect();
            assert!(!cases.is_empty() && cases.iter().all(|case| case.contains("# SKIP")), "{tap}");
            assert!(!tap.contains("not ok"), "{tap}");
        }
        for (format, case) in [("lava", "latency_lt_1ms RESULT=skip"), ("lava-result", "\nlatency_lt_1ms skip\n")] {
            let lava = self.text(format);
            let decided =
                |word: &&str| lava.contains(&format!("RESULT={word}")) || lava.contains(&format!(" {word}\n"));
            assert!(lava.contains(case) && !["pass", "fail"].iter().any(decided), "{lava}");
        }
        let prometheus = self.text("prometheus");
        for line in prometheus.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (_, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?}"));
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
        let markdown = self.text("markdown");
        assert!(markdown.contains("NO VERDICT") && !markdown.contains("PASS"), "{markdown}");
    }

    fn databases(&self) {
        let kcidb = self.json("kcidb");
        let tests = kcidb["tests"].as_array().unwrap();
        assert!(!tests.is_empty());
        assert!(tests.iter().all(|test| test["status"] != "PASS" && test["status"] != "FAIL"), "{kcidb}");
        assert!(kcidb["checkouts"].is_array() && kcidb["version"]["major"] == 5, "{kcidb}");
        assert!(self.json("squad-tests").as_object().unwrap().values().all(|outcome| outcome == "skip"));
        assert!(!self.json("squad-metrics").as_object().unwrap().is_empty());
        assert!(self.json("squad-metadata").is_object());
        assert_eq!(self.json("fuego")["status"], "SKIP");
    }
}
