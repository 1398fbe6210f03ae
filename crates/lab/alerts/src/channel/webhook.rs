//! A webhook: the message as JSON, signed as GitHub, Gitea and Forgejo sign theirs.

use super::error::ChannelError;
use super::{Channel, Failure};
use crate::http::{Address, Body, Client};
use crate::message::Message;
use crate::secret::{Secret, SecretPlace};
use serde::Deserialize;
use std::path::Path;
use store::hmac::signature;
use tls::Roots;

/// A webhook as the settings describe it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// Where messages go; or, if that is a secret, where it is.
    url: Option<String>,
    url_secret: Option<SecretPlace>,
    /// The key of signatures.
    secret: Option<SecretPlace>,
}

#[derive(Debug, Clone)]
pub struct WebhookChannel {
    client: Client,
    address: Address,
    secret: Option<Secret>,
}

impl Webhook {
    pub fn channel(self, folder: &Path, roots: &Roots) -> Result<Channel, ChannelError> {
        self.open(folder, roots).map(Channel::Webhook)
    }

    /// The webhook with its secrets; relative paths start in `folder`.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn open(self, folder: &Path, roots: &Roots) -> Result<WebhookChannel, ChannelError> {
        let address = match (self.url, self.url_secret) {
            (Some(url), None) => Address::parse(&url)?,
            (None, Some(place)) => Address::parse(place.read(folder)?.shown())?,
            _ => return Err(ChannelError::UrlTwice),
        };
        let secret = self.secret.map(|place| place.read(folder)).transpose()?;
        Ok(WebhookChannel { client: Client::new(roots), address, secret })
    }
}

impl WebhookChannel {
    pub async fn send(&self, message: &Message) -> Result<String, Failure> {
        self.post(message.alert.clone(), message.json()).await
    }

    /// Sends a document under a name that each attempt has; returns in words where it is.
    ///
    /// # Errors
    /// Why it was not taken.
    pub async fn post(&self, name: String, json: String) -> Result<String, Failure> {
        let mut headers = vec![("x-tardy-alert", name)];
        if let Some(secret) = &self.secret {
            headers.push(("x-hub-signature-256", signature(secret.shown(), json.as_bytes())));
        }
        let answer = self.client.send("POST", &self.address, "", &headers, Body::Json(json)).await?;
        answer.succeeded().map(|_| format!("{} took it", self.address.host()))
    }
}
