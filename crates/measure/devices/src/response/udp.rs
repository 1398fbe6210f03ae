//! `udp`: a datagram and its answer. Over the loop-back interface the network stack alone is measured, without a card.

mod remote;

use super::answering::{self, Answering};
use super::{Input, Output, Reading, Stretch, Wires};
use crate::OnDevice;
use crate::kernel::datagram::{self, Datagram};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::udp::{Sample, Udp};
use archive::method::{Method, Role};
use meter::journal::Journal;
use meter::methods::error::MethodError;
use meter::methods::stimulus::PartnerPlace;
use meter::methods::{MeasuringMethod, RunContext, ThreadSetup};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// So often a wait for a datagram ends to see whether the run is over.
const LOOK: Duration = Duration::from_millis(100);

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

fn stretch(options: &Udp) -> Stretch {
    match options.sample() {
        Sample::Arrival => Stretch::Arrival,
        Sample::RoundTrip => Stretch::RoundTrip,
    }
}

fn answering(options: &Udp) -> Answering {
    Answering::new(options.hops(), options.delay_us())
}

/// One end, with another machine behind the network.
fn one_end(options: &Udp, cpu: u32, place: PartnerPlace) -> io::Result<ThreadSetup> {
    let (input, output) = halves(options)?;
    match options.role() {
        Role::Answer => answering::setup(cpu, input, output, answering(options), place),
        _ => Ok(super::stimulating(cpu, output, input, stretch(options), place)),
    }
}

fn halves(options: &Udp) -> io::Result<remote::Halves> {
    let text = options.address().unwrap_or_default();
    let address = remote::address(text).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
    if options.role() == Role::Answer { remote::answering(address) } else { remote::stimulating(address) }
}

/// Why this machine cannot be this end.
fn of_one_end(root: &Path, options: &Udp) -> Option<Obstacle> {
    let obstacle = |text: String, fix: &str| Some(Obstacle { kind: ObstacleKind::Wiring, text, fix: fix.into() });
    let Some(text) = options.address() else {
        return obstacle("no address is named at which the target answers".into(), "add address=192.168.1.7:7700");
    };
    if let Err(why) = remote::address(text) {
        return obstacle(why.to_string(), "write address=192.168.1.7:7700, or address=[fd00::7]:7700");
    }
    // Sockets belong to the running machine, and nothing is sent by opening one.
    let error = if root == Path::new("/") { halves(options).err()? } else { return None };
    match options.role() {
        Role::Answer => obstacle(
            format!("cannot listen at {text}: {error}"),
            "name an address of this machine (`ip addr`) and a free port",
        ),
        _ => obstacle(format!("cannot reach {text}: {error}"), "`ip route` shows which networks a route leads to"),
    }
}

fn both_ends(options: &Udp, cpu: u32, place: PartnerPlace) -> io::Result<ThreadSetup> {
    let stretch = stretch(options);
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
    super::setup(cpu, wires, stretch, answering(options), place)
}

impl MeasuringMethod for OnDevice<'_, Udp> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let obstacle = |kind, text: &str, fix: &str| vec![Obstacle { kind, text: text.into(), fix: fix.into() }];
        if !root.join("proc/net/udp").exists() {
            return obstacle(ObstacleKind::Kernel, "the kernel has no UDP (CONFIG_INET)", "");
        }
        if self.role() != Role::Both {
            return of_one_end(root, self).into_iter().collect();
        }
        let flags = std::fs::read_to_string(root.join("sys/class/net/lo/flags")).unwrap_or_default();
        // Without the file it is not known.
        let is_down = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).is_ok_and(|flags| flags & 1 == 0);
        if is_down || loop_back_is_unreachable(root) {
            return obstacle(ObstacleKind::Wiring, "the loop-back interface is down", "ip link set lo up");
        }
        Vec::new()
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let refused = |action| move |source| MethodError::Refused { method: Method::Udp, action, source };
        let place = |cpu| PartnerPlace::of(run, cpu, self.partner());
        match self.role() {
            Role::Both => {
                let setup =
                    |cpu: &u32| both_ends(self, *cpu, place(*cpu)).map_err(refused("open sockets on 127.0.0.1"));
                run.measured.iter().map(setup).collect()
            }
            // One address, so one thread.
            role => {
                let setup = |cpu| one_end(self, cpu, place(cpu)).map_err(refused("open a socket for the address"));
                super::cpu_of_wire(run, role).into_iter().map(setup).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obstacles_of;
    use meter::kernel::clock;

    #[test]
    fn a_machine_without_a_loop_back_interface_is_named() {
        let root = tempfile::tempdir().unwrap();
        let kinds =
            || OnDevice(&Udp::default()).obstacles(root.path()).into_iter().map(|one| one.kind).collect::<Vec<_>>();
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
    fn an_end_without_a_usable_address_is_named() {
        let found = |text: &str| obstacles_of(text, Path::new("/"));
        let said = |text: &str| found(text).into_iter().map(|one| one.text).collect::<String>();
        for role in ["answer", "stimulus"] {
            assert_eq!(found(&format!("udp:role={role}")).len(), 1);
            assert!(said(&format!("udp:role={role},address=board")).contains("board"));
        }
        let taken = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = taken.local_addr().unwrap();
        assert!(said(&format!("udp:role=answer,address={at}")).contains(&at.to_string()));
        assert_eq!(said(&format!("udp:role=stimulus,address={at}")), "");
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
