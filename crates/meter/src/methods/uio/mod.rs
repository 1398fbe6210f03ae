//! `uio`: from the kernel's interrupt handler to the handler in user space, through /dev/uioN. ULDD's method.
//!
//! ```text
//! partner            sleeps · · writes a register, which raises an interrupt
//! kernel                          |== handler: masks the interrupt, wakes ─┐
//! measuring thread   waits in /dev/uioN · · · · · · · · · · · · · · · · · ·└─ switch ==| reads the clock · handles the device
//! ```
//!
//! [`edu`] and [`uart`] are drivers in user space: they raise an interrupt, and handle it. uio_pci_generic masks the
//! interrupt line at every interrupt; the measuring thread unmasks it when it has handled the device.

mod edu;
mod uart;

use super::error::MethodError;
use super::interrupt;
use super::stimulus::{self, Exchange, PartnerPlace, Post, Receive, Received};
use super::{MeasuringMethod, Site, Station};
use crate::journal::pci_driver::{self, UIO};
use crate::journal::{Entry, Journal};
use crate::kernel::clock;
use crate::kernel::descriptors::is_readable_within;
use crate::kernel::event_stamps::{EventStamps, Point};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub struct Uio;

/// How long a wait lasts at most.
const WAIT: Duration = Duration::from_millis(100);
/// Offset of the command word in the configuration of a PCI device, and its bit that masks the interrupt line.
const COMMAND: u64 = 4;
const INTERRUPT_MASKED: u16 = 0x400;

/// A driver in user space.
trait Driver: Send + Sync {
    /// Makes the device raise an interrupt. What the device does not take is lost: it shows as no answer.
    fn raise(&self, number: u8);

    /// Handles the interrupt of a stimulus, so that the device does not raise it any more.
    fn handle(&self, number: u8);
}

/// A kind of device with a driver here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Uart,
    Edu,
}

impl Kind {
    fn of(request: Option<&MethodRequest>) -> Self {
        if request.and_then(|request| request.value("kind")) == Some("edu") { Self::Edu } else { Self::Uart }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Uart => "PCI card with a 16550 serial port",
            Self::Edu => "device edu of QEMU",
        }
    }

    /// Whether a device in sysfs is one.
    fn fits(self, device: &Path) -> bool {
        let text = |name: &str| fs::read_to_string(device.join(name)).unwrap_or_default().trim().to_owned();
        match self {
            // A serial controller that is compatible with 16450 or 16550.
            Self::Uart => matches!(text("class").as_str(), "0x070000" | "0x070002"),
            Self::Edu => (text("vendor").as_str(), text("device").as_str()) == ("0x1234", "0x11e8"),
        }
    }
}

/// The device of a request: the one that it names, or the first of its kind that no other driver has.
fn address_of(sys: &Path, request: Option<&MethodRequest>) -> Result<String, Obstacle> {
    let kind = Kind::of(request);
    let absent =
        |text: String| Obstacle { kind: ObstacleKind::Device, text, fix: "`lspci -D` lists the devices".into() };
    if let Some(address) = request.and_then(|request| request.value("device")) {
        return match pci_driver::device_directory(sys, address) {
            Some(device) if kind.fits(&device) => Ok(address.to_owned()),
            Some(device) if device.exists() => Err(absent(format!("{address} is no {}", kind.words()))),
            Some(_) => Err(absent(format!("there is no PCI device {address}"))),
            None => Err(absent(format!("{address} is no address of a PCI device, such as 0000:00:04.0"))),
        };
    }
    let entries = fs::read_dir(sys.join("bus/pci/devices")).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|device| kind.fits(device)).collect();
    found.sort();
    let name = |device: &PathBuf| device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = |device: &&PathBuf| pci_driver::driver_of(device).is_none_or(|driver| driver == UIO);
    match (found.iter().find(free), found.first()) {
        (Some(device), _) => Ok(name(device)),
        (None, Some(device)) => {
            let (address, driver) = (name(device), pci_driver::driver_of(device).unwrap_or_default());
            Err(Obstacle {
                kind: ObstacleKind::InUse,
                text: format!("the driver {driver} has {address}"),
                fix: format!("device={address} takes it from that driver while the run lasts; nothing else may use it"),
            })
        }
        (None, None) => Err(absent(format!("there is no {}", kind.words()))),
    }
}

/// The device file of a device that uio_pci_generic has.
fn device_file(device: &Path) -> io::Result<File> {
    let entry = fs::read_dir(device.join("uio"))?.next().ok_or(io::ErrorKind::NotFound)??;
    OpenOptions::new().read(true).write(true).open(Path::new("/dev").join(entry.file_name()))
}

struct Raising {
    driver: Arc<dyn Driver>,
    exchange: Arc<Exchange>,
}

impl Post for Raising {
    fn post(&self) {
        self.driver.raise(self.exchange.number() as u8);
    }

    // A wait ends by itself.
    fn end(&self) {}

    fn release(&self) {}
}

/// The measuring thread's side.
struct Handling {
    uio: File,
    configuration: File,
    driver: Arc<dyn Driver>,
    exchange: Arc<Exchange>,
    /// Of the kernel's handler; `None`: a sample starts at the stimulus.
    stamps: Option<EventStamps>,
    after_ns: i64,
    /// The stimulus whose interrupt is not handled yet.
    open: Option<u8>,
}

impl Handling {
    fn unmask(&self) -> io::Result<()> {
        let mut command = [0; 2];
        self.configuration.read_exact_at(&mut command, COMMAND)?;
        let unmasked = u16::from_le_bytes(command) & !INTERRUPT_MASKED;
        self.configuration.write_all_at(&unmasked.to_le_bytes(), COMMAND)
    }

    /// Handles the device and lets the next interrupt come.
    fn handle(&mut self, number: u8) -> io::Result<()> {
        (&self.uio).read_exact(&mut [0; 4])?;
        self.driver.handle(number);
        self.unmask()
    }
}

impl Receive for Handling {
    fn prepare(&mut self) -> io::Result<()> {
        self.unmask()
    }

    #[inline]
    fn receive(&mut self) -> Received {
        if let Some(number) = self.open.take()
            && self.handle(number).is_err()
        {
            return Received::Broken;
        }
        if !is_readable_within(self.uio.as_fd(), WAIT) {
            return Received::Idle;
        }
        let seen_ns = clock::monotonic_ns();
        self.open = Some(self.exchange.number() as u8);
        let Some(stamps) = &mut self.stamps else { return Received::Stimulus };
        let taken = stamps.take(self.after_ns, seen_ns);
        self.after_ns = seen_ns;
        taken.map_or(Received::Unstamped, |from_ns| Received::From { from_ns })
    }
}

impl MeasuringMethod for Uio {
    fn obstacles(&self, root: &Path, request: Option<&MethodRequest>) -> Vec<Obstacle> {
        let sys = root.join("sys");
        let mut obstacles = Vec::new();
        if !sys.join("bus/pci/drivers").join(UIO).exists() {
            obstacles.push(Obstacle {
                kind: ObstacleKind::Module,
                text: format!("the module {UIO} is not loaded"),
                fix: format!("as root: modprobe {UIO}"),
            });
        }
        match address_of(&sys, request) {
            Err(obstacle) => obstacles.push(obstacle),
            Ok(address) => {
                let line = fs::read_to_string(sys.join("bus/pci/devices").join(&address).join("irq"));
                if line.is_ok_and(|line| line.trim() == "0") {
                    obstacles.push(Obstacle {
                        kind: ObstacleKind::Wiring,
                        text: format!("{address} has no interrupt line (INTx)"),
                        fix: "use another device: uio_pci_generic knows no message-signalled interrupts".into(),
                    });
                }
            }
        }
        obstacles
    }

    fn open(&self, site: &Site, journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let request = site.request();
        let sys = Path::new("/sys");
        let Some(cpu) = site.measured.first() else { return Ok(Vec::new()) };
        let impossible = |obstacle| MethodError::Impossible { method: Method::Uio, obstacles: vec![obstacle] };
        let refused = |action| move |source| MethodError::Refused { method: Method::Uio, action, source };
        let address = address_of(sys, Some(request)).map_err(impossible)?;
        let device = sys.join("bus/pci/devices").join(&address);
        journal.note(Entry::PciDriver { address: address.clone(), before: pci_driver::driver_of(&device) })?;
        pci_driver::give_to_user_space(sys, &address).map_err(refused("give the device to uio_pci_generic"))?;
        let uio = device_file(&device).map_err(refused("open the device's file in /dev"))?;
        let configuration = OpenOptions::new()
            .read(true)
            .write(true)
            .open(device.join("config"))
            .map_err(refused("open the device's configuration"))?;
        let driver: Arc<dyn Driver> = match Kind::of(Some(request)) {
            Kind::Edu => Arc::new(edu::Edu::open(&device).map_err(refused("map the device's registers"))?),
            Kind::Uart => Arc::new(uart::Uart::open(&device).map_err(refused("set the serial port up"))?),
        };
        let stamps = match request.value("sample") {
            Some("stimulus") => None,
            _ => {
                let point = Point::InterruptHandler(UIO.into());
                Some(interrupt::stamps(&point).map_err(refused("record the event irq_handler_entry"))?)
            }
        };
        let exchange = Arc::<Exchange>::default();
        let place = PartnerPlace::of(site, *cpu);
        let post = Arc::new(Raising { driver: driver.clone(), exchange: exchange.clone() });
        let receive =
            Handling { uio, configuration, driver, exchange: exchange.clone(), stamps, after_ns: i64::MIN, open: None };
        Ok(vec![stimulus::station_with(exchange, *cpu, place, post, receive)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn device(root: &Path, address: &str, class: &str, driver: Option<&str>) {
        let device = root.join("sys/bus/pci/devices").join(address);
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("class"), format!("{class}\n")).unwrap();
        fs::write(device.join("irq"), "11\n").unwrap();
        if let Some(driver) = driver {
            symlink(format!("../../drivers/{driver}"), device.join("driver")).unwrap();
        }
    }

    #[test]
    fn what_is_missing_is_the_module_the_device_its_line_or_the_driver_that_has_it() {
        let root = tempfile::tempdir().unwrap();
        let kinds = |text: &str| -> Vec<ObstacleKind> {
            let request = MethodRequest::parse(text).unwrap();
            Uio.obstacles(root.path(), Some(&request)).into_iter().map(|one| one.kind).collect()
        };
        assert_eq!(kinds("uio"), [ObstacleKind::Module, ObstacleKind::Device]);
        fs::create_dir_all(root.path().join("sys/bus/pci/drivers").join(UIO)).unwrap();
        device(root.path(), "0000:00:03.0", "0x020000", None);
        device(root.path(), "0000:00:04.0", "0x070002", Some("serial"));
        assert_eq!(kinds("uio"), [ObstacleKind::InUse]);
        assert_eq!(kinds("uio:device=0000:00:04.0"), []);
        assert_eq!(kinds("uio:device=0000:00:03.0"), [ObstacleKind::Device]);
        assert_eq!(kinds("uio:device=../../x"), [ObstacleKind::Device]);
        assert_eq!(kinds("uio:kind=edu"), [ObstacleKind::Device]);
        device(root.path(), "0000:00:05.0", "0x070002", Some(UIO));
        assert_eq!(kinds("uio"), []);
        fs::write(root.path().join("sys/bus/pci/devices/0000:00:05.0/irq"), "0\n").unwrap();
        assert_eq!(kinds("uio"), [ObstacleKind::Wiring]);
    }
}
