//! The meaning of an address and of an open file of a process.

use archive::audit::{AuditDescription, AuditedProcess, Mapping};
pub use archive::own_code::is_c_library;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Arenas of glibc begin at multiples of this; stacks do only by chance.
const ARENA_ALIGNMENT: u64 = 64 << 20;

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

/// Finds places of one process, each in a time that hardly grows with their number.
#[derive(Debug, Clone)]
pub struct Places<'a>(Option<Rc<Process<'a>>>);

#[derive(Debug)]
struct Process<'a> {
    description: &'a AuditedProcess,
    /// Stretches of memory in order, by their first address; `None` is a hole.
    stretches: BTreeMap<u64, Option<&'a Mapping>>,
    /// Ends of pages without rights.
    guards: BTreeSet<u64>,
    files: BTreeMap<i32, Vec<&'a str>>,
}

impl<'a> Process<'a> {
    fn of(description: &'a AuditedProcess) -> Self {
        let guards = description.mappings.iter().filter(|mapping| mapping.rights.starts_with("---"));
        let mut files: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
        for file in &description.files {
            files.entry(file.number).or_default().push(&file.target);
        }
        let guards = guards.map(|mapping| mapping.end).collect();
        Self { description, stretches: stretches(&description.mappings), guards, files }
    }
}

/// Mappings that start and that end at an address: bytes, and place in the list.
#[derive(Debug, Default)]
struct Edge {
    starts: Vec<(u64, usize)>,
    ends: Vec<(u64, usize)>,
}

/// Mappings of several looks may overlap; the smallest one fits best.
fn stretches(mappings: &[Mapping]) -> BTreeMap<u64, Option<&Mapping>> {
    let sizes = mappings.iter().enumerate().filter_map(|(at, mapping)| {
        let bytes = mapping.end.checked_sub(mapping.start).filter(|bytes| *bytes > 0)?;
        Some((mapping, (bytes, at)))
    });
    let mut edges: BTreeMap<u64, Edge> = BTreeMap::new();
    for (mapping, key) in sizes {
        edges.entry(mapping.start).or_default().starts.push(key);
        edges.entry(mapping.end).or_default().ends.push(key);
    }
    let mut open = BTreeSet::new();
    let mut stretches = BTreeMap::new();
    for (address, Edge { starts, ends }) in edges {
        open.extend(starts);
        ends.iter().for_each(|key| _ = open.remove(key));
        stretches.insert(address, open.first().map(|(_, at)| &mappings[*at]));
    }
    stretches
}

impl<'a> Places<'a> {
    /// No look at the process found it.
    pub fn unknown() -> Self {
        Self(None)
    }

    /// The places of every process, by number. Of several with one number the first counts.
    pub fn of_all(description: &'a AuditDescription) -> BTreeMap<i32, Self> {
        let mut all = BTreeMap::new();
        for process in &description.processes {
            all.entry(process.pid).or_insert_with(|| Self(Some(Rc::new(Process::of(process)))));
        }
        all
    }

    pub fn process(&self) -> Option<&'a AuditedProcess> {
        self.0.as_ref().map(|process| process.description)
    }

    fn mapping(&self, address: u64) -> Option<&'a Mapping> {
        *self.0.as_ref()?.stretches.range(..=address).next_back()?.1
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

    /// The stack of a thread is memory below which a page without rights catches an overflow. Below an arena of malloc(3)
    /// lies what another arena reserves, without rights as well.
    fn is_thread_stack(&self, mapping: &Mapping) -> bool {
        let is_guarded = self.0.as_ref().is_some_and(|process| process.guards.contains(&mapping.start));
        let is_arena = mapping.start.is_multiple_of(ARENA_ALIGNMENT);
        mapping.rights.starts_with("rw") && is_guarded && !is_arena
    }

    /// The file of an instruction, and the offset in it.
    pub fn code(&self, address: u64) -> Option<(&'a str, u64)> {
        let mapping = self.mapping(address).filter(|mapping| mapping.name.starts_with('/'))?;
        Some((&mapping.name, (address - mapping.start).checked_add(mapping.offset)?))
    }

    /// The file whose writable memory an address is in, and the offset in it. Memory without a file directly behind such
    /// memory is what the file wants beyond its end: variables that start as zeros.
    pub fn data(&self, address: u64) -> Option<(&'a str, u64)> {
        let mapping = self.mapping(address)?;
        let of_file = match mapping.name.as_str() {
            "" | "[anon:.bss]" => self.mapping(mapping.start.checked_sub(1)?)?,
            _ => mapping,
        };
        let is_data = |mapping: &Mapping| mapping.rights.starts_with("rw");
        if !of_file.name.starts_with('/') || !is_data(of_file) || !is_data(mapping) {
            return None;
        }
        Some((&of_file.name, (address - of_file.start).checked_add(of_file.offset)?))
    }

    /// The targets of an open file. The number may have been reused between two looks, so all are returned.
    pub fn files(&self, number: i32) -> &[&'a str] {
        self.0.as_ref().and_then(|process| process.files.get(&number)).map_or(&[], Vec::as_slice)
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
        let all = Places::of_all(&description);
        let places = &all[&1];
        let found = [0x2001, 0x5001, 0x7001, 0xf001, 0xe000].map(|address| places.memory(address));
        assert_eq!(found, [Memory::Stack, Memory::Anonymous, Memory::Heap, Memory::Stack, Memory::Unknown]);
        assert_eq!(places.memory(0x9001), Memory::File("/bin/loop".into()));
        assert_eq!((places.code(0x9010), places.code(0x5001)), (Some(("/bin/loop", 0x110)), None));
        assert_eq!(Places::unknown().memory(0x2001), Memory::Unknown);
    }

    #[test]
    fn variables_are_in_writable_memory_of_a_file_and_directly_behind_it() {
        let mappings = vec![
            mapping(0x1000, 0x2000, "r-xp", "/bin/loop"),
            mapping(0x2000, 0x3000, "rw-p", "/bin/loop"),
            mapping(0x3000, 0x5000, "rw-p", ""),
            mapping(0x6000, 0x7000, "rw-p", ""),
            mapping(0x7000, 0x8000, "rw-p", "[heap]"),
        ];
        let process = AuditedProcess { pid: 1, mappings, ..AuditedProcess::default() };
        let description = AuditDescription { processes: vec![process], ..AuditDescription::default() };
        let all = Places::of_all(&description);
        let found = [0x1010, 0x2010, 0x3010, 0x6010, 0x7010].map(|address| all[&1].data(address));
        let loop_at = |offset| Some(("/bin/loop", offset));
        assert_eq!(found, [None, loop_at(0x110), loop_at(0x1110), None, None]);
    }

    #[test]
    fn an_arena_above_what_another_arena_reserves_is_not_a_stack() {
        let arena = 3 * ARENA_ALIGNMENT;
        let mappings = vec![
            mapping(arena - ARENA_ALIGNMENT, arena - 0x1000, "rw-p", ""),
            mapping(arena - 0x1000, arena, "---p", ""),
            mapping(arena, arena + 0x21000, "rw-p", ""),
        ];
        let process = AuditedProcess { pid: 1, mappings, ..AuditedProcess::default() };
        let description = AuditDescription { processes: vec![process], ..AuditDescription::default() };
        assert_eq!(Places::of_all(&description)[&1].memory(arena + 1), Memory::Anonymous);
    }

    #[test]
    fn of_mappings_that_overlap_the_smallest_one_counts() {
        let mappings = vec![
            mapping(0x1000, 0x9000, "r--p", "/large"),
            mapping(0x3000, 0x4000, "r--p", "/small"),
            mapping(0x3800, 0x5000, "r--p", "/middle"),
            mapping(0x8000, 0x7000, "r--p", "/backwards"),
        ];
        let process = AuditedProcess { pid: 1, mappings, ..AuditedProcess::default() };
        let description = AuditDescription { processes: vec![process], ..AuditDescription::default() };
        let all = Places::of_all(&description);
        let found = |address| all[&1].code(address).map(|(file, _)| file);
        let places = [0xfff, 0x1000, 0x2fff, 0x3000, 0x3fff, 0x4000, 0x4fff, 0x5000, 0x8fff, 0x9000].map(found);
        let [large, small, middle] = [Some("/large"), Some("/small"), Some("/middle")];
        assert_eq!(places, [None, large, large, small, small, middle, middle, large, large, None]);
    }
}
