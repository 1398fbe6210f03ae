//! Encrypted receivers: believed with a certificate of a known authority only.

use crate::both::finish;
use crate::lab::{Lab, MINUTE_NS, START};
use crate::mail::{Encryption, MailServer};
use crate::receiver::read;
use alerts::deliver;
use fixtures::authority::{certify, config};
use prerequisites::require;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use store::alerts::Due;
use tokio_rustls::rustls::{ServerConnection, StreamOwned};

fn serve(folder: &Path) -> SocketAddr {
    let config = config(folder);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            if read(&mut stream).is_some() {
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    address
}

#[test]
fn an_encrypted_receiver_needs_a_certificate_of_a_known_authority() {
    require!(Program("openssl"));
    finish(async {
        let (lab, folder) = (Lab::on_sqlite(), tempfile::tempdir().unwrap());
        certify(folder.path());
        let port = serve(folder.path()).port();
        let store = lab.open().await;
        lab.add_change(&store, "change-1", "pi").await;
        let rule = |name: &str| format!("[[rule]]\nto = [\"{name}\"]\n[destination.{name}]\nkind = \"webhook\"\n");
        let unknown = lab.parsed(&format!("{}url = \"https://localhost:{port}/hook\"\n", rule("unknown")));
        lab.known(&store, &unknown).await;
        let refused = deliver(&store, &unknown, Due::InTime, START + 2 * MINUTE_NS).await.unwrap();
        assert_eq!((refused.sent, refused.failed.len()), (0, 1));
        let file = folder.path().join("ca.pem");
        let known =
            format!("ca_file = \"{}\"\n{}url = \"https://localhost:{port}/hook\"\n", file.display(), rule("known"));
        let known = lab.parsed(&known);
        lab.known(&store, &known).await;
        let sent = deliver(&store, &known, Due::InTime, START + 2 * MINUTE_NS).await.unwrap();
        assert_eq!((sent.sent, sent.failed), (1, vec![]));
        // Of another name.
        let other =
            format!("ca_file = \"{}\"\n{}url = \"https://127.0.0.1:{port}/hook\"\n", file.display(), rule("other"));
        let other = lab.parsed(&other);
        lab.known(&store, &other).await;
        assert_eq!(deliver(&store, &other, Due::InTime, START + 2 * MINUTE_NS).await.unwrap().sent, 0);
    });
}

/// Settings of a mail server on `localhost` with a login, the last of which trusts the authority.
fn mail_to(server: &MailServer, name: &str, security: &str, authority: Option<&Path>) -> String {
    let trusted = authority.map(|file| format!("ca_file = \"{}\"\n", file.display())).unwrap_or_default();
    format!(
        "{trusted}[[rule]]\nto = [\"{name}\"]\n[destination.{name}]\nkind = \"mail\"\nserver = \"localhost:{}\"\nsecurity = \"{security}\"\n\
         from = \"a@b.org\"\nto = [\"c@d.org\"]\nuser = \"lab\"\npassword = {{ file = \"password\" }}\n",
        server.address().port()
    )
}

#[test]
fn a_mail_and_its_password_are_sent_encrypted_or_not_at_all() {
    require!(Program("openssl"));
    finish(async {
        let (lab, folder) = (Lab::on_sqlite(), tempfile::tempdir().unwrap());
        certify(folder.path());
        let authority = folder.path().join("ca.pem");
        lab.file("password", "mail-password");
        let store = lab.open().await;
        lab.add_change(&store, "change-1", "pi").await;
        let sent = async |text: String| {
            let settings = lab.parsed(&text);
            lab.known(&store, &settings).await;
            deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap()
        };
        let upgraded = MailServer::with(Encryption::Starttls(config(folder.path())));
        assert_eq!(sent(mail_to(&upgraded, "starttls", "starttls", Some(&authority))).await.sent, 1);
        assert!(upgraded.mails()[0].login.as_ref().unwrap().starts_with("AUTH PLAIN "));
        let (clear, encrypted) = upgraded.commands();
        assert_eq!(clear, ["EHLO", "STARTTLS"]);
        assert_eq!(encrypted[..5], ["EHLO", "AUTH", "MAIL", "RCPT", "DATA"]);
        let whole = MailServer::with(Encryption::FromTheStart(config(folder.path())));
        assert_eq!(sent(mail_to(&whole, "tls", "tls", Some(&authority))).await.sent, 1);
        assert_eq!((whole.mails().len(), whole.commands().0), (1, vec![]));

        // Not without encryption, not to a certificate of an unknown authority: no password and no mail goes out.
        let clear = MailServer::start();
        let unknown = MailServer::with(Encryption::Starttls(config(folder.path())));
        for (server, name, authority) in [(&clear, "clear", Some(authority.as_path())), (&unknown, "unknown", None)] {
            let refused = sent(mail_to(server, name, "starttls", authority)).await;
            assert_eq!((refused.sent, refused.failed.len()), (0, 1), "{name}");
            let (clear, encrypted) = server.commands();
            let commands = [clear, encrypted].concat();
            assert!(server.mails().is_empty() && !commands.contains(&"AUTH".to_owned()), "{name}: {commands:?}");
            eprintln!("{name}: {}", refused.failed[0].1);
        }
    });
}
