//! The table of built-in loads.

use super::crew::Crew;
use super::place::Room;
use super::{copy, dentry, exec, fault, fork, huge_page, messaging, munmap, spin, udp};
use std::io;

/// A load that needs no package on the target.
pub struct BuiltinLoad {
    pub name: &'static str,
    /// What one unit of its progress is.
    pub unit: &'static str,
    /// One line for a list of loads.
    pub what: &'static str,
    /// What a number of workers counts.
    pub worker: &'static str,
    pub(super) parts: &'static [&'static str],
    pub(super) room: Room,
    pub(super) workers_default: fn(cpus: u32) -> u32,
    /// Forks the workers into the crew.
    pub(super) start: fn(&mut Crew) -> io::Result<()>,
}

static BUILTIN: [BuiltinLoad; 12] = [
    BuiltinLoad {
        name: "messaging",
        unit: "messages",
        what: "groups of 20 senders and 20 receivers exchange 100-byte messages over socket pairs",
        worker: "group",
        parts: &[],
        room: Room::None,
        workers_default: |cpus| cpus.min(16),
        start: messaging::start,
    },
    BuiltinLoad {
        name: "dentry",
        unit: "entries",
        what: "create, look up and delete thousands of directory entries",
        worker: "process",
        parts: &[],
        room: Room::Entries,
        workers_default: |cpus| cpus.min(8),
        start: dentry::start,
    },
    BuiltinLoad {
        name: "copy",
        unit: "bytes",
        what: "copy a file of up to 64 MB over and over, with write-back to the disk",
        worker: "process",
        parts: &[],
        room: Room::Bytes,
        workers_default: |_| 1,
        start: copy::start,
    },
    BuiltinLoad {
        name: "fault",
        unit: "faults",
        what: "map memory, touch every page, unmap it",
        worker: "process",
        parts: &[],
        room: Room::None,
        workers_default: |cpus| cpus,
        start: fault::start,
    },
    BuiltinLoad {
        name: "munmap",
        unit: "pages",
        what: "fill memory of up to 32 MB and give it back in one go",
        worker: "process",
        parts: &[],
        room: Room::None,
        workers_default: |cpus| cpus.min(8),
        start: munmap::start,
    },
    BuiltinLoad {
        name: "fork",
        unit: "processes",
        what: "fork processes that touch some of their memory and end",
        worker: "process",
        parts: &[],
        room: Room::None,
        workers_default: |cpus| cpus,
        start: fork::start,
    },
    BuiltinLoad {
        name: "exec",
        unit: "programs",
        what: "start processes that execute a small program and end",
        worker: "process",
        parts: &[],
        room: Room::None,
        workers_default: |cpus| cpus,
        start: exec::start,
    },
    BuiltinLoad {
        name: "thp",
        unit: "huge pages",
        what: "map memory in huge pages, touch each, unmap it",
        worker: "process",
        parts: &[],
        room: Room::None,
        workers_default: |cpus| cpus.min(8),
        start: huge_page::start,
    },
    BuiltinLoad {
        name: "cpu",
        unit: "rounds",
        what: "compute with integers without pause",
        worker: "process",
        parts: &[],
        room: Room::None,
        workers_default: |cpus| cpus,
        start: spin::start,
    },
    BuiltinLoad {
        name: "udp",
        unit: "datagrams",
        what: "flood the loopback with datagrams that are answered, as flood ping does",
        worker: "pair of processes",
        parts: &[],
        room: Room::None,
        workers_default: |cpus| cpus.min(8),
        start: udp::start,
    },
    BuiltinLoad {
        name: "mix",
        unit: "as its parts",
        what: "messaging, dentry and copy together, reported one by one",
        worker: "number for each part",
        parts: &["messaging", "dentry", "copy"],
        room: Room::None,
        workers_default: |_| 0,
        start: part_by_part,
    },
    BuiltinLoad {
        name: "churn",
        unit: "as its parts",
        what: "copy, dentry, munmap, fork, thp and exec together, reported one by one",
        worker: "number for each part",
        parts: &["copy", "dentry", "munmap", "fork", "thp", "exec"],
        room: Room::None,
        workers_default: |_| 0,
        start: part_by_part,
    },
];

fn part_by_part(_: &mut Crew) -> io::Result<()> {
    Err(io::Error::other("a mix is started part by part"))
}

/// Every built-in load, in the order to show them.
pub fn builtin_names() -> &'static [BuiltinLoad] {
    &BUILTIN
}

pub(super) fn find(name: &str) -> Option<&'static BuiltinLoad> {
    BUILTIN.iter().find(|load| load.name == name)
}

pub(super) fn names_joined() -> String {
    BUILTIN.iter().map(|load| load.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_mix_is_a_load_of_its_own() {
        for part in BUILTIN.iter().flat_map(|load| load.parts) {
            assert!(find(part).is_some_and(|load| load.parts.is_empty()), "{part}");
        }
    }

    #[test]
    fn every_load_that_runs_by_itself_has_workers_on_one_cpu() {
        for load in BUILTIN.iter().filter(|load| load.parts.is_empty()) {
            assert!((load.workers_default)(1) >= 1, "{}", load.name);
        }
    }
}
