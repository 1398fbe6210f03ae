//! Programs that the kernel executes at one of its trace points, after it has verified that they end and harm nothing, and the
//! memory that they leave their results in. All of it ends with the descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const PROGRAM_LOAD: libc::c_int = 5;
const TRACE_POINT_OPEN: libc::c_int = 17;
const MAP_ARRAY: u32 = 2;
const PROGRAM_TRACING: u32 = 26;
const AT_TRACE_POINT: u32 = 23;
/// The kernel lends its helpers to programs under such a licence only.
const LICENCE: &std::ffi::CStr = c"Dual MIT/GPL";

/// One instruction of the kernel's virtual machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub code: u8,
    /// The destination in the lower four bits, the source in the upper four.
    pub registers: u8,
    pub offset: i16,
    pub constant: i32,
}

impl Instruction {
    fn bytes(self) -> [u8; 8] {
        let ([low, high], [first, second, third, fourth]) = (self.offset.to_ne_bytes(), self.constant.to_ne_bytes());
        [self.code, self.registers, low, high, first, second, third, fourth]
    }
}

/// Elements of one size that a program writes and this process reads.
#[derive(Debug)]
pub struct Array {
    map: OwnedFd,
    element_bytes: usize,
}

impl Array {
    /// # Errors
    /// EPERM without the right to load programs, ENOSYS where the kernel has none.
    pub fn new(element_bytes: usize, count: u32) -> io::Result<Self> {
        let mut attributes = Attributes::default();
        attributes.put_u32(0, MAP_ARRAY);
        attributes.put_u32(4, size_of::<u32>() as u32);
        attributes.put_u32(8, element_bytes as u32);
        attributes.put_u32(12, count);
        Ok(Self { map: attributes.descriptor(MAP_CREATE)?, element_bytes })
    }

    /// Number of the map, as instructions name it.
    pub fn number(&self) -> i32 {
        self.map.as_raw_fd()
    }

    /// Copies an element, ascending from its first byte.
    ///
    /// # Errors
    /// ENOENT beyond the last element.
    pub fn read(&self, index: u32) -> io::Result<Vec<u8>> {
        let mut element = vec![0; self.element_bytes];
        let mut attributes = Attributes::default();
        attributes.put_u32(0, self.map.as_raw_fd() as u32);
        attributes.put_u64(8, (&raw const index) as u64);
        attributes.put_u64(16, element.as_mut_ptr() as u64);
        attributes.call(MAP_LOOKUP)?;
        Ok(element)
    }
}

/// A program at a trace point, until it is dropped.
#[derive(Debug)]
pub struct Attached {
    _link: OwnedFd,
}

impl Attached {
    /// `type_number` is the number of the trace point's type in the kernel's description of its types.
    ///
    /// # Errors
    /// EACCES and EINVAL if the kernel does not accept the program, EPERM without the right to load one.
    pub fn at_trace_point(instructions: &[Instruction], type_number: u32) -> io::Result<Self> {
        let bytes: Vec<u8> = instructions.iter().flat_map(|one| one.bytes()).collect();
        let mut attributes = Attributes::default();
        attributes.put_u32(0, PROGRAM_TRACING);
        attributes.put_u32(4, instructions.len() as u32);
        attributes.put_u64(8, bytes.as_ptr() as u64);
        attributes.put_u64(16, LICENCE.as_ptr() as u64);
        attributes.put_u32(68, AT_TRACE_POINT);
        attributes.put_u32(108, type_number);
        let program = attributes.descriptor(PROGRAM_LOAD)?;
        let mut attributes = Attributes::default();
        attributes.put_u32(8, program.as_raw_fd() as u32);
        Ok(Self { _link: attributes.descriptor(TRACE_POINT_OPEN)? })
    }
}

/// Arguments of the system call, at the kernel's offsets.
struct Attributes([u8; Self::BYTES]);

impl Default for Attributes {
    fn default() -> Self {
        Self([0; Self::BYTES])
    }
}

impl Attributes {
    /// Room for every field used here; the kernel accepts zeroes beyond those it knows.
    const BYTES: usize = 128;

    fn put_u32(&mut self, offset: usize, number: u32) {
        self.0[offset..offset + 4].copy_from_slice(&number.to_ne_bytes());
    }

    fn put_u64(&mut self, offset: usize, number: u64) {
        self.0[offset..offset + 8].copy_from_slice(&number.to_ne_bytes());
    }

    fn call(&self, command: libc::c_int) -> io::Result<i32> {
        // SAFETY: the kernel reads BYTES bytes; the addresses in them are of memory that the callers own until it returns, of the
        // sizes that the map or the program was created with.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), Self::BYTES) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }

    fn descriptor(&self, command: libc::c_int) -> io::Result<OwnedFd> {
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        self.call(command).map(|number| unsafe { OwnedFd::from_raw_fd(number) })
    }
}
