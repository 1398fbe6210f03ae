//! Raw Ethernet frames with the kernel's receive time stamps.

use super::datagram;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Bytes of the two addresses and the type.
pub const HEADER_BYTES: usize = 14;
/// The shortest frame on a wire, without its checksum.
const FRAME_BYTES: usize = 60;

/// A socket that receives frames of one type on one interface.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    /// Address of the interface.
    address: [u8; 6],
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.socket.as_raw_fd()
    }
}

fn checked(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

impl PacketSocket {
    /// Receives frames of a type on the interface with this number and address; a wait ends after `limit`.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW, ENODEV for an interface that is gone.
    pub fn open(interface: u32, address: [u8; 6], received_type: u16, limit: Duration) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a call without pointers; its descriptor is owned by nothing else.
        let socket = unsafe { OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_PACKET, kind, 0))?) };
        // SAFETY: a structure of integers, for which zeros are valid.
        let mut place: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        place.sll_family = libc::AF_PACKET as _;
        place.sll_protocol = received_type.to_be();
        place.sll_ifindex = interface as _;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is live and as long as said.
        checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const place).cast(), length) })?;
        let limit = libc::timeval { tv_sec: limit.as_secs() as _, tv_usec: limit.subsec_micros() as _ };
        let length = size_of::<libc::timeval>() as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVTIMEO);
        // SAFETY: the option's value is live and as long as said.
        checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const limit).cast(), length) })?;
        let socket = Self { socket, address };
        datagram::stamp(&socket)?;
        Ok(socket)
    }

    /// Sends a frame of a type to an address.
    ///
    /// # Errors
    /// Errors of send(2), such as ENETDOWN.
    pub fn send(&self, to: [u8; 6], sent_type: u16, payload: &[u8]) -> io::Result<()> {
        let mut frame = [0u8; FRAME_BYTES];
        frame[..6].copy_from_slice(&to);
        frame[6..12].copy_from_slice(&self.address);
        frame[12..HEADER_BYTES].copy_from_slice(&sent_type.to_be_bytes());
        let payload = &payload[..payload.len().min(FRAME_BYTES - HEADER_BYTES)];
        frame[HEADER_BYTES..HEADER_BYTES + payload.len()].copy_from_slice(payload);
        // SAFETY: the frame is live and as long as said.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
