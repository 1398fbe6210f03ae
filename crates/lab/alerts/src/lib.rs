//! Sends messages about changes: to webhooks, by mail, as issues and comments of GitHub and GitLab.
//!
//! * [`Settings`] says which changes go where; secrets come from files or the environment.
//! * [`deliver`] queues messages in the outbox of the index and sends those that are due. The outbox has each message once,
//!   however many look, and a lease for each attempt; [`store::alerts`] has both.
//! * [`Message`] is what a message says, with hostile text made harmless for each format.
//!
//! Each attempt of a message has the same name. A process that dies after the receiver took a message and before that was
//! recorded leaves a message that is sent again: issues and comments are looked for first, so there is one; webhooks and mail may come
//! twice, with the same `X-Tardy-Alert` or `Message-ID`.

mod channel;
mod delivering;
mod http;
mod message;
mod rule;
mod secret;
mod settings;

pub use channel::error::ChannelError;
pub use channel::webhook::{Webhook, WebhookChannel};
pub use channel::{Channel, Failure, Program};
pub use delivering::{Delivered, deliver};
pub use http::{Address, AddressError, Body, Client};
pub use message::Message;
pub use secret::{Secret, SecretError, SecretPlace};
pub use settings::{Destination, Settings, SettingsError};
