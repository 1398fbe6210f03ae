//! Connections to servers with certificates of known and unknown authorities.

use fixtures::authority;
use prerequisites::require;
use tls::Roots;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_server_is_believed_with_a_certificate_of_a_known_authority_for_its_name() {
    require!(Program("openssl"));
    let folder = tempfile::tempdir().unwrap();
    authority::certify(folder.path());
    let echo = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = authority::encrypting(folder.path(), echo.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in echo.incoming().flatten() {
            std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut stream));
        }
    });
    let known = Roots::from(Some(folder.path().join("ca.pem")));
    let connect = async |roots: &Roots, name: &str| roots.connect(name, TcpStream::connect(proxy).await.unwrap()).await;
    let mut stream = connect(&known, "localhost").await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"hello");

    let other_name = connect(&known, "127.0.0.1").await.unwrap_err().to_string();
    assert!(other_name.contains("certificate"), "{other_name}");
    let other = tempfile::tempdir().unwrap();
    authority::certify(other.path());
    let unknown = Roots::from(Some(other.path().join("ca.pem")));
    let refused = connect(&unknown, "localhost").await.unwrap_err().to_string();
    assert!(refused.contains("certificate"), "{refused}");
}
