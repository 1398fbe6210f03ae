//! Finds the `syscall` instructions of a file's code, and the bytes that a jump may take.
//!
//! `syscall` has two bytes and a jump five, so the jump also takes instructions before or after, which move. That is sound
//! if the function's start is known and disassembling it from there reaches the instruction, if the moved instructions mean
//! the same elsewhere, and if nothing jumps between them. Jumps are looked for in all bytes of the code, whether or not they
//! are instructions, so at worst one too many is found.

use crate::unwind_table::containing;
use call_ring::header::Reason;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Bytes of a jump.
pub const JUMP_BYTES: u64 = 5;
const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// No region reaches further from its instruction than this.
const NEAR: u64 = 32;
/// munmap(2) and exit(2).
const MUNMAP: u64 = 11;
const EXIT: u64 = 60;

/// The code of a file.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    pub start: u64,
    pub bytes: &'a [u8],
}

/// A `syscall` instruction that can be replaced.
#[derive(Debug, Clone)]
pub struct Site {
    /// Address of the instruction.
    pub address: u64,
    /// The bytes that the jump takes.
    pub region: Range<u64>,
    /// Instructions of the region, to be executed elsewhere.
    pub before: Vec<Instruction>,
    pub after: Vec<Instruction>,
}

/// The findings in a text.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub sites: Vec<Site>,
    pub unpatched: Vec<(u64, Reason)>,
}

/// Finds every instruction; `functions` are those of the unwind table.
pub fn find(text: Text<'_>, functions: &[Range<u64>]) -> Found {
    let pairs = text.bytes.windows(2).enumerate().filter(|(_, pair)| *pair == SYSCALL);
    let pairs: Vec<u64> = pairs.map(|(at, _)| text.start + at as u64).collect();
    let targets = targets(text, functions, &pairs);
    let mut found = Found::default();
    let mut by_function: BTreeMap<u64, (Range<u64>, Vec<u64>)> = BTreeMap::new();
    for pair in pairs {
        match containing(functions, pair) {
            Some(function) => {
                by_function.entry(function.start).or_insert_with(|| (function.clone(), Vec::new())).1.push(pair)
            }
            None => found.unpatched.push((pair, Reason::FunctionUnknown)),
        }
    }
    for (function, pairs) in by_function.into_values() {
        let next = functions.partition_point(|other| other.start < function.end);
        let room_end = functions.get(next).map_or(function.end, |next| next.start.min(function.end + NEAR));
        of_function(text, function, room_end, &pairs, &targets, &mut found);
    }
    found
}

fn slice<'a>(text: Text<'a>, range: Range<u64>) -> &'a [u8] {
    let at = |address: u64| (address.saturating_sub(text.start) as usize).min(text.bytes.len());
    text.bytes.get(at(range.start)..at(range.end)).unwrap_or_default()
}

fn decode(text: Text<'_>, range: Range<u64>) -> Vec<Instruction> {
    let bytes = slice(text, range.clone());
    let decoder = Decoder::with_ip(64, bytes, range.start.max(text.start), DecoderOptions::NONE);
    decoder.into_iter().take_while(|instruction| !instruction.is_invalid()).collect()
}

fn of_function(
    text: Text<'_>,
    function: Range<u64>,
    room_end: u64,
    pairs: &[u64],
    targets: &BTreeSet<u64>,
    found: &mut Found,
) {
    let code = decode(text, function.clone());
    let decoded_end = code.last().map_or(function.start, Instruction::next_ip);
    let padding = padding(text, function.end..room_end);
    let through_table = code.iter().any(|instruction| instruction.flow_control() == FlowControl::IndirectBranch);
    let stackless = stackless(&code);
    for pair in pairs {
        let Some(index) = code.iter().position(|instruction| instruction.ip() == *pair) else {
            // Two bytes of another instruction, unless the disassembly never came there.
            if *pair >= decoded_end {
                found.unpatched.push((*pair, Reason::NotDecoded));
            }
            continue;
        };
        if code[index].code() != Code::Syscall {
            continue;
        }
        if stackless.contains(pair) {
            found.unpatched.push((*pair, Reason::NoStack));
            continue;
        }
        match region(&code, index, &padding, targets, through_table) {
            Ok(site) => found.sites.push(site),
            Err(reason) => found.unpatched.push((*pair, reason)),
        }
    }
    // Two instructions may want the same bytes; the first one keeps them.
    let overlap = |one: &Site, other: &Site| one.region.end > other.region.start;
    while let Some(at) = found.sites.windows(2).position(|pair| overlap(&pair[0], &pair[1])) {
        let site = found.sites.remove(at + 1);
        found.unpatched.push((site.address, Reason::NoRoom));
    }
}

/// Filler between functions, which nothing executes.
fn padding(text: Text<'_>, range: Range<u64>) -> Vec<Instruction> {
    let fills = |instruction: &Instruction| matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
    decode(text, range).into_iter().take_while(fills).collect()
}

/// The bytes for the jump: with instructions after it, with some before it, or with both.
fn region(
    code: &[Instruction],
    index: usize,
    padding: &[Instruction],
    targets: &BTreeSet<u64>,
    through_table: bool,
) -> Result<Site, Reason> {
    let mut worst = Reason::NoRoom;
    for earlier in 0..=index.min(4) {
        let first = index - earlier;
        if !code[first..index].iter().all(may_move_before) {
            break;
        }
        let Some((end, after)) = reach(code, index, code[first].ip() + JUMP_BYTES, padding) else { continue };
        let region = code[first].ip()..end;
        // A table of jumps cannot be read here, so only a function without one may lose the start of an instruction.
        if targets.range(region.start + 1..region.end).next().is_some() {
            worst = Reason::JumpedInto;
            continue;
        }
        let loses_start = region.end - region.start > 2;
        if through_table && loses_start {
            worst = Reason::JumpTable;
            continue;
        }
        return Ok(Site { address: code[index].ip(), region, before: code[first..index].to_vec(), after });
    }
    Err(worst)
}

/// The instructions after the one at `index` until at least `wanted`; the last one may be followed by filler.
fn reach(code: &[Instruction], index: usize, wanted: u64, padding: &[Instruction]) -> Option<(u64, Vec<Instruction>)> {
    let mut after = Vec::new();
    let mut end = code[index].next_ip();
    let mut rest = code[index + 1..].iter();
    while end < wanted {
        let goes_on = after.last().is_none_or(|last: &Instruction| !ends(last));
        match (goes_on, rest.next()) {
            (true, Some(next)) if may_move_after(next) => {
                end = next.next_ip();
                after.push(*next);
            }
            // What follows a return or a jump is filler, or else something that is jumped to.
            (false, Some(next)) if matches!(next.mnemonic(), Mnemonic::Nop | Mnemonic::Int3) => end = next.next_ip(),
            (false, None) => {
                let next = padding.iter().find(|filler| filler.ip() == end)?;
                end = next.next_ip();
            }
            _ => return None,
        }
    }
    Some((end, after))
}

fn ends(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Return | FlowControl::UnconditionalBranch)
}

fn may_move_before(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::Next
}

/// The code moves with its jumps, which are encoded again. A call would leave a return address that no unwinder knows.
fn may_move_after(instruction: &Instruction) -> bool {
    let moves = matches!(
        instruction.flow_control(),
        FlowControl::Next | FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
    );
    let counts = matches!(
        instruction.mnemonic(),
        Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne | Mnemonic::Jrcxz | Mnemonic::Jecxz | Mnemonic::Jcxz
    );
    moves && !counts
}

/// Instructions of a detached thread's end: it unmaps its stack, and exits without one.
fn stackless(code: &[Instruction]) -> BTreeSet<u64> {
    let mut number = None;
    let mut unmapped = None;
    let mut found = BTreeSet::new();
    for instruction in code {
        if instruction.code() == Code::Syscall {
            match (number, unmapped) {
                (Some(EXIT), Some(before)) => found.extend([before, instruction.ip()]),
                (Some(MUNMAP), _) => unmapped = Some(instruction.ip()),
                _ => unmapped = None,
            }
            number = None;
        } else if instruction.flow_control() != FlowControl::Next {
            (number, unmapped) = (None, None);
        } else if instruction.mnemonic() == Mnemonic::Mov
            && matches!(instruction.op0_register(), Register::AL | Register::EAX | Register::RAX)
        {
            let is_number = !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory);
            number = is_number.then(|| instruction.immediate(1));
        }
    }
    found
}

/// The functions from which a jump of two bytes may reach one of the pairs.
fn around<'a>(functions: &'a [Range<u64>], pairs: &[u64]) -> Vec<&'a Range<u64>> {
    const SHORT: u64 = 160;
    let mut found: Vec<&Range<u64>> = Vec::new();
    for pair in pairs {
        let first = functions.partition_point(|function| function.end <= pair.saturating_sub(SHORT));
        let near = functions[first..].iter().take_while(|function| function.start < pair + SHORT);
        found.extend(near);
    }
    found.sort_by_key(|function| function.start);
    found.dedup();
    found
}

/// Addresses near the pairs that some bytes of the text, read as a jump, call or address, lead to.
fn targets(text: Text<'_>, functions: &[Range<u64>], pairs: &[u64]) -> BTreeSet<u64> {
    let mut near = vec![false; text.bytes.len()];
    for pair in pairs {
        let (from, to) = (pair.saturating_sub(NEAR).max(text.start), pair + NEAR);
        let range = (from - text.start) as usize..((to - text.start) as usize).min(near.len());
        near[range].fill(true);
    }
    let mut targets = BTreeSet::new();
    let mut note = |end: usize, distance: i64| {
        let target = (end as i64).wrapping_add(distance);
        if usize::try_from(target).ok().and_then(|at| near.get(at)).copied() == Some(true) {
            targets.insert(text.start + target as u64);
        }
    };
    // A jump of two bytes comes from nearby, and two bytes that look like one are everywhere, so the functions around are
    // disassembled. Where that fails, and between functions, every byte counts.
    let mut decoded = vec![false; text.bytes.len()];
    for function in around(functions, pairs) {
        let code = decode(text, function.clone());
        let is_whole = code.last().is_some_and(|last| last.next_ip() == function.end);
        if !is_whole {
            continue;
        }
        for instruction in &code {
            let at = (instruction.ip() - text.start) as usize;
            decoded[at..at + instruction.len()].fill(true);
            if matches!(instruction.op0_kind(), OpKind::NearBranch64) {
                note(0, (instruction.near_branch_target() as i64).wrapping_sub(text.start as i64));
            }
        }
    }
    let mut before = 0_u8;
    for (at, byte) in text.bytes.iter().enumerate() {
        let short = !decoded[at] && matches!(byte, 0xeb | 0x70..=0x7f | 0xe0..=0xe3);
        if let (true, Some(distance)) = (short, text.bytes.get(at + 1)) {
            note(at + 2, i64::from(*distance as i8));
        }
        // Jumps and calls, conditional jumps, and every operand relative to the instruction.
        let long =
            matches!(byte, 0xe8 | 0xe9) || (before == 0x0f && matches!(byte, 0x80..=0x8f)) || byte & 0xc7 == 0x05;
        if let (true, Some(distance)) = (long, text.bytes.get(at + 1..at + 5)) {
            note(at + 5, i64::from(i32::from_le_bytes([distance[0], distance[1], distance[2], distance[3]])));
        }
        before = *byte;
    }
    targets
}
