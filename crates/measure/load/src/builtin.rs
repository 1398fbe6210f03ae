//! Starts the built-in loads. The archive defines their names and what they do.

use super::place::Room;
use super::workers::Workers;
use super::{
    bulk, cache, copy, dentry, exec, fault, flock, fork, huge_page, icache, messaging, munmap, ping, pipe, printk,
    semaphore, spin, timer, tlb, udp, walk,
};
use archive::load::{self, BUILTIN_LOADS};
use std::io;

/// A load that needs no package on the target.
pub struct BuiltinLoad {
    pub definition: &'static load::BuiltinLoad,
    pub room: Room,
    /// Forks the workers.
    pub start: fn(&mut Workers) -> io::Result<()>,
}

type Start = fn(&mut Workers) -> io::Result<()>;
const STARTS: [(&str, Room, Start); 21] = [
    ("messaging", Room::None, messaging::start),
    ("dentry", Room::Entries, dentry::start),
    ("walk", Room::None, walk::start),
    ("copy", Room::Bytes, copy::start),
    ("bulk", Room::Bytes, bulk::start),
    ("fault", Room::None, fault::start),
    ("munmap", Room::None, munmap::start),
    ("thp", Room::None, huge_page::start),
    ("tlb", Room::None, tlb::start),
    ("cache", Room::None, cache::start),
    ("icache", Room::None, icache::start),
    ("cpu", Room::None, spin::start),
    ("fork", Room::None, fork::start),
    ("exec", Room::None, exec::start),
    ("timer", Room::None, timer::start),
    ("semaphore", Room::None, semaphore::start),
    ("flock", Room::None, flock::start),
    ("pipe", Room::None, pipe::start),
    ("udp", Room::None, udp::start),
    ("ping", Room::None, ping::start),
    ("printk", Room::None, printk::start),
];

/// The load of this name, unless it consists of parts.
pub fn find(name: &str) -> Option<BuiltinLoad> {
    let definition = load::builtin(name)?;
    let (_, room, start) = STARTS.iter().find(|(other, ..)| *other == name)?;
    Some(BuiltinLoad { definition, room: *room, start: *start })
}

/// The loads that run under this name: its parts, or the load alone. Empty if there is no such load.
pub fn parts(name: &str) -> Vec<BuiltinLoad> {
    match load::builtin(name) {
        Some(load) if !load.parts.is_empty() => load.parts.iter().filter_map(|part| find(part)).collect(),
        _ => find(name).into_iter().collect(),
    }
}

pub fn names_joined() -> String {
    BUILTIN_LOADS.iter().map(|load| load.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_load_can_be_started_and_no_other() {
        for load in &BUILTIN_LOADS {
            assert_eq!(parts(load.name).len(), load.parts.len().max(1), "{}", load.name);
        }
        assert!(STARTS.iter().all(|(name, ..)| load::builtin(name).is_some_and(|load| load.parts.is_empty())));
    }
}
