//! Functions of the C library that a program calls here instead, because this library is loaded first: each calls the one that the
//! program would have called, and records that.
//!
//! A record is made after the call, in one go: a thread that is cancelled, that throws or that jumps out of a function leaves no
//! record open. A wait is recorded before it begins, because it may end so; its system call shows how long it took. What a
//! function of the heap calls itself is not the program's doing. Where nothing is recorded, a function costs a call more.

use super::calls;
use super::memory::Memory;
use super::next::{self, Next};
use super::policy;
use super::ring::{self, Running, has_room};
use super::system;
use super::thread::{Block, LOCKS, MEMORY, current};
use super::unwinding;
use crate::frames::Position;
use call_ring::function::{Effect, Function, Lock, MUTEX_KIND_OFFSET, Recorded};
use call_ring::header::at;
use call_ring::record::{CALLERS, LIBRARY};
use std::arch::naked_asm;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// As [`Recorded`]; 0 for nothing.
static RECORDED: AtomicU32 = AtomicU32::new(0);

/// Ticks of the counter, some milliseconds, after which an ordinary thread records a lock again.
const LOCK_TICKS: u64 = 1 << 24;
/// Ticks for each lock that an ordinary thread records, and how many locks it may record at once: it may take more locks than
/// it remembers.
const TICKS_PER_LOCK: u64 = 1 << 20;
const LOCKS_AT_ONCE: u64 = 32;

/// Begins to record, if the host asked for it.
pub fn start(memory: Memory) {
    let recorded = memory.half(at::LIBRARY_CALLS).load(Relaxed);
    if MEMORY.get().is_none() || Recorded::from_number(recorded).is_none() {
        return;
    }
    calls::quietly(|| {
        unwinding::prepare();
        for function in Function::ALL {
            next::find(*function, current(), 0);
            if next::base(next::called(*function)) != next::base(arrive as *const () as usize) {
                memory.word(at::ELSEWHERE).fetch_or(function.bit(), Relaxed);
            }
        }
    });
    RECORDED.store(recorded, Relaxed);
}

macro_rules! interposed {
    ($($symbol:ident $function:ident;)*) => {
        $(
            /// The function of this name.
            ///
            /// # Safety
            /// As in the C library.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $symbol() {
                naked_asm!(
                    ".cfi_startproc",
                    "push rbp",
                    ".cfi_def_cfa_offset 16",
                    ".cfi_offset rbp, -16",
                    "mov rbp, rsp",
                    ".cfi_def_cfa_register rbp",
                    "mov r8, rsp",
                    "mov r9d, {number}",
                    "call {arrive}",
                    "pop rbp",
                    ".cfi_def_cfa rsp, 8",
                    "ret",
                    ".cfi_endproc",
                    number = const Function::$function as u32,
                    arrive = sym arrive,
                )
            }
        )*
    };
}

interposed! {
    malloc Malloc;
    calloc Calloc;
    realloc Realloc;
    reallocarray Reallocarray;
    memalign Memalign;
    aligned_alloc AlignedAlloc;
    posix_memalign PosixMemalign;
    valloc Valloc;
    pvalloc Pvalloc;
    free Free;
    _Znwm New;
    _Znam NewArray;
    _ZdlPv Delete;
    _ZdlPvm DeleteSized;
    _ZdaPv DeleteArray;
    _ZdaPvm DeleteArraySized;
    pthread_mutex_lock MutexLock;
    pthread_mutex_timedlock MutexTimedlock;
    pthread_mutex_clocklock MutexClocklock;
    pthread_mutex_trylock MutexTrylock;
    pthread_mutex_unlock MutexUnlock;
    pthread_rwlock_rdlock ReadLock;
    pthread_rwlock_wrlock WriteLock;
    pthread_rwlock_tryrdlock ReadTrylock;
    pthread_rwlock_trywrlock WriteTrylock;
    pthread_rwlock_unlock ReadWriteUnlock;
    pthread_spin_lock SpinLock;
    pthread_spin_trylock SpinTrylock;
    pthread_spin_unlock SpinUnlock;
    pthread_cond_wait ConditionWait;
    pthread_cond_timedwait ConditionTimedwait;
    pthread_cond_clockwait ConditionClockwait;
    pthread_cond_signal ConditionSignal;
    pthread_cond_broadcast ConditionBroadcast;
    sem_wait SemaphoreWait;
    sem_post SemaphorePost;
}

/// A frame pointer and, behind it, a return address.
type Frame = [u64; 2];

/// Arguments of a function, in their registers; those that it does not take hold anything.
type Arguments = [u64; 4];

/// Where each of the functions arrives; `frame` is its own.
unsafe extern "C-unwind" fn arrive(a: u64, b: u64, c: u64, d: u64, frame: *const Frame, number: u32) -> u64 {
    let Some(function) = Function::from_number(number) else { return 0 };
    let (block, arguments) = (current(), [a, b, c, d]);
    if is_of_spare(function, a) {
        // SAFETY: the block is a piece of the spare memory, and the arguments are the program's own.
        return unsafe { with_spare(function, arguments) };
    }
    // SAFETY: the frame that the function made on the stack of this thread.
    let [_, caller] = unsafe { *frame };
    let next = next::find(function, block, caller);
    if next.is_none() && !is_of_heap(function) {
        return without_next(function, arguments);
    }
    let call = || match next {
        // SAFETY: the program's own call.
        Some(next) => unsafe { next(a, b, c, d) },
        None => without_next(function, arguments),
    };
    let recorded = RECORDED.load(Relaxed);
    if recorded == 0 || !is_wanted(recorded, function, arguments, frame, block) {
        return call();
    }
    let entered = system::ticks();
    let arguments = kept(function, arguments);
    if function.effect() == Effect::Wait {
        record(block, function, arguments, frame, entered..entered, 0);
        return call();
    }
    let result = if is_of_heap(function) { within_heap(block, frame, call) } else { call() };
    record(block, function, arguments, frame, entered..system::ticks(), result);
    result
}

fn is_of_heap(function: Function) -> bool {
    matches!(function.effect(), Effect::Allocation | Effect::Release)
}

/// Makes a call of a function of the heap, which an exception may leave. Other calls have nothing to clean up: a thread may be
/// cancelled in one.
#[inline(never)]
fn within_heap(block: &Block, frame: *const Frame, call: impl FnOnce() -> u64) -> u64 {
    struct Leaving<'a>(&'a Block);
    impl Drop for Leaving<'_> {
        fn drop(&mut self) {
            self.0.heap_frame.store(0, Relaxed);
        }
    }
    block.heap_frame.store(frame as u64, Relaxed);
    let _leaving = Leaving(block);
    call()
}

/// Whether a call is to be recorded.
fn is_wanted(recorded: u32, function: Function, arguments: Arguments, frame: *const Frame, block: &Block) -> bool {
    // A jump may have left the outer function, whose frame is then below this one.
    let outer = block.heap_frame.load(Relaxed);
    if block.quiet.load(Relaxed) != 0 || (frame as u64) < outer || calls::is_forbidden(block) {
        return false;
    }
    if recorded == Recorded::All as u32 || policy::is_real_time(block) {
        return true;
    }
    matches!(function.effect(), Effect::Lock(_)) && is_new_lock(block, arguments[0])
}

/// Whether an ordinary thread has not recorded this lock for some time. Its locks matter to the real-time threads that take them as well.
fn is_new_lock(block: &Block, lock: u64) -> bool {
    // Locks in an array differ in few bits, which the product spreads.
    let slot = (lock.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LOCKS.ilog2())) as usize;
    let (address, ticks) = (&block.locks.addresses[slot], &block.locks.ticks[slot]);
    let now = system::ticks();
    if address.load(Relaxed) == lock && now.wrapping_sub(ticks.load(Relaxed)) <= LOCK_TICKS {
        return false;
    }
    let paid_until = block.locks.paid_until.load(Relaxed).max(now);
    if paid_until - now > (LOCKS_AT_ONCE - 1) * TICKS_PER_LOCK {
        return false;
    }
    block.locks.paid_until.store(paid_until + TICKS_PER_LOCK, Relaxed);
    address.store(lock, Relaxed);
    ticks.store(now, Relaxed);
    true
}

/// The arguments that are recorded. The kind of a mutex is in place of the second one, as it is before the call.
fn kept(function: Function, arguments: Arguments) -> Arguments {
    let (Effect::Lock(lock) | Effect::TryLock(lock) | Effect::Unlock(lock)) = function.effect() else {
        return arguments;
    };
    let [address, second, ..] = arguments;
    if lock == Lock::Mutex && address != 0 && address.is_multiple_of(4) {
        // SAFETY: the function is about to read the same word.
        let kind = unsafe { ((address + MUTEX_KIND_OFFSET) as *const u32).read_volatile() };
        return [address, u64::from(kind), 0, 0];
    }
    [address, second, 0, 0]
}

fn record(
    block: &Block,
    function: Function,
    arguments: Arguments,
    frame: *const Frame,
    ticks: std::ops::Range<u64>,
    result: u64,
) {
    let Some(memory) = MEMORY.get().map(|memory| memory.0) else { return };
    if !block.ensure_ring(memory, frame as u64) || !has_room(block) {
        return block.count_lost(memory);
    }
    // SAFETY: the frame that the function made on the stack of this thread.
    let [caller_frame, address] = unsafe { *frame };
    let stack = frame as u64 + size_of::<Frame>() as u64;
    let (low, high) = (block.stack_low.load(Relaxed), block.stack_high.load(Relaxed));
    let callers = match (low..high).contains(&stack) {
        true => unwinding::callers(Position { address, stack, frame: caller_frame }, &(stack..high)),
        // A stack that the thread did not start with.
        false => [0; CALLERS],
    };
    let [first, second, third, fourth] = arguments;
    let arguments = [first, second, third, fourth, 0, 0];
    let call = ring::Call { number: function as u32 | LIBRARY, arguments, address };
    Running::begin_at(block, call, callers, ticks.start).end(ticks.end, answer(function, result));
}

/// The result as its type has it: an address, nothing, or an `int`.
fn answer(function: Function, result: u64) -> i64 {
    match function.effect() {
        Effect::Allocation if function != Function::PosixMemalign => result as i64,
        Effect::Release => 0,
        _ => i64::from(result as i32),
    }
}

/// Whether a function is asked to free or to resize spare memory.
fn is_of_spare(function: Function, block: u64) -> bool {
    let takes_block = matches!(function, Function::Realloc | Function::Reallocarray);
    (takes_block || function.effect() == Effect::Release) && next::is_spare(block)
}

/// Frees nothing, or moves a piece of the spare memory to the heap.
///
/// # Safety
/// The first argument is such a piece.
unsafe fn with_spare(function: Function, [piece, second, third, _]: Arguments) -> u64 {
    let bytes = match function {
        Function::Realloc => second,
        Function::Reallocarray => second.saturating_mul(third),
        _ => return 0,
    };
    let allocated = match next::find(Function::Malloc, current(), 0) {
        // SAFETY: the function takes any number.
        Some(next) => unsafe { next(bytes, 0, 0, 0) },
        None => next::spare(bytes),
    };
    if allocated != 0 {
        // SAFETY: the new block has that many bytes.
        unsafe { next::copy_spare(piece, allocated, bytes) };
    }
    allocated
}

/// A function that is being looked up, or that neither a file of the start nor its caller's has.
fn without_next(function: Function, [first, second, third, _]: Arguments) -> u64 {
    let other = |other: Function| -> Option<Next> { next::find(other, current(), 0) };
    match function {
        Function::Malloc | Function::New | Function::NewArray => match other(Function::Malloc) {
            // SAFETY: the function takes any number.
            Some(next) => unsafe { next(first, 0, 0, 0) },
            None => next::spare(first),
        },
        Function::Calloc => next::spare(first.saturating_mul(second)),
        Function::Realloc if first == 0 => next::spare(second),
        Function::Reallocarray if first == 0 => next::spare(second.saturating_mul(third)),
        Function::Delete | Function::DeleteSized | Function::DeleteArray | Function::DeleteArraySized => {
            if let Some(next) = other(Function::Free) {
                // SAFETY: what `operator new` above returned, which the program frees.
                unsafe { next(first, 0, 0, 0) };
            }
            0
        }
        Function::PosixMemalign => libc::ENOMEM as u64,
        Function::SemaphoreWait | Function::SemaphorePost => failed(libc::ENOSYS, u64::MAX),
        _ => match function.effect() {
            Effect::Allocation => failed(libc::ENOMEM, 0),
            Effect::Release => 0,
            _ => libc::ENOSYS as u64,
        },
    }
}

/// Leaves the error where the program looks for it, and returns the result.
fn failed(error: libc::c_int, result: u64) -> u64 {
    // SAFETY: the word belongs to this thread.
    unsafe { *libc::__errno_location() = error };
    result
}
