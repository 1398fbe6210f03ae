//! The part of ELF that booting needs: dependencies of a module, and whether a program is static.

const PT_INTERP: u64 = 3;

/// Offsets of the fields, in bytes. The two classes differ in the width of addresses, and so in the offsets after them.
struct Layout {
    word: usize,
    segments_at: usize,
    sections_at: usize,
    /// Size and number of segments, followed by size and number of sections and the index of the section with their
    /// names.
    counts_at: usize,
    section_offset_at: usize,
}

const CLASS_32: Layout = Layout { word: 4, segments_at: 28, sections_at: 32, counts_at: 42, section_offset_at: 16 };
const CLASS_64: Layout = Layout { word: 8, segments_at: 32, sections_at: 40, counts_at: 54, section_offset_at: 24 };

impl Layout {
    fn of(bytes: &[u8]) -> Option<&'static Self> {
        match bytes.get(..6)? {
            b"\x7fELF\x01\x01" => Some(&CLASS_32),
            b"\x7fELF\x02\x01" => Some(&CLASS_64),
            _ => None,
        }
    }
}

/// Whether these bytes start like a little-endian ELF file.
pub fn is_elf(bytes: &[u8]) -> bool {
    Layout::of(bytes).is_some()
}

/// Whether a program needs a dynamic loader, which the initial file system does not contain.
pub fn needs_loader(bytes: &[u8]) -> bool {
    let headers = Layout::of(bytes).and_then(|layout| {
        let at = layout.counts_at;
        Some((number(bytes, layout.segments_at, layout.word)?, number(bytes, at, 2)?, number(bytes, at + 2, 2)?))
    });
    let Some((table, size, count)) = headers else { return false };
    (0..count).any(|index| {
        let at = table.checked_add(index * size).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| number(bytes, at, 4)) == Some(PT_INTERP)
    })
}

/// Names of the modules that a module needs, from its `.modinfo`; `None` if this is not a module.
pub fn module_dependencies(bytes: &[u8]) -> Option<Vec<String>> {
    let modinfo = section(bytes, b".modinfo")?;
    let depends = modinfo.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"depends="))?;
    let names = String::from_utf8_lossy(depends).into_owned();
    Some(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn section<'a>(bytes: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let layout = Layout::of(bytes)?;
    let table = usize::try_from(number(bytes, layout.sections_at, layout.word)?).ok()?;
    let counts = layout.counts_at + 4;
    let (size, count, names) =
        (number(bytes, counts, 2)?, number(bytes, counts + 2, 2)?, number(bytes, counts + 4, 2)?);
    let header = |index: u64| table.checked_add(usize::try_from(index * size).ok()?);
    let content = |index: u64| {
        let at = header(index)?.checked_add(layout.section_offset_at)?;
        let offset = usize::try_from(number(bytes, at, layout.word)?).ok()?;
        let length = usize::try_from(number(bytes, at.checked_add(layout.word)?, layout.word)?).ok()?;
        bytes.get(offset..offset.checked_add(length)?)
    };
    let names = content(names)?;
    let named = |index: &u64| {
        let at = header(*index).and_then(|at| number(bytes, at, 4)).and_then(|at| usize::try_from(at).ok());
        let name = at.and_then(|at| names.get(at..)).and_then(|rest| rest.split(|byte| *byte == 0).next());
        name == Some(wanted)
    };
    content((0..count).find(named)?)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A module for x86_64 that contains only its dependencies.
    pub fn module(depends: &str) -> Vec<u8> {
        module_of(&CLASS_64, depends)
    }

    fn module_of(layout: &Layout, depends: &str) -> Vec<u8> {
        let modinfo = format!("license=GPL\0depends={depends}\0name=x\0");
        let names = b"\0.modinfo\0.names\0";
        let wide = layout.word == 8;
        let mut bytes = if wide { b"\x7fELF\x02\x01".to_vec() } else { b"\x7fELF\x01\x01".to_vec() };
        bytes.resize(64, 0);
        bytes[18] = if wide { 62 } else { 40 };
        let (modinfo_at, names_at) = (bytes.len(), bytes.len() + modinfo.len());
        bytes.extend_from_slice(modinfo.as_bytes());
        bytes.extend_from_slice(names);
        let put = |bytes: &mut [u8], at: usize, size: usize, value: usize| {
            bytes[at..at + size].copy_from_slice(&(value as u64).to_le_bytes()[..size]);
        };
        let table = bytes.len();
        for (name, at, length) in [(0, 0, 0), (1, modinfo_at, modinfo.len()), (10, names_at, names.len())] {
            let mut header = vec![0; 64];
            put(&mut header, 0, 4, name);
            put(&mut header, layout.section_offset_at, layout.word, at);
            put(&mut header, layout.section_offset_at + layout.word, layout.word, length);
            bytes.extend(header);
        }
        put(&mut bytes, layout.sections_at, layout.word, table);
        for (number, value) in [64, 3, 2].into_iter().enumerate() {
            put(&mut bytes, layout.counts_at + 4 + 2 * number, 2, value);
        }
        bytes
    }

    #[test]
    fn a_module_of_either_class_names_what_it_needs() {
        for layout in [&CLASS_32, &CLASS_64] {
            let needs = module_dependencies(&module_of(layout, "virtio,virtio_ring")).unwrap();
            assert_eq!(needs, ["virtio", "virtio_ring"]);
            assert!(module_dependencies(&module_of(layout, "")).unwrap().is_empty());
        }
        assert_eq!(module_dependencies(b"not a module"), None);
    }

    #[test]
    fn a_module_cut_anywhere_is_no_reason_to_panic() {
        for whole in [module_of(&CLASS_32, "virtio"), module("virtio")] {
            for length in 0..whole.len() {
                module_dependencies(&whole[..length]);
                needs_loader(&whole[..length]);
            }
        }
    }

    #[test]
    fn this_test_asks_for_a_loader_and_a_file_without_segments_does_not() {
        assert!(needs_loader(&std::fs::read("/bin/sh").unwrap()));
        assert!(!needs_loader(&module("")));
    }
}
