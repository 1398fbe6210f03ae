//! Servers and object stores behind TLS: reached with a certificate of a known authority, and not at all otherwise.

use fixtures::authority::{certify, encrypting};
use fixtures::repository::copy;
use fixtures::repository::repository_path;
use fixtures::s3::S3;
use prerequisites::require;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `tardy`, which trusts the authority of this folder alone.
fn tardy(trusted: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command
        .args(words)
        .env("SSL_CERT_FILE", trusted.join("ca.pem"))
        .env_remove("SSL_CERT_DIR")
        .env_remove("TARDY_TOKEN");
    command
}

fn shown(ended: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr))
}

struct Authorities {
    known: tempfile::TempDir,
    unknown: tempfile::TempDir,
}

impl Authorities {
    fn new() -> Self {
        let both = Self { known: tempfile::tempdir().unwrap(), unknown: tempfile::tempdir().unwrap() };
        certify(both.known.path());
        certify(both.unknown.path());
        both
    }
}

#[test]
fn archives_are_pushed_to_an_https_server_that_is_known() {
    require!(Program("openssl"));
    let (authorities, lab) = (Authorities::new(), tempfile::tempdir().unwrap());
    let archive = lab.path().join("run");
    copy(&repository_path("corpus/archives/v1"), &archive);
    let serve = lab.path().join("lab");
    std::fs::create_dir(&serve).unwrap();
    let mut server =
        tardy(authorities.known.path(), &["lab", "serve", serve.to_str().unwrap(), "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let mut line = String::new();
    BufReader::new(server.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}")).split('/').next().unwrap();
    let proxy = encrypting(authorities.known.path(), address.parse().unwrap());
    let push = |trusted: &Path, host: &str| {
        let server = format!("https://{host}:{}", proxy.port());
        tardy(trusted, &["lab", "store", "push", &server, archive.to_str().unwrap()]).output().unwrap()
    };
    for (trusted, host) in [(authorities.unknown.path(), "localhost"), (authorities.known.path(), "127.0.0.1")] {
        let refused = push(trusted, host);
        assert!(refused.status.code() == Some(1) && shown(&refused).contains("certificate"), "{}", shown(&refused));
    }
    let pushed = push(authorities.known.path(), "localhost");
    assert!(pushed.status.success() && shown(&pushed).contains("  added  "), "{}", shown(&pushed));
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn archives_are_kept_in_an_object_store_behind_tls_that_is_known() {
    require!(Program("openssl"));
    let (authorities, lab, objects) = (Authorities::new(), tempfile::tempdir().unwrap(), S3::start());
    let runs = lab.path().join("runs");
    copy(&repository_path("corpus/archives/v1"), &runs.join("one"));
    let plain = objects.endpoint();
    let proxy = encrypting(authorities.known.path(), plain.strip_prefix("http://").unwrap().parse().unwrap());
    let ingest = |trusted: &Path| {
        let runs = runs.to_str().unwrap();
        let words = ["lab", "store", "ingest", runs, "--store", runs, "--artefacts", "s3://lab/tardy"];
        let mut tardy = tardy(trusted, &words);
        tardy.env("AWS_ENDPOINT_URL", format!("https://localhost:{}", proxy.port()));
        tardy.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test").output().unwrap()
    };
    let refused = ingest(authorities.unknown.path());
    assert!(!refused.status.success() && shown(&refused).contains("certificate"), "{}", shown(&refused));
    assert!(objects.objects().is_empty());
    let kept = ingest(authorities.known.path());
    assert!(kept.status.success(), "{}", shown(&kept));
    assert!(objects.objects().keys().any(|name| name.contains("archives/")), "{:?}", objects.objects());
}
