//! One packet on the loopback network for very many sockets: delivering it is one long piece of softirq work, inside the
//! call that sends it.

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{allow_files, loopback_up, name, now_ns, pin};
use crate::switches::Switches;
use crate::terms::Terms;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 83, 11);
const PORT: u16 = 48311;
const SOCKETS: usize = 3000;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    name("truth-multicast");
    allow_files(SOCKETS as u64 + 100)?;
    pin(terms.cpu)?;
    loopback_up(&UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?)?;
    let sockets = (0..SOCKETS).map(|_| receiver()).collect::<io::Result<Vec<_>>>()?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.set_multicast_loop_v4(true)?;
    let mut rubbish = [0; 16];
    let switches = Switches::open()?;
    Ok(Box::new(move || {
        let begin_ns = now_ns();
        sender.send_to(b"late", SocketAddrV4::new(GROUP, PORT))?;
        let held = switches.held(begin_ns, now_ns());
        for socket in &sockets {
            let _ = socket.recv(&mut rubbish);
        }
        Ok(Stretch::noticeable(&held))
    }))
}

/// A socket that shares its address with all others.
fn receiver() -> io::Result<UdpSocket> {
    let socket = crate::kernel::shared_udp_socket(PORT)?;
    socket.join_multicast_v4(&GROUP, &Ipv4Addr::LOCALHOST)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
