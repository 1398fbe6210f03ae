//! `uio`: from the kernel's interrupt handler to the handler in user space, through /dev/uioN or VFIO. ULDD's method.
//!
//! ```text
//! partner            sleeps · · writes a register, which raises an interrupt
//! kernel                          |== handler: masks the interrupt, wakes ─┐
//! measuring thread   waits for the device · · · · · · · · · · · · · · · · ·└─ switch ==| reads the clock · handles the device
//! ```
//!
//! [`edu`], [`uart`] and [`ivshmem`] are drivers in user space: they raise an interrupt, and handle it. The first two have an
//! interrupt [`line`] and belong to uio_pci_generic, the last one has messages and belongs to vfio-pci.

mod edu;
mod ivshmem;
mod line;
mod uart;

use crate::OnDevice;
use crate::interrupt;
use archive::method::Method;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::uio::{Kind, Sample, Uio};
use meter::journal::pci_driver::{self, UIO, VFIO};
use meter::journal::{Entry, Journal};
use meter::kernel::clock;
use meter::kernel::descriptors::is_readable_within;
use meter::kernel::event_stamps::{EventStamps, Point};
use meter::methods::error::MethodError;
use meter::methods::stimulus::{self, Exchange, PartnerPlace, Post, Receive, Received};
use meter::methods::{MeasuringMethod, RunContext, ThreadSetup};
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a wait lasts at most.
const WAIT: Duration = Duration::from_millis(100);

/// A driver in user space.
trait Driver: Send + Sync {
    /// Can be read when an interrupt came.
    fn interrupt(&self) -> BorrowedFd<'_>;

    /// Lets the first interrupt come.
    fn prepare(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes the device raise an interrupt. What the device does not take is lost: it shows as no answer.
    fn raise(&self, number: u8);

    /// Handles the interrupt of a stimulus and lets the next one come.
    fn handle(&self, number: u8) -> io::Result<()>;
}

/// The kernel's driver that gives a device of this kind to user space.
fn driver_for(kind: Kind) -> &'static str {
    match kind {
        Kind::Ivshmem => VFIO,
        Kind::Uart | Kind::Edu => UIO,
    }
}

fn module_for(kind: Kind) -> &'static str {
    match kind {
        Kind::Ivshmem => "vfio_pci",
        Kind::Uart | Kind::Edu => UIO,
    }
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Uart => "PCI card with a 16550 serial port",
        Kind::Edu => "device edu of QEMU",
        Kind::Ivshmem => "device ivshmem-doorbell of QEMU",
    }
}

/// Whether a device in sysfs is of this kind.
fn fits(kind: Kind, device: &Path) -> bool {
    let text = |name: &str| fs::read_to_string(device.join(name)).unwrap_or_default().trim().to_owned();
    match kind {
        // A serial controller that is compatible with 16450 or 16550.
        Kind::Uart => matches!(text("class").as_str(), "0x070000" | "0x070002"),
        Kind::Edu => (text("vendor").as_str(), text("device").as_str()) == ("0x1234", "0x11e8"),
        Kind::Ivshmem => (text("vendor").as_str(), text("device").as_str()) == ("0x1af4", "0x1110"),
    }
}

/// The device of a request: the one that it names, or the first of its kind that no other driver has.
fn address_of(sys: &Path, options: &Uio) -> Result<String, Obstacle> {
    let kind = options.kind();
    let absent =
        |text: String| Obstacle { kind: ObstacleKind::Device, text, fix: "`lspci -D` lists the devices".into() };
    if let Some(address) = options.device() {
        return match pci_driver::device_directory(sys, address) {
            Some(device) if fits(kind, &device) => Ok(address.to_owned()),
            Some(device) if device.exists() => Err(absent(format!("{address} is not a {}", words(kind)))),
            Some(_) => Err(absent(format!("there is no PCI device {address}"))),
            None => Err(absent(format!("{address} is not the address of a PCI device, such as 0000:00:04.0"))),
        };
    }
    let entries = fs::read_dir(sys.join("bus/pci/devices")).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|device| fits(kind, device)).collect();
    found.sort();
    let name = |device: &PathBuf| device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = |device: &&PathBuf| pci_driver::driver_of(device).is_none_or(|driver| driver == driver_for(kind));
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
        (None, None) => Err(absent(format!("there is no {}", words(kind)))),
    }
}

/// The group of a device among those that the IOMMU separates; `None` without an IOMMU.
fn group_of(device: &Path) -> Option<String> {
    let group = fs::read_link(device.join("iommu_group")).ok()?;
    Some(group.file_name()?.to_str()?.to_owned())
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
    driver: Arc<dyn Driver>,
    exchange: Arc<Exchange>,
    /// Of the kernel's handler; `None`: a sample starts at the stimulus.
    stamps: Option<EventStamps>,
    after_ns: i64,
    /// The stimulus whose interrupt is not handled yet.
    open: Option<u8>,
}

impl Receive for Handling {
    fn prepare(&mut self) -> io::Result<()> {
        self.driver.prepare()
    }

    #[inline]
    fn receive(&mut self) -> Received {
        if let Some(number) = self.open.take()
            && self.driver.handle(number).is_err()
        {
            return Received::Broken;
        }
        if !is_readable_within(self.driver.interrupt(), WAIT) {
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

/// Missing parts of a device for its driver in user space.
fn obstacle_of(kind: Kind, device: &Path, address: &str) -> Option<Obstacle> {
    if kind == Kind::Ivshmem {
        return group_of(device).is_none().then(|| Obstacle {
            kind: ObstacleKind::Kernel,
            text: format!("no IOMMU separates {address} from the memory of others"),
            fix: "boot with intel_iommu=on or amd_iommu=on; a virtual machine needs QEMU's -device intel-iommu".into(),
        });
    }
    let line = fs::read_to_string(device.join("irq"));
    line.is_ok_and(|line| line.trim() == "0").then(|| Obstacle {
        kind: ObstacleKind::Wiring,
        text: format!("{address} has no interrupt line (INTx)"),
        fix: "use another device: uio_pci_generic knows no message-signalled interrupts".into(),
    })
}

/// The name that the kernel gives to the interrupt of a device.
fn interrupt_name(kind: Kind, address: &str) -> String {
    if kind == Kind::Ivshmem { format!("vfio-msix[0]({address})") } else { UIO.into() }
}

/// The driver in user space of a device that the kernel gave away.
fn open_driver(kind: Kind, device: &Path, address: &str) -> Result<Arc<dyn Driver>, MethodError> {
    let refused = |action| move |source| MethodError::Refused { method: Method::Uio, action, source };
    Ok(match kind {
        Kind::Edu => {
            let edu = edu::Edu::open(device).map_err(refused("map the device's registers"))?;
            Arc::new(line::Line::open(device, edu).map_err(refused("open the device's files"))?)
        }
        Kind::Uart => {
            let uart = uart::Uart::open(device).map_err(refused("set the serial port up"))?;
            Arc::new(line::Line::open(device, uart).map_err(refused("open the device's files"))?)
        }
        Kind::Ivshmem => {
            let group = group_of(device).unwrap_or_default();
            Arc::new(ivshmem::Ivshmem::open(&group, address).map_err(refused("take the device through VFIO"))?)
        }
    })
}

impl MeasuringMethod for OnDevice<'_, Uio> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let (sys, kind) = (root.join("sys"), self.kind());
        let mut obstacles = Vec::new();
        if !sys.join("bus/pci/drivers").join(driver_for(kind)).exists() {
            let module = module_for(kind);
            obstacles.push(Obstacle {
                kind: ObstacleKind::Module,
                text: format!("the module {module} is not loaded"),
                fix: format!("as root: modprobe {module}"),
            });
        }
        match address_of(&sys, self) {
            Err(obstacle) => obstacles.push(obstacle),
            Ok(address) => obstacles.extend(obstacle_of(kind, &sys.join("bus/pci/devices").join(&address), &address)),
        }
        obstacles
    }

    fn open(&self, run: &RunContext, journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let sys = Path::new("/sys");
        let Some(cpu) = run.measured.first() else { return Ok(Vec::new()) };
        let impossible = |obstacle| MethodError::Impossible { method: Method::Uio, obstacles: vec![obstacle] };
        let refused = |action| move |source| MethodError::Refused { method: Method::Uio, action, source };
        let address = address_of(sys, self).map_err(impossible)?;
        let device = sys.join("bus/pci/devices").join(&address);
        journal.note(Entry::PciDriver { address: address.clone(), before: pci_driver::driver_of(&device) })?;
        let kind = self.kind();
        pci_driver::give_to_user_space(sys, &address, driver_for(kind))
            .map_err(refused("give the device to the kernel's driver for user space"))?;
        let driver = open_driver(kind, &device, &address)?;
        let stamps = match self.sample() {
            Sample::Stimulus => None,
            Sample::Handler => {
                let point = Point::InterruptHandler(interrupt_name(kind, &address));
                Some(interrupt::stamps(&point).map_err(refused("record the event irq_handler_entry"))?)
            }
        };
        let exchange = Arc::<Exchange>::default();
        let place = PartnerPlace::of(run, *cpu, self.partner());
        let post = Arc::new(Raising { driver: driver.clone(), exchange: exchange.clone() });
        let receive = Handling { driver, exchange: exchange.clone(), stamps, after_ns: i64::MIN, open: None };
        Ok(vec![stimulus::setup_with(exchange, *cpu, place, post, receive)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obstacles_of;
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
            obstacles_of(text, root.path()).into_iter().map(|one| one.kind).collect()
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
    #[test]
    fn a_device_with_messages_needs_vfio_and_an_iommu() {
        let root = tempfile::tempdir().unwrap();
        let kinds = || -> Vec<ObstacleKind> {
            obstacles_of("uio:kind=ivshmem", root.path()).into_iter().map(|one| one.kind).collect()
        };
        assert_eq!(kinds(), [ObstacleKind::Module, ObstacleKind::Device]);
        fs::create_dir_all(root.path().join("sys/bus/pci/drivers").join(VFIO)).unwrap();
        device(root.path(), "0000:00:06.0", "0x050000", None);
        let found = root.path().join("sys/bus/pci/devices/0000:00:06.0");
        fs::write(found.join("vendor"), "0x1af4\n").unwrap();
        fs::write(found.join("device"), "0x1110\n").unwrap();
        assert_eq!(kinds(), [ObstacleKind::Kernel]);
        symlink("../../../../kernel/iommu_groups/4", found.join("iommu_group")).unwrap();
        assert_eq!((kinds(), group_of(&found).as_deref()), (vec![], Some("4")));
    }
}
