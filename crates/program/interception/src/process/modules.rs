//! The files that are loaded in this process: their code, and the table of their functions.

use crate::frames::Frames;
use crate::unwind_table;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::slice;

/// A part of a file's code.
#[derive(Debug, Clone)]
pub struct Code {
    pub range: Range<u64>,
    /// Rights of its pages.
    pub rights: i32,
    pub functions: Vec<Range<u64>>,
}

/// The code of all loaded files but this library and the kernel's.
pub fn loaded() -> Vec<Code> {
    let mut found: Vec<Code> = Vec::new();
    // SAFETY: the function is called once for each loaded file, with the vector as its argument, before the call returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description, and the argument is the vector of `loaded`.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Code>>()) };
    let Some(file) = File::of(info) else { return 0 };
    let functions = file.table().map_or_else(Vec::new, |table| unwind_table::functions(table, &|at| file.word(at)));
    for header in file.loads().filter(|header| header.p_flags & libc::PF_X != 0 && header.p_flags & libc::PF_R != 0) {
        let writes = if header.p_flags & libc::PF_W != 0 { libc::PROT_WRITE } else { 0 };
        let rights = libc::PROT_READ | libc::PROT_EXEC | writes;
        found.push(Code { range: file.range(header), rights, functions: functions.clone() });
    }
    0
}

/// Where callers are on the stack in the code of all loaded files but this library and the kernel's.
pub fn frames() -> Vec<(Range<u64>, Frames)> {
    let mut found: Vec<(Range<u64>, Frames)> = Vec::new();
    // SAFETY: as in `loaded`.
    unsafe { libc::dl_iterate_phdr(Some(visit_frames), (&raw mut found).cast()) };
    found
}

unsafe extern "C" fn visit_frames(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description, and the argument is the vector of `frames`.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<(Range<u64>, Frames)>>()) };
    let Some(file) = File::of(info) else { return 0 };
    let Some(table) = file.table() else { return 0 };
    let frames = Frames::read(table, &|at| file.word(at));
    found.extend(
        file.loads()
            .filter(|header| header.p_flags & libc::PF_X != 0)
            .map(|header| (file.range(header), frames.clone())),
    );
    0
}

/// A loaded file.
struct File<'a> {
    base: u64,
    headers: &'a [libc::Elf64_Phdr],
    readable: Vec<Range<u64>>,
}

impl<'a> File<'a> {
    /// `None` for this library and for the kernel's code.
    fn of(info: &'a libc::dl_phdr_info) -> Option<Self> {
        // SAFETY: a description has that number of headers, and a name that ends with a zero.
        let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        let name = match info.dlpi_name.is_null() {
            true => c"",
            // SAFETY: as above.
            false => unsafe { CStr::from_ptr(info.dlpi_name) },
        };
        let mut file = Self { base: info.dlpi_addr, headers, readable: Vec::new() };
        let here = visit as *const () as u64;
        let is_kernel = name.to_bytes().starts_with(b"linux-vdso") || name.to_bytes().starts_with(b"linux-gate");
        if is_kernel || file.loads().any(|header| file.range(header).contains(&here)) {
            return None;
        }
        let readable = file.loads().filter(|header| header.p_flags & libc::PF_R != 0);
        file.readable = readable.map(|header| file.range(header)).collect();
        Some(file)
    }

    fn loads(&self) -> impl Iterator<Item = &'a libc::Elf64_Phdr> + use<'a> {
        self.headers.iter().filter(|header| header.p_type == libc::PT_LOAD)
    }

    fn range(&self, header: &libc::Elf64_Phdr) -> Range<u64> {
        let start = self.base.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    }

    /// The address of its table of functions.
    fn table(&self) -> Option<u64> {
        let table = self.headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        Some(self.range(table).start)
    }

    /// The 4 bytes at an address.
    fn word(&self, address: u64) -> Option<u32> {
        let end = address.checked_add(4)?;
        let mapped = self.readable.iter().any(|range| range.start <= address && end <= range.end);
        // SAFETY: the bytes are in a part of the file that the loader mapped to be read.
        mapped.then(|| unsafe { (address as *const u32).read_unaligned() })
    }
}

/// The bytes of a code.
pub fn bytes(code: &Code) -> &[u8] {
    // SAFETY: the loader mapped the whole range to be read and executed; nothing changes it while this library looks for
    // instructions, because no other thread runs.
    unsafe { slice::from_raw_parts(code.range.start as *const u8, (code.range.end - code.range.start) as usize) }
}
