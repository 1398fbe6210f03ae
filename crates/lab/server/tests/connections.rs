//! Clients that send slowly, read nothing, or come in crowds; and the end of the server.

mod lab;

use lab::AsStored;
use lab::running::{Running, answer};
use server::access::Tokens;
use server::{Lab, Limits, ListenError, Listener};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const REQUEST: &[u8] = b"GET /api/v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";

#[test]
fn a_client_that_sends_its_head_byte_by_byte_is_cut_off_and_others_are_answered() {
    let limits = Limits { head: Duration::from_millis(500), ..Limits::default() };
    let server = Running::with(limits);
    let mut slow = server.connect();
    let mut cut = false;
    for byte in REQUEST.iter().cycle().take(40).filter(|byte| **byte != b'\n') {
        if slow.write_all(&[*byte]).is_err() {
            cut = true;
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // Whatever it is answered, the connection ends well before a client gives up on it.
    let mut rest = Vec::new();
    cut = cut || slow.read_to_end(&mut rest).is_ok();
    assert!(cut, "2 s of a head that never ends");
    let mut other = server.connect();
    other.write_all(REQUEST).unwrap();
    assert!(answer(&mut other).starts_with("HTTP/1.1 200"));
    server.end();
}

#[test]
fn a_body_that_never_ends_is_answered_with_too_slow() {
    let limits = Limits { request: Duration::from_millis(300), ..Limits::default() };
    let server = Running::with(limits);
    let mut slow = server.connect();
    let head = "POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-www-form-urlencoded\r\n";
    slow.write_all(format!("{head}content-length: 1000\r\n\r\ntoken=").as_bytes()).unwrap();
    let answer = answer(&mut slow);
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("server.too-slow"), "{answer}");
    server.end();
}

#[test]
fn one_address_gets_no_more_connections_than_its_share() {
    let limits = Limits { connections_of_one: 3, ..Limits::default() };
    let server = Running::with(limits);
    let mut open: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
    for stream in &mut open {
        stream.write_all(REQUEST).unwrap();
        assert!(answer(stream).starts_with("HTTP/1.1 200"));
    }
    let mut more = server.connect();
    let refused = more.write_all(REQUEST).is_err() || matches!(more.read(&mut [0; 16]), Ok(0) | Err(_));
    assert!(refused);
    drop(open);
    let mut later = server.connect();
    // The server sees the closed connections after the new one at the latest.
    for _ in 0..100 {
        let _ = later.write_all(REQUEST);
        if matches!(later.read(&mut [0; 16]), Ok(count) if count > 0) {
            server.end();
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
        later = server.connect();
    }
    panic!("closed connections keep their place");
}

#[test]
fn heads_that_never_end_keep_no_place_from_a_client() {
    let limits = Limits { connections: 4, ..Limits::default() };
    let server = Running::with(limits);
    let mut served = server.connect();
    served.write_all(REQUEST).unwrap();
    assert!(answer(&mut served).starts_with("HTTP/1.1 200"));
    let halves: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut half = server.connect();
            half.write_all(&REQUEST[..20]).unwrap();
            half
        })
        .collect();
    for _ in 0..3 {
        let mut client = server.connect();
        client.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        client.write_all(REQUEST).unwrap();
        assert!(answer(&mut client).starts_with("HTTP/1.1 200"), "a client without an answer");
    }
    served.write_all(REQUEST).unwrap();
    assert!(answer(&mut served).starts_with("HTTP/1.1 200"), "a client that was served keeps its connection");
    drop(halves);
    server.end();
}

#[test]
fn the_end_waits_for_no_idle_client() {
    let server = Running::with(Limits::default());
    let mut idle = server.connect();
    idle.write_all(REQUEST).unwrap();
    assert!(answer(&mut idle).starts_with("HTTP/1.1 200"));
    let address = server.address;
    server.end();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn other_machines_are_served_with_tokens_only() {
    let directory = tempfile::tempdir().unwrap();
    let site = || Lab::of(directory.path().to_owned(), Arc::new(AsStored));
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    assert!(matches!(Listener::bind(everywhere, site()), Err(ListenError::Open(_))));
    let file = directory.path().join("tokens");
    Tokens::add(&file, server::access::Role::Read, "me").unwrap();
    let mut guarded = site();
    guarded.tokens = Tokens::read(&file).unwrap();
    assert!(Listener::bind(everywhere, guarded).is_ok());
}
