//! A BPF program, put together by hand, that computes at `signal:signal_generate` of one signal of one thread: the kernel records
//! that event with the lock of the signal handlers held and interrupts off. It shares no code with the meter's programs: an injector must
//! not fail where the meter does.

use std::io;
use std::mem::size_of;

/// Between two readings of the clock lie some tens of nanoseconds.
const GAP_NS: i32 = 20_000;

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const PROGRAM_LOAD: libc::c_int = 5;
const TRACEPOINT_OPEN: libc::c_int = 17;
const KIND_ARRAY: u32 = 2;
const KIND_RAW_TRACEPOINT: u32 = 17;

const LOOKUP_ELEMENT: i32 = 1;
const CLOCK: i32 = 5;
const PID_TGID: i32 = 14;

/// One instruction: code, destination and source, offset, constant.
type Instruction = (u8, u8, u8, i16, i32);

const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R6: u8 = 6;
const R7: u8 = 7;
const R8: u8 = 8;
const R9: u8 = 9;
const FRAME: u8 = 10;

const MOVE: u8 = 0xbf;
const MOVE_CONSTANT: u8 = 0xb7;
const ADD: u8 = 0x0f;
const ADD_CONSTANT: u8 = 0x07;
const SUBTRACT: u8 = 0x1f;
const SHIFT_LEFT: u8 = 0x67;
const SHIFT_RIGHT: u8 = 0x77;
const LOAD_WIDE: u8 = 0x18;
const LOAD: u8 = 0x79;
const STORE: u8 = 0x7b;
const STORE_CONSTANT_32: u8 = 0x62;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const UNLESS_EQUAL: u8 = 0x5d;
const UNLESS_EQUAL_CONSTANT: u8 = 0x55;
const IF_EQUAL_CONSTANT: u8 = 0x15;
const MAY_LEAVE: u8 = 0xe5;
const IF_LESS_SIGNED: u8 = 0xcd;
const IF_LESS_SIGNED_CONSTANT: u8 = 0xc5;
/// The source of a wide constant that is a map's descriptor.
const OF_MAP: u8 = 1;
/// Where the key of the map's only element lies on the stack.
const KEY: i16 = -4;

/// The program, attached until it is dropped with its process.
pub struct Masked {
    map: i32,
}

impl Masked {
    /// It computes for `length_ns` when `thread` sends `signal`. Interrupts on top of the thread send signals, too.
    pub fn attach(thread: i32, signal: i32, length_ns: i64) -> io::Result<Self> {
        let mut attributes = Attributes::default();
        attributes.put(&[KIND_ARRAY, size_of::<u32>() as u32, 3 * size_of::<i64>() as u32, 1]);
        let map = attributes.ask(MAP_CREATE)?;
        let instructions = program(thread, signal, length_ns as i32, map);
        let bytes: Vec<u8> = instructions.iter().flat_map(encode).collect();
        let mut attributes = Attributes::default();
        attributes.put(&[KIND_RAW_TRACEPOINT, instructions.len() as u32]);
        attributes.put_address(bytes.as_ptr());
        attributes.put_address(c"GPL".as_ptr().cast());
        let program = attributes.ask(PROGRAM_LOAD)?;
        let mut attributes = Attributes::default();
        attributes.put_address(c"signal_generate".as_ptr().cast());
        attributes.put(&[program as u32]);
        attributes.ask(TRACEPOINT_OPEN)?;
        Ok(Self { map })
    }

    /// Begin, end and gaps of the last time it ran, in ns.
    pub fn last(&self) -> io::Result<[i64; 3]> {
        let (key, value) = (0_u32, [0_i64; 3]);
        let mut attributes = Attributes::default();
        attributes.put(&[self.map as u32, 0]);
        attributes.put_address((&raw const key).cast());
        attributes.put_address(value.as_ptr().cast());
        attributes.ask(MAP_LOOKUP)?;
        // SAFETY: the kernel has written to the array through the address, which the compiler does not know.
        Ok(unsafe { std::ptr::read_volatile(&raw const value) })
    }
}

fn program(thread: i32, signal: i32, length_ns: i32, map: i32) -> Vec<Instruction> {
    vec![
        // Only for one signal, the first value of the event, of one thread.
        (LOAD, R6, R1, 0, 0),
        (UNLESS_EQUAL_CONSTANT, R6, 0, 29, signal),
        (CALL, 0, 0, 0, PID_TGID),
        (SHIFT_LEFT, R0, 0, 0, 32),
        (SHIFT_RIGHT, R0, 0, 0, 32),
        (MOVE_CONSTANT, R1, 0, 0, thread),
        (UNLESS_EQUAL, R0, R1, 24, 0),
        // R6 is the start, R7 until when, R8 the last reading, R9 the sum of the gaps.
        (CALL, 0, 0, 0, CLOCK),
        (MOVE, R6, R0, 0, 0),
        (MOVE, R7, R0, 0, 0),
        (ADD_CONSTANT, R7, 0, 0, length_ns),
        (MOVE, R8, R0, 0, 0),
        (MOVE_CONSTANT, R9, 0, 0, 0),
        // The kernel wants a loop to have an end that it can see.
        (MAY_LEAVE, 0, 0, 7, 0),
        (CALL, 0, 0, 0, CLOCK),
        (MOVE, R1, R0, 0, 0),
        (SUBTRACT, R1, R8, 0, 0),
        (IF_LESS_SIGNED_CONSTANT, R1, 0, 1, GAP_NS),
        (ADD, R9, R1, 0, 0),
        (MOVE, R8, R0, 0, 0),
        (IF_LESS_SIGNED, R8, R7, -8, 0),
        // Leaves begin, last reading and gaps.
        (STORE_CONSTANT_32, FRAME, 0, KEY, 0),
        (MOVE, R2, FRAME, 0, 0),
        (ADD_CONSTANT, R2, 0, 0, KEY as i32),
        (LOAD_WIDE, R1, OF_MAP, 0, map),
        (0, 0, 0, 0, 0),
        (CALL, 0, 0, 0, LOOKUP_ELEMENT),
        (IF_EQUAL_CONSTANT, R0, 0, 3, 0),
        (STORE, R0, R6, 0, 0),
        (STORE, R0, R8, 8, 0),
        (STORE, R0, R9, 16, 0),
        (MOVE_CONSTANT, R0, 0, 0, 0),
        (EXIT, 0, 0, 0, 0),
    ]
}

fn encode(&(code, destination, source, offset, constant): &Instruction) -> Vec<u8> {
    [&[code, source << 4 | destination][..], &offset.to_le_bytes(), &constant.to_le_bytes()].concat()
}

/// The attributes of the system call, as the kernel lays them out.
#[derive(Default)]
struct Attributes(Vec<u8>);

impl Attributes {
    fn put(&mut self, numbers: &[u32]) {
        self.0.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
    }

    fn put_address(&mut self, at: *const u8) {
        self.0.extend((at as u64).to_ne_bytes());
    }

    fn ask(mut self, what: libc::c_int) -> io::Result<i32> {
        /// Room for every field that any of the commands has.
        const BYTES: usize = 128;
        self.0.resize(BYTES, 0);
        // SAFETY: the kernel reads as many bytes as there are; addresses in them live until it returns.
        let result = unsafe { libc::syscall(libc::SYS_bpf, what, self.0.as_ptr(), BYTES) } as i32;
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{now_ns, own_thread, signal_thread};

    fn is_since(major: u32, minor: u32) -> bool {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= (Some(major), Some(minor))
    }

    #[test]
    fn the_kernel_accepts_the_program_and_runs_it_for_one_signal_of_one_thread() {
        const LENGTH_NS: i64 = 300_000;
        prerequisites::require!(Root, Kernel("loops in BPF that the kernel ends (Linux 6.9)", is_since(6, 9)));
        let masked = Masked::attach(own_thread(), libc::SIGURG, LENGTH_NS).expect("a program");
        signal_thread(own_thread(), libc::SIGWINCH).expect("another signal");
        assert_eq!(masked.last().expect("a map"), [0; 3], "it has not run");
        let before_ns = now_ns();
        signal_thread(own_thread(), libc::SIGURG).expect("a signal");
        let [begin_ns, end_ns, _] = masked.last().expect("a map");
        assert!(before_ns <= begin_ns && end_ns <= now_ns(), "{before_ns} {begin_ns} {end_ns}");
        assert!(end_ns - begin_ns >= LENGTH_NS, "{}", end_ns - begin_ns);
    }
}
