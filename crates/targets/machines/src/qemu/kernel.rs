//! The kernel of a virtual machine: finds it in the cache or at a path, with the modules that the guest must load.

use super::apt::Apt;
use super::debian::{self, Series};
use super::image;
pub use super::kernel_error::{KernelError, ProgramError};
use super::machine_file::VirtualMachine;
use super::modules::{Modules, WANTED};
use super::package::KernelPackages;
use super::platform::Platform;
use super::unpack;
use super::vmlinux;
use crate::architecture::Architecture;
use std::fs;
use std::path::{Path, PathBuf};

const DEBIAN: &str = "debian:";

/// A kernel ready to boot.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The image for QEMU.
    pub image: PathBuf,
    /// Name and contents of each module, in loading order.
    pub modules: Vec<(String, Vec<u8>)>,
    /// Name below /boot and contents of the kernel's configuration.
    pub configuration: Option<(String, Vec<u8>)>,
}

/// The directory of cached kernels.
///
/// # Errors
/// If there is no home directory.
pub fn cache() -> Result<PathBuf, KernelError> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home =
        || std::env::var_os("HOME").filter(|value| !value.is_empty()).map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).ok_or(KernelError::NoCache)?;
    Ok(cache.join("tardy/kernels"))
}

/// Whether a kernel name is valid, before anything is looked up.
///
/// # Errors
/// [`KernelError::Series`], which names the correct form.
pub fn check_name(kernel: &str) -> Result<(), KernelError> {
    kernel.strip_prefix(DEBIAN).map_or(Ok(()), |series| Series::parse(series).map(drop))
}

/// Fetches a machine's kernel: resolves and downloads a Debian name and records the package in `machine`. A recorded
/// package is kept.
///
/// # Errors
/// [`KernelError`], which states the fix.
pub fn obtain(machine: &mut VirtualMachine, cache: &Path, report: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
    let Some(series) = machine.kernel.strip_prefix(DEBIAN) else {
        return find(machine, cache).map(drop);
    };
    let series = Series::parse(series)?;
    let modules = named_modules(machine);
    if machine.package.as_ref().is_some_and(|pin| debian::has(cache, pin, &modules)) {
        return Ok(());
    }
    let platform = Platform::of(machine.architecture);
    let apt = Apt::of(platform, cache, report)?;
    let packages = match &machine.package {
        Some(pin) => KernelPackages::describe(&apt, pin)?,
        None => debian::resolve(&apt, platform, &series)?,
    };
    debian::fetch(&apt, &packages, &modules, cache, report)?;
    machine.package = Some(packages.pin());
    own_modules(machine, cache).map(drop)
}

/// The kernel of a machine, from this disk.
///
/// # Errors
/// [`KernelError`], which states the fix.
pub fn find(machine: &VirtualMachine, cache: &Path) -> Result<Kernel, KernelError> {
    if !machine.kernel.starts_with(DEBIAN) {
        return at_path(machine);
    }
    let pin = machine.package.as_deref().ok_or(KernelError::NoPackage)?;
    let directory = debian::directory(cache, pin);
    if !directory.is_dir() {
        return Err(KernelError::NotDownloaded { directory });
    }
    let direct = directory.join("vmlinux");
    let image = if direct.is_file() { direct } else { directory.join("vmlinuz") };
    let release = release(&directory).ok_or(KernelError::NoRelease)?;
    let configuration = fs::read(directory.join("config")).ok().map(|bytes| (format!("config-{release}"), bytes));
    let modules = Modules::below(&directory.join("modules"))?.in_order(WANTED)?;
    Ok(Kernel { image, modules, configuration })
}

/// The modules of the kernel itself that a machine loads by their names.
fn named_modules(machine: &VirtualMachine) -> Vec<&str> {
    machine.load_modules.iter().filter_map(|path| module_name(path)).collect()
}

/// The name of one of the kernel's own modules, in place of a file.
pub fn module_name(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    (!text.is_empty() && !text.contains(['/', '.'])).then_some(text)
}

/// Name and contents of the modules that a machine should load in addition: the kernel's own, each after those that it
/// needs, and files.
///
/// # Errors
/// If one cannot be read.
pub fn own_modules(machine: &VirtualMachine, cache: &Path) -> Result<Vec<(String, Vec<u8>)>, KernelError> {
    let named = named_modules(machine);
    let mut modules = match modules_directory(machine, cache) {
        _ if named.is_empty() => Vec::new(),
        Some(directory) => Modules::below(&directory)?.in_order(&named)?,
        None => return Err(KernelError::NoModule { name: named[0].to_owned() }),
    };
    for path in machine.load_modules.iter().filter(|path| module_name(path).is_none()) {
        let name = super::modules::name_of(path).ok_or_else(|| KernelError::ModuleName { path: path.to_owned() })?;
        modules.push((name, unpack::file(path)?));
    }
    Ok(modules)
}

fn modules_directory(machine: &VirtualMachine, cache: &Path) -> Option<PathBuf> {
    match &machine.package {
        Some(pin) if machine.kernel.starts_with(DEBIAN) => Some(debian::directory(cache, pin).join("modules")),
        _ => machine.modules.clone(),
    }
}

/// The release of a cached kernel, such as `6.1.0-56-rt-amd64`.
fn release(directory: &Path) -> Option<String> {
    let noted = fs::read_to_string(directory.join(debian::RELEASE)).ok();
    noted.or_else(|| vmlinux::release(&fs::read(directory.join("vmlinuz")).ok()?))
}

/// The architecture of the image at this path; `None` if QEMU cannot start it.
///
/// # Errors
/// If it cannot be read.
pub fn architecture(image: &Path) -> Result<Option<Architecture>, KernelError> {
    // QEMU decompresses images that are compressed as a whole.
    let bytes = unpack::file(image)?;
    Ok(image::architecture(&bytes))
}

fn at_path(machine: &VirtualMachine) -> Result<Kernel, KernelError> {
    let image = PathBuf::from(&machine.kernel);
    match architecture(&image)? {
        Some(found) if found == machine.architecture => {}
        Some(found) => {
            return Err(KernelError::Architecture { image, found, wanted: machine.architecture });
        }
        None => return Err(KernelError::NotBootable { image }),
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
    fn a_module_is_named_or_a_file_and_a_named_one_brings_what_it_needs() {
        assert_eq!(module_name(Path::new("uio_pci_generic")), Some("uio_pci_generic"));
        assert_eq!([Path::new("./a"), Path::new("a.ko"), Path::new("/a")].map(module_name), [None; 3]);
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("linux_1/modules");
        fs::create_dir_all(&modules).unwrap();
        fs::write(modules.join("uio.ko"), elf::tests::module("")).unwrap();
        fs::write(modules.join("uio_pci_generic.ko"), elf::tests::module("uio")).unwrap();
        let own = folder.path().join("own.ko");
        fs::write(&own, "own").unwrap();
        let mut machine = VirtualMachine::new("debian:6.1-rt");
        machine.package = Some("linux=1".into());
        machine.load_modules = vec![own, "uio-pci-generic".into()];
        let names = |machine: &VirtualMachine| -> Result<Vec<String>, KernelError> {
            Ok(own_modules(machine, folder.path())?.into_iter().map(|(name, _)| name).collect())
        };
        assert_eq!(names(&machine).unwrap(), ["uio", "uio_pci_generic", "own"]);
        fs::write(modules.join("snd_ens1370.ko"), elf::tests::module("gameport")).unwrap();
        let has = |name| debian::has(folder.path(), "linux=1", &[name]);
        assert_eq!(
            [has("uio"), has("snd"), has("snd_ens1370")],
            [true, false, false],
            "the last one lacks what it needs"
        );
        machine.load_modules = vec!["snd".into()];
        assert!(matches!(names(&machine), Err(KernelError::NoModule { name }) if name == "snd"));
    }

    #[test]
    fn a_kernel_that_is_not_there_names_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        let mut machine = VirtualMachine::new("debian:6.1-rt");
        assert!(matches!(find(&machine, folder.path()), Err(KernelError::NoPackage)));
        machine.package = Some("linux-image-x=1".into());
        assert!(find(&machine, folder.path()).unwrap_err().to_string().contains("tardy target add"));
        let text = folder.path().join("text");
        fs::write(&text, "no kernel").unwrap();
        let machine = VirtualMachine::new(text.to_str().unwrap());
        assert!(matches!(find(&machine, folder.path()), Err(KernelError::NotBootable { .. })));
        fs::write(&text, elf::tests::module("")).unwrap();
        assert_eq!(architecture(&text).unwrap(), Some(Architecture::X86_64));
        let machine = VirtualMachine { architecture: Architecture::Arm64, ..machine };
        let found = find(&machine, folder.path()).unwrap_err().to_string();
        assert!(found.contains(" x86_64,") && found.contains(" arm64"), "{found}");
    }
}
