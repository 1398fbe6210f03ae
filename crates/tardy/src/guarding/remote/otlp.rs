//! Accounts as log records and figures as metrics, to a collector of OpenTelemetry: OTLP over HTTP, as JSON.

mod document;

use super::super::delivery::{Logged, Output};
use super::super::figures::Figures;
use super::super::ring::unix_ns;
use super::{Place, Settings, refused};
use alerts::{Address, Body, Client, Failure, SecretPlace};
use document::Resource;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tls::Roots;

/// The table `[otlp]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtlpSettings {
    /// Without `/v1/logs`.
    endpoint: String,
    #[serde(default)]
    headers: BTreeMap<String, HeaderValue>,
    /// Certificates of authorities, instead of the system's.
    ca_file: Option<PathBuf>,
}

/// A value of a header: a text, or the place of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum HeaderValue {
    Text(String),
    Secret(SecretPlace),
}

/// A collector.
pub struct OtlpOutput {
    client: Client,
    address: Address,
    headers: Vec<(String, String)>,
    resource: Resource,
    started_unix_ns: i64,
}

impl Settings for OtlpSettings {
    type Opened = OtlpOutput;

    fn open(self, place: &Place<'_>) -> Result<OtlpOutput, String> {
        let address = Address::parse(&self.endpoint).map_err(|error| error.to_string())?;
        let mut headers = Vec::new();
        for (name, value) in self.headers {
            let value = match value {
                HeaderValue::Text(text) => text,
                HeaderValue::Secret(_) if address.is_open() => {
                    return Err(format!("the header {name} would travel in clear; write https:// in `endpoint`"));
                }
                HeaderValue::Secret(secret) => {
                    secret.read(place.folder).map_err(|error| error.to_string())?.shown().to_owned()
                }
            };
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
                return Err(format!("{name:?} is not the name of a header"));
            }
            headers.push((name, value));
        }
        let roots = Roots::from(self.ca_file.map(|file| place.folder.join(file)));
        Ok(OtlpOutput {
            client: Client::new(&roots),
            address,
            headers,
            resource: Resource::of(&place.host),
            started_unix_ns: unix_ns(),
        })
    }
}

impl OtlpOutput {
    async fn post(&self, below: &str, document: &Value) -> Result<(), Failure> {
        let headers: Vec<(&str, String)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let answer = self.client.send("POST", &self.address, below, &headers, Body::Json(document.to_string())).await?;
        match document::rejected(&answer.succeeded()?) {
            0 => Ok(()),
            count => Err(refused(format!("{} rejected {count} records", self.address.host()))),
        }
    }
}

impl Output for OtlpOutput {
    const NAME: &'static str = "otlp";
    const REPORTS: Option<Duration> = Some(Duration::from_secs(60));

    async fn deliver(&mut self, entry: &Logged) -> Result<(), Failure> {
        self.post("/v1/logs", &self.resource.logs(entry, unix_ns())).await
    }

    async fn report(&mut self, figures: &Figures) -> Result<(), Failure> {
        self.post("/v1/metrics", &self.resource.metrics(figures, self.started_unix_ns, unix_ns())).await
    }
}
