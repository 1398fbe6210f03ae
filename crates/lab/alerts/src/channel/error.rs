//! Why a destination of the settings is not a channel.

use crate::http::AddressError;
use crate::secret::SecretError;
use thiserror::Error;

/// A mistake in the settings of a destination.
#[derive(Debug, Error)]
pub enum ChannelError {
    #[error("a name has letters, digits, - and _, at most {letters_max}")]
    Name { letters_max: usize },
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("write either `url` or `url_secret`")]
    UrlTwice,
    #[error("project is {0}")]
    Project(&'static str),
    #[error("it would send its token in clear; write https:// in `api`")]
    TokenInClear,
    #[error("server is HOST or HOST:PORT")]
    MailServer,
    #[error("{text:?} is not a mail address: {source}")]
    Mailbox { text: String, source: lettre::address::AddressError },
    #[error("`to` names no one")]
    NoReceiver,
    #[error("write both `user` and `password`, or neither")]
    HalfLogin,
    #[error("it would send its password in clear; set security to \"starttls\" or \"tls\"")]
    PasswordInClear,
}
