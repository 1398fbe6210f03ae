//! Tests of the outputs with real connections to receivers in this process.

use super::super::config::GuardConfig;
use super::super::delivery::Logged;
use super::super::figures::Deliveries;
use super::super::outputs::start_all;
use super::*;
use fixtures::authority::{certify, encrypting};
use fixtures::receivers::{Broker, Posted, Web};
use fixtures::waiting::wait_until;
use prerequisites::require;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use tempfile::TempDir;

/// A log of accounts, over which guards start.
struct Log {
    folder: TempDir,
    entries: u64,
}

/// The outputs of one guard.
struct Started {
    outputs: Vec<Delivery>,
    figures: Arc<Mutex<Figures>>,
}

impl Log {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), entries: 0 }
    }

    fn secret(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn open(&self, config: &str) -> anyhow::Result<Started> {
        let config = GuardConfig::parse(config, Path::new("guard.toml"))?;
        let mut figures = Figures::default();
        figures.accounted(Some("softirq"));
        figures.cost_percent = 0.25;
        let figures = Arc::new(Mutex::new(figures));
        let place = Place {
            folder: self.folder.path(),
            ring: self.folder.path(),
            host: "pi".into(),
            figures: Arc::clone(&figures),
        };
        Ok(Started { outputs: start_all(&config, &place)?, figures })
    }

    fn start(&self, config: &str) -> Started {
        self.open(config).unwrap()
    }

    fn append(&mut self, kind: &str, to: &Started) -> String {
        self.entries += 1;
        let account = json!({ "spike": 7, "latency_ns": 812_345, "findings": [{ "culprit": "softirq" }] });
        let entry = json!({
            "number": self.entries, "unix_ns": 1_795_992_000_123_456_789_i64, "kind": kind, "session": "gone",
            "thread": "arm", "tid": 4711, "limit_ns": 200_000, "account": account,
        });
        let log = self.folder.path().join("accounts.jsonl");
        writeln!(OpenOptions::new().create(true).append(true).open(log).unwrap(), "{entry}").unwrap();
        let logged = Logged::of(entry.to_string()).unwrap();
        to.outputs.iter().for_each(|output| output.add(&logged));
        entry.to_string()
    }
}

impl Started {
    fn counts(&self, name: &str) -> Deliveries {
        let mut figures = self.figures.lock().unwrap();
        self.outputs.iter().for_each(|output| output.count(&mut figures));
        figures.deliveries[name]
    }

    fn end(self) {
        self.outputs.iter().for_each(Delivery::end);
        self.outputs.into_iter().for_each(|output| {
            output.join();
        });
    }
}

fn document(posted: &Posted) -> Value {
    serde_json::from_str(&posted.body).unwrap()
}

#[test]
fn an_account_is_a_message_that_the_broker_acknowledged() {
    let broker = Broker::start();
    let mut log = Log::new();
    log.secret("password", "s3cret\n");
    let port = broker.address.port();
    let config = format!(
        "[mqtt]\nhost = \"127.0.0.1\"\nport = {port}\nclient_id = \"arm\"\nusername = \"me\"\npassword = {{ file = \"password\" }}"
    );
    let guard = log.start(&config);
    let line = log.append("miss", &guard);
    log.append("gap", &guard);
    let second = log.append("saved", &guard);
    wait_until("both are published", || broker.published().len() == 2);
    let published: Vec<_> = broker.published().into_iter().map(|it| (it.topic, it.payload)).collect();
    assert_eq!(published, [("tardy/pi/guard".to_owned(), line), ("tardy/pi/guard".to_owned(), second)]);
    wait_until("the connection is closed", || broker.connected().iter().all(|client| client.has_left));
    let client = broker.connected().swap_remove(0);
    assert_eq!((client.client_id.as_str(), client.username.as_deref()), ("arm", Some("me")));
    assert_eq!(client.password.as_deref(), Some("s3cret"));
    wait_until("both count", || guard.counts("mqtt") == Deliveries { waiting: 0, delivered: 2, undelivered: 0 });
    guard.end();
}

#[test]
fn an_encrypted_broker_needs_a_certificate_of_a_known_authority() {
    require!(Program("openssl"));
    let broker = Broker::start();
    let mut log = Log::new();
    certify(log.folder.path());
    let unknown = tempfile::tempdir().unwrap();
    certify(unknown.path());
    let config = |folder: &Path| {
        let port = encrypting(folder, broker.address).port();
        format!("[mqtt]\nhost = \"localhost\"\nport = {port}\ntls = true\nca_file = \"ca.pem\"")
    };
    let guard = log.start(&config(unknown.path()));
    log.append("miss", &guard);
    guard.end();
    assert!(broker.connected().is_empty());
    let guard = log.start(&config(log.folder.path()));
    wait_until("the broker has it", || broker.published().len() == 1);
    guard.end();
}

#[test]
fn a_broker_that_refuses_or_is_silent_gets_the_account_from_the_next_guard() {
    let broker = Broker::start();
    let mut log = Log::new();
    let config = |broker: &Broker| format!("[mqtt]\nhost = \"127.0.0.1\"\nport = {}", broker.address.port());
    broker.refuse(5);
    let guard = log.start(&config(&broker));
    log.append("miss", &guard);
    wait_until("it is refused", || !broker.connected().is_empty());
    assert_eq!(guard.counts("mqtt"), Deliveries { waiting: 1, delivered: 0, undelivered: 0 });
    guard.end();
    let silent = Broker::start();
    silent.be_silent(true);
    let guard = log.start(&config(&silent));
    wait_until("it connects", || !silent.connected().is_empty());
    log.append("miss", &guard);
    guard.end();
    assert!(silent.published().is_empty());
    broker.refuse(0);
    let guard = log.start(&config(&broker));
    wait_until("the broker has both", || broker.published().len() == 2);
    guard.end();
}

#[test]
fn a_collector_gets_a_record_for_each_account_and_the_figures() {
    let collector = Web::start("200 OK");
    let mut log = Log::new();
    log.secret("key", "s3cret\n");
    let endpoint = collector.address;
    let config = format!(
        "[otlp]\nendpoint = \"http://{endpoint}/base\"\n[otlp.headers]\nx-scope = \"lab\"\nx-api-key = {{ file = \"key\" }}"
    );
    let guard = log.start(&config);
    let line = log.append("miss", &guard);
    wait_until("the record is there", || !collector.posted().is_empty());
    guard.end();
    let posted = collector.posted();
    let to = |path: &'static str| posted.iter().filter(move |request| request.path == path);
    // On a slow machine a minute passes before the end, which has the figures again.
    let last = [to("/base/v1/logs").next_back().unwrap(), to("/base/v1/metrics").next_back().unwrap()];
    assert_eq!(to("/base/v1/logs").count(), 1);
    for request in last {
        assert_eq!(request.method, "POST");
        let header = |name: &str| request.headers.get(name).map(String::as_str);
        assert_eq!((header("content-type"), header("x-scope")), (Some("application/json"), Some("lab")));
        assert_eq!(header("x-api-key"), Some("s3cret"));
    }
    let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let integer = |key: &str, value: &str| json!({ "key": key, "value": { "intValue": value } });
    let version = env!("CARGO_PKG_VERSION");
    let resource = json!({ "attributes": [
        text("service.name", "tardy-guard"), text("service.version", version), text("host.name", "pi"),
    ] });
    let scope = json!({ "name": "tardy.guard", "version": version });
    let mut logs = document(last[0]);
    let record = logs["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0].take();
    let around = [json!({ "scope": scope, "logRecords": [null] })];
    assert_eq!(logs, json!({ "resourceLogs": [{ "resource": resource, "scopeLogs": around }] }));
    let observed = record["observedTimeUnixNano"].as_str().unwrap().parse::<i64>().unwrap();
    assert!(observed > 0);
    let attributes = [
        integer("tardy.number", "1"),
        integer("thread.id", "4711"),
        integer("tardy.latency_ns", "812345"),
        integer("tardy.limit_ns", "200000"),
        integer("tardy.spike", "7"),
        text("tardy.kind", "miss"),
        text("thread.name", "arm"),
        text("tardy.session", "gone"),
        text("tardy.culprit", "softirq"),
    ];
    let expected = json!({
        "timeUnixNano": "1795992000123456789", "observedTimeUnixNano": observed.to_string(),
        "severityNumber": 13, "severityText": "WARN", "eventName": "tardy.guard.miss",
        "body": { "stringValue": line }, "attributes": attributes,
    });
    assert_eq!(record, expected);
    let metrics = document(last[1]);
    let of_resource = &metrics["resourceMetrics"][0];
    assert_eq!((&of_resource["resource"], &of_resource["scopeMetrics"][0]["scope"]), (&resource, &scope));
    let points = |name: &str| {
        let metrics = of_resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|metric| metric["name"] == format!("tardy.guard.{name}")).unwrap();
        let kind = if metric["gauge"].is_null() { &metric["sum"] } else { &metric["gauge"] };
        kind["dataPoints"].clone()
    };
    let accounts = points("accounts");
    assert_eq!(
        (&accounts[0]["asInt"], &accounts[0]["attributes"]),
        (&json!("1"), &json!([text("culprit", "softirq")]))
    );
    let nanoseconds = |key: &str| accounts[0][key].as_str().unwrap().parse::<i64>().unwrap();
    assert!(nanoseconds("startTimeUnixNano") < nanoseconds("timeUnixNano"));
    assert_eq!((&points("cost")[0]["asDouble"], &points("misses")[0]["asInt"]), (&json!(0.25), &json!("0")));
}

#[test]
fn a_record_that_the_collector_rejects_is_counted() {
    let collector = Web::start("200 OK");
    collector.answer("200 OK", "{\"partialSuccess\":{\"rejectedLogRecords\":\"1\"}}");
    let mut log = Log::new();
    let guard = log.start(&format!("[otlp]\nendpoint = \"http://{}\"", collector.address));
    log.append("miss", &guard);
    wait_until("it is given up", || guard.counts("otlp").undelivered == 1);
    guard.end();
}

#[test]
fn an_account_waits_while_a_receiver_is_down_and_one_that_hangs_delays_no_other() {
    let (down, hanging, broker) = (Web::start("503 Service Unavailable"), Web::start(""), Broker::start());
    let mut log = Log::new();
    let config = format!(
        "[webhook]\nurl = \"http://{}/hook\"\n[otlp]\nendpoint = \"http://{}\"\n[mqtt]\nhost = \"127.0.0.1\"\nport = {}",
        down.address,
        hanging.address,
        broker.address.port()
    );
    let guard = log.start(&config);
    let lines: Vec<String> = (0..20).map(|_| log.append("miss", &guard)).collect();
    wait_until("the broker has all", || broker.published().len() == lines.len());
    wait_until("the others were asked", || !down.posted().is_empty() && !hanging.posted().is_empty());
    assert_eq!(guard.counts("webhook"), Deliveries { waiting: 20, delivered: 0, undelivered: 0 });
    assert_eq!(guard.counts("otlp"), Deliveries { waiting: 20, delivered: 0, undelivered: 0 });
    guard.end();
    let before = down.posted().len();
    down.answer("200 OK", "");
    let guard = log.start(&config);
    wait_until("the receiver has all", || guard.counts("webhook").delivered == 20);
    let bodies: Vec<String> = down.posted().split_off(before).into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, lines, "in order, each once");
    assert_eq!(broker.published().len(), lines.len(), "the broker gets none of them again");
    guard.end();
}

#[test]
fn an_archive_that_the_ring_lost_is_given_up() {
    let server = Web::start("200 OK");
    let mut log = Log::new();
    let guard = log.start(&format!("[lab]\nserver = \"http://{}\"", server.address));
    log.append("miss", &guard);
    log.append("archived", &guard);
    wait_until("it is given up", || guard.counts("lab").undelivered == 1);
    assert!(server.posted().is_empty());
    guard.end();
}

#[test]
fn a_secret_never_travels_in_clear_to_another_machine() {
    let log = Log::new();
    log.secret("secret", "s3cret\n");
    let secret = "{ file = \"secret\" }";
    for config in [
        format!("[mqtt]\nhost = \"broker.example\"\nusername = \"me\"\npassword = {secret}"),
        format!("[otlp]\nendpoint = \"http://collector.example\"\nheaders = {{ x-api-key = {secret} }}"),
        format!("[lab]\nserver = \"http://lab.example\"\ntoken = {secret}"),
    ] {
        let refused = log.open(&config).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("in clear") && !refused.contains("s3cret"), "{config}: {refused}");
    }
}
