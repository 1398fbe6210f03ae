//! The address of a server, as a user writes it.

use crate::exit::UsageError;
use hyper::Uri;
use words::printable::printable;

const PORT_OF_HTTP: u16 = 80;
const PORT_OF_HTTPS: u16 = 443;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    pub is_https: bool,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// As the server expects it in each request.
    pub authority: String,
}

impl ServerAddress {
    /// Reads `http://HOST[:PORT]` or `https://HOST[:PORT]`.
    ///
    /// # Errors
    /// For every other address, with what to write.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let shown = printable(text);
        let refused = |fix: &str| UsageError(format!("failed to use the server {shown}: {fix}"));
        let uri: Uri = text.parse().map_err(|_| refused("write http://HOST:PORT"))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refused("write http://HOST:PORT or https://HOST:PORT")),
        };
        let authority = uri.authority().ok_or_else(|| refused("write http://HOST:PORT"))?;
        if authority.as_str().contains('@') {
            return Err(refused("leave out the user; the token is in a file that --token-file names"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(refused("write http://HOST:PORT, without a path"));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16();
        if host.is_empty() || (port.is_none() && authority.as_str() != authority.host()) {
            return Err(refused("write http://HOST:PORT"));
        }
        let port = port.unwrap_or(if is_https { PORT_OF_HTTPS } else { PORT_OF_HTTP });
        Ok(Self { is_https, host, port, authority: authority.to_string() })
    }

    /// Whether a token that is sent there can be read on the way.
    pub fn is_open(&self) -> bool {
        !self.is_https && !tls::is_this_host(&self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_with_a_host_and_nothing_behind_it() {
        for (text, host, port) in [
            ("http://localhost:8700", "localhost", 8700),
            ("http://lab.example/", "lab.example", 80),
            ("HTTP://127.0.0.1:1", "127.0.0.1", 1),
            ("http://[::1]:8700/", "::1", 8700),
            ("https://lab.example", "lab.example", 443),
        ] {
            let address = ServerAddress::parse(text).unwrap();
            assert_eq!((address.host.as_str(), address.port), (host, port));
            assert_eq!(address.is_https, text.starts_with("https"));
        }
        for (text, fix) in [
            ("http://me:secret@lab.example", "--token-file"),
            ("http://lab.example/runs", "without a path"),
            ("http://lab.example?x", "without a path"),
            ("lab.example:8700", "http://HOST:PORT"),
            ("lab.example", "http://HOST:PORT"),
            ("ftp://lab.example", "http://HOST:PORT"),
            ("http://", "http://HOST:PORT"),
            ("http://lab.example:", "http://HOST:PORT"),
            ("http://lab.example:99999", "http://HOST:PORT"),
            ("", "http://HOST:PORT"),
            ("runs\u{1b}[2J", "http://HOST:PORT"),
        ] {
            let refused = ServerAddress::parse(text).unwrap_err().to_string();
            assert!(refused.contains(fix) && !refused.contains('\u{1b}'), "{text}: {refused}");
        }
    }
}
