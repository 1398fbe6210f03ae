//! The guest's only file system: the meter as `/init`, the modules it loads, and files sent before booting.

use super::cpio::Cpio;
use super::error::GuestPathError;
use super::kernel::Kernel;
use protocol::guest::{FILE_BYTES_MAX, METER, MODULES_DIRECTORY, parts_of_path};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file for the guest.
#[derive(Debug, Clone)]
pub struct SentFile {
    /// Absolute path in the guest.
    pub path: PathBuf,
    pub executable: bool,
    pub data: Vec<u8>,
}

impl SentFile {
    /// Reads a file of the host for a path in the guest; the executable permission is kept.
    ///
    /// # Errors
    /// If the file cannot be read or is too large, or the path is not valid in the guest.
    pub fn read(from: &Path, to: &Path) -> io::Result<Self> {
        inside(to).map_err(io::Error::other)?;
        let found = fs::metadata(from)?;
        if found.len() > FILE_BYTES_MAX {
            let text = format!("it has {} bytes, and {FILE_BYTES_MAX} are the most", found.len());
            return Err(io::Error::other(text));
        }
        let executable = found.permissions().mode() & 0o111 != 0;
        Ok(Self { path: to.to_owned(), executable, data: fs::read(from)? })
    }
}

/// The archive that the kernel unpacks at boot.
///
/// # Errors
/// If a path is not valid in the guest.
pub fn build(meter: &[u8], kernel: &Kernel, sent: &[SentFile]) -> Result<Vec<u8>, GuestPathError> {
    let mut tree = Tree::default();
    // Without it the kernel could not give the first process its standard streams.
    tree.directories("dev/console");
    tree.cpio.character_device("dev/console", 5, 1);
    tree.cpio.file(METER, true, meter);
    tree.cpio.link("init", METER);
    for (number, (name, data)) in kernel.modules.iter().enumerate() {
        tree.file(&format!("{MODULES_DIRECTORY}/{number:03}-{name}.ko"), false, data);
    }
    if let Some((name, data)) = &kernel.configuration {
        tree.file(&format!("boot/{name}"), false, data);
    }
    for file in sent {
        tree.file(&inside(&file.path)?, file.executable, &file.data);
    }
    Ok(tree.cpio.finish())
}

#[derive(Default)]
struct Tree {
    cpio: Cpio,
    made: BTreeSet<String>,
}

impl Tree {
    fn file(&mut self, name: &str, executable: bool, data: &[u8]) {
        self.directories(name);
        self.cpio.file(name, executable, data);
    }

    /// Adds the missing directories above `name`.
    fn directories(&mut self, name: &str) {
        for (at, _) in name.match_indices('/') {
            if self.made.insert(name[..at].to_owned()) {
                self.cpio.directory(&name[..at]);
            }
        }
    }
}

/// An absolute path of the guest in the archive's notation.
fn inside(path: &Path) -> Result<String, GuestPathError> {
    let parts = path.to_str().and_then(parts_of_path);
    parts.map(|parts| parts.join("/")).ok_or_else(|| GuestPathError(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Kernel {
        let module = |name: &str| (name.to_owned(), b"module".to_vec());
        Kernel {
            image: "/k".into(),
            modules: vec![module("virtio"), module("virtio_ring")],
            configuration: Some(("config-6.1".into(), b"CONFIG_X=y".to_vec())),
        }
    }

    fn names(archive: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(archive).into_owned();
        let name = |entry: &str| entry.get(104..).map(|rest| rest.split('\0').next().unwrap().to_owned());
        text.split("070701").skip(1).filter_map(|entry| name(entry).or(None)).collect()
    }

    #[test]
    fn parents_come_first_and_once_and_the_bytes_repeat() {
        let sent = [SentFile { path: "/opt/a/b".into(), executable: true, data: b"x".to_vec() }];
        let archive = build(b"meter", &kernel(), &sent).unwrap();
        let expected = [
            "dev",
            "dev/console",
            "tardy-meter",
            "init",
            "modules",
            "modules/000-virtio.ko",
            "modules/001-virtio_ring.ko",
            "boot",
            "boot/config-6.1",
            "opt",
            "opt/a",
            "opt/a/b",
            "TRAILER!!!",
        ];
        assert_eq!(names(&archive), expected);
        assert_eq!(archive, build(b"meter", &kernel(), &sent).unwrap());
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        for path in ["relative", "/../x", "/init", "/"] {
            let sent = [SentFile { path: path.into(), executable: false, data: Vec::new() }];
            assert!(build(b"", &kernel(), &sent).is_err(), "{path}");
        }
    }
}
