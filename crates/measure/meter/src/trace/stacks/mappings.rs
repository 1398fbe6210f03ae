//! The executable mappings of a process from /proc, with the build ids of their files.

use super::build_id;
use archive::stacks::CodeMapping;
use std::collections::BTreeMap;
use std::fs;

/// More than any program has.
const MAPPINGS_MAX: usize = 4096;
/// Build ids that are remembered.
const FILES_MAX: usize = 4096;

/// Reads mappings; a file whose build id is known is not read again.
#[derive(Debug, Default)]
pub struct Mappings {
    /// By device, inode and path, as /proc shows them.
    build_ids: BTreeMap<String, Option<String>>,
}

impl Mappings {
    /// Executable mappings of a process, by address; none if it is gone.
    pub fn of(&mut self, pid: i32) -> Vec<CodeMapping> {
        let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter_map(parsed).take(MAPPINGS_MAX);
        lines.map(|(mapping, file)| self.with_build_id(pid, mapping, file)).collect()
    }

    fn with_build_id(&mut self, pid: i32, mapping: CodeMapping, file: &str) -> CodeMapping {
        if !mapping.path.starts_with('/') {
            return mapping;
        }
        if self.build_ids.len() >= FILES_MAX {
            self.build_ids.clear();
        }
        // A process in a container has files of its own.
        let read = || build_id::of_file(&format!("/proc/{pid}/root{}", mapping.path));
        let build_id = self.build_ids.entry(file.to_owned()).or_insert_with(read).clone();
        CodeMapping { build_id, ..mapping }
    }
}

/// An executable mapping of a line like `55d0-55e0 r-xp 00001000 fe:00 1234   /usr/bin/robot`, and the part of the line that names its file.
fn parsed(line: &str) -> Option<(CodeMapping, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let (flags, rest) = rest.split_once(' ')?;
    let (offset, file) = rest.split_once(' ')?;
    if flags.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = range.split_once('-')?;
    let (_, behind_device) = file.split_once(' ')?;
    let path = behind_device.split_once(' ').map_or("", |(_, path)| path.trim_start());
    let path = path.strip_suffix(" (deleted)").unwrap_or(path).to_owned();
    Some((
        CodeMapping { start: number(start)?, end: number(end)?, offset: number(offset)?, path, build_id: None },
        file,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn executable_mappings_have_a_path_or_none() {
        let file = "7f10-7f20 r-xp 00028000 fe:00 1837081                    /usr/lib/my lib.so (deleted)";
        let (mapping, _) = parsed(file).unwrap();
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

    proptest! {
        #[test]
        fn any_line_is_a_mapping_or_none(line: String, spaced in "[0-9a-f-]{0,20} r-xp [0-9a-f]{0,20} .{0,40}") {
            let _ = (parsed(&line), parsed(&spaced));
        }
    }
}
