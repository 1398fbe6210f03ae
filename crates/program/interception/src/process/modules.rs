//! The files that are loaded in this process: their code, and the table of their functions.

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
    // SAFETY: a description has that number of headers, and a name that ends with a zero.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let name = match info.dlpi_name.is_null() {
        true => c"",
        // SAFETY: as above.
        false => unsafe { CStr::from_ptr(info.dlpi_name) },
    };
    let base = info.dlpi_addr;
    let range = |header: &libc::Elf64_Phdr| {
        let start = base.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    };
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let here = visit as *const () as u64;
    let is_kernel = name.to_bytes().starts_with(b"linux-vdso") || name.to_bytes().starts_with(b"linux-gate");
    if is_kernel || loads().any(|header| range(header).contains(&here)) {
        return 0;
    }
    let readable: Vec<Range<u64>> = loads().filter(|header| header.p_flags & libc::PF_R != 0).map(range).collect();
    let read = |address: u64| {
        let end = address.checked_add(4)?;
        let mapped = readable.iter().any(|range| range.start <= address && end <= range.end);
        // SAFETY: the bytes are in a part of the file that the loader mapped to be read.
        mapped.then(|| unsafe { (address as *const u32).read_unaligned() })
    };
    let table = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
    let functions = table.map_or_else(Vec::new, |header| unwind_table::functions(range(header).start, &read));
    for header in loads().filter(|header| header.p_flags & libc::PF_X != 0 && header.p_flags & libc::PF_R != 0) {
        let writes = if header.p_flags & libc::PF_W != 0 { libc::PROT_WRITE } else { 0 };
        let rights = libc::PROT_READ | libc::PROT_EXEC | writes;
        found.push(Code { range: range(header), rights, functions: functions.clone() });
    }
    0
}

/// The bytes of a code.
pub fn bytes(code: &Code) -> &[u8] {
    // SAFETY: the loader mapped the whole range to be read and executed; nothing changes it while this library looks for
    // instructions, because no other thread runs.
    unsafe { slice::from_raw_parts(code.range.start as *const u8, (code.range.end - code.range.start) as usize) }
}
