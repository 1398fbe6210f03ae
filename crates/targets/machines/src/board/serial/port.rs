//! The host's end of a serial line: a device, or a socket to a server that has one.

use super::error::PortError;
use super::occupied::{DeviceLock, user_of};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::termios::{ControlModes, OptionalActions, Termios, ioctl_tiocexcl, tcgetattr, tcsetattr};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// A line that accepts nothing for this time is dead.
const WRITE_LIMIT: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 16 << 10;

/// Result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Bytes(Vec<u8>),
    Nothing,
    /// The device was unplugged, or the other side has closed the socket.
    Gone(PortError),
}

/// An open line, used exclusively.
#[derive(Debug)]
pub struct Port {
    line: OwnedFd,
    /// The device's previous settings, restored at the end.
    before: Option<Termios>,
    _lock: Option<DeviceLock>,
}

impl Port {
    /// Opens the address of a target file.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn open(address: &str, baud: u32) -> Result<Self, PortError> {
        if let Some(path) = address.strip_prefix("unix:") {
            let socket = UnixStream::connect(path)
                .map_err(|error| PortError::Socket { address: path.into(), why: error.to_string() })?;
            return Self::of_socket(socket.into());
        }
        if let Some(place) = address.strip_prefix("tcp:") {
            return Self::of_socket(connect(place)?.into());
        }
        Self::of_device(address, baud)
    }

    /// Wraps a line that is already open.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn of_socket(line: OwnedFd) -> Result<Self, PortError> {
        rustix::io::ioctl_fionbio(&line, true).map_err(PortError::System)?;
        Ok(Self { line, before: None, _lock: None })
    }

    fn of_device(address: &str, baud: u32) -> Result<Self, PortError> {
        let named = || address.to_owned();
        let in_use = |who: String| PortError::InUse { address: named(), who };
        let device = std::fs::canonicalize(address).map_err(|_| PortError::Missing { address: named() })?;
        let lock = DeviceLock::take(&device)?;
        if let Some(user) = user_of(&device) {
            return Err(in_use(user));
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let line = open(&device, flags, Mode::empty()).map_err(|error| match error {
            Errno::ACCESS | Errno::PERM => PortError::NotPermitted { address: named() },
            Errno::BUSY => in_use("another program".into()),
            error => PortError::Open { address: named(), error },
        })?;
        let before = tcgetattr(&line).map_err(|_| PortError::NoTerminal { address: named() })?;
        // A program that ignores the lock file is stopped by one of these.
        flock(&line, FlockOperation::NonBlockingLockExclusive).map_err(|_| in_use("another program".into()))?;
        let _ = ioctl_tiocexcl(&line);
        set_up(&line, &before, baud, address)?;
        Ok(Self { line, before: Some(before), _lock: lock })
    }

    /// Waits for bytes, at most `wait`.
    pub fn read(&self, wait: Duration) -> Received {
        match ready(&self.line, PollFlags::IN, wait) {
            Ok(false) => return Received::Nothing,
            Ok(true) => {}
            Err(error) => return Received::Gone(PortError::System(error)),
        }
        let mut bytes = vec![0; READ_BYTES];
        match rustix::io::read(&self.line, &mut bytes) {
            Ok(0) => Received::Gone(PortError::Closed),
            Ok(count) => {
                bytes.truncate(count);
                Received::Bytes(bytes)
            }
            Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
            Err(error) => Received::Gone(PortError::Gone(error)),
        }
    }

    /// Writes all bytes, as fast as the line accepts them.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn write(&self, bytes: &[u8]) -> Result<(), PortError> {
        let (mut rest, begun) = (bytes, Instant::now());
        while !rest.is_empty() {
            if begun.elapsed() > WRITE_LIMIT {
                return Err(PortError::Stuck(WRITE_LIMIT));
            }
            if !ready(&self.line, PollFlags::OUT, Duration::from_millis(200)).map_err(PortError::System)? {
                continue;
            }
            match rustix::io::write(&self.line, rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(PortError::Gone(error)),
            }
        }
        Ok(())
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Fails if it was unplugged.
            let _ = tcsetattr(&self.line, OptionalActions::Now, before);
        }
    }
}

fn connect(place: &str) -> Result<TcpStream, PortError> {
    let address = place.to_owned();
    let addresses = place
        .to_socket_addrs()
        .map_err(|error| PortError::NoAddress { address: address.clone(), why: error.to_string() })?;
    let mut why = "no address".to_owned();
    for found in addresses {
        match TcpStream::connect_timeout(&found, CONNECT_LIMIT) {
            Ok(socket) => {
                // Questions are short, and each waits for its answer.
                let _ = socket.set_nodelay(true);
                return Ok(socket);
            }
            Err(error) => why = error.to_string(),
        }
    }
    Err(PortError::Server { address, why })
}

/// Eight bits, no parity, no translation, no modem control.
fn set_up(line: &OwnedFd, before: &Termios, baud: u32, address: &str) -> Result<(), PortError> {
    let mut raw = before.clone();
    raw.make_raw();
    raw.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    // A board may be wired to reset when the line is hung up.
    raw.control_modes -= ControlModes::HUPCL | ControlModes::CRTSCTS | ControlModes::CSTOPB;
    let refused = || PortError::Speed { address: address.to_owned(), baud };
    raw.set_speed(baud).map_err(|_| refused())?;
    tcsetattr(line, OptionalActions::Now, &raw).map_err(|_| refused())?;
    let found = tcgetattr(line).map_err(PortError::System)?.output_speed();
    // Divisors are integers; every receiver tolerates a few percent.
    if found.abs_diff(baud) > baud / 33 { Err(refused()) } else { Ok(()) }
}

fn ready(line: &OwnedFd, what: PollFlags, wait: Duration) -> Result<bool, Errno> {
    let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    match poll(&mut [PollFd::new(line, what)], Some(&wait)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_line_is_refused_with_the_fix() {
        let error = |address: &str| Port::open(address, 115_200).unwrap_err();
        let refused = |address: &str| error(address).to_string();
        assert!(refused("/dev/ttyNOWHERE9").contains("/dev/serial/by-id"));
        assert!(matches!(error("/dev/zero"), PortError::NoTerminal { .. }));
        assert!(matches!(error("unix:/nowhere/console"), PortError::Socket { .. }));
        assert!(refused("tcp:127.0.0.1:1").contains("raw mode"));
    }

    #[test]
    fn a_socket_brings_bytes_until_it_is_closed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let port = Port::of_socket(ours.into()).unwrap();
        assert_eq!(port.read(Duration::ZERO), Received::Nothing);
        port.write(b"login").unwrap();
        let mut arrived = [0; 5];
        std::io::Read::read_exact(&mut &theirs, &mut arrived).unwrap();
        std::io::Write::write_all(&mut &theirs, b"hello").unwrap();
        assert_eq!(port.read(Duration::from_secs(10)), Received::Bytes(b"hello".to_vec()));
        drop(theirs);
        assert!(matches!(port.read(Duration::from_secs(10)), Received::Gone(_)));
    }
}
