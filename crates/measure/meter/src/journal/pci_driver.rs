//! The driver of a PCI device: takes the device from it for a driver in user space, and gives it back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The kernel's drivers for drivers in user space: for devices with an interrupt line, and with messages.
pub const UIO: &str = "uio_pci_generic";
pub const VFIO: &str = "vfio-pci";

/// Directory of a device in sysfs; `None` if the text is no address such as `0000:00:04.0`.
pub fn device_directory(sys: &Path, address: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = address.split([':', '.']).collect();
    let hexadecimal = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_address = lengths == [4, 2, 2, 1] && parts.iter().all(hexadecimal) && address.as_bytes()[10] == b'.';
    is_address.then(|| sys.join("bus/pci/devices").join(address))
}

/// The driver that has a device.
pub fn driver_of(device: &Path) -> Option<String> {
    let driver = fs::read_link(device.join("driver")).ok()?;
    Some(driver.file_name()?.to_str()?.to_owned())
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "no address of a PCI device")
}

/// Gives a device to a driver for user space.
///
/// # Errors
/// The answer of sysfs; the device may then have no driver.
pub fn give_to_user_space(sys: &Path, address: &str, driver: &str) -> io::Result<()> {
    let device = device_directory(sys, address).ok_or_else(no_address)?;
    if driver_of(&device).as_deref() == Some(driver) {
        return Ok(());
    }
    fs::write(device.join("driver_override"), format!("{driver}\n"))?;
    if driver_of(&device).is_some() {
        fs::write(device.join("driver/unbind"), address)?;
    }
    fs::write(sys.join("bus/pci/drivers_probe"), address)?;
    match driver_of(&device).as_deref() {
        Some(bound) if bound == driver => Ok(()),
        _ if driver == UIO => Err(io::Error::other("the driver refused the device: it needs an interrupt line (INTx)")),
        _ => Err(io::Error::other("the driver refused the device")),
    }
}

/// Gives a device back to the driver that had it before. Returns whether there was anything left to do.
///
/// # Errors
/// The answer of sysfs.
pub fn give_back(sys: &Path, address: &str, before: Option<&str>) -> io::Result<bool> {
    let device = device_directory(sys, address).ok_or_else(no_address)?;
    let bound = driver_of(&device);
    let for_user_space = |driver: Option<&str>| matches!(driver, Some(UIO | VFIO));
    if (for_user_space(before) && bound.as_deref() == before) || !device.exists() {
        return Ok(false);
    }
    let wanted = fs::read_to_string(device.join("driver_override")).unwrap_or_default();
    let ours = for_user_space(Some(wanted.trim()));
    if ours {
        // A driver for user space takes a device only where this names it.
        let next = before.filter(|_| for_user_space(before)).unwrap_or_default();
        fs::write(device.join("driver_override"), format!("{next}\n"))?;
        if for_user_space(bound.as_deref()) {
            fs::write(device.join("driver/unbind"), address)?;
        }
    }
    if before.is_some() && driver_of(&device).is_none() {
        fs::write(sys.join("bus/pci/drivers_probe"), address)?;
    }
    match (before, driver_of(&device)) {
        (Some(before), None) => Err(io::Error::other(format!("the driver {before} did not take it back"))),
        _ => Ok(ours),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_names_a_directory() {
        let sys = Path::new("/sys");
        assert!(device_directory(sys, "0000:00:04.0").is_some());
        for text in ["", "../../etc", "0000:00:04", "0000:00:04:0", "00/0:00:04.0", "0000:00:zz.0"] {
            assert_eq!(device_directory(sys, text), None, "{text}");
        }
    }

    #[test]
    fn a_device_that_was_not_taken_is_left_alone() {
        let sys = tempfile::tempdir().unwrap();
        let device = sys.path().join("bus/pci/devices/0000:00:04.0");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("driver_override"), "(null)\n").unwrap();
        assert!(!give_back(sys.path(), "0000:00:04.0", None).unwrap());
        assert!(!give_back(sys.path(), "0000:00:05.0", Some("serial")).unwrap(), "it was unplugged");
        assert!(give_back(sys.path(), "none", None).is_err());
        assert_eq!(fs::read_to_string(device.join("driver_override")).unwrap(), "(null)\n");
    }
}
