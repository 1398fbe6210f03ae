//! The little of ELF that booting needs: what a module depends on, and whether a program is static.

const MAGIC_64_LITTLE: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
const PT_INTERP: u64 = 3;

/// Whether these bytes begin as a 64-bit little-endian ELF file.
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC_64_LITTLE)
}

/// Whether a program asks for a dynamic loader, which an initial file system of ours does not have.
pub fn needs_loader(bytes: &[u8]) -> bool {
    let headers = is_elf(bytes).then(|| Some((number(bytes, 32, 8)?, number(bytes, 54, 2)?, number(bytes, 56, 2)?)));
    let Some((table, size, count)) = headers.flatten() else { return false };
    (0..count).any(|index| {
        let at = table.checked_add(index * size).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| number(bytes, at, 4)) == Some(PT_INTERP)
    })
}

/// Names of the modules that a module needs, as its `.modinfo` says; `None` when this is no module.
pub fn module_dependencies(bytes: &[u8]) -> Option<Vec<String>> {
    let modinfo = section(bytes, b".modinfo")?;
    let depends = modinfo.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"depends="))?;
    let names = String::from_utf8_lossy(depends).into_owned();
    Some(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn section<'a>(bytes: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    if !is_elf(bytes) {
        return None;
    }
    let table = usize::try_from(number(bytes, 40, 8)?).ok()?;
    let (size, count, names) = (number(bytes, 58, 2)?, number(bytes, 60, 2)?, number(bytes, 62, 2)?);
    let header = |index: u64| table.checked_add(usize::try_from(index * size).ok()?);
    let content = |index: u64| {
        let at = header(index)?;
        let offset = usize::try_from(number(bytes, at.checked_add(24)?, 8)?).ok()?;
        let length = usize::try_from(number(bytes, at.checked_add(32)?, 8)?).ok()?;
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

    /// A module with nothing in it but its dependencies.
    pub fn module(depends: &str) -> Vec<u8> {
        let modinfo = format!("license=GPL\0depends={depends}\0name=x\0");
        let names = b"\0.modinfo\0.names\0";
        let mut bytes = MAGIC_64_LITTLE.to_vec();
        bytes.resize(64, 0);
        let (modinfo_at, names_at) = (bytes.len(), bytes.len() + modinfo.len());
        bytes.extend_from_slice(modinfo.as_bytes());
        bytes.extend_from_slice(names);
        let table = bytes.len();
        for (name, at, length) in [(0, 0, 0), (1, modinfo_at, modinfo.len()), (10, names_at, names.len())] {
            let mut header = vec![0; 64];
            header[0..4].copy_from_slice(&(name as u32).to_le_bytes());
            header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(length as u64).to_le_bytes());
            bytes.extend(header);
        }
        bytes[40..48].copy_from_slice(&(table as u64).to_le_bytes());
        bytes[58..60].copy_from_slice(&64u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&3u16.to_le_bytes());
        bytes[62..64].copy_from_slice(&2u16.to_le_bytes());
        bytes
    }

    #[test]
    fn a_module_names_what_it_needs() {
        assert_eq!(module_dependencies(&module("virtio,virtio_ring")).unwrap(), ["virtio", "virtio_ring"]);
        assert!(module_dependencies(&module("")).unwrap().is_empty());
        assert_eq!(module_dependencies(b"not a module"), None);
    }

    #[test]
    fn a_module_cut_anywhere_is_no_reason_to_panic() {
        let whole = module("virtio");
        for length in 0..whole.len() {
            module_dependencies(&whole[..length]);
            needs_loader(&whole[..length]);
        }
    }

    #[test]
    fn this_test_asks_for_a_loader_and_a_file_without_segments_does_not() {
        assert!(needs_loader(&std::fs::read("/bin/sh").unwrap()));
        assert!(!needs_loader(&module("")));
    }
}
