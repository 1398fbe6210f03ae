//! Writes an archive in the format of the kernel's initial file system: cpio, `newc`, uncompressed.
//!
//! The same entries give the same bytes: no time, owner or inode of the host is included. Format: the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst.

const TRAILER: &str = "TRAILER!!!";
const KIND: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive that grows entry by entry. Directories must be added before their entries.
#[derive(Debug, Default)]
pub struct Cpio {
    bytes: Vec<u8>,
    entries: u32,
}

impl Cpio {
    pub fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY | 0o755, (0, 0), &[]);
    }

    /// Adds a file, optionally `executable`.
    pub fn file(&mut self, name: &str, executable: bool, data: &[u8]) {
        self.entry(name, FILE | if executable { 0o755 } else { 0o644 }, (0, 0), data);
    }

    /// Adds a link to `target`.
    pub fn link(&mut self, name: &str, target: &str) {
        self.entry(name, LINK | 0o777, (0, 0), target.as_bytes());
    }

    pub fn character_device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER_DEVICE | 0o600, (major, minor), &[]);
    }

    /// The complete archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), data: &[u8]) {
        self.entries += 1;
        let links = if mode & KIND == DIRECTORY { 2 } else { 1 };
        let size = u32::try_from(data.len()).expect("a file of the initial file system is smaller than 4 GiB");
        let fields = [self.entries, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, name.len() as u32 + 1, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let mut cpio = Cpio::default();
        cpio.directory("dev");
        cpio.character_device("dev/console", 5, 1);
        cpio.file("meter", true, b"hello");
        cpio.link("init", "meter");
        let expected = [
            "07070100000001000041ED00000000000000000000000200000000000000000000000000000000000000000000000000000004",
            "00000000dev\0\0\0",
            "07070100000002000021800000000000000000000000010000000000000000000000000000000000000005000000010000000C",
            "00000000dev/console\0\0\0",
            "07070100000003000081ED00000000000000000000000100000000000000050000000000000000000000000000000000000006",
            "00000000meter\0hello\0\0\0",
            "070701000000040000A1FF00000000000000000000000100000000000000050000000000000000000000000000000000000005",
            "00000000init\0\0meter\0\0\0",
            "07070100000005000000000000000000000000000000010000000000000000000000000000000000000000000000000000000B",
            "00000000TRAILER!!!\0\0\0\0",
        ]
        .concat();
        assert_eq!(String::from_utf8(cpio.finish()).unwrap(), expected);
    }
}
