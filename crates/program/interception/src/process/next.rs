//! The functions that the program would call without this library: of the C library, or of another one that is loaded for them.
//!
//! The loader allocates while it looks a function up, at times by the function that is looked up. It then gets a piece of
//! [`Spare`], which is never freed.

use super::thread::Block;
use call_ring::function::{FUNCTIONS, Function};
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A function with as many arguments as any of them has.
pub type Next = unsafe extern "C-unwind" fn(u64, u64, u64, u64) -> u64;

/// There is no such function.
const ABSENT: usize = 1;

static NEXT: [AtomicUsize; FUNCTIONS] = [const { AtomicUsize::new(0) }; FUNCTIONS];

/// Finds the next function; `None` while one is being looked up, and if there is none.
pub fn find(function: Function, block: &Block) -> Option<Next> {
    let place = &NEXT[function as usize];
    let mut address = place.load(Acquire);
    if address == 0 {
        if block.looks_up.load(Relaxed) != 0 {
            return None;
        }
        block.looks_up.store(1, Relaxed);
        address = look_up(function);
        block.looks_up.store(0, Relaxed);
        place.store(address, Release);
    }
    if address == ABSENT {
        return None;
    }
    // SAFETY: the address is that of the function, and arguments beyond those that it takes do no harm in registers.
    unsafe { std::mem::transmute::<usize, Option<Next>>(address) }
}

/// The address of a function in the objects after this library.
fn look_up(function: Function) -> usize {
    let symbol = function.symbol().as_ptr();
    // SAFETY: both strings end with a zero.
    let found = unsafe {
        match version(function) {
            Some(version) => libc::dlvsym(libc::RTLD_NEXT, symbol, version.as_ptr()),
            None => libc::dlsym(libc::RTLD_NEXT, symbol),
        }
    };
    if found.is_null() {
        // SAFETY: the message, which the program must not see as one of its own, is not read.
        unsafe { libc::dlerror() };
        return ABSENT;
    }
    found as usize
}

/// The address of the function that the program calls.
pub fn called(function: Function) -> usize {
    // SAFETY: the string ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, function.symbol().as_ptr()) as usize }
}

/// Where the file that has an address is loaded.
pub fn base(address: usize) -> usize {
    let mut about = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the loader fills the description where it returns something else than 0.
    match unsafe { libc::dladdr(address as *const c_void, about.as_mut_ptr()) } {
        0 => 0,
        // SAFETY: as above.
        _ => unsafe { about.assume_init() }.dli_fbase as usize,
    }
}

/// The version of functions of which the C library has an older one with another layout of its argument.
fn version(function: Function) -> Option<&'static CStr> {
    use Function::{ConditionBroadcast, ConditionSignal, ConditionTimedwait, ConditionWait};
    matches!(function, ConditionWait | ConditionTimedwait | ConditionSignal | ConditionBroadcast)
        .then_some(c"GLIBC_2.3.2")
}

/// Memory for what the loader allocates meanwhile.
#[repr(C, align(64))]
pub struct Spare([u8; SPARE_BYTES]);

const SPARE_BYTES: usize = 32 << 10;
const ALIGNMENT: usize = 16;

static mut SPARE: Spare = Spare([0; SPARE_BYTES]);
static USED: AtomicUsize = AtomicUsize::new(0);

fn start() -> usize {
    (&raw const SPARE).addr()
}

/// Whether a block is a piece of it.
pub fn is_spare(address: u64) -> bool {
    (address as usize).wrapping_sub(start()) < SPARE_BYTES
}

/// A new piece, all zeros; null if there is no more.
pub fn spare(bytes: u64) -> u64 {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(SPARE_BYTES + 1).next_multiple_of(ALIGNMENT);
    let at = USED.fetch_add(bytes, Relaxed);
    if at.saturating_add(bytes) > SPARE_BYTES { 0 } else { (start() + at) as u64 }
}

/// Copies a piece into a block of this size.
///
/// # Safety
/// The block is that large, and `piece` [`is_spare`].
pub unsafe fn copy_spare(piece: u64, block: u64, bytes: u64) {
    let rest = start() + SPARE_BYTES - piece as usize;
    // SAFETY: what the caller promises; the piece is read up to the end of the memory at most.
    unsafe { ptr::copy_nonoverlapping(piece as *const u8, block as *mut u8, rest.min(bytes as usize)) };
}
