//! Names of functions in the executables of this machine.

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Larger files are not read.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Files that were read so far.
#[derive(Debug, Default)]
pub struct Functions {
    files: HashMap<String, Symbols>,
}

/// Functions of a file by address, and where its bytes are in memory.
#[derive(Debug, Default)]
struct Symbols {
    /// (offset in the file, bytes, address) of each loaded part.
    segments: Vec<(u64, u64, u64)>,
    /// (address, bytes, name), by address.
    functions: Vec<(u64, u64, String)>,
}

impl Functions {
    /// The function that contains the byte at an offset of a file, if the file names it.
    pub fn find(&mut self, file: &str, offset: u64) -> Option<String> {
        let read = || Symbols::read(Path::new(file)).unwrap_or_default();
        let symbols = self.files.entry(file.to_owned()).or_insert_with(read);
        symbols.at(offset)
    }
}

impl Symbols {
    fn read(path: &Path) -> Option<Self> {
        let about = fs::metadata(path).ok()?;
        if !about.is_file() || about.len() > FILE_BYTES_MAX {
            return None;
        }
        let bytes = fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let segments = file.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        });
        let mut functions: Vec<(u64, u64, String)> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.address() != 0)
            .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())))
            .collect();
        functions.sort();
        Some(Self { segments: segments.collect(), functions })
    }

    fn at(&self, offset: u64) -> Option<String> {
        let in_segment =
            |(start, length, _): &&(u64, u64, u64)| (*start..start.saturating_add(*length)).contains(&offset);
        let (start, _, base) = self.segments.iter().find(in_segment)?;
        let address = base.checked_add(offset - start)?;
        let before = self.functions.partition_point(|(at, ..)| *at <= address);
        let (at, bytes, name) = self.functions[..before].last()?;
        // Functions written in assembly have no size.
        let inside = *bytes == 0 || address - at < *bytes;
        inside.then(|| format!("{:#}", rustc_demangle::demangle(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_this_program_is_named() {
        let this = std::env::current_exe().unwrap();
        let symbols = Symbols::read(&this).unwrap();
        let (at, _, name) =
            symbols.functions.iter().find(|(_, bytes, name)| *bytes > 16 && name.contains("main")).unwrap();
        let (start, _, base) =
            symbols.segments.iter().find(|(_, length, base)| (*base..base + length).contains(at)).unwrap();
        let offset = at - base + start;
        let expected = format!("{:#}", rustc_demangle::demangle(name));
        let mut functions = Functions::default();
        assert_eq!(functions.find(&this.display().to_string(), offset + 1), Some(expected));
        assert_eq!(functions.find("/etc/passwd", 1), None);
    }
}
