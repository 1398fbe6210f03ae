//! The address of a server, as a user writes it.

use crate::exit::UsageError;
use hyper::Uri;
use words::printable::printable;

const PORT_OF_HTTP: u16 = 80;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// As the server expects it in each request.
    pub authority: String,
}

impl ServerAddress {
    /// Reads `http://HOST[:PORT]`.
    ///
    /// # Errors
    /// For every other address, with what to write.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let shown = printable(text);
        let refused = |fix: &str| UsageError(format!("failed to use the server {shown}: {fix}"));
        let uri: Uri = text.parse().map_err(|_| refused("write http://HOST:PORT"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(refused(
                    "tardy speaks no TLS; open a tunnel with `ssh -N -L 8700:localhost:8700 HOST` and push to \
                     http://localhost:8700, or run a reverse proxy on this host that does",
                ));
            }
            _ => return Err(refused("write http://HOST:PORT")),
        }
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
        Ok(Self { host, port: port.unwrap_or(PORT_OF_HTTP), authority: authority.to_string() })
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
        ] {
            let address = ServerAddress::parse(text).unwrap();
            assert_eq!((address.host.as_str(), address.port), (host, port));
        }
        for (text, fix) in [
            ("https://lab.example", "ssh -N -L"),
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
