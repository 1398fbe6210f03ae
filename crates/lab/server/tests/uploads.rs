//! Archives that clients upload: who may, what is taken, and what hostile and broken clients leave behind: nothing.

mod lab;

use archive::manifest::RunState;
use archive::packed::{PackedFile, PackedWriter};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use lab::running::{Running, answer};
use lab::{Lab, text};
use server::Limits;
use server::access::Role;
use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use store::PackedArchive;
use synthetic_run::SyntheticRun;

/// Address and stream of a run.
fn packed(run: &SyntheticRun) -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    run.write(folder.path());
    let (packed, mut stream) = (PackedArchive::of(folder.path()).unwrap(), Vec::new());
    packed.write(&mut stream).unwrap();
    (packed.digest(), stream)
}

fn one() -> (String, Vec<u8>) {
    packed(&SyntheticRun::of("pi", "6.1.0", 1))
}

fn put(lab: &Lab, digest: &str, body: impl Into<Body>) -> Request {
    lab.request(Method::PUT, &format!("/api/v1/archives/{digest}")).body(body.into()).unwrap()
}

async fn code(answer: Response) -> (StatusCode, String) {
    let status = answer.status();
    let document: serde_json::Value = serde_json::from_str(&text(answer).await).unwrap();
    assert!(document["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{document}");
    (status, document["code"].as_str().unwrap().to_owned())
}

/// A body that nothing may read.
struct NotRead;

impl HttpBody for NotRead {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        panic!("the answer is known without it");
    }
}

fn unread() -> Body {
    Body::new(NotRead)
}

/// Whether nothing of any upload is left below the directory of archives.
/// How many uploads have files that nothing reads.
fn arriving(directory: &Path) -> usize {
    std::fs::read_dir(directory.join(".receiving")).map_or(0, Iterator::count)
}

fn nothing_left(directory: &Path) -> bool {
    arriving(directory) == 0 && !directory.join("kept").exists() && !directory.join("escaped").exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_new_once_and_then_known_without_being_read() {
    let lab = Lab::new().await;
    let (digest, stream) = one();
    let first = lab.send_whole(put(&lab, &digest, stream)).await;
    assert_eq!(first.status(), StatusCode::CREATED);
    let address = first.headers()["location"].to_str().unwrap().to_owned();
    let stored: serde_json::Value = serde_json::from_str(&text(first).await).unwrap();
    assert_eq!((&stored["digest"], &stored["board"]), (&digest.as_str().into(), &"pi".into()));
    assert_eq!(lab.api(&address).await.status(), StatusCode::OK);
    let again = lab.send_whole(put(&lab, &digest, unread())).await;
    assert_eq!(again.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_archives_are_refused_with_the_fix_and_leave_nothing() {
    let lab = Lab::new().await;
    let (digest, stream) = one();
    let changed = |at: usize, with: &str| {
        let mut stream = stream.clone();
        stream[at..at + with.len()].copy_from_slice(with.as_bytes());
        stream[148..156].fill(b' ');
        let sum: u32 = stream[..512].iter().map(|byte| u32::from(*byte)).sum();
        stream[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        stream
    };
    let with_file = |name: &str| {
        let mut writer = PackedWriter::new(Vec::new());
        writer.file(&PackedFile { name: name.into(), bytes: 1 }, b"x".as_slice()).unwrap();
        writer.end().unwrap()
    };
    let (_, other) = packed(&SyntheticRun::of("pi", "6.1.0", 2));
    let malformed = (StatusCode::BAD_REQUEST, "server.upload-malformed");
    let refused = (StatusCode::UNPROCESSABLE_ENTITY, "server.upload-refused");
    for (what, stream, expected) in [
        ("a link", changed(156, "2"), malformed),
        ("a hard link", changed(156, "1"), malformed),
        ("a device", changed(156, "3"), malformed),
        ("a pipe", changed(156, "6"), malformed),
        ("a way out", changed(0, "../escaped\0\0\0"), malformed),
        ("a root", changed(0, "/tmp/escaped\0"), malformed),
        ("a huge length", changed(124, "777777777777"), (StatusCode::PAYLOAD_TOO_LARGE, "server.upload-too-large")),
        ("a false length", changed(124, "00000100000"), malformed),
        ("pins", with_file("pins.json"), malformed),
        ("a list of removed files", with_file("contents.json"), malformed),
        ("explanations", with_file("explanations.json"), malformed),
        ("half of it", stream[..stream.len() / 2].to_vec(), malformed),
        ("no end", stream[..stream.len() - 1024].to_vec(), malformed),
        ("more than it", [stream.as_slice(), &[1; 512]].concat(), malformed),
        ("nothing", Vec::new(), malformed),
        ("another archive", other, refused),
        ("a changed byte", changed(600, "x"), refused),
    ] {
        let answer = code(lab.send_whole(put(&lab, &digest, stream)).await).await;
        assert_eq!((answer.0, answer.1.as_str()), expected, "{what}");
        assert!(nothing_left(lab.directory.path()), "{what}");
    }
    for address in ["x", "..%2F..%2Fetc", &digest[1..], &digest.to_uppercase()] {
        let answer = code(lab.send_whole(put(&lab, address, unread())).await).await;
        assert_eq!(answer, (StatusCode::BAD_REQUEST, "server.parameter".to_owned()), "{address}");
    }
    assert_eq!(lab.send_whole(put(&lab, &digest, stream)).await.status(), StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_not_ended_is_not_taken() {
    let lab = Lab::new().await;
    let folder = tempfile::tempdir().unwrap();
    SyntheticRun { state: RunState::Running, ..SyntheticRun::of("pi", "6.1.0", 1) }.write(folder.path());
    // Its address, as the index has it when it is added on its own host.
    let added = lab.site.store().ingest(folder.path()).await.unwrap();
    let mut writer = PackedWriter::new(Vec::new());
    for name in ["manifest.json", "stream.tardy"] {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        writer.file(&PackedFile { name: name.into(), bytes: bytes.len() as u64 }, bytes.as_slice()).unwrap();
    }
    let elsewhere = Lab::new().await;
    let answer = elsewhere.send_whole(put(&elsewhere, &added.digest, writer.end().unwrap())).await;
    assert_eq!(code(answer).await, (StatusCode::UNPROCESSABLE_ENTITY, "server.upload-refused".to_owned()));
    assert!(nothing_left(elsewhere.directory.path()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_needs_a_token_of_the_role_run_before_a_byte_is_read() {
    let lab = Lab::with_tokens(&[Role::Read, Role::Run]).await;
    let (digest, stream) = one();
    let with = |token: Option<String>, body: Body| {
        let mut request = put(&lab, &digest, body);
        if let Some(token) = token {
            request.headers_mut().insert("authorization", token.parse().unwrap());
        }
        request
    };
    for (token, status, expected) in [
        (None, StatusCode::UNAUTHORIZED, "server.token-missing"),
        (Some("Bearer tardy-00".to_owned()), StatusCode::UNAUTHORIZED, "server.token-unknown"),
        (Some(lab.bearer(Role::Read)), StatusCode::FORBIDDEN, "server.role-too-low"),
    ] {
        let answer = code(lab.send_whole(with(token, unread())).await).await;
        assert_eq!(answer, (status, expected.to_owned()));
    }
    let taken = lab.send_whole(with(Some(lab.bearer(Role::Run)), stream.into())).await;
    assert_eq!(taken.status(), StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_uploads_nothing() {
    let lab = Lab::new().await;
    let mut request = put(&lab, &one().0, unread());
    request.headers_mut().insert("origin", "http://evil.example".parse().unwrap());
    assert_eq!(code(lab.send_whole(request).await).await, (StatusCode::FORBIDDEN, "server.other-site".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_beyond_the_limits_is_refused() {
    let (digest, stream) = one();
    let limits = Limits { upload_bytes_max: stream.len() as u64 - 1, ..Limits::default() };
    let lab = Lab::with(&[], limits).await;
    let mut declared = put(&lab, &digest, unread());
    declared.headers_mut().insert("content-length", stream.len().into());
    for request in [declared, put(&lab, &digest, stream.clone())] {
        let answer = code(lab.send_whole(request).await).await;
        assert_eq!(answer, (StatusCode::PAYLOAD_TOO_LARGE, "server.too-large".to_owned()));
    }
    assert!(nothing_left(lab.directory.path()));
    let lab = Lab::with(&[], Limits { upload_files_max: 1, ..Limits::default() }).await;
    let answer = code(lab.send_whole(put(&lab, &digest, stream.clone())).await).await;
    assert_eq!(answer, (StatusCode::PAYLOAD_TOO_LARGE, "server.upload-too-large".to_owned()));
    // No place for an upload.
    let lab = Lab::with(&[], Limits { uploads: 0, ..Limits::default() }).await;
    let answer = lab.send_whole(put(&lab, &digest, unread())).await;
    assert_eq!(answer.headers()["retry-after"], "5");
    assert_eq!(code(answer).await, (StatusCode::SERVICE_UNAVAILABLE, "server.uploads-busy".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_of_more_than_its_run_can_record_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    SyntheticRun::of("pi", "6.1.0", 1).write(folder.path());
    for (folder_name, name) in [("samples", "samples/0.bin"), ("audit", "audit/0.pages"), ("tracer", "tracer/0001.txt")]
    {
        std::fs::create_dir(folder.path().join(folder_name)).unwrap();
        std::fs::write(folder.path().join(name), vec![0; 64 << 20]).unwrap();
        let (archive, mut stream) = (PackedArchive::of(folder.path()).unwrap(), Vec::new());
        archive.write(&mut stream).unwrap();
        let lab = Lab::new().await;
        let answer = lab.send_whole(put(&lab, &archive.digest(), stream)).await;
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
        let said = text(answer).await;
        assert!(said.contains(name) && said.contains("server.upload-too-large"), "{said}");
        assert!(nothing_left(lab.directory.path()));
        std::fs::remove_dir_all(folder.path().join(folder_name)).unwrap();
    }
    // A length that its header declares is refused before the bytes come.
    let (digest, mut stream) = one();
    let header = (0..stream.len()).step_by(512).find(|at| stream[*at..].starts_with(b"stream.tardy")).unwrap();
    stream[header + 124..header + 135].copy_from_slice(b"60000000000");
    stream[header + 148..header + 156].fill(b' ');
    let sum: u32 = stream[header..header + 512].iter().map(|byte| u32::from(*byte)).sum();
    stream[header + 148..header + 155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let lab = Lab::new().await;
    let said = text(lab.send_whole(put(&lab, &digest, stream[..header + 512].to_vec())).await).await;
    assert!(said.contains("server.upload-too-large") && said.contains("stream.tardy"), "{said}");
    assert!(nothing_left(lab.directory.path()));
}

fn head(digest: &str, length: usize, more: &str) -> Vec<u8> {
    format!("PUT /api/v1/archives/{digest} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {length}\r\n{more}\r\n")
        .into()
}

#[test]
fn a_client_that_asks_first_learns_whether_to_send() {
    let server = Running::with(Limits::default());
    let (digest, stream) = one();
    let head = head(&digest, stream.len(), "expect: 100-continue\r\n");
    let mut first = server.connect();
    first.write_all(&head).unwrap();
    assert_eq!(answer(&mut first), "HTTP/1.1 100 Continue\r\n\r\n");
    first.write_all(&stream).unwrap();
    assert!(answer(&mut first).starts_with("HTTP/1.1 201"));
    let mut second = server.connect();
    second.write_all(&head).unwrap();
    assert!(answer(&mut second).starts_with("HTTP/1.1 200"), "it need not be sent");
    server.end();
}

#[test]
fn a_client_that_is_stuck_or_slow_is_answered_and_leaves_nothing() {
    let (digest, stream) = one();
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(60));
    let server = Running::with(Limits { upload_idle: short, upload: long, uploads: 1, ..Limits::default() });
    let mut stuck = server.connect();
    stuck.write_all(&head(&digest, stream.len(), "")).unwrap();
    stuck.write_all(&stream[..stream.len() / 2]).unwrap();
    let said = answer(&mut stuck);
    assert!(said.starts_with("HTTP/1.1 408") && said.contains("server.upload-too-slow"), "{said}");
    assert!(nothing_left(server.directory.path()));
    server.end();
    let server = Running::with(Limits { upload_idle: long, upload: short, uploads: 1, ..Limits::default() });
    let mut slow = server.connect();
    slow.write_all(&head(&digest, stream.len(), "")).unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut said = [0; 4096];
    let said = stream.iter().find_map(|byte| {
        slow.write_all(&[*byte]).ok()?;
        let count = std::io::Read::read(&mut slow, &mut said).ok()?;
        Some(String::from_utf8_lossy(&said[..count]).into_owned())
    });
    let said = said.expect("an answer before its last byte");
    assert!(said.starts_with("HTTP/1.1 408") && said.contains("server.upload-too-slow"), "{said}");
    assert!(nothing_left(server.directory.path()));
    server.end();
}

#[test]
fn a_connection_that_is_cut_leaves_nothing_and_frees_its_place() {
    let server = Running::with(Limits { uploads: 1, ..Limits::default() });
    let (digest, stream) = one();
    let mut cut = server.connect();
    cut.write_all(&head(&digest, stream.len(), "")).unwrap();
    cut.write_all(&stream[..stream.len() - 1]).unwrap();
    drop(cut);
    // The server sees the end of the connection at some time.
    for _ in 0..200 {
        let mut again = server.connect();
        again.write_all(&head(&digest, stream.len(), "expect: 100-continue\r\n")).unwrap();
        let said = answer(&mut again);
        if said.starts_with("HTTP/1.1 100") {
            // The server may already have a directory for this one.
            assert!(arriving(server.directory.path()) <= 1);
            again.write_all(&stream).unwrap();
            assert!(answer(&mut again).starts_with("HTTP/1.1 201"));
            assert_eq!(arriving(server.directory.path()), 0);
            server.end();
            return;
        }
        assert!(said.starts_with("HTTP/1.1 503") && said.contains("server.uploads-busy"), "{said}");
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("an upload that was cut keeps its place");
}
