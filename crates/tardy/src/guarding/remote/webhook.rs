//! Accounts as POST requests.

use super::super::delivery::{Logged, Output};
use super::{Place, Settings};
use alerts::{Failure, Webhook, WebhookChannel};
use tls::Roots;

impl Settings for Webhook {
    type Opened = WebhookChannel;

    fn open(self, place: &Place<'_>) -> Result<WebhookChannel, String> {
        Self::open(self, place.folder, &Roots::from(None)).map_err(|error| error.to_string())
    }
}

impl Output for WebhookChannel {
    const NAME: &'static str = "webhook";

    async fn deliver(&mut self, entry: &Logged) -> Result<(), Failure> {
        self.post(format!("guard-{}", entry.number), entry.line.clone()).await.map(drop)
    }
}
