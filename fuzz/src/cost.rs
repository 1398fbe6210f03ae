//! Memory limit as an oracle: a parser that needs more than a fixed multiple of its input is as wrong as one that
//! panics.
//!
//! Time is limited by libFuzzer's `-timeout`, which `make fuzz` sets.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Bytes of memory allowed per byte of input.
const BYTES_PER_INPUT_BYTE: usize = 64;
/// Memory allowed for any input, in bytes.
const BYTES_AT_LEAST: usize = 16 << 20;

thread_local! {
    static LEDGER: Cell<Option<Ledger>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Ledger {
    held: usize,
    limit: usize,
}

struct Counting;

// SAFETY: every call goes to `System` with the arguments as they came; the count beside it touches no memory of the
// allocator, and `LEDGER` is const-initialised without a destructor, so that reading it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        charge(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        charge(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() {
            charge(size - layout.size());
        } else {
            refund(layout.size() - size);
        }
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        refund(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn charge(bytes: usize) {
    let Some(ledger) = LEDGER.get() else { return };
    let held = ledger.held.saturating_add(bytes);
    if held > ledger.limit {
        // The panic's own memory does not count.
        LEDGER.set(None);
        panic!("{held} bytes of memory at once; this input may cost {}", ledger.limit);
    }
    LEDGER.set(Some(Ledger { held, ..ledger }));
}

fn refund(bytes: usize) {
    if let Some(ledger) = LEDGER.get() {
        LEDGER.set(Some(Ledger { held: ledger.held.saturating_sub(bytes), ..ledger }));
    }
}

/// Runs `work` on an input of `input_bytes`.
///
/// # Panics
/// If `work` holds more than 64 times the input plus 16 MiB at any time.
pub fn within_budget<T>(input_bytes: usize, work: impl FnOnce() -> T) -> T {
    let limit = input_bytes.saturating_mul(BYTES_PER_INPUT_BYTE).saturating_add(BYTES_AT_LEAST);
    LEDGER.set(Some(Ledger { held: 0, limit }));
    let result = work();
    LEDGER.set(None);
    result
}
