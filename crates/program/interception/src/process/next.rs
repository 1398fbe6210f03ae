//! The functions that the program would call without this library: of the C library, or of another one that is loaded for them.
//!
//! A library that is loaded later may bring a function that no other file has: it is looked up where its caller would find it.
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

/// No file that was loaded at the start has the function.
const ABSENT: usize = 1;
/// Attempts to find absent functions in files that were loaded later.
const ATTEMPTS: usize = 256;

static ATTEMPTED: AtomicUsize = AtomicUsize::new(0);
/// The last function that was found in such a file.
static LAST_FOUND: AtomicUsize = AtomicUsize::new(0);

static NEXT: [AtomicUsize; FUNCTIONS] = [const { AtomicUsize::new(0) }; FUNCTIONS];

/// Finds the next function for code at an address, 0 for nobody; `None` while one is being looked up, and if there is none.
pub fn find(function: Function, block: &Block, caller: u64) -> Option<Next> {
    let place = &NEXT[function as usize];
    let mut address = place.load(Acquire);
    if address <= ABSENT {
        address = find_slowly(function, block, caller, address);
        place.store(address, Release);
    }
    if address <= ABSENT {
        return None;
    }
    // SAFETY: the address is that of the function, and arguments beyond those that it takes do no harm in registers.
    unsafe { std::mem::transmute::<usize, Option<Next>>(address) }
}

#[cold]
fn find_slowly(function: Function, block: &Block, caller: u64, known: usize) -> usize {
    if block.looks_up.load(Relaxed) != 0 {
        return known;
    }
    block.looks_up.store(1, Relaxed);
    let mut address = if known == 0 { look_up(libc::RTLD_NEXT, function) } else { known };
    if address == ABSENT && caller != 0 && ATTEMPTED.fetch_add(1, Relaxed) < ATTEMPTS {
        address = look_up_for(function, caller).unwrap_or(ABSENT);
    }
    block.looks_up.store(0, Relaxed);
    address
}

/// The address of a function in the files after this library, or in one with the files that it needs.
fn look_up(among: *mut c_void, function: Function) -> usize {
    let symbol = function.symbol().as_ptr();
    // SAFETY: both strings end with a zero.
    let found = unsafe {
        match version(function) {
            Some(version) => libc::dlvsym(among, symbol, version.as_ptr()),
            None => libc::dlsym(among, symbol),
        }
    };
    if found.is_null() {
        // SAFETY: the message, which the program must not see as one of its own, is not read.
        unsafe { libc::dlerror() };
        return ABSENT;
    }
    found as usize
}

/// The address of a function in the file of its caller and in those that it needs. The file with the function stays loaded.
fn look_up_for(function: Function, caller: u64) -> Option<usize> {
    let is_own = |address: usize| base(address) == base(look_up_for as *const () as usize);
    let caller = usize::try_from(caller).ok()?;
    // A function of C++ that jumps to another one was called from here.
    let caller = if is_own(caller) { LAST_FOUND.load(Relaxed) } else { caller };
    let file = opened(caller)?;
    let found = look_up(file, function);
    // SAFETY: the file was opened just now, and stays loaded for its caller.
    unsafe { libc::dlclose(file) };
    if found == ABSENT || is_own(found) || opened(found).is_none() {
        return None;
    }
    LAST_FOUND.store(found, Relaxed);
    Some(found)
}

/// Opens the loaded file that has an address.
fn opened(address: usize) -> Option<*mut c_void> {
    let name = about(address)?.dli_fname;
    // SAFETY: the name ends with a zero, and nothing is loaded that is not there.
    let file = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if file.is_null() {
        // SAFETY: as in `look_up`.
        unsafe { libc::dlerror() };
        return None;
    }
    Some(file)
}

/// The address of the function that the program calls.
pub fn called(function: Function) -> usize {
    // SAFETY: the string ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, function.symbol().as_ptr()) as usize }
}

/// Where the file that has an address is loaded; 0 if none has it.
pub fn base(address: usize) -> usize {
    about(address).map_or(0, |about| about.dli_fbase as usize)
}

fn about(address: usize) -> Option<libc::Dl_info> {
    let mut about = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the loader fills the description where it returns something else than 0.
    match unsafe { libc::dladdr(address as *const c_void, about.as_mut_ptr()) } {
        0 => None,
        // SAFETY: as above.
        _ => Some(unsafe { about.assume_init() }),
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

/// A new piece, all zeros; null without memory for one.
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
