//! Shows meters that keep their journals elsewhere where this one keeps its own: two containers or two users of `TARDY_STATE_DIR`
//! share the kernel's settings, and not the directory.
//!
//! The name of an abstract socket has it. That vanishes with its process, however that ends, and needs no directory to which
//! everyone may write. Nothing is sent over it. What another process announces is read only if it is trusted as a directory of journals.

use std::collections::BTreeSet;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};

const PREFIX: &str = "tardy-journals";
const SOCKETS: &str = "/proc/net/unix";
/// More meters than a machine runs; others may announce any number.
const DIRECTORIES_MAX: usize = 64;

/// An announcement of this process, until it is dropped.
#[derive(Debug)]
pub struct Announcement {
    _socket: UnixDatagram,
}

impl Announcement {
    /// `None` if the name of the directory is too long for a socket.
    pub fn of(directory: &Path) -> Option<Self> {
        let directory = fs::canonicalize(directory).ok()?;
        let name = format!("{PREFIX} {} {}", std::process::id(), directory.to_str()?);
        let address = SocketAddr::from_abstract_name(name).ok()?;
        UnixDatagram::bind_addr(&address).ok().map(|socket| Self { _socket: socket })
    }
}

/// Directories of journals that running meters of this machine announce, other than `own`.
pub fn other_directories(own: &Path) -> BTreeSet<PathBuf> {
    let own = fs::canonicalize(own).ok();
    let sockets = fs::read(SOCKETS).unwrap_or_default();
    let directories = announced(&String::from_utf8_lossy(&sockets));
    directories.into_iter().filter(|directory| Some(directory) != own.as_ref()).collect()
}

fn announced(sockets: &str) -> BTreeSet<PathBuf> {
    let start = format!("@{PREFIX} ");
    let names = sockets.lines().filter_map(|line| line.split_once(&start)?.1.split_once(' '));
    names
        .map(|(_, directory)| PathBuf::from(directory))
        .filter(|path| path.is_absolute())
        .take(DIRECTORIES_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_there_while_it_is_held() {
        let [own, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let is_announced = || other_directories(own.path()).contains(other.path());
        assert!(!is_announced());
        let announcement = Announcement::of(other.path()).unwrap();
        assert!(is_announced());
        assert!(!other_directories(other.path()).contains(other.path()), "its own");
        drop(announcement);
        assert!(!is_announced());
    }

    #[test]
    fn other_sockets_announce_nothing() {
        let line = |name: &str| format!("0000000000000000: 00000002 00000000 00000000 0002 01 4711 {name}\n");
        let names = [
            "@/tmp/.X11-unix/X0",
            "/run/tardy-journals 1 /x",
            "@tardy-journals",
            "@tardy-journals 7",
            "@tardy-journals 7 x",
        ];
        assert_eq!(announced(&names.map(line).concat()), BTreeSet::new());
        assert_eq!(announced(&line("@tardy-journals 7 /a b")), BTreeSet::from([PathBuf::from("/a b")]));
        assert_eq!(Announcement::of(Path::new("/nowhere")).map(drop), None);
    }
}
