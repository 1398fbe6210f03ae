//! The documents of OTLP in its JSON mapping: names in lowerCamelCase, integers of 64 bits as text, times in ns since 1970.

use super::super::super::figures::Figures;
use serde::Deserialize;
use serde_json::{Value, json};

const SERVICE: &str = "tardy-guard";
const SCOPE: &str = "tardy.guard";
/// Severity numbers of OpenTelemetry.
const INFO: u32 = 9;
const WARN: u32 = 13;
/// Sums count from the start of the guard.
const CUMULATIVE: u32 = 2;

/// The machine that the documents are about.
pub struct Resource(Value);

/// The parts of an entry that become attributes.
#[derive(Deserialize)]
struct Entry {
    number: u64,
    unix_ns: i64,
    kind: String,
    session: Option<String>,
    thread: Option<String>,
    tid: Option<i32>,
    limit_ns: Option<i64>,
    account: Option<Account>,
}

#[derive(Deserialize)]
struct Account {
    latency_ns: Option<i64>,
    spike: Option<u32>,
    #[serde(default)]
    findings: Vec<Blamed>,
    /// Of a chain.
    deadline_ns: Option<i64>,
    late: Option<LateStage>,
}

#[derive(Deserialize)]
struct LateStage {
    culprit: Option<String>,
}

#[derive(Deserialize)]
struct Blamed {
    culprit: String,
}

/// The part of a collector's answer that counts what it did not take.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Answer {
    partial_success: Option<Rejected>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Rejected {
    rejected_log_records: Option<Integer>,
    rejected_data_points: Option<Integer>,
}

/// Readers of the mapping accept both forms.
#[derive(Deserialize)]
#[serde(untagged)]
enum Integer {
    Number(u64),
    Text(String),
}

impl Integer {
    fn count(&self) -> u64 {
        match self {
            Self::Number(count) => *count,
            // A field that is not a number must not read as zero.
            Self::Text(text) => text.parse().unwrap_or(1),
        }
    }
}

/// The number of records that an answer says were rejected.
pub fn rejected(answer: &str) -> u64 {
    let answer: Answer = serde_json::from_str(answer).unwrap_or_default();
    let Some(Rejected { rejected_log_records, rejected_data_points }) = answer.partial_success else { return 0 };
    [rejected_log_records, rejected_data_points].iter().flatten().map(Integer::count).sum()
}

impl Resource {
    pub fn of(host: &str) -> Self {
        let attributes = [
            text("service.name", SERVICE),
            text("service.version", env!("CARGO_PKG_VERSION")),
            text("host.name", host),
        ];
        Self(json!({ "attributes": attributes }))
    }

    /// An entry of the log as one log record.
    pub fn logs(&self, line: &str, now_unix_ns: i64) -> Value {
        let known = serde_json::from_str::<Entry>(line).ok();
        let is_miss = known.as_ref().is_some_and(|known| matches!(known.kind.as_str(), "miss" | "chain" | "reset"));
        let (severity, name) = if is_miss { (WARN, "WARN") } else { (INFO, "INFO") };
        let at = known.as_ref().map_or(now_unix_ns, |known| known.unix_ns);
        let kind = known.as_ref().map(|known| format!("{SCOPE}.{}", known.kind));
        let record = json!({
            "timeUnixNano": at.to_string(),
            "observedTimeUnixNano": now_unix_ns.to_string(),
            "severityNumber": severity,
            "severityText": name,
            "eventName": kind,
            "body": { "stringValue": line },
            "attributes": known.map(|known| known.attributes()).unwrap_or_default(),
        });
        json!({ "resourceLogs": [{ "resource": self.0, "scopeLogs": [{ "scope": scope(), "logRecords": [record] }] }] })
    }

    /// The figures, counted from the start of the guard.
    pub fn metrics(&self, figures: &Figures, start_unix_ns: i64, now_unix_ns: i64) -> Value {
        let times = (start_unix_ns, now_unix_ns);
        let one = |count: u64| vec![point(times, vec![], Number::Count(count))];
        let culprits = figures.by_culprit.iter();
        let culprits = culprits.map(|(id, count)| point(times, vec![text("culprit", id)], Number::Count(*count)));
        let undelivered = figures.deliveries.iter();
        let undelivered = undelivered
            .map(|(output, counts)| point(times, vec![text("output", output)], Number::Count(counts.undelivered)));
        let gauge = |value: f64| json!({ "dataPoints": [point(times, vec![], Number::Value(value))] });
        let metrics = [
            sum("samples", "{wake-up}", &one(figures.samples())),
            sum("misses", "{wake-up}", &one(figures.misses())),
            sum("suppressed", "{wake-up}", &one(figures.suppressed())),
            sum("accounts", "{account}", &culprits.collect::<Vec<_>>()),
            sum("undelivered", "{account}", &undelivered.collect::<Vec<_>>()),
            json!({ "name": format!("{SCOPE}.cost"), "unit": "%", "gauge": gauge(figures.cost_percent) }),
            json!({ "name": format!("{SCOPE}.memory"), "unit": "By", "gauge": gauge(figures.memory_kb as f64 * 1024.0) }),
        ];
        // A metric without points is not one.
        let metrics: Vec<Value> =
            metrics.into_iter().filter(|metric| metric["sum"]["dataPoints"] != json!([])).collect();
        json!({ "resourceMetrics": [{ "resource": self.0, "scopeMetrics": [{ "scope": scope(), "metrics": metrics }] }] })
    }
}

impl Entry {
    fn attributes(self) -> Vec<Value> {
        let account = self.account;
        let first = account.as_ref().and_then(|account| account.findings.first());
        let of_chain = account.as_ref().and_then(|account| account.late.as_ref()?.culprit.clone());
        let culprit = first.map(|finding| finding.culprit.clone()).or(of_chain);
        let limit_ns = self.limit_ns.or(account.as_ref().and_then(|account| account.deadline_ns));
        let latency_ns = account.as_ref().and_then(|account| account.latency_ns);
        let spike = account.as_ref().and_then(|account| account.spike);
        let integers = [
            ("tardy.number", Some(i128::from(self.number))),
            ("thread.id", self.tid.map(i128::from)),
            ("tardy.latency_ns", latency_ns.map(i128::from)),
            ("tardy.limit_ns", limit_ns.map(i128::from)),
            ("tardy.spike", spike.map(i128::from)),
        ];
        let texts = [
            ("tardy.kind", Some(self.kind)),
            ("thread.name", self.thread),
            ("tardy.session", self.session),
            ("tardy.culprit", culprit),
        ];
        let integers = integers
            .into_iter()
            .filter_map(|(key, value)| Some(json!({ "key": key, "value": { "intValue": value?.to_string() } })));
        integers.chain(texts.into_iter().filter_map(|(key, value)| Some(text(key, &value?)))).collect()
    }
}

enum Number {
    Count(u64),
    Value(f64),
}

fn scope() -> Value {
    json!({ "name": SCOPE, "version": env!("CARGO_PKG_VERSION") })
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn point((start_unix_ns, now_unix_ns): (i64, i64), attributes: Vec<Value>, number: Number) -> Value {
    let mut point = json!({
        "attributes": attributes,
        "startTimeUnixNano": start_unix_ns.to_string(),
        "timeUnixNano": now_unix_ns.to_string(),
    });
    match number {
        Number::Count(count) => point["asInt"] = json!(count.to_string()),
        Number::Value(value) => point["asDouble"] = json!(value),
    }
    point
}

fn sum(name: &str, unit: &str, points: &[Value]) -> Value {
    let sum = json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points });
    json!({ "name": format!("{SCOPE}.{name}"), "unit": unit, "sum": sum })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_a_log_record_with_its_facts() {
        let line = r#"{"number":12,"unix_ns":1795992000123456789,"kind":"miss","session":"s","thread":"arm","tid":4711,
            "limit_ns":200000,"account":{"spike":7,"latency_ns":812345,"findings":[{"culprit":"softirq"}]}}"#;
        let document = Resource::of("pi").logs(line, 1_795_992_000_200_000_000);
        let record = &document["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
        assert_eq!(record["timeUnixNano"], "1795992000123456789");
        assert_eq!((&record["severityNumber"], &record["body"]["stringValue"]), (&json!(13), &json!(line)));
        let attributes = record["attributes"].as_array().unwrap();
        for expected in [
            json!({ "key": "tardy.latency_ns", "value": { "intValue": "812345" } }),
            json!({ "key": "thread.id", "value": { "intValue": "4711" } }),
            json!({ "key": "tardy.culprit", "value": { "stringValue": "softirq" } }),
        ] {
            assert!(attributes.contains(&expected), "{expected} in {attributes:?}");
        }
        let resource = document["resourceLogs"][0]["resource"]["attributes"].as_array().unwrap();
        assert!(resource.contains(&text("service.name", "tardy-guard")) && resource.contains(&text("host.name", "pi")));
    }

    #[test]
    fn figures_are_cumulative_sums_and_gauges() {
        let mut figures = Figures::default();
        let sums = |figures: &Figures| {
            let document = Resource::of("pi").metrics(figures, 5, 9);
            document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap().clone()
        };
        let has = |metrics: &[Value], name: &str| metrics.iter().any(|metric| metric["name"] == name);
        assert!(!has(&sums(&figures), "tardy.guard.accounts"), "no account yet");
        figures.accounted(Some("softirq"));
        figures.cost_percent = 0.25;
        let metrics = sums(&figures);
        let of = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
        let accounts = &of("tardy.guard.accounts")["sum"];
        assert_eq!((&accounts["aggregationTemporality"], &accounts["isMonotonic"]), (&json!(2), &json!(true)));
        let point = &accounts["dataPoints"][0];
        assert_eq!((&point["asInt"], &point["startTimeUnixNano"]), (&json!("1"), &json!("5")));
        assert_eq!((&point["timeUnixNano"], &point["attributes"][0]), (&json!("9"), &text("culprit", "softirq")));
        assert_eq!(of("tardy.guard.cost")["gauge"]["dataPoints"][0]["asDouble"], json!(0.25));
        assert_eq!(of("tardy.guard.misses")["sum"]["dataPoints"][0]["asInt"], json!("0"));
    }

    #[test]
    fn an_answer_counts_what_was_rejected() {
        for (answer, count) in [
            ("", 0),
            ("{}", 0),
            ("{\"partialSuccess\":{}}", 0),
            ("{\"partialSuccess\":{\"rejectedLogRecords\":\"1\",\"errorMessage\":\"x\"}}", 1),
            ("{\"partialSuccess\":{\"rejectedDataPoints\":3}}", 3),
            ("<html>", 0),
        ] {
            assert_eq!(rejected(answer), count, "{answer}");
        }
    }
}
