//! Mail by SMTP.

use super::error::ChannelError;
use super::{Channel, Failure};
use crate::http::Address;
use crate::message::Message as Alert;
use crate::secret::{Secret, SecretPlace};
use lettre::message::header::{ContentType, Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use serde::Deserialize;
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tls::{Roots, TlsError};

const SMTP_MAX: Duration = Duration::from_secs(30);

/// Mail as the settings describe it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// `HOST` or `HOST:PORT`.
    server: String,
    #[serde(default)]
    security: Security,
    from: String,
    to: Vec<String>,
    user: Option<String>,
    password: Option<SecretPlace>,
}

/// How the connection is protected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Security {
    /// Encrypted after STARTTLS, or not at all; port 587.
    #[default]
    Starttls,
    /// Encrypted from the first byte; port 465.
    Tls,
    /// In clear; port 25. For a server of this host.
    None,
}

#[derive(Debug, Clone)]
pub struct MailChannel {
    host: String,
    port: u16,
    security: Security,
    roots: Roots,
    from: Mailbox,
    to: Vec<Mailbox>,
    login: Option<(String, Secret)>,
}

/// Says that no person wrote it, so that no one's absence is answered (RFC 3834).
#[derive(Debug, Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".into())
    }
}

impl Mail {
    pub fn channel(self, folder: &Path, roots: &Roots) -> Result<Channel, ChannelError> {
        let address = Address::parse(&format!("http://{}", self.server)).map_err(|_| ChannelError::MailServer)?;
        let mailbox = |text: &String| {
            text.parse::<Mailbox>().map_err(|source| ChannelError::Mailbox { text: text.clone(), source })
        };
        let (from, to) = (mailbox(&self.from)?, self.to.iter().map(mailbox).collect::<Result<Vec<_>, _>>()?);
        if to.is_empty() {
            return Err(ChannelError::NoReceiver);
        }
        let login = match (self.user, self.password) {
            (None, None) => None,
            (Some(user), Some(place)) => Some((user, place.read(folder)?)),
            _ => return Err(ChannelError::HalfLogin),
        };
        if login.is_some() && self.security == Security::None && address.is_open() {
            return Err(ChannelError::PasswordInClear);
        }
        let port = match (self.server.rsplit_once(':'), self.security) {
            (Some((_, port)), _) if port.parse::<u16>().is_ok() => port.parse().unwrap_or_default(),
            (_, Security::Starttls) => 587,
            (_, Security::Tls) => 465,
            (_, Security::None) => 25,
        };
        let host = address.host().trim_matches(['[', ']']).to_owned();
        let channel = MailChannel { host, port, security: self.security, roots: roots.clone(), from, to, login };
        Ok(Channel::Mail(Box::new(channel)))
    }
}

/// A connection to the server that cannot be prepared.
#[derive(Debug, thiserror::Error)]
enum TransportError {
    #[error(transparent)]
    Roots(#[from] TlsError),
    #[error(transparent)]
    Smtp(#[from] lettre::transport::smtp::Error),
}

impl MailChannel {
    pub async fn send(&self, alert: &Alert) -> Result<String, Failure> {
        let message = self.message(alert).map_err(|error| Failure::of(format!("failed to write the mail: {error}")))?;
        let transport = self.transport().map_err(|error| Failure::of(error.to_string()))?;
        transport.send(message).await.map_err(|error| Failure::of(self.because(&error)))?;
        Ok(format!("{} took it", self.host))
    }

    fn message(&self, alert: &Alert) -> Result<Message, lettre::error::Error> {
        // The same in every attempt: a reader's program shows a repetition once.
        let id = format!("<{}@{}>", alert.alert, self.from.email.domain());
        let message = Message::builder().from(self.from.clone()).subject(format!("[tardy] {}", alert.subject()));
        let message = self.to.iter().fold(message, |message, to| message.to(to.clone()));
        let message = message.message_id(Some(id)).header(AutoSubmitted).header(ContentType::TEXT_PLAIN);
        message.body(alert.plain())
    }

    fn transport(&self) -> Result<AsyncSmtpTransport<Tokio1Executor>, TransportError> {
        let tls = match self.security {
            Security::None => Tls::None,
            Security::Starttls => Tls::Required(self.parameters()?),
            Security::Tls => Tls::Wrapper(self.parameters()?),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&self.host).port(self.port).tls(tls);
        let builder = builder.timeout(Some(SMTP_MAX));
        Ok(match &self.login {
            Some((user, password)) => builder.credentials(Credentials::new(user.clone(), password.shown().to_owned())),
            None => builder,
        }
        .build())
    }

    fn parameters(&self) -> Result<TlsParameters, TransportError> {
        let mut parameters = TlsParameters::builder(self.host.clone());
        if let Some(pem) = self.roots.pem()? {
            let roots = Certificate::from_pem(&pem)?;
            parameters = parameters.certificate_store(CertificateStore::None).add_root_certificate(roots);
        }
        Ok(parameters.build()?)
    }

    /// The reply of a server is not repeated: it may contain what was sent.
    fn because(&self, error: &lettre::transport::smtp::Error) -> String {
        let host = &self.host;
        match error.status() {
            Some(code) => format!("{host} answered {code}"),
            None if error.is_timeout() => format!("{host} did not answer within {} s", SMTP_MAX.as_secs()),
            None => {
                let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
                format!("failed to reach {host}{source}")
            }
        }
    }
}
