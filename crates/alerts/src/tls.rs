//! TLS: rustls with ring, and the certificates of authorities that this host trusts.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

const BYTES_MAX: u64 = 16 << 20;

/// The certificates of authorities: those of a file, or of this host, which `SSL_CERT_FILE` may name. Read when they are first
/// needed.
#[derive(Debug, Clone)]
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
    pub fn pem(&self) -> Result<Option<Vec<u8>>, String> {
        let Some(path) = &self.file else { return Ok(None) };
        let failed = |error: std::io::Error| format!("failed to read {}: {error}", path.display());
        if std::fs::metadata(path).map_err(failed)?.len() > BYTES_MAX {
            return Err(format!("{} is too long for certificates", path.display()));
        }
        std::fs::read(path).map(Some).map_err(failed)
    }

    /// How connections are made.
    pub fn client(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(client) = self.client.get() {
            return Ok(Arc::clone(client));
        }
        let mut store = RootCertStore::empty();
        match self.pem()? {
            Some(pem) => store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok)),
            None => store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
        };
        if store.is_empty() {
            return Err("no certificate of an authority; install ca-certificates, or name a ca_file".into());
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?.with_root_certificates(store).with_no_client_auth();
        Ok(Arc::clone(self.client.get_or_init(|| Arc::new(config))))
    }
}
