//! A flood of datagrams over the loopback, each of which is answered: continuous network softirqs, as from `ping -f`,
//! without any privilege.
//!
//! If the loopback is down, as in a machine without a network configuration, the load creates a private one: a change
//! of the machine's would outlive it.

use super::kernel::network::become_isolated;
use super::workers::Workers;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The default payload of ping.
const DATAGRAM_BYTES: usize = 56;
/// Datagrams in flight.
const WINDOW: u32 = 64;
/// `ping -f` sends a hundred per second even if no answer comes.
const ANSWER_PATIENCE: Duration = Duration::from_millis(10);

pub fn start(workers: &mut Workers) -> io::Result<()> {
    if pair().is_err() {
        own_loopback()?;
    }
    for _ in 0..workers.count() {
        let (asking, answering) = pair()?;
        workers.fork("udp-answer", |counter| answer(&answering, counter))?;
        workers.fork("udp-flood", |_| flood(&asking))?;
    }
    Ok(())
}

/// Two connected sockets.
fn pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (asking, answering) = (bind()?, bind()?);
    asking.connect(answering.local_addr()?)?;
    answering.connect(asking.local_addr()?)?;
    asking.set_read_timeout(Some(ANSWER_PATIENCE))?;
    asking.send(&[0])?;
    answering.set_read_timeout(Some(Duration::from_secs(1)))?;
    answering.recv(&mut [0])?;
    answering.set_read_timeout(None)?;
    Ok((asking, answering))
}

fn answer(socket: &UdpSocket, counter: &AtomicU64) -> io::Error {
    let mut datagram = [0; DATAGRAM_BYTES];
    loop {
        match socket.recv(&mut datagram).and_then(|bytes| socket.send(&datagram[..bytes])) {
            Ok(_) => counter.fetch_add(1, Ordering::Relaxed),
            Err(error) if passes(&error) => continue,
            Err(error) => return error,
        };
    }
}

fn flood(socket: &UdpSocket) -> io::Error {
    let mut datagram = [b'f'; DATAGRAM_BYTES];
    let mut on_the_way = 0;
    loop {
        let step = match on_the_way < WINDOW {
            true => socket.send(&datagram).map(|_| on_the_way += 1),
            false => socket.recv(&mut datagram).map(|_| on_the_way -= 1),
        };
        match step {
            Ok(()) => {}
            // Datagrams are lost if buffers are full; those that have not come by now will not come.
            Err(error) if passes(&error) => on_the_way = 0,
            Err(error) => return error,
        }
    }
}

/// Whether a socket error is normal in a flood.
fn passes(error: &io::Error) -> bool {
    let full = error.raw_os_error() == Some(libc::ENOBUFS);
    full || matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Gives this process and its future workers a private loopback.
pub fn own_loopback() -> io::Result<()> {
    become_isolated().map_err(|error| {
        io::Error::new(error.kind(), format!("the loopback is down, and there can be no other one: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_flood_is_answered() {
        let pair = pair();
        prerequisites::require!(Prepared("a loopback interface that is up", pair.is_ok()));
        let (asking, answering) = pair.expect("sockets");
        let answered: &'static AtomicU64 = Box::leak(Box::default());
        thread::spawn(move || answer(&answering, answered));
        thread::spawn(move || flood(&asking));
        // More than are in flight at once, which proves that answers arrive.
        while answered.load(Ordering::Relaxed) < 10 * u64::from(WINDOW) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
