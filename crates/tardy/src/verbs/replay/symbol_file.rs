//! The names of a kernel's functions as an object file for debuggers: an ELF file with a symbol table and without code,
//! which is in the machine.

/// Functions further apart than this are in different sections: the kernel itself and its modules.
const GAP_BYTES: u64 = 64 << 20;
/// Assumed size of the last function of a section, which has no successor.
const LAST_BYTES: u64 = 64;

const HEADER_BYTES: usize = 64;
const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
const EXECUTABLE: u16 = 2;
const X86_64: u16 = 62;
const SYMBOL_TABLE: u32 = 2;
const STRING_TABLE: u32 = 3;
const NOTHING_IN_FILE: u32 = 8;
const ALLOCATED_AND_EXECUTED: u64 = 2 | 4;
/// Binding local, type function.
const LOCAL_FUNCTION: u8 = 2;

#[derive(Debug, PartialEq, Eq)]
struct Function<'a> {
    address: u64,
    name: &'a str,
}

/// The file, from lines in the format of /proc/kallsyms. Malformed lines are left out.
pub fn symbol_file(lines: &str) -> Vec<u8> {
    let mut functions: Vec<Function> = lines.lines().filter_map(function).collect();
    functions.sort_by_key(|function| function.address);
    let ranges: Vec<&[Function]> = functions.chunk_by(|one, next| next.address - one.address < GAP_BYTES).collect();
    let mut names = Strings::new();
    let mut symbols = vec![0; SYMBOL_BYTES];
    for (section, range) in (1_u16..).zip(&ranges) {
        for (at, function) in range.iter().enumerate() {
            let next = range.get(at + 1).map_or(function.address.saturating_add(LAST_BYTES), |next| next.address);
            symbols.extend(names.add(function.name).to_le_bytes());
            symbols.extend([LOCAL_FUNCTION, 0]);
            symbols.extend(section.to_le_bytes());
            symbols.extend(function.address.to_le_bytes());
            symbols.extend((next - function.address).to_le_bytes());
        }
    }
    written(&ranges, &symbols, &names.0)
}

fn function(line: &str) -> Option<Function<'_>> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
    let (_, name) = (words.next()?, words.next()?);
    Some(Function { address, name })
}

/// Names, each terminated by a zero byte; the first is empty.
struct Strings(Vec<u8>);

impl Strings {
    fn new() -> Self {
        Self(vec![0])
    }

    fn add(&mut self, name: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend(name.bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        at
    }
}

fn written(ranges: &[&[Function]], symbols: &[u8], names: &[u8]) -> Vec<u8> {
    let mut section_names = Strings::new();
    let strings = ranges.len() as u32 + 2;
    let (symbols_at, names_at) = (HEADER_BYTES as u64, (HEADER_BYTES + symbols.len()) as u64);
    let mut sections = vec![Section::default()];
    for range in ranges {
        let (first, last) = (range.first().map_or(0, |of| of.address), range.last().map_or(0, |of| of.address));
        sections.push(Section {
            name: section_names.add(".text"),
            kind: NOTHING_IN_FILE,
            flags: ALLOCATED_AND_EXECUTED,
            address: first,
            bytes: (last - first).saturating_add(LAST_BYTES),
            ..Section::default()
        });
    }
    sections.push(Section {
        name: section_names.add(".symtab"),
        kind: SYMBOL_TABLE,
        offset: symbols_at,
        bytes: symbols.len() as u64,
        link: strings,
        info: (symbols.len() / SYMBOL_BYTES) as u32,
        entry_bytes: SYMBOL_BYTES as u64,
        ..Section::default()
    });
    let table = |name, offset, bytes: usize| Section {
        name,
        kind: STRING_TABLE,
        offset,
        bytes: bytes as u64,
        ..Section::default()
    };
    sections.push(table(section_names.add(".strtab"), names_at, names.len()));
    let own_name = section_names.add(".shstrtab");
    let own_at = names_at + names.len() as u64;
    sections.push(table(own_name, own_at, section_names.0.len()));
    let mut file = header(own_at + section_names.0.len() as u64, sections.len() as u16);
    file.extend(symbols);
    file.extend(names);
    file.extend(&section_names.0);
    sections.iter().for_each(|section| section.write(&mut file));
    file
}

/// The section table is at the end of the file; its last entry is the section of names.
fn header(sections_at: u64, sections: u16) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([EXECUTABLE.to_le_bytes(), X86_64.to_le_bytes()].concat());
    file.extend(1_u32.to_le_bytes());
    // No entry, no segments.
    file.extend([0; 16]);
    file.extend(sections_at.to_le_bytes());
    file.extend(0_u32.to_le_bytes());
    for number in [HEADER_BYTES as u16, 0, 0, SECTION_BYTES as u16, sections, sections - 1] {
        file.extend(number.to_le_bytes());
    }
    file
}

#[derive(Debug, Default)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    bytes: u64,
    link: u32,
    info: u32,
    entry_bytes: u64,
}

impl Section {
    fn write(&self, file: &mut Vec<u8>) {
        file.extend(self.name.to_le_bytes());
        file.extend(self.kind.to_le_bytes());
        for number in [self.flags, self.address, self.offset, self.bytes] {
            file.extend(number.to_le_bytes());
        }
        file.extend(self.link.to_le_bytes());
        file.extend(self.info.to_le_bytes());
        file.extend(1_u64.to_le_bytes());
        file.extend(self.entry_bytes.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    const LINES: &str = "ffffffff81000000 T _stext\nffffffff81000010 t do_one\n0000000000000000 T hidden\n\
                         nonsense\nffffffffc0000000 t of_module\t[module]\nffffffff81000100 W last\n";

    #[test]
    fn a_debugger_finds_the_functions_of_the_kernel_and_of_its_modules() {
        prerequisites::require!(Program("gdb"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("symbols");
        std::fs::write(&path, symbol_file(LINES)).unwrap();
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-batch", "-ex", "set architecture i386:x86-64", "-ex"])
            .arg(format!("symbol-file {}", path.display()));
        for address in ["0xffffffff81000012", "0xffffffffc0000004", "0xffffffff81000100"] {
            gdb.args(["-ex", &format!("info symbol {address}")]);
        }
        let output = gdb.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        for words in ["do_one + 2 in section .text", "of_module + 4", "last in section .text"] {
            assert!(said.contains(words), "{said}{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn sizes_reach_to_the_next_function_and_sections_part_at_gaps() {
        let file = symbol_file(LINES);
        let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        let second = HEADER_BYTES + 2 * SYMBOL_BYTES;
        assert_eq!((number(second + 8), number(second + 16)), (0xffff_ffff_8100_0010, 0xf0));
        // The null section, two of text, symbols, their names, names of sections.
        assert_eq!(file[60..62], [6, 0]);
        assert_eq!(symbol_file("").get(60..62), Some(&[4, 0][..]));
    }

    proptest! {
        #[test]
        fn any_lines_make_a_file(lines in "([0-9a-f]{1,18} [tTx] [a-z]{0,9}\n|.{0,20}\n){0,30}") {
            let file = symbol_file(&lines);
            prop_assert!(file.starts_with(b"\x7fELF"));
        }
    }
}
