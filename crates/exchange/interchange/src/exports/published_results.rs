//! Results as a table to publish: of runs, and the historical ones that the field collected before.

use super::markdown::safe;
use super::{ExportError, ExportFormat, ExportInput, ExportOption, OptionValue};
use crate::json;
use crate::results::warning;
use archive::summary::RunSummary;
use serde::{Deserialize, Serialize};
use std::io::Write;

const CONTACT: ExportOption = ExportOption {
    name: "contact",
    about: "who answers questions about the results",
    value: OptionValue::Text { placeholder: "TEXT", default: None, check: |_| Ok(()) },
};

const HISTORICAL: ExportOption = ExportOption {
    name: "historical",
    about: "add the figures that the CE Linux Forum published, marked as historical",
    value: OptionValue::Flag,
};

/// A row for each run, then the historical ones.
#[derive(Debug)]
pub struct PublishedResults {
    name: &'static str,
    about: &'static str,
    file_name: &'static str,
    document: fn(&[PublishedResult]) -> serde_json::Result<Vec<u8>>,
}

pub const TABLE: PublishedResults = PublishedResults {
    name: "results-table",
    about: "A table to publish, in Markdown: machine, kernel, method, load, figures",
    file_name: "results.md",
    document: |rows| Ok(markdown(rows).into_bytes()),
};

pub const JSON: PublishedResults = PublishedResults {
    name: "results-json",
    about: "The same as JSON",
    file_name: "results.json",
    document: |rows| json::indented(&rows),
};

impl ExportFormat for PublishedResults {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn options(&self) -> &'static [&'static ExportOption] {
        &[&CONTACT, &HISTORICAL]
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn includes_missing(&self) -> bool {
        true
    }

    fn file_name(&self, _: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok(self.file_name.into())
    }

    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
        let contact = input.options.text(&CONTACT);
        let of = |run| PublishedResult::of(&RunSummary::of(run, &[]), contact);
        let mut rows: Vec<PublishedResult> = input.runs().map(of).collect();
        if input.options.is_set(&HISTORICAL) {
            rows.extend(historical());
        }
        Ok(out.write_all(&(self.document)(&rows)?)?)
    }
}

/// Published results of the CE Linux Forum's real-time working group, of 2005 to 2008.
const HISTORICAL_RESULTS: &str = include_str!("published_results/historical.json");
const NS_PER_US: f64 = 1000.0;

/// A result as docs/reference/published-results.md describes it. A field that is not known is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PublishedResult {
    /// Another tool measured it long ago: its figures compare with nothing measured today.
    pub historical: bool,
    /// Another program that measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The document or the archive that it is from.
    pub source: String,
    pub platform: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
}

/// The historical results, in the order of their documents.
pub fn historical() -> Vec<PublishedResult> {
    serde_json::from_str(HISTORICAL_RESULTS).expect("a test reads the file")
}

impl PublishedResult {
    /// The result of a run; `contact` is who answers questions about it.
    fn of(summary: &RunSummary, contact: Option<&str>) -> Self {
        let environment = summary.environment.as_ref();
        let settings = summary.settings.as_ref();
        let us = |ns: Option<f64>| ns.map(|ns| ns / NS_PER_US);
        let mut remarks = Vec::new();
        remarks.extend(warning(summary).map(str::to_owned));
        if summary.imported.as_ref().is_some_and(|imported| imported.maximum_truncated) {
            remarks.push("the maximum is at least the figure shown".to_owned());
        }
        if !summary.valid {
            remarks.push("the run is not valid".to_owned());
        }
        Self {
            historical: false,
            tool: summary.imported.as_ref().map(|imported| imported.tool.clone()),
            source: summary.id.clone(),
            platform: environment.map_or_else(|| summary.target.clone(), |machine| machine.hostname.clone()),
            processor: environment.and_then(|machine| machine.cpu_model.clone()),
            clock_mhz: None,
            kernel: environment.map(|machine| machine.kernel_release.clone()),
            preemption: environment.and_then(|machine| machine.preemption.clone()),
            method: settings.map(|settings| settings.method_text()),
            load: load(summary),
            duration: summary.measured_ns.map(|ns| format!("{} s", ns / 1_000_000_000)),
            min_us: us(summary.all_cpus.min.map(|ns| ns as f64)),
            mean_us: us(summary.all_cpus.mean),
            max_us: us(summary.all_cpus.max.map(|ns| ns as f64)),
            remark: (!remarks.is_empty()).then(|| remarks.join("; ")),
            contact: contact.map(str::to_owned),
        }
    }

    /// Texts for the columns of [`TITLES`].
    pub fn cells(&self) -> [String; 12] {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
        let us = |value: Option<f64>| value.map_or_else(|| "-".into(), |us| format!("{us:.1}"));
        let clock = self.clock_mhz.map(|mhz| format!(", {mhz} MHz")).unwrap_or_default();
        let kind = if self.historical { "historical" } else { self.tool.as_deref().unwrap_or("tardy") };
        let processor = format!("{}{clock}", text(&self.processor));
        [
            kind.into(),
            self.platform.clone(),
            processor,
            text(&self.kernel),
            text(&self.preemption),
            text(&self.method),
            text(&self.load),
            text(&self.duration),
            us(self.min_us),
            us(self.mean_us),
            us(self.max_us),
            [self.remark.clone(), self.contact.clone()].into_iter().flatten().collect::<Vec<_>>().join("; "),
        ]
    }
}

/// The loads of a run; another tool does not say what ran beside it.
fn load(summary: &RunSummary) -> Option<String> {
    if summary.loads.is_empty() {
        return summary.imported.is_none().then(|| "none".to_owned());
    }
    Some(summary.loads.iter().map(|load| load.name.as_str()).collect::<Vec<_>>().join(", "))
}

/// Columns of the table.
pub const TITLES: [&str; 12] = [
    "measured by",
    "platform",
    "processor",
    "kernel",
    "preemption",
    "method",
    "load",
    "duration",
    "min us",
    "mean us",
    "max us",
    "remark, contact",
];

/// A table for a document in Markdown.
fn markdown(results: &[PublishedResult]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&TITLES.map(String::from));
    text += &line(&TITLES.map(|title| String::from(if title.ends_with(" us") { "---:" } else { "---" })));
    for result in results {
        text += &line(&result.cells().map(|cell| safe(&cell)));
    }
    if results.iter().any(|result| result.historical) {
        text += "\nHistorical rows are published figures of other tools, kernels and machines of 2005 to 2008: they show how the\n\
                 field reported results, and compare with no row measured today.\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_historical_result_is_marked_and_says_where_it_is_from() {
        let results = historical();
        assert_eq!(results.len(), 34);
        for result in &results {
            assert!(result.historical && !result.source.is_empty() && !result.platform.is_empty(), "{result:?}");
            let ordered = [result.min_us, result.mean_us, result.max_us].into_iter().flatten().collect::<Vec<_>>();
            assert!(ordered.is_sorted(), "{result:?}");
        }
        let named = |platform: &str, preemption: &str| {
            let found = results.iter().find(|result| {
                result.platform.starts_with(platform) && result.preemption.as_deref() == Some(preemption)
            });
            found.and_then(|result| result.max_us)
        };
        assert_eq!((named("VIA EPIA", "none"), named("VIA EPIA", "preempt_rt")), (Some(3888.57), Some(65.8249)));
        assert_eq!(named("Intel Mainstone", "none"), Some(7195.3));
    }

    #[test]
    fn a_table_marks_historical_rows_and_cannot_be_broken_by_a_name() {
        let own = PublishedResult { platform: "a|b\nc".into(), max_us: Some(12.34), ..PublishedResult::default() };
        let alone = markdown(std::slice::from_ref(&own));
        assert!(alone.contains("| tardy | a\\|b c |") && alone.contains("| 12.3 |"), "{alone}");
        assert!(!alone.to_lowercase().contains("historical"));
        let both = markdown(&[vec![own], historical()].concat());
        assert!(both.contains("| historical | VIA EPIA, 256 MB |") && both.contains("compare with no row"), "{both}");
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(both.lines().filter(|line| line.starts_with('|')).all(|line| columns(line) == 13));
    }
}
