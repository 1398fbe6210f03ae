//! The program that the kernel executes when a timer's turn comes: where that is late, it records what the interrupt broke
//! into. For a timer in time it reads the expiry and the clock.

use super::kernel_types::Offsets;
use crate::kernel::bpf::Instruction;

/// A timer that is no later is not recorded.
pub const LATE_NS: i32 = 25_000;
/// Records of a CPU that are kept; a power of two.
pub const RECORDS: usize = 128;
pub const RECORD_BYTES: usize = 80;
/// The number of records so far comes before them.
pub const HEAD_BYTES: usize = 8;

/// Offsets in a record. The stamp is written at both ends, at the front last: a copy with two different ones is of a record
/// that was being written.
pub const STAMP: usize = 0;
pub const THREAD: usize = 8;
pub const INSTRUCTION: usize = 16;
pub const CODE_SEGMENT: usize = 24;
pub const STOLEN: usize = 32;
pub const STOLEN_BEFORE: usize = 40;
pub const EXPIRY_OF_TIMER: usize = 48;
/// The bytes of code before the instruction.
pub const CODE: usize = 56;
pub const CODE_BYTES: usize = 16;
pub const STAMP_AGAIN: usize = 72;

/// Offset of the instruction pointer in the registers that an interrupt of x86-64 saves; the code segment follows it.
const SAVED_INSTRUCTION: i32 = 128;

/// The kernel's helpers.
const LOOK_UP: i32 = 1;
const CLOCK: i32 = 5;
const CPU: i32 = 8;
const THREAD_AND_PROCESS: i32 = 14;
const READ_KERNEL: i32 = 113;

const RESULT: u8 = 0;
const FIRST: u8 = 1;
const SECOND: u8 = 2;
const THIRD: u8 = 3;
/// The helpers leave these alone.
const TIMERS: u8 = 6;
const NOW: u8 = 7;
const EXPIRY: u8 = 8;
const RECORD: u8 = 9;
const FRAME: u8 = 10;

/// Places in the frame.
const REGISTERS_AT: i16 = -8;
const INTERRUPTED_AT: i16 = -24;
const STOLEN_AT: i16 = -32;
const STOLEN_BEFORE_AT: i16 = -40;
const CODE_AT: i16 = -56;
const CPU_AT: i16 = -60;

/// The instructions for a kernel with these offsets, which write to the array of this number: an element for each CPU.
pub fn instructions(offsets: &Offsets, array: i32) -> Vec<Instruction> {
    let mut program = Program::default();
    program.load(TIMERS, FIRST, 0);
    program.load(EXPIRY, TIMERS, offsets.expires);
    program.call(CLOCK);
    program.copy(NOW, RESULT);
    program.copy(FIRST, NOW);
    program.subtract(FIRST, EXPIRY);
    program.leave_if_less(FIRST, LATE_NS);
    program.load(FIRST, TIMERS, offsets.base);
    program.load(TIMERS, FIRST, offsets.cpu_base);
    program.read_kernel(REGISTERS_AT, 8, TIMERS, offsets.saved_registers);
    program.load(FIRST, FRAME, REGISTERS_AT);
    program.read_kernel(INTERRUPTED_AT, 16, FIRST, SAVED_INSTRUCTION);
    program.load(FIRST, FRAME, INTERRUPTED_AT);
    program.read_kernel(CODE_AT, CODE_BYTES as i32, FIRST, -(CODE_BYTES as i32));
    program.read_kernel(STOLEN_AT, 8, TIMERS, offsets.stolen);
    program.read_kernel(STOLEN_BEFORE_AT, 8, TIMERS, offsets.stolen_before);
    program.call(CPU);
    program.store_32(FRAME, CPU_AT, RESULT);
    program.load_array(FIRST, array);
    program.copy(SECOND, FRAME);
    program.add_constant(SECOND, i32::from(CPU_AT));
    program.call(LOOK_UP);
    program.leave_if_zero(RESULT);
    program.copy(RECORD, RESULT);
    program.load(FIRST, RECORD, 0);
    program.copy(SECOND, FIRST);
    program.add_constant(SECOND, 1);
    program.store(RECORD, 0, SECOND);
    program.and_constant(FIRST, RECORDS as i32 - 1);
    program.multiply_constant(FIRST, RECORD_BYTES as i32);
    program.add_constant(FIRST, HEAD_BYTES as i32);
    program.add(RECORD, FIRST);
    program.store(RECORD, STAMP_AGAIN as i16, NOW);
    program.call(THREAD_AND_PROCESS);
    program.store(RECORD, THREAD as i16, RESULT);
    program.store(RECORD, EXPIRY_OF_TIMER as i16, EXPIRY);
    let kept = [
        (INTERRUPTED_AT, INSTRUCTION),
        (INTERRUPTED_AT + 8, CODE_SEGMENT),
        (STOLEN_AT, STOLEN),
        (STOLEN_BEFORE_AT, STOLEN_BEFORE),
        (CODE_AT, CODE),
        (CODE_AT + 8, CODE + 8),
    ];
    for (from, to) in kept {
        program.load(FIRST, FRAME, from);
        program.store(RECORD, to as i16, FIRST);
    }
    program.store(RECORD, STAMP as i16, NOW);
    program.end()
}

#[derive(Default)]
struct Program {
    instructions: Vec<Instruction>,
    /// Jumps to the end.
    leaving: Vec<usize>,
}

impl Program {
    fn add_instruction(&mut self, code: u8, destination: u8, source: u8, offset: i16, constant: i32) {
        self.instructions.push(Instruction { code, registers: source << 4 | destination, offset, constant });
    }

    fn load(&mut self, into: u8, base: u8, offset: i16) {
        self.add_instruction(0x79, into, base, offset, 0);
    }

    fn store(&mut self, base: u8, offset: i16, from: u8) {
        self.add_instruction(0x7b, base, from, offset, 0);
    }

    fn store_32(&mut self, base: u8, offset: i16, from: u8) {
        self.add_instruction(0x63, base, from, offset, 0);
    }

    fn copy(&mut self, into: u8, from: u8) {
        self.add_instruction(0xbf, into, from, 0, 0);
    }

    fn constant(&mut self, into: u8, constant: i32) {
        self.add_instruction(0xb7, into, 0, 0, constant);
    }

    fn add(&mut self, into: u8, from: u8) {
        self.add_instruction(0x0f, into, from, 0, 0);
    }

    fn subtract(&mut self, into: u8, from: u8) {
        self.add_instruction(0x1f, into, from, 0, 0);
    }

    fn add_constant(&mut self, into: u8, constant: i32) {
        self.add_instruction(0x07, into, 0, 0, constant);
    }

    fn and_constant(&mut self, into: u8, constant: i32) {
        self.add_instruction(0x57, into, 0, 0, constant);
    }

    fn multiply_constant(&mut self, into: u8, constant: i32) {
        self.add_instruction(0x27, into, 0, 0, constant);
    }

    fn call(&mut self, helper: i32) {
        self.add_instruction(0x85, 0, 0, 0, helper);
    }

    /// Takes two instructions.
    fn load_array(&mut self, into: u8, array: i32) {
        const NUMBER_OF_A_MAP: u8 = 1;
        self.add_instruction(0x18, into, NUMBER_OF_A_MAP, 0, array);
        self.add_instruction(0, 0, 0, 0, 0);
    }

    /// Copies kernel memory into the frame; zeroes where it cannot be read.
    fn read_kernel(&mut self, into: i16, bytes: i32, base: u8, offset: i32) {
        self.copy(THIRD, base);
        self.add_constant(THIRD, offset);
        self.copy(FIRST, FRAME);
        self.add_constant(FIRST, i32::from(into));
        self.constant(SECOND, bytes);
        self.call(READ_KERNEL);
    }

    fn leave_if_less(&mut self, register: u8, constant: i32) {
        self.leaving.push(self.instructions.len());
        self.add_instruction(0xc5, register, 0, 0, constant);
    }

    fn leave_if_zero(&mut self, register: u8) {
        self.leaving.push(self.instructions.len());
        self.add_instruction(0x15, register, 0, 0, 0);
    }

    fn end(mut self) -> Vec<Instruction> {
        let end = self.instructions.len();
        for &at in &self.leaving {
            self.instructions[at].offset = (end - at - 1) as i16;
        }
        self.constant(RESULT, 0);
        self.add_instruction(0x95, 0, 0, 0, 0);
        self.instructions
    }
}
