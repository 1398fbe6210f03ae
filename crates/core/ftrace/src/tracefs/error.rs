//! Errors of the tracing file system, with their fixes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The failed operation on a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Open,
    Read,
    Write,
    Create,
    Remove,
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Action::Open => "open",
            Action::Read => "read",
            Action::Write => "write to",
            Action::Create => "create",
            Action::Remove => "remove",
        })
    }
}

/// Each message completes "failed to ...".
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    #[error(
        "find the trace file system at {}: nothing is mounted there; run `mount -t tracefs nodev /sys/kernel/tracing` \
         as root (needs a kernel with CONFIG_FTRACE)",
        root.display()
    )]
    NotMounted { root: PathBuf },
    #[error(
        "{action} {}: permission denied; `sudo tardy setup --apply` gives your user access; or run as root",
        path.display()
    )]
    Permission { action: Action, path: PathBuf },
    #[error(
        "{action} {}: the kernel refuses it to every user (EPERM); `cat /sys/kernel/security/lockdown` and `dmesg` may \
         show why",
        path.display()
    )]
    Refused { action: Action, path: PathBuf },
    #[error(
        "{action} {}: the trace file system is read-only; run `mount -o remount,rw /sys/kernel/tracing` as root \
         (in a container, mount it writable from the host)",
        path.display()
    )]
    ReadOnly { action: Action, path: PathBuf },
    #[error("{action} {}: in use (EBUSY); {}", path.display(), busy_fix(path))]
    Busy { action: Action, path: PathBuf },
    #[error("{action} {}: this kernel has no such file; it needs {}", path.display(), needs(path))]
    Missing { action: Action, path: PathBuf },
    #[error("create {}: an instance of this name exists; choose another name, or remove it with `rmdir` if it is yours", path.display())]
    InstanceExists { path: PathBuf },
    #[error("name an instance {name:?}: use a name without `/` that is not empty, `.` or `..`")]
    InstanceName { name: String },
    #[error("write {text:?} to {}: the kernel rejected it (EINVAL){reason}; compare it with the README in tracefs", path.display())]
    Rejected { path: PathBuf, text: String, reason: String },
    #[error("{action} {}: the kernel is out of memory for it (ENOMEM); choose a smaller buffer", path.display())]
    Memory { action: Action, path: PathBuf },
    #[error("{action} {}: {source}; `dmesg` may say more", path.display())]
    Io { action: Action, path: PathBuf, source: io::Error },
}

impl TracefsError {
    /// Classifies an I/O error by its fix.
    pub(super) fn from_io(action: Action, path: &Path, source: io::Error) -> TracefsError {
        let path = path.to_owned();
        // Missing rights are EACCES.
        if source.raw_os_error() == Some(libc::EPERM) {
            return TracefsError::Refused { action, path };
        }
        match source.kind() {
            io::ErrorKind::PermissionDenied => TracefsError::Permission { action, path },
            io::ErrorKind::ReadOnlyFilesystem => TracefsError::ReadOnly { action, path },
            io::ErrorKind::ResourceBusy => TracefsError::Busy { action, path },
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => TracefsError::Missing { action, path },
            io::ErrorKind::OutOfMemory => TracefsError::Memory { action, path },
            _ => TracefsError::Io { action, path, source },
        }
    }

    /// Whether the kernel lacks the file, rather than denying access to it.
    pub fn is_missing(&self) -> bool {
        matches!(self, TracefsError::Missing { .. } | TracefsError::NotMounted { .. })
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

/// The kernel option or version that provides a file.
fn needs(path: &Path) -> &'static str {
    let within = |folder: &str| path.components().any(|part| part.as_os_str() == folder);
    match file_name(path) {
        "snapshot" | "snapshot_raw" => "CONFIG_TRACER_SNAPSHOT",
        "hist" => "CONFIG_HIST_TRIGGERS",
        "buffer_subbuf_size_kb" => "Linux 6.8 or later",
        "set_event_notrace_pid" => "Linux 5.7 or later",
        "trace_marker" | "tracing_on" | "trace_clock" => "CONFIG_FTRACE, and the trace file system mounted",
        "trigger" | "filter" | "enable" | "format" if within("syscalls") => "CONFIG_FTRACE_SYSCALLS",
        "trigger" | "filter" | "enable" | "format" => "the subsystem of that event compiled in",
        _ => "CONFIG_FTRACE, and the instance to exist",
    }
}

fn busy_fix(path: &Path) -> &'static str {
    match file_name(path) {
        "snapshot" => "a latency tracer, a hist trigger with snapshot() or a mapped buffer holds it: switch that off",
        "buffer_subbuf_size_kb" | "buffer_size_kb" => "another program reads or has mapped this buffer: close it",
        "current_tracer" => "another instance or program runs this tracer: stop it",
        _ => "a program still has files of it open: close them (`fuser -v` on the folder names it)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(path: &str, number: i32) -> String {
        TracefsError::from_io(Action::Write, Path::new(path), io::Error::from_raw_os_error(number)).to_string()
    }

    #[test]
    fn every_message_names_the_file_and_the_fix() {
        for (path, number, fix) in [
            ("/t/trace_clock", libc::EACCES, "run as root"),
            ("/t/current_tracer", libc::EPERM, "lockdown"),
            ("/t/trace_clock", libc::EROFS, "mount -o remount,rw"),
            ("/t/snapshot", libc::EBUSY, "hist trigger"),
            ("/t/instances/x", libc::EBUSY, "still has files of it open"),
            ("/t/snapshot", libc::ENOENT, "CONFIG_TRACER_SNAPSHOT"),
            ("/t/buffer_subbuf_size_kb", libc::ENOENT, "Linux 6.8"),
            ("/t/events/syscalls/sys_enter_read/enable", libc::ENOENT, "CONFIG_FTRACE_SYSCALLS"),
            ("/t/buffer_size_kb", libc::ENOMEM, "smaller buffer"),
            ("/t/trace", libc::EIO, "dmesg"),
        ] {
            let message = message(path, number);
            assert!(message.starts_with("write to ") && message.contains(path) && message.contains(fix), "{message}");
        }
    }
}
