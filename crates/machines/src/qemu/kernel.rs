//! The kernel of a virtual machine: found in the cache or at a path, with the modules the guest must load.

use super::apt::Apt;
use super::debian::{self, Series};
use super::image;
use super::machine_file::VirtualMachine;
use super::modules::{Modules, WANTED};
use super::platform::Platform;
use super::unpack;
use super::vmlinux;
use crate::architecture::Architecture;
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
/// A sentence that names the fix.
pub fn obtain(machine: &mut VirtualMachine, cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<(), String> {
    let Some(series) = machine.kernel.strip_prefix(DEBIAN) else {
        return find(machine, cache).map(drop);
    };
    let series = Series::parse(series)?;
    if machine.package.as_ref().is_some_and(|pin| debian::directory(cache, pin).is_dir()) {
        return Ok(());
    }
    let platform = Platform::of(machine.architecture);
    let apt = Apt::of(platform, cache, tell)?;
    let package = match &machine.package {
        Some(pin) => debian::describe(&apt, pin)?,
        None => debian::resolve(&apt, platform, &series)?,
    };
    debian::fetch(&apt, &package, cache, tell)?;
    machine.package = Some(package.pin());
    Ok(())
}

/// The kernel of a machine, from what is on this disk.
///
/// # Errors
/// A sentence that names the fix.
pub fn find(machine: &VirtualMachine, cache: &Path) -> Result<Kernel, String> {
    if !machine.kernel.starts_with(DEBIAN) {
        return at_path(machine);
    }
    let pin = machine.package.as_deref().ok_or("the target file names no package; `tardy target add` does")?;
    let directory = debian::directory(cache, pin);
    if !directory.is_dir() {
        return Err(format!("{} is not there; `tardy target add` downloads the kernel", directory.display()));
    }
    let direct = directory.join("vmlinux");
    let image = if direct.is_file() { direct } else { directory.join("vmlinuz") };
    let release = release(&directory).ok_or("the kernel of the package does not say its release")?;
    let configuration = fs::read(directory.join("config")).ok().map(|bytes| (format!("config-{release}"), bytes));
    let modules = Modules::below(&directory.join("modules"))?.in_order(WANTED)?;
    Ok(Kernel { image, modules, configuration })
}

/// Name and contents of the modules of the person's own that a machine is to load.
///
/// # Errors
/// A sentence that names the file.
pub fn own_modules(machine: &VirtualMachine) -> Result<Vec<(String, Vec<u8>)>, String> {
    let own = machine.load_modules.iter().map(|path| {
        let name = super::modules::name_of(path)
            .ok_or_else(|| format!("{} is no module: its name does not end with .ko", path.display()))?;
        Ok((name, unpack::file(path)?))
    });
    own.collect()
}

/// The release of a cached kernel, like `6.1.0-56-rt-amd64`.
fn release(directory: &Path) -> Option<String> {
    let noted = fs::read_to_string(directory.join(debian::RELEASE)).ok();
    noted.or_else(|| vmlinux::release(&fs::read(directory.join("vmlinuz")).ok()?))
}

/// What the image at this path is for; `None` when it is none that QEMU can start.
///
/// # Errors
/// A sentence, when it cannot be read.
pub fn architecture(image: &Path) -> Result<Option<Architecture>, String> {
    // QEMU unpacks what is compressed as a whole.
    let bytes = unpack::file(image)?;
    Ok(image::architecture(&bytes))
}

fn at_path(machine: &VirtualMachine) -> Result<Kernel, String> {
    let image = PathBuf::from(&machine.kernel);
    match architecture(&image)? {
        Some(found) if found == machine.architecture => {}
        Some(found) => {
            let wanted = machine.architecture;
            return Err(format!(
                "{} is a kernel for {found}, and the target is {wanted}; --arch says which",
                image.display()
            ));
        }
        None => {
            return Err(format!(
                "{} is no kernel that QEMU can start: no bzImage or vmlinux for x86_64, no Image or zImage",
                image.display()
            ));
        }
    }
    let modules = match &machine.modules {
        Some(directory) => Modules::below(directory)?.in_order(WANTED)?,
        None => Vec::new(),
    };
    Ok(Kernel { image, modules, configuration: None })
}

#[cfg(test)]
mod tests {
    use super::super::elf;
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
        assert!(find(&machine, folder.path()).unwrap_err().contains("no bzImage"));
        fs::write(&text, elf::tests::module("")).unwrap();
        assert_eq!(architecture(&text), Ok(Some(Architecture::X86_64)));
        let machine = VirtualMachine { architecture: Architecture::Arm64, ..machine };
        assert!(find(&machine, folder.path()).unwrap_err().contains("for x86_64, and the target is arm64"));
    }
}
