//! An authority of a test, and a server that has its certificate.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

/// An authority, `ca.pem`, and its certificate for `localhost`, `cert.pem` with `key.pem`.
pub fn certify(folder: &Path) {
    let openssl = |words: &str| {
        let made = Command::new("openssl").current_dir(folder).args(words.split(' ')).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    openssl(&format!("{new} -subj /CN=authority -keyout ca-key.pem -out ca.pem"));
    let leaf = "-addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE";
    openssl(&format!("{new} -subj /CN=localhost {leaf} -CA ca.pem -CAkey ca-key.pem -keyout key.pem -out cert.pem"));
}

/// How a server with that certificate answers.
pub fn config(folder: &Path) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_file(folder.join("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(config.with_single_cert(vec![certificate], key).unwrap())
}

/// A proxy on loopback that encrypts: what it receives goes on to a server without TLS. It ends with the process of the test.
// Not every test needs one.
#[allow(dead_code)]
pub fn encrypting(folder: &Path, to: SocketAddr) -> SocketAddr {
    let acceptor = TlsAcceptor::from(config(folder));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let mut encrypted = acceptor.accept(stream).await?;
                    let mut plain = TcpStream::connect(to).await?;
                    tokio::io::copy_bidirectional(&mut encrypted, &mut plain).await
                });
            }
        });
    });
    address
}
