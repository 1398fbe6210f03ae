//! What an address and an open file of a process are.

use archive::audit::{AuditDescription, AuditedProcess, Mapping};
use serde::Serialize;

/// A kind of memory, as a programmer thinks of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    Stack,
    Heap,
    /// Memory without a file: of malloc(3), or of the program's own mmap(2).
    Anonymous,
    /// A file that is mapped: a program, a library, data.
    File(String),
    /// No look at the process saw a mapping there.
    Unknown,
}

impl Memory {
    /// In a sentence: a page of ...
    pub fn words(&self) -> String {
        match self {
            Self::Stack => "a stack".into(),
            Self::Heap => "the heap".into(),
            Self::Anonymous => "anonymous memory".into(),
            Self::File(path) => path.clone(),
            Self::Unknown => "memory that was mapped only for a short time".into(),
        }
    }
}

/// Finds places of one process.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    process: Option<&'a AuditedProcess>,
}

impl<'a> Places<'a> {
    pub fn of(description: &'a AuditDescription, pid: i32) -> Self {
        Self { process: description.processes.iter().find(|process| process.pid == pid) }
    }

    pub fn process(&self) -> Option<&'a AuditedProcess> {
        self.process
    }

    fn mapping(&self, address: u64) -> Option<&'a Mapping> {
        // Mappings of several looks may overlap; the smallest one fits best.
        let mappings = &self.process?.mappings;
        let fits = mappings.iter().filter(|mapping| (mapping.start..mapping.end).contains(&address));
        fits.min_by_key(|mapping| mapping.end - mapping.start)
    }

    pub fn memory(&self, address: u64) -> Memory {
        let Some(mapping) = self.mapping(address) else { return Memory::Unknown };
        match mapping.name.as_str() {
            "[heap]" => Memory::Heap,
            name if name.starts_with("[stack") => Memory::Stack,
            "" if self.is_thread_stack(mapping) => Memory::Stack,
            name if name.is_empty() || name.starts_with("[anon") => Memory::Anonymous,
            name => Memory::File(name.to_owned()),
        }
    }

    /// The stack of a thread is memory below which a page without rights catches an overflow.
    fn is_thread_stack(&self, mapping: &Mapping) -> bool {
        let mappings = self.process.map_or(&[][..], |process| &process.mappings);
        let is_guard = |other: &Mapping| other.end == mapping.start && other.rights.starts_with("---");
        mapping.rights.starts_with("rw") && mappings.iter().any(is_guard)
    }

    /// The file of an instruction, and the offset in it.
    pub fn code(&self, address: u64) -> Option<(&'a str, u64)> {
        let mapping = self.mapping(address).filter(|mapping| mapping.name.starts_with('/'))?;
        Some((&mapping.name, (address - mapping.start).checked_add(mapping.offset)?))
    }

    /// The target of an open file. The number may have been reused between two looks, so all are returned.
    pub fn files(&self, number: i32) -> impl Iterator<Item = &'a str> {
        let files = self.process.map_or(&[][..], |process| &process.files);
        files.iter().filter(move |file| file.number == number).map(|file| file.target.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, rights: &str, name: &str) -> Mapping {
        Mapping { start, end, offset: 0x100, rights: rights.into(), name: name.into() }
    }

    #[test]
    fn memory_has_the_names_of_a_programmer() {
        let mappings = vec![
            mapping(0x1000, 0x2000, "---p", ""),
            mapping(0x2000, 0x4000, "rw-p", ""),
            mapping(0x5000, 0x6000, "rw-p", ""),
            mapping(0x7000, 0x8000, "rw-p", "[heap]"),
            mapping(0x9000, 0xa000, "r-xp", "/bin/loop"),
            mapping(0xf000, 0xf800, "rw-p", "[stack]"),
        ];
        let process = AuditedProcess { pid: 1, mappings, ..AuditedProcess::default() };
        let description = AuditDescription { processes: vec![process], ..AuditDescription::default() };
        let places = Places::of(&description, 1);
        let found = [0x2001, 0x5001, 0x7001, 0xf001, 0xe000].map(|address| places.memory(address));
        assert_eq!(found, [Memory::Stack, Memory::Anonymous, Memory::Heap, Memory::Stack, Memory::Unknown]);
        assert_eq!(places.memory(0x9001), Memory::File("/bin/loop".into()));
        assert_eq!((places.code(0x9010), places.code(0x5001)), (Some(("/bin/loop", 0x110)), None));
        assert_eq!(Places::of(&description, 2).memory(0x2001), Memory::Unknown);
    }
}
