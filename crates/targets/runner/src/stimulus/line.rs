//! The connection to a board: its address, which it may announce, and a socket that never blocks.

use super::Board;
use super::problem::StimulusProblem;
use archive::stimulus::{ANNOUNCED, LATMON_PORT, StimulusRequest};
use machines::stop::StopRequests;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

const CONNECTING: Duration = Duration::from_secs(5);
/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 4;
/// A board announces itself every 5 s.
const ANNOUNCING: Duration = Duration::from_secs(12);
/// Interval of checks for stop requests.
const LOOK: Duration = Duration::from_millis(100);

/// The bytes between host and board. It never blocks.
pub trait Line {
    /// # Errors
    /// If the board is gone.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// # Errors
    /// WouldBlock: nothing has come. Others: the board is gone.
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<usize>;

    /// Waits where a board has nothing to say.
    fn pause(&self, time: Duration);
}

struct Socket(TcpStream);

impl Line for Socket {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        // A request is so short that the kernel always has room for it.
        self.0.write_all(bytes)
    }

    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Connects to the board that a run asks for.
///
/// # Errors
/// [`StimulusProblem::NoBoard`], [`StimulusProblem::NotAnnounced`].
pub fn connect(request: &StimulusRequest, interval_ns: u64, stop: &StopRequests) -> Result<Board, StimulusProblem> {
    let address = if request.address == ANNOUNCED { announced(stop)? } else { request.address.clone() };
    let refused = |why: String| StimulusProblem::NoBoard { address: address.clone(), why };
    let candidates = address.to_socket_addrs().map_err(|error| refused(error.to_string()))?;
    let mut why = "the name has no address".to_owned();
    for candidate in candidates.take(ADDRESSES_MAX) {
        match socket(candidate) {
            Ok(socket) => return Ok(Board::new(Box::new(socket), address, interval_ns)),
            Err(error) => why = error.to_string(),
        }
    }
    Err(refused(why))
}

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let stream = TcpStream::connect_timeout(&address, CONNECTING)?;
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    Ok(Socket(stream))
}

/// The address that a board sends to everybody on its network.
fn announced(stop: &StopRequests) -> Result<String, StimulusProblem> {
    let failed = |error: io::Error| StimulusProblem::NotAnnounced { why: error.to_string() };
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, LATMON_PORT)).map_err(failed)?;
    let address = heard(&socket, ANNOUNCING, stop).map_err(failed)?;
    address.map(|address| format!("{address}:{LATMON_PORT}")).ok_or_else(|| StimulusProblem::NotAnnounced {
        why: format!("no board announced itself in {} s", ANNOUNCING.as_secs()),
    })
}

/// The first board that a datagram names. It must have come from that address: no other machine can send the host elsewhere.
fn heard(socket: &UdpSocket, patience: Duration, stop: &StopRequests) -> io::Result<Option<IpAddr>> {
    socket.set_read_timeout(Some(LOOK))?;
    let until = Instant::now() + patience;
    let mut text = [0; 64];
    while Instant::now() < until && stop.count() == 0 {
        match socket.recv_from(&mut text) {
            Ok((bytes, from)) => {
                let named =
                    std::str::from_utf8(&text[..bytes]).ok().and_then(|text| text.trim().parse::<IpAddr>().ok());
                if named == Some(from.ip()) {
                    return Ok(named);
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_board_that_names_itself_is_heard() {
        let (here, board) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let stop = StopRequests::default();
        let hear = |text: &[u8]| {
            board.send_to(text, here.local_addr().unwrap()).unwrap();
            heard(&here, Duration::from_millis(250), &stop).unwrap()
        };
        assert_eq!(hear(b"192.168.1.58"), None, "another machine's address");
        assert_eq!(hear(&[0xff; 60]), None);
        assert_eq!(hear(b"127.0.0.1"), Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        stop.request();
        assert_eq!(hear(b"127.0.0.1"), None);
    }

    #[test]
    fn a_board_that_is_not_there_is_named() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let request = StimulusRequest::parse(&format!("latmon:{free}")).unwrap();
        let refused = connect(&request, 1_000_000, &StopRequests::default()).err().unwrap();
        assert!(
            matches!(&refused, StimulusProblem::NoBoard { address, .. } if *address == free.to_string()),
            "{refused}"
        );
    }
}
