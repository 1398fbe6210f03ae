//! One end of `udp`, with another machine behind the network.
//!
//! The answering end listens at an address. The first stimulus shows whom to answer, and nobody else is answered until the run is over.

use super::LOOK;
use crate::kernel::datagram::{self, Datagram};
use crate::response::{Input, Output, Reading};
use meter::kernel::clock;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use thiserror::Error;

/// Behind number and key, so that no datagram of another program is a stimulus.
const MARK: [u8; 5] = *b"tardy";
const BYTES: usize = 3 + MARK.len();

/// The key distinguishes the datagrams of a run from those of another one.
type Key = Arc<AtomicU16>;

/// Reads and writes the datagrams of one end.
pub struct End {
    socket: Arc<UdpSocket>,
    key: Key,
    /// It has not met the other end: the first stimulus gives address and key.
    waits_for_other: bool,
}

/// Both uses of one end.
pub type Halves = (Box<End>, Box<End>);

/// A text that is not an address with a port.
#[derive(Debug, Error)]
#[error("`{0}` is not an address with a port")]
pub struct NoAddress(String);

/// The address in the options of a method.
///
/// # Errors
/// [`NoAddress`].
pub fn address(text: &str) -> Result<SocketAddr, NoAddress> {
    let known = text.parse::<SocketAddr>().ok().filter(|address| address.port() != 0);
    known.ok_or_else(|| NoAddress(text.to_owned()))
}

/// The end that answers, at an address of this machine.
///
/// # Errors
/// Errors of bind(2) and setsockopt(2).
pub fn answering(at: SocketAddr) -> io::Result<Halves> {
    halves(UdpSocket::bind(at)?, Key::default(), true)
}

/// The end that gives the stimuli to an address.
///
/// # Errors
/// Errors of connect(2), as for a network that no route leads to.
pub fn stimulating(to: SocketAddr) -> io::Result<Halves> {
    let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(to)?;
    halves(socket, Arc::new(AtomicU16::new(clock::monotonic_ns() as u16)), false)
}

fn halves(socket: UdpSocket, key: Key, waits_for_other: bool) -> io::Result<Halves> {
    socket.set_read_timeout(Some(LOOK))?;
    datagram::stamp(&socket)?;
    let socket = Arc::new(socket);
    let half = |waits_for_other| Box::new(End { socket: socket.clone(), key: key.clone(), waits_for_other });
    Ok((half(waits_for_other), half(false)))
}

impl End {
    /// Takes the sender of the next datagram as the other end, if that is a stimulus; the datagram stays to be read.
    fn meet(&mut self) -> io::Result<()> {
        let mut bytes = [0; BYTES + 1];
        let (length, sender) = self.socket.peek_from(&mut bytes)?;
        match bytes[..length] {
            [_, high, low, ref mark @ ..] if *mark == MARK => {
                self.socket.connect(sender)?;
                self.key.store(u16::from_be_bytes([high, low]), Relaxed);
                self.waits_for_other = false;
                Ok(())
            }
            // It belongs to another program.
            _ => self.socket.recv(&mut bytes).map(drop),
        }
    }
}

/// Nothing came: the other end may still be starting, the network may come back, or a datagram was refused.
fn is_passing(error: &io::Error) -> bool {
    let passing = [
        libc::ECONNREFUSED,
        libc::ENETDOWN,
        libc::ENETUNREACH,
        libc::EHOSTUNREACH,
        libc::EHOSTDOWN,
        libc::EAGAIN,
        libc::EINTR,
    ];
    error.raw_os_error().is_some_and(|code| passing.contains(&code))
}

impl Input for End {
    #[inline]
    fn read(&mut self) -> Reading {
        if self.waits_for_other {
            match self.meet() {
                Ok(()) if !self.waits_for_other => {}
                Ok(()) => return Reading::Nothing,
                Err(error) if is_passing(&error) => return Reading::Nothing,
                Err(_) => return Reading::Closed,
            }
        }
        match datagram::receive(&*self.socket, true, 0) {
            Ok(Some(Datagram { bytes: [number, high, low], received_ns }))
                if u16::from_be_bytes([high, low]) == self.key.load(Relaxed) =>
            {
                Reading::Number { number, received_ns }
            }
            Ok(_) => Reading::Nothing,
            Err(error) if is_passing(&error) => Reading::Nothing,
            Err(_) => Reading::Closed,
        }
    }
}

impl Output for End {
    fn write(&self, number: u8) {
        let [high, low] = self.key.load(Relaxed).to_be_bytes();
        let mut bytes = [0; BYTES];
        bytes[..3].copy_from_slice(&[number, high, low]);
        bytes[3..].copy_from_slice(&MARK);
        let _ = self.socket.send(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ends over the loop-back interface, and where the answering one listens.
    fn ends() -> (Halves, Halves, SocketAddr) {
        let far = answering((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let at = far.0.socket.local_addr().unwrap();
        (stimulating(at).unwrap(), far, at)
    }

    fn number(reading: Reading) -> u8 {
        let Reading::Number { number, received_ns: Some(_) } = reading else { panic!("{reading:?}") };
        number
    }

    #[test]
    fn the_first_stimulus_says_whom_to_answer() {
        let ((mut near_in, near_out), (mut far_in, far_out), at) = ends();
        far_out.write(1);
        assert_eq!(near_in.read(), Reading::Nothing, "nobody to answer yet");
        for number_sent in [7, 8] {
            near_out.write(number_sent);
            assert_eq!(number(far_in.read()), number_sent);
            far_out.write(number_sent);
            assert_eq!(number(near_in.read()), number_sent);
        }
        let (_, intruder) = stimulating(at).unwrap();
        intruder.write(9);
        assert_eq!(far_in.read(), Reading::Nothing, "another machine is not answered");
    }

    #[test]
    fn datagrams_of_other_programs_are_no_stimulus() {
        let ((_, near_out), (mut far_in, _), at) = ends();
        let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for bytes in [&b""[..], b"x", b"1234567", b"12345678", b"\x01\x02\x03tardy and more"] {
            other.send_to(bytes, at).unwrap();
            assert_eq!(far_in.read(), Reading::Nothing, "{bytes:?}");
        }
        near_out.write(5);
        assert_eq!(number(far_in.read()), 5);
    }

    #[test]
    fn where_nobody_listens_nothing_comes_back() {
        let ((mut near_in, near_out), far, at) = ends();
        drop(far);
        near_out.write(1);
        assert_eq!(near_in.read(), Reading::Nothing);
        let _later = answering(at).unwrap();
    }

    #[test]
    fn an_address_has_a_port() {
        assert!(address("192.0.2.1:7700").is_ok() && address("[2001:db8::1]:7700").is_ok());
        for text in ["", "192.0.2.1", "board:7700", "192.0.2.1:0", "192.0.2.1:70000"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
