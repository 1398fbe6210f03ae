//! Encrypted connections as a client: rustls with ring, and the certificates of authorities that this host trusts.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
pub use tokio_rustls::client::TlsStream;
pub use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ConfigBuilder, RootCertStore, WantsVerifier, crypto};

const BYTES_MAX: u64 = 16 << 20;

/// Why there is no encrypted connection.
#[derive(Debug, Error)]
pub enum TlsError {
    #[error("failed to read {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("{} is too long for certificates", .0.display())]
    TooLong(PathBuf),
    #[error("no certificate of an authority; install ca-certificates, or name a file of certificates in SSL_CERT_FILE")]
    NoAuthority,
    #[error("{0}")]
    Setup(String),
    #[error("{0} is not a host name")]
    Name(String),
    #[error(transparent)]
    Handshake(#[from] io::Error),
}

/// The certificates of authorities: those of a file, or of this host, which `SSL_CERT_FILE` may name. Read when they are first
/// needed.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    file: Option<PathBuf>,
    client: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl From<Option<PathBuf>> for Roots {
    fn from(file: Option<PathBuf>) -> Self {
        Self { file, client: Arc::default() }
    }
}

impl Roots {
    /// The certificates of the file as PEM, if there is one.
    ///
    /// # Errors
    /// A file that cannot be read, or is longer than 16 MiB.
    pub fn pem(&self) -> Result<Option<Vec<u8>>, TlsError> {
        let Some(path) = &self.file else { return Ok(None) };
        let failed = |cause: io::Error| TlsError::Unreadable { path: path.clone(), cause };
        if std::fs::metadata(path).map_err(failed)?.len() > BYTES_MAX {
            return Err(TlsError::TooLong(path.clone()));
        }
        std::fs::read(path).map(Some).map_err(failed)
    }

    /// How connections are made.
    ///
    /// # Errors
    /// Errors of [`Roots::pem`], and [`TlsError::NoAuthority`] where there is no certificate.
    pub fn client(&self) -> Result<Arc<ClientConfig>, TlsError> {
        if let Some(client) = self.client.get() {
            return Ok(Arc::clone(client));
        }
        let mut store = RootCertStore::empty();
        match self.pem()? {
            Some(pem) => store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok)),
            None => store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
        };
        if store.is_empty() {
            return Err(TlsError::NoAuthority);
        }
        let config = configured()?.with_root_certificates(store).with_no_client_auth();
        Ok(Arc::clone(self.client.get_or_init(|| Arc::new(config))))
    }

    /// Encrypts a connection to a host, named without brackets, once its certificate is believed.
    ///
    /// # Errors
    /// Errors of [`Roots::client`], and of the handshake: an unknown authority, a certificate of another host.
    pub async fn connect<S>(&self, host: &str, stream: S) -> Result<TlsStream<S>, TlsError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))?;
        Ok(TlsConnector::from(self.client()?).connect(name, stream).await?)
    }
}

/// Whether a host, with or without brackets, is this one: nobody reads a secret on the way there.
pub fn is_this_host(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// A client that makes no encrypted connection, for places where one is never asked for.
///
/// # Errors
/// None that is known: rustls says whether its provider has the protocol versions.
pub fn trusting_nobody() -> Result<ClientConfig, TlsError> {
    Ok(configured()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

fn configured() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, TlsError> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    builder.map_err(|error| TlsError::Setup(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_no_reason_to_trust_others() {
        let folder = std::env::temp_dir().join(format!("tardy-tls-{}", std::process::id()));
        std::fs::write(&folder, "no certificate").unwrap();
        let refused = Roots::from(Some(folder.clone())).client();
        std::fs::remove_file(&folder).unwrap();
        assert!(matches!(refused, Err(TlsError::NoAuthority)));
        let missing = Roots::from(Some(folder.join("missing"))).client().unwrap_err().to_string();
        assert!(missing.contains("failed to read"), "{missing}");
    }
}
