//! Synthetic runs for the tests of the neighbouring modules.

use super::SeedRun;
use archive::explanation::Explanation;
use archive::reader::Run;
use archive::settings::{LoadRequest, RunSettings};
use archive::summary::RunSummary;
use std::collections::BTreeMap;

/// The data that a [`SeedRun`] borrows.
pub struct Example {
    pub summary: RunSummary,
    pub samples: Vec<(i64, i64)>,
    pub explanations: Vec<Explanation>,
}

impl Example {
    /// A valid run of a kernel with one load and these samples.
    pub fn new(kernel: &str, seed: u64, latencies_ns: &[i64]) -> Self {
        let loads = vec![LoadRequest::Builtin { name: "dentry".into(), workers: 1 }];
        let settings = RunSettings { dither_seed: Some(seed), loads, ..RunSettings::default() };
        let summary = RunSummary {
            valid: true,
            invalid_because: Vec::new(),
            virtual_time: true,
            settings: Some(settings),
            ingredients: BTreeMap::from([("kernel".into(), kernel.into())]),
            ..RunSummary::of(&Run::default(), &[])
        };
        let samples = latencies_ns.iter().enumerate().map(|(at, ns)| (at as i64 * 1_000_000, *ns)).collect();
        Self { summary, samples, explanations: Vec::new() }
    }

    pub fn idle(mut self) -> Self {
        self.summary.settings.as_mut().unwrap().loads.clear();
        self
    }

    /// Adds an explained sample: the culprit, the functions that held the CPU, innermost first, and the time.
    pub fn explained(mut self, culprit: &str, chain: &[&str], ns: i64) -> Self {
        let spike = self.explanations.len() + 1;
        let held = serde_json::json!({ "cpu": 0, "kind": "task", "name": "x-1", "owner_ns": ns, "ns": ns, "chain": chain,
            "source": "entries", "last_entered": false });
        let finding = serde_json::json!({ "culprit": culprit, "sentence": "", "confidence": "certain", "ns": ns,
            "evidence": [], "confirm": "", "fix": "" });
        let document = serde_json::json!({ "spike": spike, "latency_ns": ns, "median_ns": 1, "status": "explained",
            "phases": [], "findings": [finding], "spans": [], "lanes": [], "caveats": [],
            "functions": { "held": [held], "irqs_off": null, "preempt_off": null } });
        self.explanations.push(serde_json::from_value(document).unwrap());
        self
    }

    pub fn run(&self) -> SeedRun<'_> {
        SeedRun { summary: &self.summary, samples: &self.samples, explanations: &self.explanations }
    }
}

pub fn runs(examples: &[Example]) -> Vec<SeedRun<'_>> {
    examples.iter().map(Example::run).collect()
}
