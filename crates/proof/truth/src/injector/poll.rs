//! One system call that asks for the state of very many descriptors: where the kernel cannot be preempted, no other task gets
//! the CPU before it has all answers.

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{allow_files, name, now_ns, pin, poll_often};
use crate::switches::Switches;
use crate::terms::Terms;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// As many as may usually be asked for at once.
const COUNT: usize = 19_000;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    name("truth-poll");
    allow_files(COUNT as u64 + 100)?;
    pin(terms.cpu)?;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut entries = vec![libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 }; COUNT];
    let switches = Switches::open()?;
    Ok(Box::new(move || {
        // Moved as a whole: the entries refer to its descriptor.
        let _open = &socket;
        let begin_ns = now_ns();
        poll_often(&mut entries)?;
        // What became due meanwhile runs before this thread learns that the call is over.
        Ok(Stretch::noticeable(&switches.held(begin_ns, now_ns())))
    }))
}
