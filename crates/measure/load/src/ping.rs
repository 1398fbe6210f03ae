//! A flood of echo requests over the loopback, which the kernel answers within its softirqs, as from `ping -f`.
//!
//! If the loopback is down, as in a machine without a network configuration, the load creates a private one.

use super::udp::own_loopback;
use super::workers::Workers;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
/// The default payload of ping.
const DATA_BYTES: usize = 56;
const HEADER_BYTES: usize = 8;
const ANSWER_PATIENCE: Duration = Duration::from_millis(10);

pub fn start(workers: &mut Workers) -> io::Result<()> {
    // A datagram to itself shows whether there is a loopback to flood.
    let up = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.connect(socket.local_addr()?));
    if up.is_err() {
        own_loopback()?;
    }
    for number in 0..workers.count() {
        let socket = socket()?;
        workers.fork("load-ping", |counter| work(&socket, number as u16, counter))?;
    }
    Ok(())
}

/// A socket for echo requests: the kind for permitted users, otherwise the one for root.
fn socket() -> io::Result<UdpSocket> {
    let open = |kind| socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, Some(ipproto::ICMP));
    let socket = open(SocketType::DGRAM).or_else(|_| open(SocketType::RAW)).map_err(|error| {
        let fix = "run as root, or let this user's group in by net.ipv4.ping_group_range, or use the load udp";
        io::Error::new(io::Error::from(error).kind(), format!("no socket for echo requests: {error}; {fix}"))
    })?;
    // It sends and receives like a datagram socket; only the protocol differs.
    let socket = UdpSocket::from(socket);
    // A raw socket would take a port for a protocol.
    rustix::net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(ANSWER_PATIENCE))?;
    Ok(socket)
}

fn work(socket: &UdpSocket, identifier: u16, counter: &AtomicU64) -> io::Error {
    let mut sequence = 0u16;
    loop {
        sequence = sequence.wrapping_add(1);
        match ask(socket, identifier, sequence) {
            Ok(()) => counter.fetch_add(1, Ordering::Relaxed),
            Err(error) if passes(&error) => continue,
            Err(error) => return error,
        };
    }
}

/// Sends a request and waits for its answer.
fn ask(socket: &UdpSocket, identifier: u16, sequence: u16) -> io::Result<()> {
    socket.send(&request(identifier, sequence))?;
    let mut answer = [0; 128];
    loop {
        let length = socket.recv(&mut answer)?;
        if is_answer(&answer[..length], sequence) {
            return Ok(());
        }
    }
}

fn request(identifier: u16, sequence: u16) -> [u8; HEADER_BYTES + DATA_BYTES] {
    let mut packet = [b'p'; HEADER_BYTES + DATA_BYTES];
    packet[..4].copy_from_slice(&[ECHO_REQUEST, 0, 0, 0]);
    packet[4..6].copy_from_slice(&identifier.to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    let sum = checksum(&packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The sum of RFC 1071.
fn checksum(packet: &[u8]) -> u16 {
    let words = packet.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Raw sockets also return the network header, and every request that passes the loopback.
fn is_answer(packet: &[u8], sequence: u16) -> bool {
    let inner = match packet.first() {
        Some(first) if first >> 4 == 4 => packet.get(usize::from(first & 15) * 4..).unwrap_or_default(),
        _ => packet,
    };
    inner.first() == Some(&ECHO_REPLY) && inner.get(6..8) == Some(&sequence.to_be_bytes()[..])
}

/// Whether a socket error is normal in a flood.
fn passes(error: &io::Error) -> bool {
    let full = error.raw_os_error() == Some(libc::ENOBUFS);
    full || matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_and_its_answer_is_known() {
        let packet = request(7, 0x1234);
        assert_eq!(checksum(&packet), 0, "a sum over a packet with its sum is 0");
        let mut answer = packet;
        answer[0] = ECHO_REPLY;
        assert!(is_answer(&answer, 0x1234) && !is_answer(&answer, 0x1235) && !is_answer(&packet, 0x1234));
        let mut raw = vec![0x45; 20];
        raw.extend(answer);
        assert!(is_answer(&raw, 0x1234));
        for length in 0..raw.len() {
            let _ = is_answer(&raw[..length], 1);
        }
    }

    #[test]
    fn the_kernel_answers() {
        prerequisites::require!(Root);
        let socket = socket().expect("a socket");
        for sequence in 1..4 {
            let mut asked = ask(&socket, 1, sequence);
            while asked.as_ref().is_err_and(passes) {
                asked = ask(&socket, 1, sequence);
            }
            asked.expect("an answer");
        }
    }
}
