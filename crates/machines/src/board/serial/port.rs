//! The host's end of a serial line: a device, or a socket behind which somebody else has one.

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
/// A line that takes nothing for so long is dead.
const WRITE_LIMIT: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 16 << 10;

/// What a read brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Came {
    Bytes(Vec<u8>),
    Nothing,
    /// The device was unplugged, or the other side has closed the socket.
    Gone(String),
}

/// An open line that nobody else has.
#[derive(Debug)]
pub struct Port {
    line: OwnedFd,
    /// The device's settings as they were; put back at the end.
    before: Option<Termios>,
    _lock: Option<DeviceLock>,
}

impl Port {
    /// Opens what a target file names.
    ///
    /// # Errors
    /// A sentence with the fix.
    pub fn open(address: &str, baud: u32) -> Result<Self, String> {
        if let Some(path) = address.strip_prefix("unix:") {
            let socket = UnixStream::connect(path).map_err(|error| {
                format!("{path} cannot be connected to: {error}; is the program that serves it running?")
            })?;
            return Self::of_socket(socket.into());
        }
        if let Some(place) = address.strip_prefix("tcp:") {
            return Self::of_socket(connect(place)?.into());
        }
        Self::of_device(address, baud)
    }

    /// A line that is open already.
    ///
    /// # Errors
    /// A sentence.
    pub fn of_socket(line: OwnedFd) -> Result<Self, String> {
        rustix::io::ioctl_fionbio(&line, true).map_err(|error| error.to_string())?;
        Ok(Self { line, before: None, _lock: None })
    }

    fn of_device(address: &str, baud: u32) -> Result<Self, String> {
        let device = std::fs::canonicalize(address).map_err(|_| {
            format!(
                "there is no {address}; `ls -l /dev/serial/by-id` shows what is plugged in, `dmesg` how it is called"
            )
        })?;
        let lock = DeviceLock::take(&device)?;
        if let Some(user) = user_of(&device) {
            return Err(format!("{address} is in use by {user}; end that first"));
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let line = open(&device, flags, Mode::empty()).map_err(|error| match error {
            Errno::ACCESS | Errno::PERM => format!(
                "{address} may not be opened by you; join its group (`sudo usermod -aG dialout $USER`, then log in \
                 again)"
            ),
            Errno::BUSY => format!("{address} is in use by another program; end that first"),
            error => format!("{address} cannot be opened: {error}"),
        })?;
        let before = tcgetattr(&line)
            .map_err(|_| format!("{address} is no serial line; name the device of one, or unix:PATH"))?;
        // Whoever ignores the lock file meets one of these.
        flock(&line, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| format!("{address} is in use by another program; end that first"))?;
        let _ = ioctl_tiocexcl(&line);
        set_up(&line, &before, baud).map_err(|why| format!("{address} {why}"))?;
        Ok(Self { line, before: Some(before), _lock: lock })
    }

    /// Waits for bytes, no longer than `wait`.
    pub fn read(&self, wait: Duration) -> Came {
        match ready(&self.line, PollFlags::IN, wait) {
            Ok(false) => return Came::Nothing,
            Ok(true) => {}
            Err(error) => return Came::Gone(error.to_string()),
        }
        let mut bytes = vec![0; READ_BYTES];
        match rustix::io::read(&self.line, &mut bytes) {
            Ok(0) => Came::Gone("the other side has closed it".into()),
            Ok(count) => {
                bytes.truncate(count);
                Came::Bytes(bytes)
            }
            Err(Errno::AGAIN | Errno::INTR) => Came::Nothing,
            Err(error) => Came::Gone(format!("it was unplugged, or its other side is gone ({error})")),
        }
    }

    /// Writes all of it, as fast as the line takes it.
    ///
    /// # Errors
    /// A sentence.
    pub fn write(&self, bytes: &[u8]) -> Result<(), String> {
        let (mut rest, begun) = (bytes, Instant::now());
        while !rest.is_empty() {
            if begun.elapsed() > WRITE_LIMIT {
                return Err(format!("it took nothing for {} s", WRITE_LIMIT.as_secs()));
            }
            if !ready(&self.line, PollFlags::OUT, Duration::from_millis(200)).map_err(|error| error.to_string())? {
                continue;
            }
            match rustix::io::write(&self.line, rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(format!("it was unplugged, or its other side is gone ({error})")),
            }
        }
        Ok(())
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // One that was unplugged has none any more.
            let _ = tcsetattr(&self.line, OptionalActions::Now, before);
        }
    }
}

fn connect(place: &str) -> Result<TcpStream, String> {
    let addresses = place.to_socket_addrs().map_err(|error| format!("{place} has no address: {error}"))?;
    let mut why = "it has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            Ok(socket) => {
                // Questions are short, and each waits for its answer.
                let _ = socket.set_nodelay(true);
                return Ok(socket);
            }
            Err(error) => why = error.to_string(),
        }
    }
    Err(format!("{place} cannot be connected to: {why}; does the server run there, with this port in raw mode?"))
}

/// Eight bits, no parity, nothing changed on the way, no waiting for a modem.
fn set_up(line: &OwnedFd, before: &Termios, baud: u32) -> Result<(), String> {
    let mut raw = before.clone();
    raw.make_raw();
    raw.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    // A board may be wired to be reset when the line is hung up.
    raw.control_modes -= ControlModes::HUPCL | ControlModes::CRTSCTS | ControlModes::CSTOPB;
    let refused = || format!("does not run at {baud} baud; correct `baud`");
    raw.set_speed(baud).map_err(|_| refused())?;
    tcsetattr(line, OptionalActions::Now, &raw).map_err(|_| refused())?;
    let found = tcgetattr(line).map_err(|error| error.to_string())?.output_speed();
    // Dividers are whole numbers: a few per cent are what every receiver bears.
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
    fn what_is_no_line_is_refused_with_the_mend() {
        let refused = |address: &str| Port::open(address, 115_200).unwrap_err();
        assert!(refused("/dev/ttyNOWHERE9").contains("/dev/serial/by-id"));
        assert!(refused("/dev/zero").contains("no serial line"));
        assert!(refused("unix:/nowhere/console").contains("cannot be connected"));
        assert!(refused("tcp:127.0.0.1:1").contains("raw mode"));
    }

    #[test]
    fn a_socket_brings_bytes_until_it_is_closed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let port = Port::of_socket(ours.into()).unwrap();
        assert_eq!(port.read(Duration::ZERO), Came::Nothing);
        port.write(b"login").unwrap();
        let mut said = [0; 5];
        std::io::Read::read_exact(&mut &theirs, &mut said).unwrap();
        std::io::Write::write_all(&mut &theirs, b"hello").unwrap();
        assert_eq!(port.read(Duration::from_secs(10)), Came::Bytes(b"hello".to_vec()));
        drop(theirs);
        assert!(matches!(port.read(Duration::from_secs(10)), Came::Gone(_)));
    }
}
