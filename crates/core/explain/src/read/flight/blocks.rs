//! The blocks of a record: the function of each, the effect of its code on interrupts and preemption, and when it ran.
//!
//! The recorder counts a block as a whole when it begins. A block that a fault cut short, or that continued after a
//! device access, is recognised by the start of the next one, and counted as far as it got.

use super::role::{Role, role_of};
use ftrace::flight_record::{BlockCode, ExecutedBlock, FlightRecord};
use ftrace::kernel_symbols::KernelSymbols;
use std::collections::HashMap;

const INTERRUPT_RETURN: [u8; 2] = [0x48, 0xcf];
const MASK: [u8; 1] = [0xfa];
const UNMASK: [u8; 1] = [0xfb];
const READ_CLOCK: [&[u8]; 2] = [&[0x0f, 0x31], &[0x0f, 0x01, 0xf9]];
/// The thread reads the clock at most this many blocks before it reports it.
const CLOCK_BLOCKS: usize = 200;

/// The code that a block belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A program.
    User,
    /// Kernel code without a name.
    Nameless,
    /// Index into [`Blocks::functions`].
    Function(u32),
}

#[derive(Debug)]
pub struct Function {
    pub start: u64,
    pub name: String,
    pub role: Role,
}

/// Properties of a block that are the same for every execution.
#[derive(Debug)]
pub struct Kind {
    address: u64,
    pub place: Place,
    /// Whether it is the beginning of its function.
    pub begins: bool,
    pub returns_from_interrupt: bool,
    /// Whether it finally masks interrupts or enables them.
    pub masks: Option<bool>,
    /// Its change of the preemption-disable depth.
    pub preempt: i32,
    /// Start of each instruction, and the end of the last; empty without code.
    bounds: Vec<u64>,
    jumps_to: Option<u64>,
    /// Number of instructions before the last one that reads the clock.
    clock: Option<u32>,
}

/// One execution.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub kind: u32,
    instructions: u32,
    /// Instructions executed before it, since the record began.
    pub position: u64,
}

#[derive(Debug)]
pub struct Blocks {
    pub functions: Vec<Function>,
    pub kinds: Vec<Kind>,
    pub steps: Vec<Step>,
    /// First step after the processor halted for the last time: times before it are unknown.
    pub first: usize,
    /// End of the record.
    pub end: u64,
    /// Position at which the clock value of the sample was read.
    pub seen: Option<u64>,
}

impl Blocks {
    pub fn of(record: &FlightRecord, symbols: &KernelSymbols) -> Self {
        let mut sorting = Sorting::new(record, symbols);
        let mut steps: Vec<Step> = record
            .blocks
            .iter()
            .map(|block| Step { kind: sorting.kind(block), instructions: block.instructions, position: 0 })
            .collect();
        let (functions, kinds) = (sorting.functions, sorting.kinds);
        cut(&mut steps, &kinds, &functions);
        let mut position = 0;
        for step in &mut steps {
            step.position = position;
            position += u64::from(step.instructions);
        }
        let first = record.blocks.iter().rposition(|block| block.halts).map_or(0, |halt| halt + 1);
        let reads = steps.iter().rev().take(CLOCK_BLOCKS);
        let seen =
            reads.filter_map(|step| Some(step.position + u64::from(kinds.get(step.kind as usize)?.clock?))).next();
        Self { functions, kinds, steps, first, end: position, seen }
    }
}

/// Assigns numbers to functions and kinds.
struct Sorting<'r> {
    record: &'r FlightRecord,
    symbols: &'r KernelSymbols,
    /// Address of the preemption-disable counter.
    counter: Option<u64>,
    functions: Vec<Function>,
    kinds: Vec<Kind>,
    by_start: HashMap<u64, u32>,
    by_block: HashMap<(u64, u32), u32>,
}

impl<'r> Sorting<'r> {
    fn new(record: &'r FlightRecord, symbols: &'r KernelSymbols) -> Self {
        Self {
            record,
            symbols,
            counter: preemption_counter(record),
            functions: Vec::new(),
            kinds: Vec::new(),
            by_start: HashMap::new(),
            by_block: HashMap::new(),
        }
    }

    fn kind(&mut self, block: &ExecutedBlock) -> u32 {
        let key = (block.address, block.instructions);
        if let Some(&known) = self.by_block.get(&key) {
            return known;
        }
        let (place, begins) = self.place(block.address);
        let mut kind = Kind {
            address: block.address,
            place,
            begins,
            returns_from_interrupt: false,
            masks: None,
            preempt: 0,
            bounds: Vec::new(),
            jumps_to: None,
            clock: None,
        };
        if let Some(code) = self.record.code_at(block.address) {
            kind.read(code, block.instructions, self.counter);
        }
        let number = self.kinds.len() as u32;
        self.kinds.push(kind);
        self.by_block.insert(key, number);
        number
    }

    /// The part of a function that compilers place elsewhere counts as the function.
    fn place(&mut self, address: u64) -> (Place, bool) {
        if address >> 63 == 0 {
            return (Place::User, false);
        }
        let Some((name, distance)) = self.symbols.find(address) else { return (Place::Nameless, false) };
        let whole = name.strip_suffix(".cold").unwrap_or(name);
        let elsewhere = whole.len() < name.len();
        let start = if elsewhere { self.symbols.address(whole) } else { None }.unwrap_or(address - distance);
        let next = self.functions.len() as u32;
        let number = *self.by_start.entry(start).or_insert(next);
        if number == next {
            self.functions.push(Function { start, name: whole.to_owned(), role: role_of(whole) });
        }
        (Place::Function(number), distance == 0 && !elsewhere)
    }
}

impl Kind {
    fn read(&mut self, code: &BlockCode, count: u32, counter: Option<u64>) {
        let mut at = self.address;
        let mut last: &[u8] = &[];
        for (before, instruction) in code.instructions(count).enumerate() {
            self.bounds.push(at);
            let behind = at.wrapping_add(instruction.len() as u64);
            match instruction {
                _ if instruction == MASK => self.masks = Some(true),
                _ if instruction == UNMASK => self.masks = Some(false),
                _ if READ_CLOCK.contains(&instruction) => self.clock = Some(before as u32),
                _ => {}
            }
            if let Some((target, change)) = counts(instruction, behind)
                && Some(target) == counter
            {
                self.preempt += change;
            }
            at = behind;
            last = instruction;
        }
        if !self.bounds.is_empty() {
            self.bounds.push(at);
        }
        self.returns_from_interrupt = last == INTERRUPT_RETURN;
        self.jumps_to = jump_target(last, at);
    }

    /// Instructions of this block before the one at `address`, if that is inside it and not its first.
    fn instructions_before(&self, address: u64) -> Option<u32> {
        let inside = self.bounds.get(1..)?;
        inside.binary_search(&address).ok().map(|at| at as u32 + 1)
    }
}

/// Target of a direct jump whose next instruction is at `behind`.
fn jump_target(instruction: &[u8], behind: u64) -> Option<u64> {
    let distance = match instruction {
        [0x70..=0x7f | 0xeb | 0xe0..=0xe3, near] => i64::from(*near as i8),
        [0x0f, 0x80..=0x8f, far @ ..] | [0xe9, far @ ..] => i64::from(i32::from_le_bytes(far.try_into().ok()?)),
        _ => return None,
    };
    Some(behind.wrapping_add_signed(distance))
}

/// A per-CPU counter that is changed, and by how much: `inc`, `dec`, `add` and `sub` of a number, relative to GS and to
/// the address of the next instruction.
fn counts(instruction: &[u8], behind: u64) -> Option<(u64, i32)> {
    let (distance, change) = match instruction {
        [0x65, 0xff, 0x05, distance @ ..] => (distance, 1),
        [0x65, 0xff, 0x0d, distance @ ..] => (distance, -1),
        [0x65, 0x83, 0x05, distance @ .., number] => (distance, i32::from(*number as i8)),
        [0x65, 0x83, 0x2d, distance @ .., number] => (distance, -i32::from(*number as i8)),
        [0x65, 0x81, 0x05, rest @ ..] if rest.len() == 8 => {
            (&rest[..4], i32::from_le_bytes(rest[4..].try_into().ok()?))
        }
        [0x65, 0x81, 0x2d, rest @ ..] if rest.len() == 8 => {
            (&rest[..4], -i32::from_le_bytes(rest[4..].try_into().ok()?))
        }
        _ => return None,
    };
    let distance = i32::from_le_bytes(distance.try_into().ok()?);
    // The bits above the low byte count softirqs and interrupts.
    Some((behind.wrapping_add_signed(i64::from(distance)), change % 256))
}

/// No symbol gives the address of the preemption-disable counter, but no other counter is changed in as many places.
fn preemption_counter(record: &FlightRecord) -> Option<u64> {
    let mut places: HashMap<u64, (u32, u32)> = HashMap::new();
    for code in &record.code {
        let mut at = code.address;
        for instruction in code.instructions(u32::MAX) {
            at = at.wrapping_add(instruction.len() as u64);
            match counts(instruction, at) {
                Some((target, 1)) => places.entry(target).or_default().0 += 1,
                Some((target, -1)) => places.entry(target).or_default().1 += 1,
                _ => {}
            }
        }
    }
    places.into_iter().max_by_key(|(target, (ups, downs))| (*ups.min(downs), *target)).map(|(target, _)| target)
}

/// Shortens the blocks that did not reach their end.
fn cut(steps: &mut [Step], kinds: &[Kind], functions: &[Function]) {
    let role = |kind: &Kind| match kind.place {
        Place::Function(number) => functions.get(number as usize).map(|function| function.role),
        _ => None,
    };
    // Blocks that faulted, until the fault returns.
    let mut faulted: Vec<usize> = Vec::new();
    for at in 1..steps.len() {
        let (before, now) = (&kinds[steps[at - 1].kind as usize], &kinds[steps[at].kind as usize]);
        if matches!(role(now), Some(Role::Fault { .. })) && now.begins {
            faulted.push(at - 1);
        } else if before.returns_from_interrupt {
            let resumed = |step: &usize| kinds[steps[*step].kind as usize].instructions_before(now.address).is_some();
            if let Some(index) = faulted.iter().rposition(resumed) {
                let step = faulted[index];
                faulted.truncate(index);
                shorten(&mut steps[step], kinds, now.address);
            }
        } else if before.jumps_to != Some(now.address) {
            shorten(&mut steps[at - 1], kinds, now.address);
        }
    }
}

fn shorten(step: &mut Step, kinds: &[Kind], resumed: u64) {
    if let Some(executed) = kinds[step.kind as usize].instructions_before(resumed) {
        step.instructions = step.instructions.min(executed);
    }
}
