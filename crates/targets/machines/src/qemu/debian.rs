//! Debian's kernel packages: resolves names to packages and fetches them into the cache. Needs apt and no root.

use super::apt::{Apt, output};
use super::file_error::FileError;
use super::kernel_error::{KernelError, ProgramError};
use super::modules::Modules;
use super::package::{KernelPackages, Package};
use super::platform::Platform;
use super::{unpack, vmlinux};
use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PREFIX: &str = "linux-image-";
/// File of a cached kernel that contains its release.
pub const RELEASE: &str = "release";

/// The files of a package that are unpacked: the kernel, the line to the host, the drivers of the devices that methods
/// measure with, and a file system for a disk. A whole package takes 300 MB.
const UNPACKED: [&str; 29] = [
    "./boot/*",
    "*/modules/*/vmlinu*",
    "*/modules/*/config",
    "*/modules/*/modules.*",
    "*/kernel/crypto/crc32c_generic*",
    "*/kernel/drivers/block/loop*",
    "*/kernel/drivers/block/null_blk/*",
    "*/kernel/drivers/block/virtio_blk*",
    "*/kernel/drivers/virtio/*",
    "*/kernel/drivers/char/*",
    "*/kernel/drivers/gpio/*",
    "*/kernel/drivers/md/dm-delay*",
    "*/kernel/drivers/md/dm-mod*",
    "*/kernel/drivers/input/gameport/*",
    "*/kernel/drivers/net/*failover*",
    "*/kernel/drivers/net/virtio_net*",
    "*/kernel/drivers/net/ethernet/intel/e1000/*",
    "*/kernel/drivers/parport/*",
    "*/kernel/drivers/uio/*",
    "*/kernel/drivers/vfio/*",
    "*/kernel/fs/configfs/*",
    "*/kernel/fs/ext4/*",
    "*/kernel/fs/jbd2/*",
    "*/kernel/fs/mbcache*",
    "*/kernel/lib/crc16*",
    "*/kernel/net/core/*",
    "*/kernel/net/packet/*",
    "*/kernel/sound/*",
    "*/kernel/virt/lib/*",
];

/// A kernel series, such as `6.1` or `6.12-rt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    version: String,
    real_time: bool,
}

impl Series {
    /// Parses the part after `debian:`.
    ///
    /// # Errors
    /// [`KernelError::Series`].
    pub fn parse(text: &str) -> Result<Self, KernelError> {
        let (version, real_time) = text.strip_suffix("-rt").map_or((text, false), |version| (version, true));
        let parts: Vec<&str> = version.split('.').collect();
        let number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if parts.len() != 2 || !parts.iter().all(number) {
            return Err(KernelError::Series { text: text.into() });
        }
        Ok(Self { version: version.into(), real_time })
    }

    /// The newest package of the series in the answer of `apt-cache search`.
    fn newest(&self, platform: &Platform, answer: &str) -> Option<String> {
        let names = answer.lines().filter_map(|line| line.split(' ').next());
        let matching = names.filter_map(|name| Some((self.revision(platform, name)?, name)));
        matching.max_by(|(left, _), (right, _)| by_numbers(left, right)).map(|(_, name)| name.to_owned())
    }

    /// The part between series and flavour in the name of a signed package: `0-56` of linux-image-6.1.0-56-rt-amd64.
    fn revision<'a>(&self, platform: &Platform, name: &'a str) -> Option<&'a str> {
        let rest = name.strip_prefix(PREFIX)?.strip_prefix(&self.version)?.strip_prefix('.')?;
        let rest = rest.strip_suffix(platform.flavour)?.strip_suffix('-')?;
        let revision = if self.real_time { rest.strip_suffix("-rt")? } else { rest };
        // `0-56`, `117+deb12`; another flavour, such as cloud, is a part without a digit.
        revision.split(['-', '+']).all(|part| part.bytes().any(|byte| byte.is_ascii_digit())).then_some(revision)
    }
}

/// Compares texts by the numbers in them.
fn by_numbers(left: &str, right: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
    };
    numbers(left).cmp(&numbers(right))
}

/// The packages that a series currently resolves to.
///
/// # Errors
/// [`KernelError`], which names the missing part.
pub fn resolve(apt: &Apt, platform: &Platform, series: &Series) -> Result<KernelPackages, KernelError> {
    let pattern = format!("^{PREFIX}{}", series.version.replace('.', "\\."));
    let answer = apt.ask("apt-cache", &["search", "--names-only", &pattern])?;
    let name = series.newest(platform, &answer).ok_or_else(|| KernelError::NoneOfSeries {
        version: series.version.clone(),
        real_time: series.real_time,
        architecture: platform.debian,
    })?;
    KernelPackages::describe(apt, &name)
}

/// Directory of a kernel in the cache; `pin` is [`KernelPackages::pin`].
pub fn directory(cache: &Path, pin: &str) -> PathBuf {
    cache.join(pin.replace('=', "_").replace(['/', ':'], "-"))
}

/// Whether the cache has a kernel with these modules and those that they need, which an earlier version of this program may
/// not have unpacked.
pub fn has(cache: &Path, pin: &str, modules: &[&str]) -> bool {
    let directory = directory(cache, pin);
    let complete = |found: Modules| !matches!(found.in_order(modules), Err(KernelError::NoModule { .. }));
    directory.is_dir() && (modules.is_empty() || Modules::below(&directory.join("modules")).is_ok_and(complete))
}

/// Downloads, verifies and unpacks the packages of a kernel unless the cache has it with these modules. Returns its directory, with
/// `vmlinuz`, `config`, `modules`, [`RELEASE`], and `vmlinux` if a faster-booting image can be extracted.
///
/// # Errors
/// The step that failed; the cache then contains what it did before.
pub fn fetch(
    apt: &Apt,
    packages: &KernelPackages,
    modules: &[&str],
    cache: &Path,
    report: &mut dyn FnMut(&str),
) -> Result<PathBuf, KernelError> {
    let directory = directory(cache, &packages.pin());
    if has(cache, &packages.pin(), modules) {
        return Ok(directory);
    }
    let partial = cache.join(format!("partial-{}", std::process::id()));
    let result = (|| {
        fs::create_dir_all(&partial).map_err(FileError::of("make", &partial))?;
        report(&format!("downloading {} ({} MB)", packages.pin(), packages.bytes() / 1_000_000));
        let tree = partial.join("tree");
        fs::create_dir_all(&tree).map_err(FileError::of("make", &tree))?;
        for (number, package) in packages.all().enumerate() {
            let archive = download(apt, package, &partial.join(number.to_string()))?;
            verify(package, &archive)?;
            unpack_package(&archive, &tree)?;
        }
        report("unpacking it");
        arrange(&tree, &partial.join("kernel"))?;
        let moving = || FileError::of("move the kernel to", &directory);
        if directory.is_dir() {
            // Only the modules can differ.
            let place = directory.join("modules");
            fs::rename(&place, partial.join("modules-before")).map_err(moving())?;
            fs::rename(partial.join("kernel/modules"), &place).map_err(moving())?;
        } else {
            fs::rename(partial.join("kernel"), &directory).map_err(moving())?;
        }
        Ok(())
    })();
    let _ = fs::remove_dir_all(&partial);
    result.map(|()| directory)
}

fn download(apt: &Apt, package: &Package, into: &Path) -> Result<PathBuf, KernelError> {
    fs::create_dir_all(into).map_err(FileError::of("make", into))?;
    output(apt.command("apt-get").args(["-q", "download", &package.pin()]).current_dir(into))?;
    let files = fs::read_dir(into).map_err(FileError::of("list", into))?;
    let found =
        files.filter_map(|entry| Some(entry.ok()?.path())).find(|path| path.extension().is_some_and(|is| is == "deb"));
    found.ok_or_else(|| KernelError::NothingDownloaded { pin: package.pin() })
}

fn verify(package: &Package, archive: &Path) -> Result<(), KernelError> {
    let answer = output(Command::new("sha256sum").arg("--").arg(archive))?;
    let found = answer.split_whitespace().next().unwrap_or_default();
    // sha256sum marks unusual file names with a backslash before the checksum.
    if found.trim_start_matches('\\').eq_ignore_ascii_case(&package.sha256) {
        return Ok(());
    }
    let (found, wanted) = (found.to_owned(), package.sha256.clone());
    Err(KernelError::Checksum { pin: package.pin(), found, wanted })
}

/// Extracts the kernel, its configuration and the modules that a virtual machine may need, as far as this package has them.
fn unpack_package(archive: &Path, tree: &Path) -> Result<(), KernelError> {
    let not_started = |program: &str| {
        let program = program.to_owned();
        |source| ProgramError::NotStarted { program, source }
    };
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(archive)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(not_started("dpkg-deb"))?;
    let tar = reader.stdout.take().map_or(Stdio::null(), Stdio::from);
    let mut writer = Command::new("tar");
    writer.arg("-x").arg("-C").arg(tree).arg("--no-same-owner").arg("--wildcards").args(UNPACKED).stdin(tar);
    // A kernel with all of these built in has no such directories; missing modules are detected when they are used.
    writer.stderr(Stdio::null());
    writer.status().map_err(not_started("tar"))?;
    let program = || "dpkg-deb".to_owned();
    let status = reader.wait().map_err(|source| ProgramError::NotAwaited { program: program(), source })?;
    if !status.success() {
        return Err(ProgramError::Failed { program: program(), status, lines: Vec::new() }.into());
    }
    Ok(())
}

/// Moves the parts of the unpacked packages to where [`fetch`] documents them.
fn arrange(tree: &Path, kernel: &Path) -> Result<(), KernelError> {
    let moving = |part: &str| FileError::of("move", kernel.join(part));
    let begins = |directory: &Path, prefix: &str| -> Option<PathBuf> {
        let mut entries = fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        entries.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
    };
    fs::create_dir_all(kernel).map_err(FileError::of("make", kernel))?;
    // Since Debian 13 they are below /usr.
    let modules = ["lib/modules", "usr/lib/modules"].into_iter().find_map(|place| begins(&tree.join(place), ""));
    let modules = modules.ok_or(KernelError::Incomplete { part: "modules" })?;
    // Since Linux 7.2 image and configuration are beside the modules.
    let file = |of_boot: &str, beside: &str| {
        let beside = modules.join(beside);
        begins(&tree.join("boot"), of_boot).or_else(|| beside.is_file().then_some(beside))
    };
    // On some architectures an uncompressed image is named vmlinux.
    let image = file("vmlinuz-", "vmlinuz").or_else(|| file("vmlinux-", "vmlinux"));
    let image = image.ok_or(KernelError::Incomplete { part: "kernel" })?;
    let bytes = fs::read(&image).map_err(FileError::reading(&image))?;
    // Without the uncompressed kernel the image boots just as well, only slower.
    if let Ok(kernel_proper) = vmlinux::extract(&bytes).or_else(|_| unpack::stream(bytes)) {
        fs::write(kernel.join("vmlinux"), kernel_proper).map_err(FileError::writing(kernel.join("vmlinux")))?;
    }
    fs::rename(image, kernel.join("vmlinuz")).map_err(moving("vmlinuz"))?;
    if let Some(config) = file("config-", "config") {
        fs::rename(config, kernel.join("config")).map_err(moving("config"))?;
    }
    let release = modules.file_name().unwrap_or_default().as_encoded_bytes();
    fs::write(kernel.join(RELEASE), release).map_err(FileError::writing(kernel.join(RELEASE)))?;
    fs::rename(modules, kernel.join("modules")).map_err(moving("modules"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Architecture;

    const SEARCH: &str = "\
linux-image-6.1.0-9-rt-amd64 - Linux 6.1 for 64-bit PCs, PREEMPT_RT (signed)
linux-image-6.1.0-56-amd64 - Linux 6.1 for 64-bit PCs (signed)
linux-image-6.1.0-56-cloud-amd64 - Linux 6.1 for x86-64 cloud (signed)
linux-image-6.1.0-56-rt-amd64 - Linux 6.1 for 64-bit PCs, PREEMPT_RT (signed)
linux-image-6.1.0-57-rt-amd64-dbg - Debug symbols for linux-image-6.1.0-57-rt-amd64
linux-image-6.1.0-57-rt-amd64-unsigned - Linux 6.1 for 64-bit PCs, PREEMPT_RT
linux-image-6.12-rt-amd64 - Linux for 64-bit PCs (meta-package)
linux-image-6.12.100+deb12-amd64 - Linux 6.12 for 64-bit PCs (signed)
linux-image-6.12.117+deb12-amd64 - Linux 6.12 for 64-bit PCs (signed)
linux-image-6.12.99+deb12-rt-amd64 - Linux 6.12 for 64-bit PCs (signed), PREEMPT_RT
linux-image-6.12.117+deb12-rt-amd64 - Linux 6.12 for 64-bit PCs (signed), PREEMPT_RT
";

    fn newest(series: &str) -> Option<String> {
        Series::parse(series).unwrap().newest(Platform::of(Architecture::X86_64), SEARCH)
    }

    #[test]
    fn a_series_stands_for_its_newest_signed_package_of_the_flavour() {
        assert_eq!(newest("6.1-rt").as_deref(), Some("linux-image-6.1.0-56-rt-amd64"));
        assert_eq!(newest("6.1").as_deref(), Some("linux-image-6.1.0-56-amd64"));
        assert_eq!(newest("6.12").as_deref(), Some("linux-image-6.12.117+deb12-amd64"));
        assert_eq!(newest("6.12-rt").as_deref(), Some("linux-image-6.12.117+deb12-rt-amd64"));
        assert_eq!(newest("6.6"), None);
        for nonsense in ["", "6", "6.1.2", "6.x", "rt", "6.1-lowlatency"] {
            assert!(matches!(Series::parse(nonsense), Err(KernelError::Series { text }) if text == nonsense));
        }
    }

    #[test]
    fn kernels_of_other_architectures_are_those_for_any_machine() {
        let search = "\
linux-image-6.12.107+deb13-armmp - Linux 6.12 for ARMv7 multiplatform compatible SoCs
linux-image-6.12.107+deb13-armmp-lpae - Linux 6.12 for ARMv7 multiplatform compatible SoCs supporting LPAE
linux-image-6.12.94+deb13-rt-armmp - Linux 6.12 for ARMv7 multiplatform compatible SoCs, PREEMPT_RT
linux-image-6.12.117+deb12-arm64-16k - Linux 6.12 for 64-bit ARMv8 machines with 16k pages (signed)
linux-image-6.12.90+deb13.1-arm64 - Linux 6.12 for 64-bit ARMv8 machines (signed)
linux-image-6.12.117+deb12-cloud-arm64 - Linux 6.12 for arm64 cloud (signed)
";
        let newest = |series: &str, architecture| {
            Series::parse(series).unwrap().newest(Platform::of(architecture), search).unwrap_or_default()
        };
        assert_eq!(newest("6.12", Architecture::Armhf), "linux-image-6.12.107+deb13-armmp");
        assert_eq!(newest("6.12-rt", Architecture::Armhf), "linux-image-6.12.94+deb13-rt-armmp");
        assert_eq!(newest("6.12", Architecture::Arm64), "linux-image-6.12.90+deb13.1-arm64");
        assert_eq!(newest("6.12", Architecture::Riscv64), "");
    }

    #[test]
    fn a_pin_is_one_directory_of_the_cache() {
        let inside = directory(Path::new("/cache"), "a/../b=1:2");
        assert_eq!(inside, Path::new("/cache/a-..-b_1-2"));
    }

    #[test]
    fn image_and_configuration_are_found_in_boot_and_beside_the_modules() {
        let old = ["boot/vmlinuz-6.1", "boot/config-6.1", "lib/modules/6.1/modules.order"];
        let new = ["usr/lib/modules/7.3/vmlinuz", "usr/lib/modules/7.3/config", "usr/lib/modules/7.3/modules.order"];
        for (files, release) in [(old, "6.1"), (new, "7.3")] {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                let path = folder.path().join("tree").join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, file).unwrap();
            }
            let kernel = folder.path().join("kernel");
            arrange(&folder.path().join("tree"), &kernel).unwrap();
            let read = |name: &str| fs::read_to_string(kernel.join(name)).unwrap();
            assert_eq!(["vmlinuz", "config", "modules/modules.order"].map(read), files);
            assert_eq!(read(RELEASE), release);
        }
    }

    #[test]
    fn a_package_with_another_checksum_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("x.deb");
        fs::write(&archive, b"hello").unwrap();
        let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        let mut package =
            Package { name: "x".into(), version: "1".into(), sha256: sha256.into(), bytes: 5, parts: Vec::new() };
        verify(&package, &archive).unwrap();
        package.sha256.replace_range(0..1, "3");
        assert!(matches!(verify(&package, &archive), Err(KernelError::Checksum { .. })));
    }
}
