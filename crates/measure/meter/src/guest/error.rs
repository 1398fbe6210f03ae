//! Why the guest could not fulfil a request of the host.

use crate::virtual_time::VirtualTimeError;
use protocol::guest::FILE_BYTES_MAX;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum GuestError {
    #[error("failed to make {at}: {error}")]
    MountPoint { at: &'static str, error: Errno },
    #[error("failed to mount {kind} at {at}: {error}")]
    Mount { kind: &'static str, at: &'static str, error: Errno },
    #[error("failed to list the modules: {0}")]
    ListModules(io::Error),
    #[error("failed to load {}: {error}", .module.display())]
    LoadModule { module: PathBuf, error: io::Error },
    #[error("failed to read the list of programs: {0}")]
    ListPrograms(io::Error),
    #[error("failed to start {}: {error}", .program.display())]
    StartProgram { program: PathBuf, error: io::Error },
    #[error("failed to find the port {0}: the kernel needs virtio_pci and virtio_console, built in or as modules")]
    NoPort(String),
    #[error("failed to open {}: {error}", .device.display())]
    OpenPort { device: PathBuf, error: io::Error },
    #[error("failed to share a port: {0}")]
    SharePort(io::Error),
    #[error("failed to understand the host: {0}")]
    HostLine(serde_json::Error),
    #[error("a process that an earlier command left behind may still write")]
    LeftBehind,
    #[error("the host sent a word that asks for nothing")]
    NotARequest,
    #[error("{0:?} is not an absolute path without dots")]
    Path(String),
    #[error("{} has {bytes} bytes; the limit is {FILE_BYTES_MAX}", .path.display())]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("{} has more than {limit} bytes", .path.display())]
    LongerThan { path: PathBuf, limit: u64 },
    #[error("failed to write {}: {error}", .path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("failed to read {}: {error}", .path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("failed to start the meter: {0}")]
    StartMeter(io::Error),
    #[error("failed to wait for the meter: {0}")]
    AwaitMeter(io::Error),
    #[error(transparent)]
    VirtualTime(#[from] VirtualTimeError),
}
