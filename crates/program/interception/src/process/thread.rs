//! A thread's state for its ring: a block in its thread-local storage, which starts as zeros.
//!
//! A thread takes a ring at its first call. The block is read and written by its own thread only, at times by a signal
//! handler in between, so the fields are atomics without ordering.

use super::memory::Memory;
use super::system;
use crate::memory_map::Reader;
use call_ring::header::at as header;
use call_ring::{RING_BYTES, RINGS, control, control_offset, record_offset};
use std::arch::global_asm;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

unsafe extern "C" {
    /// Address of the thread's own state.
    fn tardy_interception_thread() -> *mut u8;
}

global_asm!(
    r#"
    .pushsection .tbss,"awT",@nobits
    .balign 64
    .hidden tardy_interception_state
    .globl tardy_interception_state
    .type tardy_interception_state, @object
    .size tardy_interception_state, {bytes}
tardy_interception_state:
    .zero {bytes}
    .popsection

    .pushsection .text.tardy_interception,"ax",@progbits
    .hidden tardy_interception_thread
    .globl tardy_interception_thread
    .type tardy_interception_thread, @function
tardy_interception_thread:
    mov rax, fs:[0]
    add rax, [rip + tardy_interception_state@GOTTPOFF]
    ret
    .popsection
    "#,
    bytes = const BLOCK_BYTES,
);

/// Calls that the entry does not handle itself, by number.
pub static SPECIAL: [AtomicU8; 512] = [const { AtomicU8::new(0) }; 512];
pub static MEMORY: OnceLock<SharedMemory> = OnceLock::new();

/// The memory of this process.
pub struct SharedMemory(pub Memory);

// SAFETY: only its address is shared; what is there is changed by atomic operations, or belongs to one thread's ring.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

/// Offsets in the block; [`Block`] has the same order.
pub mod at {
    pub const BASE: usize = 0;
    pub const HEAD: usize = 8;
    pub const TAIL: usize = 16;
    pub const STACK_LOW: usize = 24;
    pub const STACK_HIGH: usize = 32;
    pub const TID: usize = 40;
}

const BLOCK_BYTES: usize = 512;

/// A thread's own state.
#[repr(C)]
#[derive(Debug)]
pub struct Block {
    /// Address of the ring's records; 0 without a ring.
    pub base: AtomicU64,
    /// Position of the next record.
    pub head: AtomicU64,
    /// Address of the position up to which the meter has read.
    pub tail: AtomicU64,
    /// The stack; frame pointers in it are followed.
    pub stack_low: AtomicU64,
    pub stack_high: AtomicU64,
    /// Number of the thread whose calls these are.
    pub tid: AtomicU32,
    /// As [`child`].
    pub child: AtomicU32,
    /// Number of the thread that owns the ring.
    pub own_tid: AtomicU32,
    /// Do not take a ring: it is being taken, or other threads use this block as well.
    pub no_ring: AtomicU32,
    /// The library's own calls.
    pub quiet: AtomicU32,
    pub ring: AtomicU32,
    /// Calls until the next attempt, after all rings were taken.
    pub patience: AtomicU32,
    pub policy: PolicyBlock,
    /// Frame of the outermost function of the heap that runs, and whether a function is being looked up.
    pub heap_frame: AtomicU64,
    pub looks_up: AtomicU32,
    pub locks: LocksBlock,
}

/// The policy of a thread as it last read it.
#[repr(C)]
#[derive(Debug)]
pub struct PolicyBlock {
    /// Number of the change after which it asked, 0 before it asked.
    pub known_since: AtomicU32,
    pub is_real_time: AtomicU32,
    /// Ticks when it asked.
    pub asked_at: AtomicU64,
}

/// Locks that an ordinary thread took last, and when it recorded each.
#[repr(C)]
#[derive(Debug)]
pub struct LocksBlock {
    pub addresses: [AtomicU64; LOCKS],
    pub ticks: [AtomicU64; LOCKS],
    /// Ticks until which it has recorded as many locks as it may.
    pub paid_until: AtomicU64,
}

/// A power of two.
pub const LOCKS: usize = 16;

/// The child that the current call starts, if any.
pub mod child {
    pub const NONE: u32 = 0;
    /// A process with a copy of the memory.
    pub const COPY: u32 = 1;
    /// A process that uses memory and block until it executes another program, while this thread waits.
    pub const BORROWS: u32 = 2;
    /// A thread with its own block.
    pub const THREAD: u32 = 3;
}

const RETRY_CALLS: u32 = 1000;

/// The block of the calling thread.
pub fn current() -> &'static Block {
    // SAFETY: the address is that of [`BLOCK_BYTES`] zeroed bytes in the thread's local storage, aligned to 64; the reference is not
    // passed to another thread, and every field may hold any value.
    unsafe { &*tardy_interception_thread().cast() }
}

const _: () = assert!(size_of::<Block>() <= BLOCK_BYTES);
const _: () = assert!(std::mem::offset_of!(Block, stack_low) == at::STACK_LOW);
const _: () = assert!(std::mem::offset_of!(Block, stack_high) == at::STACK_HIGH);
const _: () = assert!(std::mem::offset_of!(Block, tid) == at::TID);
const _: () = assert!(std::mem::offset_of!(Block, tail) == at::TAIL);

impl Block {
    /// Takes a ring if there is none yet; `stack` is the stack pointer of the program.
    pub fn ensure_ring(&self, memory: Memory, stack: u64) -> bool {
        if self.base.load(Relaxed) != 0 {
            return true;
        }
        if self.no_ring.load(Relaxed) != 0 {
            return false;
        }
        if let Some(left) = self.patience.load(Relaxed).checked_sub(1) {
            self.patience.store(left, Relaxed);
            return false;
        }
        // A signal handler meanwhile must not take another one.
        self.no_ring.store(1, Relaxed);
        let taken = self.take(memory, stack);
        self.no_ring.store(0, Relaxed);
        if !taken {
            self.patience.store(RETRY_CALLS, Relaxed);
        }
        taken
    }

    fn take(&self, memory: Memory, stack: u64) -> bool {
        let (process, thread) = (system::process_number(), system::thread_number());
        for ring in 0..RINGS {
            let place = control_offset(ring);
            let state = memory.half(place + control::STATE);
            if state.load(Relaxed) != control::FREE
                || state.compare_exchange(control::FREE, control::TAKEN, AcqRel, Relaxed).is_err()
            {
                continue;
            }
            let base = memory.address(record_offset(ring, 0)) as u64;
            if !prepare(base) {
                state.store(control::FREE, Release);
                return false;
            }
            memory.half(place + control::PID).store(process, Relaxed);
            memory.half(place + control::TID).store(thread, Relaxed);
            let generation = memory.word(header::GENERATION).fetch_add(1, Relaxed) + 1;
            memory.word(place + control::GENERATION).store(generation, Release);
            let tail = memory.word(place + control::TAIL);
            self.head.store(tail.load(Acquire), Relaxed);
            self.tail.store(memory.address(place + control::TAIL) as u64, Relaxed);
            // Its own storage lies above the stack that a thread started with.
            let (low, high) = stack_around(stack, std::ptr::from_ref(self) as u64);
            self.stack_low.store(low, Relaxed);
            self.stack_high.store(high, Relaxed);
            self.tid.store(thread, Relaxed);
            self.own_tid.store(thread, Relaxed);
            self.ring.store(ring as u32, Relaxed);
            self.base.store(base, Relaxed);
            return true;
        }
        false
    }

    /// The child that was copied has no ring: the one of its parent is still the parent's.
    pub fn forget_ring(&self) {
        self.base.store(0, Relaxed);
        self.child.store(child::NONE, Relaxed);
        self.no_ring.store(0, Relaxed);
        self.patience.store(0, Relaxed);
        self.policy.known_since.store(0, Relaxed);
        self.locks.addresses.iter().for_each(|address| address.store(0, Relaxed));
    }

    /// Counts a call that is not recorded.
    pub fn count_lost(&self, memory: Memory) {
        let place = match self.base.load(Relaxed) {
            0 => header::LOST,
            _ => control_offset((self.ring.load(Relaxed) as usize).min(RINGS - 1)) + control::LOST,
        };
        memory.word(place).fetch_add(1, Relaxed);
    }
}

/// Makes the records of a ring writable, and fills its pages so that a loop does not fault on them.
fn prepare(base: u64) -> bool {
    const POPULATE_WRITE: u64 = 23;
    // SAFETY: the pages belong to the mapping of the memory, and only the thread that took the ring writes to them.
    let writable = unsafe { system::protect(base, RING_BYTES as u64, libc::PROT_READ | libc::PROT_WRITE) };
    if writable {
        // SAFETY: as above; an older kernel refuses, and the pages come one by one.
        unsafe { system::call(libc::SYS_madvise as u64, [base, RING_BYTES as u64, POPULATE_WRITE, 0, 0, 0]) };
    }
    writable
}

/// The bounds of the stack that a stack pointer is in, if it is the one that the thread started with; otherwise nothing.
fn stack_around(stack: u64, storage: u64) -> (u64, u64) {
    let mut found = 0..0;
    let mut reader = Reader::default();
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
    let path = c"/proc/self/maps".as_ptr() as u64;
    // SAFETY: the path is a string that ends with a zero.
    let file = unsafe { system::call(libc::SYS_openat as u64, [libc::AT_FDCWD as u64, path, flags, 0, 0, 0]) };
    if file < 0 {
        return (0, 0);
    }
    let mut text = [0_u8; 512];
    loop {
        let target = text.as_mut_ptr() as u64;
        // SAFETY: the file is open and the buffer that long.
        let length = unsafe { system::call(libc::SYS_read as u64, [file as u64, target, text.len() as u64, 0, 0, 0]) };
        let Some(read) = usize::try_from(length).ok().filter(|length| *length > 0) else { break };
        let mappings = text.iter().take(read).filter_map(|byte| reader.push(*byte));
        mappings.filter_map(|mapping| mapping.stack(stack, storage)).for_each(|stack| found = stack);
    }
    // SAFETY: the number was opened above.
    unsafe { system::call(libc::SYS_close as u64, [file as u64, 0, 0, 0, 0, 0]) };
    (found.start, found.end)
}
