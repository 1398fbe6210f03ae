//! Accounts to an MQTT broker: each is one message with quality of service 1, so the broker acknowledges it.
//!
//! The connection lasts while entries wait. A session of the broker is not needed: the log has what was not acknowledged.

mod connection;
mod packets;

use super::super::delivery::{Logged, Output};
use super::{Place, Settings};
use alerts::{Failure, SecretPlace};
use connection::Connection;
use packets::Login;
use serde::Deserialize;
use std::path::PathBuf;
use tls::Roots;

const PORT: u16 = 1883;
const PORT_OF_TLS: u16 = 8883;
/// The topic, unless the configuration names one.
const TOPIC: &str = "tardy/{host}/guard";
/// In a topic it stands for the name of this host.
const HOST: &str = "{host}";
const TEXT_BYTES_MAX: usize = 1024;

/// The table `[mqtt]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MqttSettings {
    host: String,
    port: Option<u16>,
    topic: Option<String>,
    client_id: Option<String>,
    username: Option<String>,
    password: Option<SecretPlace>,
    #[serde(default)]
    tls: bool,
    /// Certificates of authorities, instead of the system's.
    ca_file: Option<PathBuf>,
}

/// A broker.
pub struct MqttOutput {
    broker: Broker,
    topic: String,
    connection: Option<Connection>,
}

/// Where it is, and who connects.
pub struct Broker {
    pub host: String,
    pub port: u16,
    pub login: Login,
    /// If the connection is encrypted.
    pub roots: Option<Roots>,
}

impl Settings for MqttSettings {
    type Opened = MqttOutput;

    fn open(self, place: &Place<'_>) -> Result<MqttOutput, String> {
        let host = self.host.trim_matches(['[', ']']).to_owned();
        if self.ca_file.is_some() && !self.tls {
            return Err("`ca_file` is for encrypted connections; add `tls = true`".into());
        }
        if self.password.is_some() && !self.tls && !tls::is_this_host(&host) {
            return Err("the password would travel in clear; add `tls = true`".into());
        }
        if self.password.is_some() && self.username.is_none() {
            return Err("a password needs a `username`".into());
        }
        let topic = self.topic.unwrap_or_else(|| TOPIC.into()).replace(HOST, &one_level(&place.host));
        if topic.is_empty() || topic.starts_with('$') || topic.contains(['+', '#']) {
            return Err("`topic` is the name of one topic, without wildcards".into());
        }
        let client_id = self.client_id.unwrap_or_else(|| format!("tardy-{}-{}", place.host, std::process::id()));
        let password = self.password.map(|password| password.read(place.folder)).transpose();
        let password = password.map_err(|error| error.to_string())?;
        let texts = [&host, &topic, &client_id, self.username.as_ref().unwrap_or(&topic)];
        if texts.iter().any(|text| text.is_empty() || text.len() > TEXT_BYTES_MAX || text.contains(char::is_control)) {
            return Err(format!(
                "host, topic, client_id and username have 1 to {TEXT_BYTES_MAX} bytes and no control characters"
            ));
        }
        let roots = self.tls.then(|| Roots::from(self.ca_file.map(|file| place.folder.join(file))));
        let port = self.port.unwrap_or(if self.tls { PORT_OF_TLS } else { PORT });
        let login = Login { client_id, username: self.username, password };
        Ok(MqttOutput { broker: Broker { host, port, login, roots }, topic, connection: None })
    }
}

/// A name as one level of a topic.
fn one_level(name: &str) -> String {
    name.replace(['/', '+', '#'], "-")
}

impl MqttOutput {
    async fn publish(&mut self, payload: &str) -> Result<(), String> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.broker).await?,
        };
        connection.publish(&self.topic, payload.as_bytes()).await?;
        // One that failed, or was given up in the middle, is not used again.
        self.connection = Some(connection);
        Ok(())
    }
}

impl Output for MqttOutput {
    const NAME: &'static str = "mqtt";

    async fn deliver(&mut self, entry: &Logged) -> Result<(), Failure> {
        self.publish(&entry.line).await.map_err(Failure::of)
    }

    async fn rest(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;
    use std::path::Path;

    fn opened(text: &str) -> Result<MqttOutput, String> {
        let settings: MqttSettings = toml::from_str(text).unwrap();
        let none = Path::new("");
        settings.open(&Place { folder: none, ring: none, host: "a/b".into(), figures: std::sync::Arc::default() })
    }

    #[test]
    fn a_topic_has_the_host_as_one_level_and_a_password_is_encrypted() {
        let output = opened("host = \"broker\"").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((output.topic.as_str(), output.broker.port), ("tardy/a-b/guard", 1883));
        assert!(opened("host = \"broker\"\ntls = true").is_ok_and(|output| output.broker.port == 8883));
        for (text, named) in [
            ("topic = \"a/#\"", "wildcards"),
            ("topic = \"\"", "wildcards"),
            ("username = \"me\"\npassword = { env = \"HOME\" }", "tls = true"),
            ("tls = true\npassword = { env = \"HOME\" }", "username"),
            ("ca_file = \"ca.pem\"", "tls = true"),
            ("client_id = \"a\\nb\"", "control"),
        ] {
            let refused = opened(&format!("host = \"broker\"\n{text}")).err().unwrap_or_default();
            assert!(refused.contains(named), "{text}: {refused}");
        }
    }
}
