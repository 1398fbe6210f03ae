//! The documents of OTLP in its JSON mapping: names in lowerCamelCase, integers of 64 bits as text, times in ns since 1970.

use super::super::super::delivery::Logged;
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
    late_stage: Option<LateStage>,
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
    pub fn logs(&self, entry: &Logged, now_unix_ns: i64) -> Value {
        let line = &entry.line;
        // Of an entry that another version wrote, the body has the facts.
        let known = serde_json::from_str::<Entry>(line).ok();
        let is_miss = matches!(entry.kind.as_str(), "miss" | "chain" | "reset");
        let (severity, name) = if is_miss { (WARN, "WARN") } else { (INFO, "INFO") };
        let at = known.as_ref().map_or(now_unix_ns, |known| known.unix_ns);
        let record = json!({
            "timeUnixNano": at.to_string(),
            "observedTimeUnixNano": now_unix_ns.to_string(),
            "severityNumber": severity,
            "severityText": name,
            "eventName": format!("{SCOPE}.{}", entry.kind),
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
        let of_chain = account.as_ref().and_then(|account| account.late_stage.as_ref()?.culprit.clone());
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
    use super::super::super::super::entry::{self, Fact};
    use super::*;
    use account::ExplanationSource;
    use account::brief::short::Short;
    use account::brief::spike::BriefSpike;
    use archive::chain::ChainCause;
    use archive::culprit::{Culprit, TaskName};
    use archive::reader::Run;
    use fixtures::repository::repository_path;
    use std::collections::BTreeMap;

    /// The record of an entry as the log has it.
    fn record(fact: Fact) -> (Value, String) {
        let entry = entry::Entry { guard_version: 1, number: 12, unix_ns: 1_795_992_000_123_456_789, fact };
        let logged = Logged::of(entry.line()).unwrap();
        let document = Resource::of("pi").logs(&logged, 1_795_992_000_200_000_000);
        let resource = document["resourceLogs"][0]["resource"]["attributes"].as_array().unwrap();
        assert!(resource.contains(&text("service.name", "tardy-guard")) && resource.contains(&text("host.name", "pi")));
        (document["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0].clone(), logged.line)
    }

    /// Of spike 11 of an archive in the corpus, which has one finding.
    fn miss() -> entry::Account {
        let run = Run::open(repository_path("corpus/archives/v1")).unwrap();
        let brief = BriefSpike::of(&account::Account::of(run, ExplanationSource::Traces), 11).unwrap();
        entry::Account {
            session: Short::name("s"),
            thread: Short::name("arm"),
            tid: 4711,
            sample: None,
            limit_ns: Some(200_000),
            request: None,
            after_ms: Some(300),
            ran_unix_ns: None,
            suppressed: 0,
            shed: Vec::new(),
            account: brief,
        }
    }

    fn chain() -> entry::ChainMiss {
        let late_stage = entry::LateStage {
            stage: 2,
            thread: TaskName { tid: 7, comm: "motor".into() },
            stage_ns: 6_000_000,
            ordinary_ns: None,
            culprit: Some(Culprit::OtherRtTask),
            cause_ns: 5_000_000,
            cause: Some(ChainCause::OwnWork),
            ledger: BTreeMap::new(),
        };
        let account = entry::ChainAccount {
            archive: Short::name("s"),
            spike: 2,
            chain: Short::name("sensor to motor"),
            latency_ns: 7_000_000,
            deadline_ns: 5_000_000,
            is_open: false,
            instances: 9,
            missed: 1,
            late_stage: Some(late_stage),
        };
        entry::ChainMiss { session: Short::name("s"), after_ms: None, ended_unix_ns: None, shed: Vec::new(), account }
    }

    #[test]
    fn an_account_is_a_log_record_with_its_facts() {
        let integer = |key: &str, value: i64| json!({ "key": key, "value": { "intValue": value.to_string() } });
        let of_miss = miss();
        let latency_ns = of_miss.account.latency_ns;
        let reset = entry::Reset {
            boot: Short::name("b"),
            uptime_ns: 5,
            last_unix_ns: 7,
            silent_ns: None,
            recovered: 0,
            unfinished: true,
            archive: None,
            miss: Some(Box::new(miss())),
        };
        let of_thread =
            [integer("tardy.latency_ns", latency_ns), integer("thread.id", 4711), text("tardy.culprit", "own-tool")];
        let of_chain = [
            integer("tardy.latency_ns", 7_000_000),
            integer("tardy.limit_ns", 5_000_000),
            text("tardy.culprit", "other-rt-task"),
        ];
        for (fact, kind, expected) in [
            (Fact::Miss(Box::new(of_miss)), "miss", &of_thread),
            (Fact::Saved(Box::new(miss())), "saved", &of_thread),
            (Fact::Reset(Box::new(reset)), "reset", &of_thread),
            (Fact::Chain(Box::new(chain())), "chain", &of_chain),
        ] {
            let (record, line) = record(fact);
            assert_eq!(record["timeUnixNano"], "1795992000123456789");
            assert_eq!(
                (&record["eventName"], &record["body"]["stringValue"]),
                (&json!(format!("tardy.guard.{kind}")), &json!(line))
            );
            assert_eq!(record["severityNumber"], if kind == "saved" { 9 } else { 13 });
            let attributes = record["attributes"].as_array().unwrap();
            assert!(expected.iter().all(|expected| attributes.contains(expected)), "{expected:?} in {attributes:?}");
        }
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
