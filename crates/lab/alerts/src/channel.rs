//! The ways to send a message.

pub mod error;
pub mod forge;
pub mod mail;
pub mod webhook;

use crate::message::Message;
use forge::ForgeChannel;
use mail::MailChannel;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use store::changes::ChangeReport;
use webhook::WebhookChannel;

/// Why a message was not sent, in words without a secret, and the pause that the receiver asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    pub because: String,
    pub pause: Option<Duration>,
    /// The receiver answered that it will not take this message, also later.
    pub is_final: bool,
}

impl Failure {
    pub fn of(because: impl Into<String>) -> Self {
        Self { because: because.into(), ..Self::default() }
    }
}

/// A channel of the program that delivers; returns whether it took the message.
#[derive(Clone)]
pub struct Program(pub Arc<dyn Fn(&ChangeReport) -> bool + Send + Sync>);

impl fmt::Debug for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Program")
    }
}

/// A way to send a message.
#[derive(Debug, Clone)]
pub enum Channel {
    Webhook(WebhookChannel),
    Mail(Box<MailChannel>),
    Forge(ForgeChannel),
    Program(Program),
}

impl Channel {
    /// Whether it gets the changes of a run in one message: a command gets each on its own.
    pub fn takes_several(&self) -> bool {
        !matches!(self, Self::Program(_))
    }

    /// Sends a message; returns in words where it is. `since_unix_ns` is when the first attempt began, of one that is not the
    /// first.
    pub async fn send(&self, message: &Message, since_unix_ns: Option<i64>) -> Result<String, Failure> {
        match self {
            Self::Webhook(webhook) => webhook.send(message).await,
            Self::Mail(mail) => mail.send(message).await,
            Self::Forge(forge) => forge.send(message, since_unix_ns).await,
            Self::Program(program) => {
                let (program, report) = (program.clone(), message.report.clone());
                match tokio::task::spawn_blocking(move || program.0(&report)).await {
                    Ok(true) => Ok("the command took it".into()),
                    _ => Err(Failure::of("the command failed, or took longer than it may")),
                }
            }
        }
    }
}
