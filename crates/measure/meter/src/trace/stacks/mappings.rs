//! The executable mappings of a process from /proc, with the build ids of their files.

use super::build_id;
use archive::stacks::{CodeMapping, ENTRIES_MAX};
use std::collections::BTreeMap;
use std::fs;

/// Build ids that are remembered.
const FILES_MAX: usize = 4096;
/// Processes whose mappings are remembered.
const PROCESSES_MAX: usize = 64;

/// Build id and size of a file; `None` if it has no build id or cannot be read.
type MappedFile = Option<(String, u64)>;

/// Reads mappings; a file whose build id is known is not read again.
#[derive(Debug, Default)]
pub struct Mappings {
    /// By process, and device, inode and path as /proc shows them: another process may have another file of the same name.
    files: BTreeMap<(i32, String), MappedFile>,
    latest: BTreeMap<i32, Vec<CodeMapping>>,
}

impl Mappings {
    /// Executable mappings of a process, by address; the latest known ones if it is gone.
    pub fn of(&mut self, pid: i32) -> Vec<CodeMapping> {
        let mappings = self.read(pid);
        if mappings.is_empty() {
            return self.latest.get(&pid).cloned().unwrap_or_default();
        }
        if self.latest.len() >= PROCESSES_MAX && !self.latest.contains_key(&pid) {
            self.latest.clear();
        }
        self.latest.insert(pid, mappings.clone());
        mappings
    }

    fn read(&mut self, pid: i32) -> Vec<CodeMapping> {
        let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter_map(parsed).take(ENTRIES_MAX);
        lines.map(|(mapping, mapped)| self.with_build_id(pid, mapping, mapped)).collect()
    }

    fn with_build_id(&mut self, pid: i32, mapping: CodeMapping, mapped: Mapped<'_>) -> CodeMapping {
        if !mapping.path.starts_with('/') {
            return mapping;
        }
        if self.files.len() >= FILES_MAX {
            self.files.clear();
        }
        // The link of the mapping leads to the file that runs, even where a new one took its place; it needs a right that a user may
        // lack. A process in a container has paths of its own.
        let by_link = || build_id::of_file(&format!("/proc/{pid}/map_files/{}", mapped.range), mapped.inode);
        let by_path = || build_id::of_file(&format!("/proc/{pid}/root{}", mapping.path), mapped.inode);
        let read = || by_link().or_else(|| (!mapped.is_deleted).then(by_path).flatten());
        let file = self.files.entry((pid, mapped.file.to_owned())).or_insert_with(read);
        let (build_id, file_bytes) = file.clone().unzip();
        CodeMapping { build_id, file_bytes: file_bytes.unwrap_or(0), ..mapping }
    }
}

/// The file of a mapping, as its line in /proc describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mapped<'a> {
    /// Addresses of the mapping, as in the line.
    range: &'a str,
    /// Device, inode and path.
    file: &'a str,
    inode: u64,
    /// The path has no file any more, or another one.
    is_deleted: bool,
}

/// An executable mapping of a line like `55d0-55e0 r-xp 00001000 fe:00 1234   /usr/bin/robot`, and its file.
fn parsed(line: &str) -> Option<(CodeMapping, Mapped<'_>)> {
    let (range, rest) = line.split_once(' ')?;
    let (flags, rest) = rest.split_once(' ')?;
    let (offset, file) = rest.split_once(' ')?;
    if flags.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = range.split_once('-')?;
    let (_, behind_device) = file.split_once(' ')?;
    let (inode, path) = behind_device.split_once(' ').unwrap_or((behind_device, ""));
    let path = path.trim_start();
    let left = path.strip_suffix(" (deleted)");
    let mapped = Mapped { range, file, inode: inode.parse().ok()?, is_deleted: left.is_some() };
    let path = left.unwrap_or(path).to_owned();
    let (start, end, offset) = (number(start)?, number(end)?, number(offset)?);
    Some((CodeMapping { start, end, offset, path, ..CodeMapping::default() }, mapped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn executable_mappings_have_a_path_or_none() {
        let file = "7f10-7f20 r-xp 00028000 fe:00 1837081                    /usr/lib/my lib.so (deleted)";
        let (mapping, mapped) = parsed(file).unwrap();
        assert!(mapped.is_deleted && mapped.inode == 1_837_081 && mapped.range == "7f10-7f20", "{mapped:?}");
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x7f10, 0x7f20, 0x28000));
        assert_eq!(mapping.path, "/usr/lib/my lib.so");
        assert_eq!(parsed("1-2 r-xp 00000000 00:00 0                          [vdso]").unwrap().0.path, "[vdso]");
        assert_eq!(parsed("1-2 rwxp 00000000 00:00 0 ").unwrap().0.path, "");
        assert_eq!(parsed("1-2 r--p 00028000 fe:00 1837081 /usr/lib/libc.so"), None);
    }

    #[test]
    fn this_program_is_among_its_mappings() {
        let this = std::env::current_exe().unwrap();
        let mappings = Mappings::default().of(std::process::id() as i32);
        assert!(mappings.iter().any(|mapping| Some(mapping.path.as_str()) == this.to_str()), "{mappings:?}");
        assert!(Mappings::default().of(i32::MAX).is_empty());
    }

    #[test]
    fn a_process_that_has_ended_keeps_its_latest_mappings() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        let mut mappings = Mappings::default();
        let living = mappings.of(pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!living.is_empty());
        assert_eq!(mappings.of(pid), living);
    }

    proptest! {
        #[test]
        fn any_line_is_a_mapping_or_none(line: String, spaced in "[0-9a-f-]{0,20} r-xp [0-9a-f]{0,20} .{0,40}") {
            let _ = (parsed(&line), parsed(&spaced));
        }
    }
}
