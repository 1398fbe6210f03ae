//! System calls that change something outside their process.

use crate::ptrace::Entered;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const PATH_BYTES_MAX: usize = 4096;

/// A call that changes something. Descriptors are those of the traced program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// The file may be created, truncated or written later.
    Open {
        path: PathBuf,
    },
    Write {
        path: PathBuf,
        descriptor: i32,
        data: Vec<u8>,
        offset: Option<u64>,
    },
    Sync {
        path: PathBuf,
        descriptor: i32,
    },
    Truncate {
        path: PathBuf,
        descriptor: i32,
        bytes: u64,
    },
    MakeDirectory {
        path: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// Changes something else, such as a mode or a mount.
    Other {
        name: &'static str,
    },
}

impl Call {
    /// The file that it changes; for a rename, the new name.
    pub fn path(&self) -> &Path {
        match self {
            Self::Open { path }
            | Self::Write { path, .. }
            | Self::Sync { path, .. }
            | Self::Truncate { path, .. }
            | Self::MakeDirectory { path }
            | Self::Remove { path }
            | Self::Rename { to: path, .. } => path,
            Self::Other { .. } => Path::new(""),
        }
    }

    /// The call and its file.
    pub fn describe(&self) -> String {
        match self {
            Self::Open { path } => format!("open {}", path.display()),
            Self::Write { path, data, .. } => format!("write of {} bytes to {}", data.len(), path.display()),
            Self::Sync { path, .. } => format!("sync of {}", path.display()),
            Self::Truncate { path, .. } => format!("truncation of {}", path.display()),
            Self::MakeDirectory { path } => format!("mkdir {}", path.display()),
            Self::Remove { path } => format!("removal of {}", path.display()),
            Self::Rename { from, to } => format!("rename {} {}", from.display(), to.display()),
            Self::Other { name } => (*name).to_owned(),
        }
    }

    pub(crate) fn bytes_to_write(&self) -> Option<u64> {
        if let Self::Write { data, .. } = self { Some(data.len() as u64) } else { None }
    }
}

/// The call, if it changes something. Writes to terminals, pipes and devices do not count.
pub(crate) fn changing(tid: i32, entered: &Entered) -> Option<Call> {
    let Entered { number, arguments: [first, second, third, fourth, ..] } = *entered;
    let here = i64::from(libc::AT_FDCWD) as u64;
    let open = |directory: u64, path: u64, flags: u64| {
        let changes = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
        (flags as i32 & changes != 0).then(|| Call::Open { path: path_at(tid, directory, path) })
    };
    let write = |descriptor: u64, address: u64, bytes: u64, offset: Option<u64>| {
        is_file(tid, descriptor).then(|| Call::Write {
            path: path_behind(tid, descriptor),
            descriptor: descriptor as i32,
            data: memory(tid, address, bytes as usize),
            offset,
        })
    };
    match number {
        libc::SYS_open => open(here, first, second),
        libc::SYS_openat => open(first, second, third),
        libc::SYS_creat => open(here, first, libc::O_CREAT as u64),
        libc::SYS_write => write(first, second, third, None),
        libc::SYS_pwrite64 => write(first, second, third, Some(fourth)),
        libc::SYS_fsync | libc::SYS_fdatasync => {
            Some(Call::Sync { path: path_behind(tid, first), descriptor: first as i32 })
        }
        libc::SYS_ftruncate => {
            Some(Call::Truncate { path: path_behind(tid, first), descriptor: first as i32, bytes: second })
        }
        libc::SYS_mkdir => Some(Call::MakeDirectory { path: path_at(tid, here, first) }),
        libc::SYS_mkdirat => Some(Call::MakeDirectory { path: path_at(tid, first, second) }),
        libc::SYS_unlink | libc::SYS_rmdir => Some(Call::Remove { path: path_at(tid, here, first) }),
        libc::SYS_unlinkat => Some(Call::Remove { path: path_at(tid, first, second) }),
        libc::SYS_rename => Some(Call::Rename { from: path_at(tid, here, first), to: path_at(tid, here, second) }),
        libc::SYS_renameat | libc::SYS_renameat2 => {
            Some(Call::Rename { from: path_at(tid, first, second), to: path_at(tid, third, fourth) })
        }
        libc::SYS_writev if is_file(tid, first) => Some(Call::Other { name: "writev" }),
        libc::SYS_fchmod | libc::SYS_chmod | libc::SYS_fchmodat => Some(Call::Other { name: "chmod" }),
        libc::SYS_mount | libc::SYS_umount2 => Some(Call::Other { name: "mount" }),
        libc::SYS_link | libc::SYS_linkat | libc::SYS_symlink | libc::SYS_symlinkat => {
            Some(Call::Other { name: "link" })
        }
        libc::SYS_fallocate => Some(Call::Other { name: "fallocate" }),
        libc::SYS_truncate => Some(Call::Other { name: "truncate" }),
        _ => None,
    }
}

/// The path of a descriptor of a program, or the text that the kernel shows instead, such as `pipe:[1]`.
fn path_behind(tid: i32, descriptor: u64) -> PathBuf {
    fs::read_link(format!("/proc/{tid}/fd/{}", descriptor as i32)).unwrap_or_default()
}

fn is_file(tid: i32, descriptor: u64) -> bool {
    fs::metadata(format!("/proc/{tid}/fd/{}", descriptor as i32)).is_ok_and(|found| found.is_file())
}

fn path_at(tid: i32, directory: u64, address: u64) -> PathBuf {
    let mut bytes = memory(tid, address, PATH_BYTES_MAX);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    let base = match directory as i32 {
        libc::AT_FDCWD => fs::read_link(format!("/proc/{tid}/cwd")).unwrap_or_default(),
        _ => path_behind(tid, directory),
    };
    base.join(path)
}

/// Memory of the program, as far as it is readable.
fn memory(tid: i32, address: u64, bytes: usize) -> Vec<u8> {
    let mut filled = 0;
    let mut memory = vec![0; bytes];
    if let Ok(file) = File::open(format!("/proc/{tid}/mem")) {
        while filled < bytes {
            match file.read_at(&mut memory[filled..], address + filled as u64) {
                Ok(count) if count > 0 => filled += count,
                _ => break,
            }
        }
    }
    memory.truncate(filled);
    memory
}
