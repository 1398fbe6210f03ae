//! Names of system calls by architecture, and which of them do what.

use archive::audit::AuditDescription;
use std::collections::BTreeMap;
use syscalls::{aarch64, arm, riscv64, x86, x86_64};

/// The name of a call on a machine, as uname(2) names it; `None` for an unknown number or machine.
pub fn name(machine: &str, number: i64) -> Option<&'static str> {
    let index = usize::try_from(number).ok()?;
    match machine {
        "x86_64" => x86_64::Sysno::new(index).map(|call| call.name()),
        "aarch64" => aarch64::Sysno::new(index).map(|call| call.name()),
        "riscv64" => riscv64::Sysno::new(index).map(|call| call.name()),
        "i386" | "i486" | "i586" | "i686" => x86::Sysno::new(index).map(|call| call.name()),
        machine if machine.starts_with("arm") => arm::Sysno::new(index).map(|call| call.name()),
        _ => None,
    }
}

/// Threads whose calls have the numbers of another machine than that of the audit, and which.
pub fn of_other_machines(description: &AuditDescription) -> BTreeMap<i32, &str> {
    let others = description.processes.iter().filter_map(|process| Some((process.pid, process.machine.as_deref()?)));
    let others: BTreeMap<i32, &str> = others.collect();
    description.threads.iter().filter_map(|thread| Some((thread.tid, *others.get(&thread.pid)?))).collect()
}

/// Calls that change the address space. Each takes the process's memory lock, and new pages fault at their first use.
pub const ADDRESS_SPACE: &[&str] = &["brk", "mmap", "mmap2", "munmap", "mremap", "madvise", "mprotect"];

/// Calls that look a path up or wait for a storage device, whatever file they are for.
pub const FILE_SYSTEM: &[&str] = &[
    "access",
    "chdir",
    "chmod",
    "chown",
    "copy_file_range",
    "creat",
    "execve",
    "faccessat",
    "faccessat2",
    "fallocate",
    "fchmod",
    "fchown",
    "fdatasync",
    "fstatat64",
    "fsync",
    "ftruncate",
    "ftruncate64",
    "getdents",
    "getdents64",
    "link",
    "lstat",
    "lstat64",
    "mkdir",
    "mkdirat",
    "msync",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "readlink",
    "readlinkat",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "stat",
    "stat64",
    "statfs",
    "statx",
    "sync",
    "sync_file_range",
    "syncfs",
    "truncate",
    "truncate64",
    "unlink",
    "unlinkat",
    "utimensat",
];

/// Calls that transfer bytes; the first argument is the open file.
pub const TRANSFER: &[&str] = &[
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readv",
    "sendfile",
    "sendfile64",
    "write",
    "writev",
];

/// Of those, the ones that write.
pub fn writes(name: &str) -> bool {
    name.contains("write") || name.starts_with("sendfile")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ_between_machines_and_names_do_not() {
        assert_eq!(
            (name("x86_64", 1), name("aarch64", 64), name("riscv64", 64)),
            (Some("write"), Some("write"), Some("write"))
        );
        assert_eq!((name("i386", 4), name("i686", 407)), (Some("write"), Some("clock_nanosleep_time64")));
        assert_eq!((name("armv7l", 4), name("x86_64", 230)), (Some("write"), Some("clock_nanosleep")));
        assert_eq!((name("x86_64", -1), name("x86_64", 99_999), name("vax", 1)), (None, None, None));
    }

    #[test]
    fn every_listed_call_exists_on_some_machine() {
        let known = |wanted: &str| {
            ["x86_64", "aarch64", "armv7l"]
                .iter()
                .any(|machine| (0..600).any(|number| name(machine, number) == Some(wanted)))
        };
        for call in ADDRESS_SPACE.iter().chain(FILE_SYSTEM).chain(TRANSFER) {
            assert!(known(call), "{call}");
        }
    }
}
