//! The code that replaces a `syscall` instruction: the instructions that moved, around a jump to the entry.
//!
//! The kernel overwrites `rcx` and `r11` in every system call, so both are free: `rcx` takes the address to go on at, `r11`
//! the address after the instruction, as the kernel would see it. In front of where it goes on there is a `syscall` of its
//! own, for calls that return on another stack or twice; the entry jumps there with all registers as they were.

use crate::sites::Site;
use iced_x86::{BlockEncoder, BlockEncoderOptions, Code, FlowControl, Instruction, InstructionBlock};

/// Most bytes of a stub.
pub const STUB_BYTES_MAX: usize = 256;
/// Bytes between the own `syscall` and where the program goes on.
pub const RAW_BYTES: usize = 25;

/// Addresses of the two pointers that a stub jumps through.
#[derive(Debug, Clone, Copy)]
pub struct Pointers {
    /// The entry for each call.
    pub entry: u64,
    /// The entry after a call that was made in the stub.
    pub returned: u64,
}

/// The code of the stub at an address; `None` if an instruction cannot be moved there.
pub fn encode(site: &Site, address: u64, pointers: Pointers) -> Option<Vec<u8>> {
    let mut code = moved(&site.before, address)?;
    let next = site.address + 2;
    let goes_on = address + code.len() as u64 + 23 + RAW_BYTES as u64;
    enter(&mut code, address, next, goes_on, pointers.entry)?;
    code.extend([0x0f, 0x05]);
    enter(&mut code, address, next, goes_on, pointers.returned)?;
    let mut after = site.after.clone();
    let ends = after
        .last()
        .is_some_and(|last| matches!(last.flow_control(), FlowControl::Return | FlowControl::UnconditionalBranch));
    if !ends {
        after.push(Instruction::with_branch(Code::Jmp_rel32_64, site.region.end).ok()?);
    }
    code.extend(moved(&after, goes_on)?);
    (code.len() <= STUB_BYTES_MAX).then_some(code)
}

/// `mov r11, next; lea rcx, [goes_on]; jmp [pointer]`
fn enter(code: &mut Vec<u8>, address: u64, next: u64, goes_on: u64, pointer: u64) -> Option<()> {
    let relative = |end: u64, target: u64| i32::try_from(target.wrapping_sub(end) as i64).ok();
    code.extend([0x49, 0xbb]);
    code.extend(next.to_le_bytes());
    let end = address + code.len() as u64 + 7;
    code.extend([0x48, 0x8d, 0x0d]);
    code.extend(relative(end, goes_on)?.to_le_bytes());
    let end = address + code.len() as u64 + 6;
    code.extend([0xff, 0x25]);
    code.extend(relative(end, pointer)?.to_le_bytes());
    Some(())
}

fn moved(code: &[Instruction], address: u64) -> Option<Vec<u8>> {
    if code.is_empty() {
        return Some(Vec::new());
    }
    let block = InstructionBlock::new(code, address);
    BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok().map(|encoded| encoded.code_buffer)
}

/// The bytes that replace a region: a jump, and traps that nothing should ever reach.
pub fn jump(site: &Site, stub: u64) -> Option<Vec<u8>> {
    let distance = stub.wrapping_sub(site.region.start + 5) as i64;
    let mut bytes = vec![0xe9];
    bytes.extend(i32::try_from(distance).ok()?.to_le_bytes());
    bytes.resize(usize::try_from(site.region.end - site.region.start).ok()?, 0xcc);
    Some(bytes)
}
