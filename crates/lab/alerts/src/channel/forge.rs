//! Issues and comments of GitHub and GitLab, by their REST APIs.
//!
//! An attempt that is not the first looks for what an earlier one may have left: so a message is there once, even if a process died
//! between sending and recording.

use super::error::ChannelError;
use super::{Channel, Failure};
use crate::http::{Address, Body, Client};
use crate::message::Message;
use crate::secret::{Secret, SecretPlace};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use tls::Roots;
use words::calendar::civil;

/// Newest messages among which a message of an earlier attempt is.
const NEWEST: u32 = 100;
/// How far the clock of a forge may be behind that of the index.
const CLOCKS_NS: i64 = 600_000_000_000;

/// A project as the settings describe it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forge {
    /// `OWNER/NAME`, or on GitLab the path with all groups.
    project: String,
    /// Number of the issue that gets a comment for each change; without it each change becomes an issue.
    issue: Option<u64>,
    #[serde(default)]
    labels: Vec<String>,
    /// Base of the API, of a forge of one's own.
    api: Option<String>,
    token: SecretPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Github,
    Gitlab,
}

#[derive(Debug, Clone)]
pub struct ForgeChannel {
    kind: Kind,
    client: Client,
    api: Address,
    /// Path of the project below the API.
    project: String,
    issue: Option<u64>,
    labels: Vec<String>,
    token: Secret,
}

impl Forge {
    pub fn github(self, folder: &Path, roots: &Roots) -> Result<Channel, ChannelError> {
        let parts: Vec<&str> = self.project.split('/').collect();
        if parts.len() != 2 || !parts.iter().all(|part| is_name(part)) {
            return Err(ChannelError::Project("OWNER/NAME"));
        }
        let project = format!("/repos/{}", self.project);
        self.channel(Kind::Github, "https://api.github.com", project, folder, roots)
    }

    pub fn gitlab(self, folder: &Path, roots: &Roots) -> Result<Channel, ChannelError> {
        let parts: Vec<&str> = self.project.split('/').collect();
        if parts.len() < 2 || !parts.iter().all(|part| is_name(part)) {
            return Err(ChannelError::Project("GROUP/NAME"));
        }
        let project = format!("/projects/{}", self.project.replace('/', "%2F"));
        self.channel(Kind::Gitlab, "https://gitlab.com/api/v4", project, folder, roots)
    }

    fn channel(
        self,
        kind: Kind,
        api: &str,
        project: String,
        folder: &Path,
        roots: &Roots,
    ) -> Result<Channel, ChannelError> {
        let api = Address::parse(self.api.as_deref().unwrap_or(api))?;
        if api.is_open() {
            return Err(ChannelError::TokenInClear);
        }
        let (token, client) = (self.token.read(folder)?, Client::new(roots));
        let Self { issue, labels, .. } = self;
        Ok(Channel::Forge(ForgeChannel { kind, client, api, project, issue, labels, token }))
    }
}

fn is_name(part: &str) -> bool {
    !part.is_empty()
        && part != "."
        && part != ".."
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

impl ForgeChannel {
    pub async fn send(&self, message: &Message, since_unix_ns: Option<i64>) -> Result<String, Failure> {
        if let Some(since) = since_unix_ns
            && let Some(place) = self.found(message, since).await?
        {
            return Ok(place);
        }
        let body = self.body(message).to_string();
        let answer = self.client.send("POST", &self.api, &self.place(), &self.headers(), Body::Json(body)).await?;
        let made = answer.succeeded()?;
        Ok(address_in(&serde_json::from_str(&made).unwrap_or_default()))
    }

    /// The message of an earlier attempt, if there is one.
    async fn found(&self, message: &Message, since_unix_ns: i64) -> Result<Option<String>, Failure> {
        let newest = match (self.kind, self.issue) {
            (Kind::Github, None) => format!("?state=all&sort=created&direction=desc&per_page={NEWEST}"),
            // Comments of an issue are listed oldest first.
            (Kind::Github, Some(_)) => {
                let since_s = u64::try_from(since_unix_ns.saturating_sub(CLOCKS_NS) / 1_000_000_000).unwrap_or(0);
                let (day, time) = civil(since_s);
                format!("?since={day}T{time}Z&per_page={NEWEST}")
            }
            (Kind::Gitlab, _) => format!("?order_by=created_at&sort=desc&per_page={NEWEST}"),
        };
        let below = format!("{}{newest}", self.place());
        let answer = self.client.send("GET", &self.api, &below, &self.headers(), Body::Nothing).await?;
        let listed: Value = serde_json::from_str(&answer.succeeded()?).unwrap_or_default();
        let mark = message.mark();
        let has_mark = |entry: &&Value| {
            ["body", "description"].iter().any(|name| entry[*name].as_str().is_some_and(|text| text.contains(&mark)))
        };
        Ok(listed.as_array().into_iter().flatten().find(has_mark).map(address_in))
    }

    fn place(&self) -> String {
        match (self.kind, self.issue) {
            (_, None) => format!("{}/issues", self.project),
            (Kind::Github, Some(issue)) => format!("{}/issues/{issue}/comments", self.project),
            (Kind::Gitlab, Some(issue)) => format!("{}/issues/{issue}/notes", self.project),
        }
    }

    fn body(&self, message: &Message) -> Value {
        let text = message.markdown();
        match (self.kind, self.issue) {
            (_, Some(_)) => json!({ "body": text }),
            (Kind::Github, None) => json!({ "title": message.subject(), "body": text, "labels": self.labels }),
            (Kind::Gitlab, None) => {
                json!({ "title": message.subject(), "description": text, "labels": self.labels.join(",") })
            }
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let token = self.token.shown();
        match self.kind {
            Kind::Github => vec![
                ("authorization", format!("Bearer {token}")),
                ("accept", "application/vnd.github+json".into()),
                ("x-github-api-version", "2022-11-28".into()),
            ],
            Kind::Gitlab => vec![("private-token", token.to_owned())],
        }
    }
}

/// Where it is, as the forge says.
fn address_in(entry: &Value) -> String {
    let address = ["html_url", "web_url"].iter().find_map(|name| entry[*name].as_str());
    let number = || entry["id"].as_u64().map(|id| format!("comment {id}"));
    address.map(str::to_owned).or_else(number).unwrap_or_else(|| "the forge took it".into())
}
