//! An allocator that keeps large blocks when they are freed, and hands them out again.
//!
//! The C library returns a large block to the kernel at once. Unmapping it takes a kernel without preemption 100 µs for a
//! megabyte, in which no measuring thread wakes on that CPU, and the next such block faults on every page. The meter's
//! threads convert and send traces while others measure, so they reuse what they freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::Mutex;

/// Smaller blocks share mappings, which the C library keeps.
const SMALLEST: usize = 32 << 10;
/// Larger blocks are for buffers that last as long as the run.
const LARGEST: usize = 2 << 20;
const CLASSES: usize = (LARGEST / SMALLEST).ilog2() as usize + 1;
/// Most that is kept, in bytes.
const KEPT_MAX: usize = 8 << 20;
const ALIGN: usize = 16;

/// Allocator that keeps freed blocks of some sizes.
#[derive(Debug)]
pub struct KeptMemory(Mutex<Kept>);

/// Each class is a list of freed blocks; the first word of a block is the address of the next one.
#[derive(Debug)]
struct Kept {
    first: [*mut u8; CLASSES],
    bytes: usize,
}

// SAFETY: the blocks belong to no one else, and one thread at a time has the lists.
unsafe impl Send for Kept {}

/// The class of a request, by its size; `None` if such blocks are not kept.
fn class_of(layout: Layout) -> Option<usize> {
    let size = layout.size();
    let kept = (SMALLEST..=LARGEST).contains(&size) && layout.align() <= ALIGN;
    kept.then(|| (size.next_power_of_two() / SMALLEST).ilog2() as usize)
}

/// What a block of a class really is.
fn layout_of(class: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and the size is far below isize::MAX.
    unsafe { Layout::from_size_align_unchecked(SMALLEST << class, ALIGN) }
}

impl KeptMemory {
    pub const fn new() -> Self {
        Self(Mutex::new(Kept { first: [null_mut(); CLASSES], bytes: 0 }))
    }

    fn take(&self, class: usize) -> Option<*mut u8> {
        // Never waits: a thread that measures must not wait for another one, nor a child for a thread that it lacks.
        let mut kept = self.0.try_lock().ok()?;
        let block = kept.first[class];
        if block.is_null() {
            return None;
        }
        // SAFETY: a block in a list is free, aligned to a word, and starts with the address that `keep` wrote.
        kept.first[class] = unsafe { block.cast::<*mut u8>().read() };
        kept.bytes -= SMALLEST << class;
        Some(block)
    }

    /// Returns whether it was kept.
    fn keep(&self, class: usize, block: *mut u8) -> bool {
        let Ok(mut kept) = self.0.try_lock() else { return false };
        if kept.bytes + (SMALLEST << class) > KEPT_MAX {
            return false;
        }
        // SAFETY: the caller frees the block, which is aligned to a word and larger than one.
        unsafe { block.cast::<*mut u8>().write(kept.first[class]) };
        kept.first[class] = block;
        kept.bytes += SMALLEST << class;
        true
    }
}

impl Default for KeptMemory {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: every block of a class is allocated and freed with the layout of its class, which is at least as large and as
// aligned as any request of that class; all others are the system's. A block is either with a caller or in one list.
unsafe impl GlobalAlloc for KeptMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class_of(layout) {
            // SAFETY: the layout has a size above zero.
            Some(class) => self.take(class).unwrap_or_else(|| unsafe { System.alloc(layout_of(class)) }),
            // SAFETY: as promised by the caller.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class_of(layout) else {
            // SAFETY: as promised by the caller.
            return unsafe { System.alloc_zeroed(layout) };
        };
        match self.take(class) {
            Some(block) => {
                // SAFETY: the block is at least this large.
                unsafe { block.write_bytes(0, layout.size()) };
                block
            }
            // SAFETY: the layout has a size above zero.
            None => unsafe { System.alloc_zeroed(layout_of(class)) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match class_of(layout) {
            Some(class) if self.keep(class, block) => {}
            // SAFETY: it was allocated with the layout of its class.
            Some(class) => unsafe { System.dealloc(block, layout_of(class)) },
            // SAFETY: as promised by the caller.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that is valid with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (class_of(layout), class_of(wanted)) {
            // SAFETY: as promised by the caller.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            (Some(had), Some(needed)) if had == needed => block,
            // SAFETY: both blocks are at least as large as what is copied, and differ.
            _ => unsafe {
                let new = self.alloc(wanted);
                if !new.is_null() {
                    new.copy_from_nonoverlapping(block, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                new
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    #[test]
    fn a_freed_block_is_the_next_one_of_its_size() {
        let memory = KeptMemory::new();
        // SAFETY: each block is used within its size, and freed once with its layout.
        unsafe {
            let first = memory.alloc(layout(100_000));
            first.write_bytes(7, 100_000);
            memory.dealloc(first, layout(100_000));
            let second = memory.alloc_zeroed(layout(70_000));
            assert_eq!(second, first, "no block goes back to the kernel");
            assert!(std::slice::from_raw_parts(second, 70_000).iter().all(|byte| *byte == 0));
            let larger = memory.realloc(second, layout(70_000), 120_000);
            assert_eq!(larger, first, "there is room");
            memory.dealloc(larger, layout(120_000));
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let memory = KeptMemory::new();
        // SAFETY: each block is freed once with its layout.
        unsafe {
            let blocks: Vec<*mut u8> = (0..10).map(|_| memory.alloc(layout(LARGEST))).collect();
            blocks.into_iter().for_each(|block| memory.dealloc(block, layout(LARGEST)));
        }
        assert_eq!(memory.0.lock().unwrap().bytes, KEPT_MAX);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]
        /// Whatever is asked for in whatever order, no two blocks overlap, and what was written stays.
        #[test]
        fn blocks_keep_their_contents(steps in proptest::collection::vec((0_usize..8, 1_usize..3 << 20, any::<bool>()), 1..60)) {
            let memory = KeptMemory::new();
            let mut held: Vec<Option<(*mut u8, usize, u8)>> = vec![None; 8];
            // SAFETY: each block is used within its size, and freed once with its layout.
            unsafe {
                let check = |(block, size, mark): (*mut u8, usize, u8)| {
                    assert!(block.read() == mark && block.add(size - 1).read() == mark);
                };
                for (turn, (slot, size, grow)) in steps.into_iter().enumerate() {
                    let mark = turn as u8;
                    let block = match held[slot].take() {
                        Some(one) if grow => {
                            check(one);
                            let moved = memory.realloc(one.0, layout(one.1), size);
                            assert_eq!(moved.read(), one.2);
                            moved
                        }
                        Some(one) => {
                            check(one);
                            memory.dealloc(one.0, layout(one.1));
                            memory.alloc(layout(size))
                        }
                        None => memory.alloc(layout(size)),
                    };
                    block.write(mark);
                    block.add(size - 1).write(mark);
                    held[slot] = Some((block, size, mark));
                }
                for one in held.into_iter().flatten() {
                    check(one);
                    memory.dealloc(one.0, layout(one.1));
                }
            }
        }
    }
}
