//! Why there is no kernel for a virtual machine.

use super::file_error::FileError;
use crate::architecture::Architecture;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use thiserror::Error;

/// Why bytes could not be decompressed.
#[derive(Debug, Error)]
pub enum UnpackError {
    #[error("its compression is not xz, gzip or zstd")]
    UnknownCompression,
    #[error("{program} cannot be started ({source}); install it")]
    NotStarted { program: &'static str, source: io::Error },
    #[error("{program} was cut off: {source}")]
    Cut { program: &'static str, source: io::Error },
    #[error("{program} refused it ({status})")]
    Refused { program: &'static str, status: ExitStatus },
}

/// A failed program of Debian.
#[derive(Debug, Error)]
pub enum ProgramError {
    #[error("failed to start {program}: {source}; kernels of Debian need apt and dpkg")]
    NotStarted { program: String, source: io::Error },
    #[error("failed to wait for {program}: {source}")]
    NotAwaited { program: String, source: io::Error },
    #[error("{program} failed ({status}): {}", lines.join("; "))]
    Failed { program: String, status: ExitStatus, lines: Vec<String> },
}

/// Why there is no kernel.
#[derive(Debug, Error)]
pub enum KernelError {
    #[error("no directory for kernels: set XDG_CACHE_HOME or HOME")]
    NoCache,
    #[error("`{text}` is not a kernel series; write debian:6.1 or debian:6.12-rt")]
    Series { text: String },
    #[error("the target file names no package; `tardy target add` records one")]
    NoPackage,
    #[error("{} does not exist; `tardy target add` downloads the kernel", directory.display())]
    NotDownloaded { directory: PathBuf },
    #[error("the kernel of the package contains no release")]
    NoRelease,
    #[error("{} is a kernel for {found}, and the target is {wanted}; set --arch", image.display())]
    Architecture { image: PathBuf, found: Architecture, wanted: Architecture },
    #[error(
        "QEMU cannot start {}: it is neither a bzImage or vmlinux for x86_64, nor an Image or zImage", image.display()
    )]
    NotBootable { image: PathBuf },
    #[error("{} is not a module: its name does not end with .ko", path.display())]
    ModuleName { path: PathBuf },
    #[error("{} is not a module", path.display())]
    NotAModule { path: PathBuf },
    #[error("the kernel has no {name}, built in or as a module; --modules names its modules")]
    NoModule { name: String },
    #[error("the modules {} need each other", names.join(", "))]
    Circle { names: Vec<String> },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("failed to unpack {}: {source}", path.display())]
    Unpack { path: PathBuf, source: UnpackError },
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("Debian's keys are not installed; `apt-get install debian-archive-keyring` installs them")]
    NoKeyring,
    #[error("apt takes no path with a quotation mark, as {} has; set XDG_CACHE_HOME to another directory", path.display())]
    QuotedPath { path: PathBuf },
    #[error(
        "apt knows no kernel {version}{} for {architecture}; run `apt-get update`, add the backports that have it, or \
         name a kernel by its path",
        if *real_time { " with PREEMPT_RT" } else { "" }
    )]
    NoneOfSeries { version: String, real_time: bool, architecture: &'static str },
    #[error("apt's description of {pin} has no checksum")]
    NoChecksum { pin: String },
    #[error("apt-get download left no package of {pin}")]
    NothingDownloaded { pin: String },
    #[error("{pin} has the checksum {found} and should have {wanted}; the package is not used")]
    Checksum { pin: String, found: String, wanted: String },
    #[error("the package has no {part} in it")]
    Incomplete { part: &'static str },
}
