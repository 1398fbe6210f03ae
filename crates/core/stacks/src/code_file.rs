//! One executable or library: its functions by address, and its unwind tables.

use crate::function_names::readable;
use addr2line::Context;
use framehop::ExplicitModuleSectionInfo;
use gimli::{EndianArcSlice, LittleEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// The contents of a section.
pub type SectionBytes = Arc<[u8]>;
type Bytes = EndianArcSlice<LittleEndian>;

/// Most bytes of the names and sections of all files together, unpacked: a packed section of a few bytes may have any length.
pub const SECTIONS_BYTES_MAX: u64 = 1 << 30;
/// More than any name that a compiler writes.
const NAME_BYTES_MAX: usize = 16 << 10;
/// Most bytes of the names of one file: entries of a symbol table may share a name of any length.
const NAMES_BYTES_MAX: usize = 128 << 20;
/// Largest page of a kernel: a mapping starts at most so far before its segment.
const PAGE_BYTES_MAX: u64 = 64 << 10;
/// Deeper inlining is cut at its outer end.
const INLINED_MAX: usize = 64;

/// A parsed file.
#[derive(Default)]
pub struct CodeFile {
    segments: Vec<Segment>,
    /// By address.
    functions: Vec<FunctionSymbol>,
    lines: Option<Context<Bytes>>,
    unwind: UnwindSections,
}

/// An executable part of the file.
#[derive(Debug, Clone, Copy)]
struct Segment {
    offset: u64,
    bytes: u64,
    address: u64,
}

#[derive(Debug)]
struct FunctionSymbol {
    address: u64,
    bytes: u64,
    name: String,
}

/// Unwind tables with their addresses in the file.
#[derive(Debug, Default)]
struct UnwindSections {
    eh_frame: Option<(Range<u64>, SectionBytes)>,
    eh_frame_hdr: Option<(Range<u64>, SectionBytes)>,
    debug_frame: Option<SectionBytes>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
}

/// Identity of a file, and where its debug information is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Hexadecimal.
    pub build_id: Option<String>,
    /// Name and CRC of a separate file.
    pub debug_link: Option<(String, u32)>,
    /// It has a table of symbols itself.
    pub has_symbols: bool,
    /// It has debug information itself.
    pub has_lines: bool,
}

impl Identity {
    /// `None` if the bytes are not a little-endian ELF file of 64 bits.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let file: ElfFile64<'_> = ElfFile64::parse(bytes).ok()?;
        let link = file.gnu_debuglink().ok().flatten();
        Some(Self {
            build_id: file.build_id().ok().flatten().map(hexadecimal),
            debug_link: link.and_then(|(name, crc)| Some((String::from_utf8(name.to_vec()).ok()?, crc))),
            has_symbols: file.symbols().next().is_some(),
            has_lines: file.section_by_name(".debug_info").is_some(),
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl CodeFile {
    /// A file and, if there is one, the file with its debug information. Names and sections that need more than `bytes_left` are left out. `None` if it is not a little-endian ELF file of 64 bits.
    pub fn parse(bytes: &[u8], debug: Option<&[u8]>, bytes_left: &Cell<u64>) -> Option<Self> {
        let file: ElfFile64<'_> = ElfFile64::parse(bytes).ok()?;
        let debug: Option<ElfFile64<'_>> = debug.and_then(|bytes| ElfFile64::parse(bytes).ok());
        let executable = file.segments().filter(|segment| segment.permissions().executable());
        let segments = executable.map(|segment| {
            let (offset, bytes) = segment.file_range();
            Segment { offset, bytes, address: segment.address() }
        });
        let room = NAMES_BYTES_MAX.min(usize::try_from(bytes_left.get()).unwrap_or(usize::MAX));
        let mut left = room;
        let mut functions = functions(&file, &mut left);
        functions.extend(debug.iter().flat_map(|debug| self::functions(debug, &mut left)));
        bytes_left.set(bytes_left.get().saturating_sub((room - left) as u64));
        // Of several names of an address, the last one counts: the one with a size.
        functions
            .sort_by(|one, other| (one.address, one.bytes, &one.name).cmp(&(other.address, other.bytes, &other.name)));
        let with_lines = debug.iter().chain([&file]).find(|file| file.section_by_name(".debug_info").is_some());
        let mut code = Self {
            segments: segments.collect(),
            functions,
            lines: with_lines.and_then(|file| lines(file, bytes_left)),
            unwind: unwind(&file, bytes_left),
        };
        if code.unwind.debug_frame.is_none() {
            code.unwind.debug_frame =
                debug.iter().find_map(|debug| Some(section(debug, ".debug_frame", bytes_left)?.1));
        }
        Some(code)
    }

    /// Difference of an address in memory and in the file, for a mapping that starts at `start` and has the file from `offset` on.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let covers = |segment: &&Segment| {
            offset.saturating_add(PAGE_BYTES_MAX) > segment.offset
                && offset < segment.offset.saturating_add(segment.bytes)
        };
        let segment = self.segments.iter().filter(covers).min_by_key(|segment| offset.abs_diff(segment.offset))?;
        // The address of `offset` in the file.
        let address = segment.address.checked_add(offset)?.checked_sub(segment.offset)?;
        start.checked_sub(address)
    }

    /// The functions at an address of the file, innermost first: more than one where the compiler inlined some. Empty if the address
    /// has no symbol.
    pub fn functions_at(&self, address: u64) -> Vec<String> {
        let inlined = self.inlined_at(address);
        if !inlined.is_empty() {
            return inlined;
        }
        let before = self.functions.partition_point(|function| function.address <= address);
        let Some(symbol) = before.checked_sub(1).map(|last| &self.functions[last]) else { return Vec::new() };
        // Functions written in assembly have no size.
        let inside = symbol.bytes == 0 || address - symbol.address < symbol.bytes;
        if inside { vec![readable(&symbol.name)] } else { Vec::new() }
    }

    fn inlined_at(&self, address: u64) -> Vec<String> {
        let Some(lines) = &self.lines else { return Vec::new() };
        let Ok(mut frames) = lines.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut names = Vec::new();
        while names.len() < INLINED_MAX
            && let Ok(Some(frame)) = frames.next()
        {
            let Some(function) = frame.function else { continue };
            let Ok(name) = function.raw_name() else { continue };
            names.push(readable(&name));
        }
        names
    }

    /// The tables, for a module of the unwinder.
    pub fn unwind_tables(&self) -> ExplicitModuleSectionInfo<SectionBytes> {
        let of = |part: &Option<(Range<u64>, SectionBytes)>| part.clone().unzip();
        let (eh_frame_svma, eh_frame) = of(&self.unwind.eh_frame);
        let (eh_frame_hdr_svma, eh_frame_hdr) = of(&self.unwind.eh_frame_hdr);
        ExplicitModuleSectionInfo {
            text_svma: self.unwind.text.clone(),
            got_svma: self.unwind.got.clone(),
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            debug_frame: self.unwind.debug_frame.clone(),
            ..ExplicitModuleSectionInfo::default()
        }
    }
}

fn functions(file: &ElfFile64<'_>, left: &mut usize) -> Vec<FunctionSymbol> {
    let mut found = Vec::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if symbol.kind() != SymbolKind::Text || symbol.address() == 0 {
            continue;
        }
        let Some(name) = symbol.name().ok().filter(|name| (1..=NAME_BYTES_MAX).contains(&name.len())) else { continue };
        // An entry costs memory without a name as well.
        let Some(rest) = left.checked_sub(name.len() + size_of::<FunctionSymbol>()) else { break };
        *left = rest;
        found.push(FunctionSymbol { address: symbol.address(), bytes: symbol.size(), name: name.to_owned() });
    }
    found
}

/// Address range and contents of a section.
fn section(file: &ElfFile64<'_>, name: &str, bytes_left: &Cell<u64>) -> Option<(Range<u64>, SectionBytes)> {
    let section = file.section_by_name(name)?;
    let packed = section.compressed_data().ok()?;
    bytes_left.set(bytes_left.get().checked_sub(packed.uncompressed_size)?);
    let bytes = packed.decompress().ok().filter(|bytes| !bytes.is_empty())?;
    let end = section.address().checked_add(section.size())?;
    Some((section.address()..end, SectionBytes::from(&*bytes)))
}

fn unwind(file: &ElfFile64<'_>, bytes_left: &Cell<u64>) -> UnwindSections {
    let range = |name| {
        let section = file.section_by_name(name)?;
        Some(section.address()..section.address().checked_add(section.size())?)
    };
    UnwindSections {
        eh_frame: section(file, ".eh_frame", bytes_left),
        eh_frame_hdr: section(file, ".eh_frame_hdr", bytes_left),
        debug_frame: section(file, ".debug_frame", bytes_left).map(|(_, bytes)| bytes),
        text: range(".text"),
        got: range(".got"),
    }
}

fn lines(file: &ElfFile64<'_>, bytes_left: &Cell<u64>) -> Option<Context<Bytes>> {
    let load = |id: SectionId| -> Result<Bytes, gimli::Error> {
        let bytes =
            section(file, id.name(), bytes_left).map_or_else(|| SectionBytes::from(&[][..]), |(_, bytes)| bytes);
        Ok(EndianArcSlice::new(bytes, LittleEndian))
    };
    Context::from_dwarf(gimli::Dwarf::load(load).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mapping_starts_at_the_page_of_its_segment() {
        let code = CodeFile {
            segments: vec![Segment { offset: 0x1040, bytes: 0x2000, address: 0x40_1040 }],
            ..CodeFile::default()
        };
        assert_eq!(code.bias(0x40_1000, 0x1000), Some(0));
        assert_eq!(code.bias(0x5555_0000_1000, 0x1000), Some(0x5555_0000_1000 - 0x40_1000));
        assert_eq!(
            code.bias(0x5555_0000_2000, 0x2000),
            Some(0x5555_0000_2000 - 0x40_2000),
            "the rest of a split mapping"
        );
        assert_eq!((code.bias(0x40_1000, 0x4000), code.bias(0, 0x1000)), (None, None));
    }

    #[test]
    fn an_address_beyond_a_function_has_no_name() {
        let symbol = |address, bytes, name: &str| FunctionSymbol { address, bytes, name: name.into() };
        let functions = vec![symbol(0x10, 0x10, "sized"), symbol(0x40, 0, "assembly")];
        let code = CodeFile { functions, ..CodeFile::default() };
        let name = |address| code.functions_at(address).join(" ");
        assert_eq!(
            (name(0x8), name(0x10), name(0x1f), name(0x20)),
            (String::new(), "sized".into(), "sized".into(), String::new())
        );
        assert_eq!(name(0x4000), "assembly");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_file_or_none(bytes: Vec<u8>, start: u64, offset: u64) {
            let elf = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &bytes].concat();
            for bytes in [&bytes, &elf] {
                let _ = Identity::of(bytes);
                if let Some(code) = CodeFile::parse(bytes, Some(bytes), &Cell::new(SECTIONS_BYTES_MAX)) {
                    let _ = code.bias(start, offset);
                    let _ = code.functions_at(start);
                }
            }
        }
    }
}
