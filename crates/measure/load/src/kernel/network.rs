//! A private network for a process: only a loopback interface.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

const LOOPBACK: &[u8] = b"lo";

/// Moves this process, which must be single-threaded, and its future children into a network namespace that contains
/// only a loopback interface that is up.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN.
pub fn become_isolated() -> io::Result<()> {
    // SAFETY: takes no pointers; descriptors stay shared.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    bring_loopback_up(&UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?)
}

fn bring_loopback_up(socket: &UdpSocket) -> io::Result<()> {
    // SAFETY: an interface request is plain data, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (letter, byte) in request.ifr_name.iter_mut().zip(LOOPBACK) {
        *letter = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the kernel reads the request, which lives through the call, and writes nothing.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
