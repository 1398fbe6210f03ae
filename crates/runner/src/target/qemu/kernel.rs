//! The kernel of a virtual machine: found in the cache or at a path, with the modules the guest must load.

use super::debian::{self, Series};
use super::elf;
use super::file::VirtualMachine;
use super::modules::{Modules, WANTED};
use super::vmlinux;
use std::fs;
use std::path::{Path, PathBuf};

const DEBIAN: &str = "debian:";

/// A kernel that is ready to boot.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// What QEMU starts.
    pub image: PathBuf,
    /// Name and contents of each module, in the order they are loaded.
    pub modules: Vec<(String, Vec<u8>)>,
    /// Name below /boot and contents of the kernel's configuration.
    pub configuration: Option<(String, Vec<u8>)>,
}

/// The directory kernels are kept in.
///
/// # Errors
/// A sentence, when there is no home.
pub fn cache() -> Result<PathBuf, String> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home =
        || std::env::var_os("HOME").filter(|value| !value.is_empty()).map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).ok_or("neither XDG_CACHE_HOME nor HOME says where kernels are kept; set one")?;
    Ok(cache.join("tardy/kernels"))
}

/// Whether a kernel's name can stand for one, before anything is looked up.
///
/// # Errors
/// A sentence that says what to write.
pub fn check_name(kernel: &str) -> Result<(), String> {
    kernel.strip_prefix(DEBIAN).map_or(Ok(()), |series| Series::parse(series).map(drop))
}

/// Gets a machine's kernel here: resolves and downloads what has a Debian name and notes the package in `machine`. A
/// package that is noted already stays.
///
/// # Errors
/// A sentence that names the mend.
pub fn obtain(machine: &mut VirtualMachine, cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<(), String> {
    let Some(series) = machine.kernel.strip_prefix(DEBIAN) else {
        return find(machine, cache).map(drop);
    };
    let series = Series::parse(series)?;
    let package = match &machine.package {
        Some(pin) if debian::directory(cache, pin).is_dir() => return Ok(()),
        Some(pin) => debian::describe(pin)?,
        None => debian::resolve(&series)?,
    };
    debian::fetch(&package, cache, tell)?;
    machine.package = Some(package.pin());
    Ok(())
}

/// The kernel of a machine, from what is on this disk.
///
/// # Errors
/// A sentence that names the mend.
pub fn find(machine: &VirtualMachine, cache: &Path) -> Result<Kernel, String> {
    if !machine.kernel.starts_with(DEBIAN) {
        return at_path(Path::new(&machine.kernel), machine.modules.as_deref());
    }
    let pin = machine.package.as_deref().ok_or("the target file names no package; `tardy target add` does")?;
    let directory = debian::directory(cache, pin);
    if !directory.is_dir() {
        return Err(format!("{} is not there; `tardy target add` downloads the kernel", directory.display()));
    }
    let image = fs::read(directory.join("vmlinuz")).map_err(|error| format!("failed to read the kernel: {error}"))?;
    let release = vmlinux::release(&image).ok_or("the kernel of the package does not say its release")?;
    let direct = directory.join("vmlinux");
    let configuration = fs::read(directory.join("config")).ok().map(|bytes| (format!("config-{release}"), bytes));
    Ok(Kernel {
        image: if direct.is_file() { direct } else { directory.join("vmlinuz") },
        modules: Modules::below(&directory.join("modules"))?.in_order(WANTED)?,
        configuration,
    })
}

fn at_path(image: &Path, modules: Option<&Path>) -> Result<Kernel, String> {
    let bytes = fs::read(image).map_err(|error| format!("failed to read the kernel {}: {error}", image.display()))?;
    if !vmlinux::is_bz_image(&bytes) && !elf::is_elf(&bytes) {
        return Err(format!("{} is neither a bzImage nor a 64-bit vmlinux for x86", image.display()));
    }
    let modules = match modules {
        Some(directory) => Modules::below(directory)?.in_order(WANTED)?,
        None => Vec::new(),
    };
    Ok(Kernel { image: image.to_owned(), modules, configuration: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_is_not_there_names_the_mend() {
        let folder = tempfile::tempdir().unwrap();
        let mut machine = VirtualMachine::new("debian:6.1-rt");
        assert!(find(&machine, folder.path()).unwrap_err().contains("tardy target add"));
        machine.package = Some("linux-image-x=1".into());
        assert!(find(&machine, folder.path()).unwrap_err().contains("tardy target add"));
        let text = folder.path().join("text");
        fs::write(&text, "no kernel").unwrap();
        let machine = VirtualMachine::new(text.to_str().unwrap());
        assert!(find(&machine, folder.path()).unwrap_err().contains("neither a bzImage"));
    }
}
