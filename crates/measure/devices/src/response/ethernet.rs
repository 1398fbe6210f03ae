//! `ethernet`: a raw frame and its answer, without a network layer above the driver.

use super::answering::{self, Answering};
use super::{Input, Output, Reading, Stretch, Wires};
use crate::OnDevice;
use crate::kernel::datagram::{self, Datagram};
use crate::kernel::packet::{HEADER_BYTES, PacketSocket};
use archive::method::ethernet::{Ethernet, Sample};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, Role};
use meter::journal::Journal;
use meter::kernel::{capability, clock};
use meter::methods::error::MethodError;
use meter::methods::stimulus::PartnerPlace;
use meter::methods::{MeasuringMethod, RunContext, ThreadSetup};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::Duration;

/// Types for local experiments (IEEE 802): nothing else listens to them.
const STIMULUS_TYPE: u16 = 0x88b5;
const ANSWER_TYPE: u16 = 0x88b6;
const BROADCAST: [u8; 6] = [0xff; 6];
/// So often a wait for a frame ends to see whether the run is over.
const LOOK: Duration = Duration::from_millis(100);
const CAP_NET_RAW: u32 = 13;

/// Distinguishes the frames of a run from those of others on the same wire; an end that answers adopts that of the stimulus.
type Key = Arc<AtomicU16>;

struct End {
    socket: Arc<PacketSocket>,
    sends: u16,
    key: Key,
    /// It answers every run.
    adopts: bool,
}

impl Input for End {
    #[inline]
    fn read(&mut self) -> Reading {
        match datagram::receive(&*self.socket, true, HEADER_BYTES) {
            Ok(Some(Datagram { bytes: [number, high, low], received_ns })) => {
                let key = u16::from_be_bytes([high, low]);
                if self.adopts {
                    self.key.store(key, Relaxed);
                } else if self.key.load(Relaxed) != key {
                    return Reading::Nothing;
                }
                Reading::Number { number, received_ns }
            }
            Ok(None) => Reading::Nothing,
            // It may come up again.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Reading::Nothing,
            Err(_) => Reading::Closed,
        }
    }
}

impl Output for End {
    fn write(&self, number: u8) {
        let [high, low] = self.key.load(Relaxed).to_be_bytes();
        let _ = self.socket.send(BROADCAST, self.sends, &[number, high, low]);
    }
}

/// Both uses of one end.
fn end(name: &str, receives: u16, sends: u16, key: &Key, adopts: bool) -> io::Result<(Box<End>, Box<End>)> {
    let (interface, address) = interface(Path::new("/sys/class/net"), name)?;
    let socket = Arc::new(PacketSocket::open(interface, address, receives, LOOK)?);
    let half = || Box::new(End { socket: socket.clone(), sends, key: key.clone(), adopts });
    Ok((half(), half()))
}

/// Number and address of an interface.
fn interface(below: &Path, name: &str) -> io::Result<(u32, [u8; 6])> {
    let read = |file: &str| fs::read_to_string(below.join(name).join(file));
    let number = read("ifindex")?.trim().parse().map_err(io::Error::other)?;
    let mut address = [0; 6];
    for (byte, text) in address.iter_mut().zip(read("address")?.trim().split(':')) {
        *byte = u8::from_str_radix(text, 16).map_err(io::Error::other)?;
    }
    Ok((number, address))
}

fn near_name(options: &Ethernet) -> &str {
    options.interface().unwrap_or("lo")
}

fn far_name(options: &Ethernet) -> &str {
    options.far().unwrap_or_else(|| near_name(options))
}

fn setup(options: &Ethernet, cpu: u32, place: PartnerPlace) -> io::Result<ThreadSetup> {
    let key = Key::new(AtomicU16::new(clock::monotonic_ns() as u16));
    let near = || end(near_name(options), ANSWER_TYPE, STIMULUS_TYPE, &key, false);
    let far = |name, adopts| end(name, STIMULUS_TYPE, ANSWER_TYPE, &key, adopts);
    let answering = Answering::new(options.hops(), options.delay_us());
    let stretch = match options.sample() {
        Sample::Arrival => Stretch::Arrival,
        Sample::RoundTrip | Sample::OneWay => Stretch::RoundTrip,
    };
    match (options.role(), options.sample()) {
        (Role::Answer, _) => {
            let (input, output) = far(near_name(options), true)?;
            answering::setup(cpu, input, output, answering, place)
        }
        (Role::Stimulus, _) => {
            let (input, output) = near()?;
            Ok(super::stimulating(cpu, output, input, stretch, place))
        }
        (Role::Both, Sample::OneWay) => {
            let ((_, output), (input, _)) = (near()?, far(far_name(options), false)?);
            Ok(super::stimulating(cpu, output, input, stretch, place))
        }
        (Role::Both, Sample::RoundTrip | Sample::Arrival) => {
            let ((answer, stimulus), (input, output)) = (near()?, far(far_name(options), false)?);
            let wires = Wires { stimulus, answer, far: (input, output) };
            super::setup(cpu, wires, stretch, answering, place)
        }
    }
}

/// The interfaces of this run, each once.
fn names(options: &Ethernet) -> Vec<&str> {
    let mut names = vec![near_name(options)];
    names.extend(Some(far_name(options)).filter(|far| options.role() == Role::Both && *far != names[0]));
    names
}

/// Sets an interface up, unless it is; its flags are a setting of the kernel.
fn set_up(name: &str, journal: &mut Journal) -> Result<(), MethodError> {
    let path = Path::new("/sys/class/net").join(name).join("flags");
    let refused = |source| MethodError::Refused { method: Method::Ethernet, action: "set the interface up", source };
    let text = fs::read_to_string(&path).map_err(refused)?;
    let flags = u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap_or(0);
    if flags & libc::IFF_UP as u32 == 0 {
        // Another name leads to the same place, where settings may be changed.
        let path = path.canonicalize().map_err(refused)?;
        journal.change_setting(&path, &format!("{:#x}", flags | libc::IFF_UP as u32))?;
    }
    Ok(())
}

fn of_interface(root: &Path, name: &str) -> Option<Obstacle> {
    let folder = root.join("sys/class/net").join(name);
    let obstacle = |kind, text, fix: String| Some(Obstacle { kind, text, fix });
    if !folder.exists() {
        let fix = "`ip link` lists the interfaces".to_owned();
        return obstacle(ObstacleKind::Device, format!("there is no network interface {name}"), fix);
    }
    // An interface that is down has no carrier to read.
    let carrier = fs::read_to_string(folder.join("carrier")).unwrap_or_default();
    if carrier.trim() == "1" && !(name == "lo" && super::udp::loop_back_is_unreachable(root)) {
        return None;
    }
    let fix = format!("plug the cable in, and `ip link set {name} up`");
    obstacle(ObstacleKind::Wiring, format!("the network interface {name} has no link"), fix)
}

impl MeasuringMethod for OnDevice<'_, Ethernet> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let mut obstacles = Vec::new();
        if !root.join("proc/net/packet").exists() {
            obstacles.push(Obstacle {
                kind: ObstacleKind::Module,
                text: "the kernel sends no raw frames (CONFIG_PACKET)".into(),
                fix: "modprobe af_packet".into(),
            });
        }
        if capability::is_missing(root, CAP_NET_RAW) {
            obstacles.push(Obstacle {
                kind: ObstacleKind::Right,
                text: "no right to raw frames (CAP_NET_RAW)".into(),
                fix: "run as root, or `setcap cap_net_raw,cap_sys_nice,cap_ipc_lock+ep tardy-meter`".into(),
            });
        }
        if self.role() != Role::Both && self.interface().is_none() {
            obstacles.push(Obstacle {
                kind: ObstacleKind::Wiring,
                text: "no interface is named that leads to the other machine".into(),
                fix: "add interface=eth0".into(),
            });
        }
        if self.role() != Role::Both && self.sample() == Sample::OneWay {
            obstacles.push(Obstacle {
                kind: ObstacleKind::Wiring,
                text: "one way has two ends, and only two ends on one machine share a clock".into(),
                fix: "use role=both with interface= and far=, or sample=round-trip".into(),
            });
        }
        let found = names(self).into_iter().filter_map(|name| of_interface(root, name));
        // One that is down has no link before the run.
        obstacles.extend(found.filter(|one| one.kind != ObstacleKind::Wiring || !self.up()));
        obstacles
    }

    fn open(&self, run: &RunContext, journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        if self.up() {
            names(self).into_iter().try_for_each(|name| set_up(name, journal))?;
        }
        let refused = |source| MethodError::Refused { method: Method::Ethernet, action: "open raw sockets", source };
        // One wire, so one thread.
        let setup = |cpu| setup(self, cpu, PartnerPlace::of(run, cpu, self.partner())).map_err(refused);
        super::cpu_of_wire(run, self.role()).into_iter().map(setup).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obstacles_of;

    /// Files of a machine with these interfaces, and whether each has a link.
    fn machine(interfaces: &[(&str, bool)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/net")).unwrap();
        fs::write(root.path().join("proc/net/packet"), "").unwrap();
        for (name, link) in interfaces {
            let folder = root.path().join("sys/class/net").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("carrier"), if *link { "1\n" } else { "0\n" }).unwrap();
            fs::write(folder.join("ifindex"), "7\n").unwrap();
            fs::write(folder.join("address"), "02:00:00:00:00:fe\n").unwrap();
        }
        root
    }

    #[test]
    fn what_is_missing_is_named() {
        let root = machine(&[("lo", true), ("up", true), ("down", false)]);
        let kinds = |text: &str| obstacles_of(text, root.path()).into_iter().map(|one| one.kind).collect::<Vec<_>>();
        assert_eq!(kinds("ethernet"), []);
        assert_eq!(kinds("ethernet:interface=up,far=lo"), []);
        assert_eq!(kinds("ethernet:role=answer"), [ObstacleKind::Wiring]);
        assert_eq!(kinds("ethernet:role=answer,interface=up"), []);
        assert_eq!(kinds("ethernet:interface=down"), [ObstacleKind::Wiring]);
        assert_eq!(kinds("ethernet:interface=down,up"), []);
        assert_eq!(kinds("ethernet:interface=none,up"), [ObstacleKind::Device]);
        assert_eq!(kinds("ethernet:interface=up,far=none"), [ObstacleKind::Device]);
        assert_eq!(kinds("ethernet:role=stimulus,interface=up,sample=one-way"), [ObstacleKind::Wiring]);
        fs::create_dir(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/status"), "CapEff:\t0000000000001000\n").unwrap();
        assert_eq!(kinds("ethernet"), [ObstacleKind::Right]);
        fs::remove_file(root.path().join("proc/net/packet")).unwrap();
        assert_eq!(kinds("ethernet"), [ObstacleKind::Module, ObstacleKind::Right]);
    }

    #[test]
    fn an_interface_has_a_number_and_an_address() {
        let root = machine(&[("up", true)]);
        let found = interface(&root.path().join("sys/class/net"), "up").unwrap();
        assert_eq!(found, (7, [2, 0, 0, 0, 0, 0xfe]));
    }
}
