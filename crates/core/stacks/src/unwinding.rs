//! Registers and a copy of the stack in, the addresses of the calling functions out: by the unwind tables of the files, elsewhere by
//! frame pointers.

use crate::code_file::{CodeFile, SectionBytes};
use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{FrameAddress, Module, Unwinder};
use std::ops::Range;

/// Deeper stacks are cut at their outer end.
pub const FRAMES_MAX: usize = 256;

/// The unwound stack of one sample.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unwound {
    /// Innermost first. The address of a caller is inside of its call.
    pub addresses: Vec<u64>,
    /// The outermost one is the beginning of the thread.
    pub is_complete: bool,
}

/// A processor whose stacks can be unwound, and the mappings of one process.
pub enum Unwinding {
    X86_64(UnwinderX86_64<SectionBytes>, Box<CacheX86_64>),
    Aarch64(UnwinderAarch64<SectionBytes>, Box<CacheAarch64>),
    /// Only the call chains of the kernel are known.
    Other,
}

impl Unwinding {
    /// For a processor as uname(2) calls it.
    pub fn of(machine: &str) -> Self {
        match machine {
            "x86_64" => Self::X86_64(UnwinderX86_64::new(), Box::new(CacheX86_64::new())),
            "aarch64" => Self::Aarch64(UnwinderAarch64::new(), Box::new(CacheAarch64::new())),
            _ => Self::Other,
        }
    }

    /// Number of registers that the meter asks for: base or frame pointer, on arm64 the link register, stack pointer, and the address
    /// of the next instruction, in this order.
    pub fn registers(&self) -> usize {
        match self {
            Self::X86_64(..) => 3,
            Self::Aarch64(..) => 4,
            Self::Other => 0,
        }
    }

    /// Adds a mapping of a file; `bias` is the difference of an address in memory and in the file.
    pub fn add(&mut self, mapping: Range<u64>, bias: u64, file: &CodeFile) {
        let module = Module::new(String::new(), mapping, bias, file.unwind_tables());
        match self {
            Self::X86_64(unwinder, _) => unwinder.add_module(module),
            Self::Aarch64(unwinder, _) => unwinder.add_module(module),
            Self::Other => {}
        }
    }

    /// The callers by registers and stack; empty if the registers are not known. `is_trampoline` recognises the code by
    /// which Python calls its functions: on x86-64 it has no table, keeps no frame pointer, and takes 8 bytes of the stack
    /// (CPython's `Python/asm_trampoline.S`).
    pub fn unwind(&mut self, registers: &[u64], stack: &[u8], is_trampoline: &dyn Fn(u64) -> bool) -> Unwound {
        match (self, registers) {
            (Self::X86_64(unwinder, cache), &[bp, sp, ip]) => {
                let copy = Copied { sp, stack };
                let through = |address: u64, registers: &mut UnwindRegsX86_64| {
                    if !is_trampoline(address) {
                        return None;
                    }
                    let sp = registers.sp();
                    registers.set_sp(sp.wrapping_add(16));
                    copy.word(sp.wrapping_add(8)).ok()
                };
                walk(unwinder, cache, ip, UnwindRegsX86_64::new(ip, sp, bp), &copy, &through)
            }
            (Self::Aarch64(unwinder, cache), &[fp, lr, sp, pc]) => {
                let mask = PtrAuthMask::from_max_known_address(unwinder.max_known_code_address().max(pc));
                let registers = UnwindRegsAarch64::new_with_ptr_auth_mask(mask, lr, sp, fp);
                walk(unwinder, cache, pc, registers, &Copied { sp, stack }, &|_, _| None)
            }
            _ => Unwound::default(),
        }
    }
}

/// The copy of a stack from the stack pointer on.
struct Copied<'a> {
    sp: u64,
    stack: &'a [u8],
}

impl Copied<'_> {
    fn word(&self, address: u64) -> Result<u64, ()> {
        let offset = address.checked_sub(self.sp).and_then(|offset| usize::try_from(offset).ok()).ok_or(())?;
        let bytes = self.stack.get(offset..).and_then(|rest| rest.first_chunk::<8>()).ok_or(())?;
        Ok(u64::from_le_bytes(*bytes))
    }
}

/// `through` leads through a frame that the unwinder does not know: by its address and registers to the caller's.
fn walk<U: Unwinder>(
    unwinder: &U,
    cache: &mut U::Cache,
    ip: u64,
    mut registers: U::UnwindRegs,
    copy: &Copied,
    through: &dyn Fn(u64, &mut U::UnwindRegs) -> Option<u64>,
) -> Unwound {
    let mut read = |address| copy.word(address);
    let mut frame = FrameAddress::from_instruction_pointer(ip);
    let mut unwound = Unwound::default();
    while unwound.addresses.len() < FRAMES_MAX {
        let address = frame.address_for_lookup();
        unwound.addresses.push(address);
        let known = frame.is_return_address().then(|| through(address, &mut registers)).flatten();
        let caller = match known {
            Some(caller) => Ok(Some(caller)),
            None => unwinder.unwind_frame(frame, &mut registers, cache, &mut read),
        };
        match caller.map(|caller| caller.map(FrameAddress::from_return_address)) {
            Ok(Some(Some(caller))) => frame = caller,
            Ok(None) => {
                unwound.is_complete = true;
                break;
            }
            Ok(Some(None)) | Err(_) => break,
        }
    }
    unwound
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stack(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn frame_pointers_lead_through_code_without_tables_on_both_processors() {
        let mut x86 = Unwinding::of("x86_64");
        let copied = stack(&[0, 0x1020, 0x40_1234, 0, 0x1040, 0x40_5678, 0, 0, 0, 0]);
        let unwound = x86.unwind(&[0x1008, 0x1000, 0x40_1000], &copied, &|_| false);
        assert_eq!(unwound.addresses, [0x40_1000, 0x40_1233, 0x40_5677]);
        let mut arm = Unwinding::of("aarch64");
        let unwound = arm.unwind(&[0x1008, 0x40_9999, 0x1000, 0x40_1000], &copied, &|_| false);
        assert_eq!(unwound.addresses[0], 0x40_1000);
        assert!(unwound.addresses.contains(&0x40_1233) && unwound.addresses.contains(&0x40_5677), "{unwound:x?}");
    }

    #[test]
    fn a_trampoline_of_python_is_left_without_a_frame_pointer() {
        let mut x86 = Unwinding::of("x86_64");
        // A function with a frame pointer, whose caller is a trampoline, whose caller keeps the same frame pointer.
        let copied = stack(&[0, 0x1030, 0x50_0010, 0, 0x40_1234, 0, 0x1050, 0x40_5678, 0, 0, 0]);
        let is_trampoline = |address| (0x50_0000..0x50_0020).contains(&address);
        let unwound = x86.unwind(&[0x1008, 0x1000, 0x40_1000], &copied, &is_trampoline);
        assert_eq!(unwound.addresses, [0x40_1000, 0x50_000f, 0x40_1233, 0x40_5677]);
    }

    #[test]
    fn a_processor_without_unwinder_has_no_frames() {
        assert_eq!(Unwinding::of("riscv64").unwind(&[1, 2, 3], &[0; 64], &|_| false), Unwound::default());
    }

    proptest! {
        #[test]
        fn any_registers_and_stack_end(registers in proptest::array::uniform4(any::<u64>()), near: bool, copied: Vec<u8>) {
            let mut registers = registers;
            if near {
                registers[0] = registers[2].wrapping_add(8);
            }
            for machine in ["x86_64", "aarch64"] {
                let mut unwinding = Unwinding::of(machine);
                let count = unwinding.registers();
                prop_assert!(unwinding.unwind(&registers[..count], &copied, &|address| address % 2 == 0).addresses.len() <= FRAMES_MAX);
            }
        }
    }
}
