//! `udp`: a datagram and its answer. Over the loop-back interface the network stack alone is measured, without a card.

use super::{Input, Output, Reading, Stretch, Wires};
use crate::journal::Journal;
use crate::kernel::datagram::{self, Datagram};
use crate::methods::error::MethodError;
use crate::methods::{MeasuringMethod, Site, Station};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// So often a wait for a datagram ends to see whether the run is over.
const LOOK: Duration = Duration::from_millis(100);

pub struct Udp;

struct Socket {
    socket: Arc<UdpSocket>,
    stamped: bool,
}

impl Input for Socket {
    #[inline]
    fn read(&mut self) -> Reading {
        match datagram::receive(&*self.socket, self.stamped, 0) {
            Ok(Some(Datagram { bytes: [number, ..], received_ns })) => Reading::Number { number, received_ns },
            Ok(None) => Reading::Nothing,
            // The other end may just be ending, or a datagram was refused: the next one may come.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Reading::Nothing,
            Err(_) => Reading::Closed,
        }
    }
}

impl Output for Arc<UdpSocket> {
    fn write(&self, number: u8) {
        let _ = self.send(&[number]);
    }
}

/// Two sockets, each connected to the other.
fn pair() -> io::Result<(Arc<UdpSocket>, Arc<UdpSocket>)> {
    let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (near, far) = (bound()?, bound()?);
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    near.set_read_timeout(Some(LOOK))?;
    far.set_read_timeout(Some(LOOK))?;
    Ok((Arc::new(near), Arc::new(far)))
}

/// Whether this process, if `root` is its own, cannot reach 127.0.0.1: /sys may show the interfaces of another network
/// namespace.
pub(super) fn loop_back_is_unreachable(root: &Path) -> bool {
    let unreachable = |error: io::Error| matches!(error.raw_os_error(), Some(libc::ENETUNREACH | libc::EADDRNOTAVAIL));
    root == Path::new("/") && pair().is_err_and(unreachable)
}

fn station(site: &Site, cpu: u32) -> io::Result<Station> {
    let stretch = match site.request().value("sample") {
        Some("arrival") => Stretch::Arrival,
        _ => Stretch::RoundTrip,
    };
    let (near, far) = pair()?;
    let stamped = stretch == Stretch::Arrival;
    if stamped {
        datagram::stamp(&*near)?;
    }
    let wires = Wires {
        stimulus: Box::new(near.clone()),
        answer: Box::new(Socket { socket: near, stamped }),
        far: (Box::new(Socket { socket: far.clone(), stamped: false }), Box::new(far)),
    };
    super::station(site, cpu, wires, stretch)
}

impl MeasuringMethod for Udp {
    fn obstacles(&self, root: &Path, _request: Option<&MethodRequest>) -> Vec<Obstacle> {
        let obstacle = |kind, text: &str, fix: &str| vec![Obstacle { kind, text: text.into(), fix: fix.into() }];
        if !root.join("proc/net/udp").exists() {
            return obstacle(ObstacleKind::Kernel, "the kernel has no UDP (CONFIG_INET)", "");
        }
        let flags = std::fs::read_to_string(root.join("sys/class/net/lo/flags")).unwrap_or_default();
        // Without the file it is not known.
        let is_down = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).is_ok_and(|flags| flags & 1 == 0);
        if is_down || loop_back_is_unreachable(root) {
            return obstacle(ObstacleKind::Wiring, "the loop-back interface is down", "ip link set lo up");
        }
        Vec::new()
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let refused =
            |source| MethodError::Refused { method: Method::Udp, action: "open sockets on 127.0.0.1", source };
        site.measured.iter().map(|cpu| station(site, *cpu).map_err(refused)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::clock;

    #[test]
    fn a_machine_without_a_loop_back_interface_is_named() {
        let root = tempfile::tempdir().unwrap();
        let kinds = || Udp.obstacles(root.path(), None).into_iter().map(|one| one.kind).collect::<Vec<_>>();
        assert_eq!(kinds(), [ObstacleKind::Kernel]);
        std::fs::create_dir_all(root.path().join("proc/net")).unwrap();
        std::fs::write(root.path().join("proc/net/udp"), "").unwrap();
        assert_eq!(kinds(), [], "not known");
        std::fs::create_dir_all(root.path().join("sys/class/net/lo")).unwrap();
        for (flags, expected) in [("0x8\n", vec![ObstacleKind::Wiring]), ("0x9\n", Vec::new())] {
            std::fs::write(root.path().join("sys/class/net/lo/flags"), flags).unwrap();
            assert_eq!(kinds(), expected);
        }
    }

    #[test]
    fn a_datagram_carries_its_number_and_when_the_kernel_received_it() {
        let (near, far) = pair().unwrap();
        datagram::stamp(&*near).unwrap();
        let mut input = Socket { socket: near.clone(), stamped: true };
        assert_eq!(input.read(), Reading::Nothing);
        let before_ns = clock::monotonic_ns();
        far.write(7);
        let Reading::Number { number: 7, received_ns: Some(received_ns) } = input.read() else { panic!("no datagram") };
        // The stamp is that of another clock, brought over with the distance of both at one instant.
        let slack_ns = 100_000;
        assert!(before_ns - slack_ns <= received_ns && received_ns <= clock::monotonic_ns() + slack_ns);
        let mut plain = Socket { socket: far, stamped: false };
        near.write(9);
        assert_eq!(plain.read(), Reading::Number { number: 9, received_ns: None });
    }
}
