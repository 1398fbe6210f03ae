//! Names of functions and variables in the executables of this machine.
//!
//! The names of the files come from the archive, which may come from elsewhere: a file may be a hostile executable beside the archive.

use account::stored_file::StoredFiles;
use audit::naming::{Names, Variable};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use stacks::function_names::readable;
use std::collections::HashMap;
use std::path::Path;

/// Most bytes of the names of all files together. Entries of a symbol table may share a name of any length.
const NAMES_BYTES_MAX: usize = 64 << 20;
/// More than any name that a compiler writes.
const NAME_BYTES_MAX: usize = 16 << 10;

/// Files that were read so far.
#[derive(Debug)]
pub struct Functions {
    files: HashMap<String, Symbols>,
    left: Left,
}

/// The file that may still be read.
#[derive(Debug)]
struct Left {
    files: StoredFiles,
    name_bytes: usize,
}

impl Default for Functions {
    fn default() -> Self {
        Self { files: HashMap::new(), left: Left { files: StoredFiles::default(), name_bytes: NAMES_BYTES_MAX } }
    }
}

/// A part of a file that is loaded.
#[derive(Debug)]
struct Segment {
    offset: u64,
    /// In the file.
    bytes: u64,
    /// In memory: the part that the file does not have starts as zeros.
    memory_bytes: u64,
    address: u64,
}

impl Segment {
    /// Where a byte of the file is in memory, if it is among the first `bytes` of the segment.
    fn address_of(&self, offset: u64, bytes: u64) -> Option<u64> {
        let inside = offset.checked_sub(self.offset).filter(|inside| *inside < bytes)?;
        self.address.checked_add(inside)
    }
}

/// Address, bytes and name of a symbol.
type NamedSymbol = (u64, u64, String);

/// Symbols of a file by address, and where its bytes are in memory.
#[derive(Debug, Default)]
struct Symbols {
    segments: Vec<Segment>,
    functions: Vec<NamedSymbol>,
    variables: Vec<NamedSymbol>,
}

impl Names for Functions {
    fn function(&mut self, file: &str, offset: u64) -> Option<String> {
        self.symbols(file).function(offset)
    }

    fn variable(&mut self, file: &str, offset: u64) -> Option<Variable> {
        self.symbols(file).variable(offset)
    }
}

impl Functions {
    fn symbols(&mut self, file: &str) -> &Symbols {
        let left = &mut self.left;
        let read = || Symbols::read(Path::new(file), left).unwrap_or_default();
        self.files.entry(file.to_owned()).or_insert_with(read)
    }
}

impl Symbols {
    fn read(path: &Path, left: &mut Left) -> Option<Self> {
        let bytes = left.files.read(path)?;
        let file = object::File::parse(&*bytes).ok()?;
        let segments = file.segments().map(|segment| {
            let (offset, bytes) = segment.file_range();
            Segment { offset, bytes, memory_bytes: segment.size(), address: segment.address() }
        });
        let segments = segments.collect();
        let functions = named(&file, SymbolKind::Text, left);
        let variables = named(&file, SymbolKind::Data, left);
        Some(Self { segments, functions, variables })
    }

    fn function(&self, offset: u64) -> Option<String> {
        let address = self.segments.iter().find_map(|segment| segment.address_of(offset, segment.bytes))?;
        let (at, bytes, name) = last_before(&self.functions, address)?;
        // Functions written in assembly have no size.
        let inside = *bytes == 0 || address - at < *bytes;
        inside.then(|| readable(name))
    }

    fn variable(&self, offset: u64) -> Option<Variable> {
        // The file may have something else beyond the end of the segment; only the memory counts.
        let by_memory = |segment: &Segment| segment.address_of(offset, segment.memory_bytes);
        let address = self.segments.iter().rev().find_map(by_memory)?;
        let (at, bytes, name) = last_before(&self.variables, address)?;
        let inside = Some(address - at).filter(|inside| inside < bytes)?;
        Some(Variable { name: readable(name), inside, address })
    }
}

/// The symbols of one kind, by address.
fn named(file: &object::File<'_>, kind: SymbolKind, left: &mut Left) -> Vec<NamedSymbol> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let named = symbols
        .filter(|symbol| symbol.kind() == kind && symbol.address() != 0)
        .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?)))
        .filter(|(.., name)| name.len() <= NAME_BYTES_MAX);
    let mut all = Vec::new();
    for (address, bytes, name) in named {
        // An entry costs memory without a name as well.
        let Some(rest) = left.name_bytes.checked_sub(name.len() + size_of::<NamedSymbol>()) else { break };
        left.name_bytes = rest;
        all.push((address, bytes, name.to_owned()));
    }
    all.sort();
    all
}

/// The last symbol that starts at an address or before it.
fn last_before(symbols: &[NamedSymbol], address: u64) -> Option<&NamedSymbol> {
    symbols[..symbols.partition_point(|(at, ..)| *at <= address)].last()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left() -> Left {
        Functions::default().left
    }

    #[test]
    fn names_of_functions_have_one_limit_for_all() {
        let this = std::env::current_exe().unwrap();
        let mut left = left();
        left.name_bytes = 1000;
        let few = Symbols::read(&this, &mut left).unwrap().functions;
        assert!(!few.is_empty() && few.len() < 32, "{}", few.len());
    }

    #[test]
    fn a_function_of_this_program_is_named() {
        let this = std::env::current_exe().unwrap();
        let symbols = Symbols::read(&this, &mut left()).unwrap();
        let (at, _, name) =
            symbols.functions.iter().find(|(_, bytes, name)| *bytes > 16 && name.contains("main")).unwrap();
        let offset = symbols.segments.iter().find_map(|segment| {
            let inside = at.checked_sub(segment.address).filter(|inside| *inside < segment.bytes)?;
            Some(segment.offset + inside)
        });
        let expected = readable(name);
        let mut functions = Functions::default();
        assert_eq!(functions.function(&this.display().to_string(), offset.unwrap() + 1), Some(expected));
        assert_eq!(functions.function("/etc/passwd", 1), None);
    }

    #[test]
    fn variables_are_found_in_what_the_file_has_and_beyond() {
        let segment = |offset, bytes, memory_bytes, address| Segment { offset, bytes, memory_bytes, address };
        let symbols = Symbols {
            segments: vec![segment(0, 0x1000, 0x1000, 0), segment(0x2db0, 0x260, 0x300, 0x3db0)],
            functions: Vec::new(),
            variables: vec![(0x4000, 8, "ready".into()), (0x4040, 40, "m".into())],
        };
        let found =
            |offset| symbols.variable(offset).map(|variable| (variable.name, variable.inside, variable.address));
        assert_eq!(found(0x3000), Some(("ready".into(), 0, 0x4000)));
        assert_eq!(found(0x3048), Some(("m".into(), 8, 0x4048)));
        assert_eq!((found(0x3010), found(0x30b0), found(0x3068)), (None, None, None));
    }
}
