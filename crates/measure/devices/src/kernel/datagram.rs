//! Datagrams with the kernel's receive time stamps, which the standard library does not show.

use meter::kernel::clock;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// A datagram that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// From the requested offset on; missing ones are 0.
    pub bytes: [u8; 3],
    /// In ns of CLOCK_MONOTONIC, on a socket with time stamps.
    pub received_ns: Option<i64>,
}

/// Lets the kernel take down when it receives each datagram of the socket, before any thread wakes for it.
///
/// # Errors
/// Errors of setsockopt(2).
pub fn stamp(socket: &impl AsRawFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is one live `c_int`, as its length says.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Room for the control message with the time stamp, aligned as its header wants it.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// Waits for a datagram with a byte at `offset`; `None` when the socket's limit of time passed, or for a shorter one.
///
/// # Errors
/// Errors of recvmsg(2).
#[inline]
pub fn receive(socket: &impl AsRawFd, stamped: bool, offset: usize) -> io::Result<Option<Datagram>> {
    let mut bytes = [0u8; 64];
    let mut control = Control([0; 128]);
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: a `msghdr` of zeros is one without address, data and control messages.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    if stamped {
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = control.0.len() as _;
    }
    // SAFETY: the header names `piece`, `bytes` and `control`, which live until the call returns, with their lengths.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) };
    if count < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        };
    }
    let received_ns = if stamped { stamp_of(&header).map(monotonic_of) } else { None };
    let byte = |at: usize| bytes.get(offset + at).copied().unwrap_or(0);
    Ok((count as usize > offset).then_some(Datagram { bytes: [byte(0), byte(1), byte(2)], received_ns }))
}

/// The time stamp among the control messages, in ns of CLOCK_REALTIME.
fn stamp_of(header: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel filled the header's control buffer, which its caller keeps alive, and set its length.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR answer null or a whole header inside the control buffer.
        let found = unsafe { &*message };
        if found.cmsg_level == libc::SOL_SOCKET && found.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: the kernel puts a `timespec` behind such a header.
            let time = unsafe { libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned() };
            #[allow(clippy::useless_conversion, reason = "32 bits wide on some machines")]
            return Some(i64::from(time.tv_sec) * 1_000_000_000 + i64::from(time.tv_nsec));
        }
        // SAFETY: as above.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    None
}

/// An instant of CLOCK_REALTIME in CLOCK_MONOTONIC, by the distance of both now.
#[inline]
fn monotonic_of(realtime_ns: i64) -> i64 {
    let before_ns = clock::monotonic_ns();
    let now_ns = clock::realtime_ns();
    let after_ns = clock::monotonic_ns();
    realtime_ns - now_ns + before_ns + (after_ns - before_ns) / 2
}
