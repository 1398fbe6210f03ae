//! An allocator that keeps blocks when they are freed, and hands them out again.
//!
//! The C library returns freed pages to the kernel at once, those of small blocks, too. The kernel then interrupts every other CPU
//! that has executed a thread of the meter (TLB shootdown), the measured ones, and waits for all of them with preemption disabled:
//! no measuring thread wakes on that CPU meanwhile. Unmapping a megabyte takes it another 100 µs, and the next block faults on
//! every page. The meter's threads convert and send traces while others measure, so they reuse what they freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A free block has room for the address of the next one.
const SMALLEST: usize = 16;
/// Larger blocks are for buffers that last as long as the run.
const LARGEST: usize = 2 << 20;
/// Classes of each doubling of the size, so that at most a fifth of a block is unused.
const STEPS: usize = 4;
const CLASSES: usize = STEPS * ((LARGEST / SMALLEST / STEPS).ilog2() as usize + 1);
/// Most that is kept, in bytes.
const KEPT_MAX: usize = 8 << 20;
const ALIGN: usize = 16;

/// Allocator that keeps freed blocks. Each class has a list of its own, so that threads seldom meet at one.
#[derive(Debug)]
pub struct KeptMemory {
    classes: [Mutex<Freed>; CLASSES],
    /// In all lists together.
    bytes: AtomicUsize,
}

/// A list of freed blocks; the first word of a block is the address of the next one.
#[derive(Debug)]
struct Freed(*mut u8);

// SAFETY: the blocks belong to no one else, and one thread at a time has the list.
unsafe impl Send for Freed {}

/// The class of a request, by its size; `None` if such blocks are not kept.
fn class_of(layout: Layout) -> Option<usize> {
    let size = layout.size().max(SMALLEST);
    let kept = size <= LARGEST && layout.align() <= ALIGN;
    let units = size.div_ceil(SMALLEST);
    let class = match units.checked_sub(STEPS + 1) {
        None => units - 1,
        Some(_) => {
            let doublings = ((units - 1) / STEPS).ilog2() as usize;
            STEPS * doublings + ((units - 1) >> doublings)
        }
    };
    kept.then_some(class)
}

/// The layout with which blocks of a class are allocated.
fn layout_of(class: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and the size is far below isize::MAX.
    unsafe { Layout::from_size_align_unchecked(size_of_class(class), ALIGN) }
}

/// The size of the blocks of a class, in bytes.
fn size_of_class(class: usize) -> usize {
    match class.checked_sub(STEPS) {
        None => (class + 1) * SMALLEST,
        Some(above) => ((STEPS + 1 + above % STEPS) << (above / STEPS)) * SMALLEST,
    }
}

impl KeptMemory {
    pub const fn new() -> Self {
        Self { classes: [const { Mutex::new(Freed(null_mut())) }; CLASSES], bytes: AtomicUsize::new(0) }
    }

    fn take(&self, class: usize) -> Option<*mut u8> {
        // Never waits: a thread that measures must not wait for another one, nor a child for a thread that it lacks.
        let mut freed = self.classes[class].try_lock().ok()?;
        let block = freed.0;
        if block.is_null() {
            return None;
        }
        // SAFETY: a block in a list is free, aligned to a word, and starts with the address that `keep` wrote.
        freed.0 = unsafe { block.cast::<*mut u8>().read() };
        self.bytes.fetch_sub(size_of_class(class), Ordering::Relaxed);
        Some(block)
    }

    /// Returns whether it was kept.
    fn keep(&self, class: usize, block: *mut u8) -> bool {
        let Ok(mut freed) = self.classes[class].try_lock() else { return false };
        let size = size_of_class(class);
        if self.bytes.fetch_add(size, Ordering::Relaxed) + size > KEPT_MAX {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            return false;
        }
        // SAFETY: the caller frees the block, which is aligned to a word and at least as large as one.
        unsafe { block.cast::<*mut u8>().write(freed.0) };
        freed.0 = block;
        true
    }
}

/// The allocator of the process that measures.
static OF_PROCESS: KeptMemory = KeptMemory::new();

/// [`KeptMemory`] as `#[global_allocator]`.
#[derive(Debug)]
pub struct ProcessMemory;

/// Returns the free blocks of [`ProcessMemory`] to the system: before the measurement, while nobody is disturbed by it.
pub fn release() {
    OF_PROCESS.release();
}

// SAFETY: every call is one of an allocator that lives as long as the process.
unsafe impl GlobalAlloc for ProcessMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        unsafe { OF_PROCESS.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        unsafe { OF_PROCESS.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { OF_PROCESS.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as promised by the caller.
        unsafe { OF_PROCESS.realloc(block, layout, size) }
    }
}

impl Drop for KeptMemory {
    fn drop(&mut self) {
        self.release();
    }
}

impl KeptMemory {
    /// Returns all free blocks to the system.
    fn release(&self) {
        for class in 0..CLASSES {
            while let Some(block) = self.take(class) {
                // SAFETY: a block in a list is free, and was allocated with the layout of its class.
                unsafe { System.dealloc(block, layout_of(class)) };
            }
        }
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
            let second = memory.alloc_zeroed(layout(99_000));
            assert_eq!(second, first, "no block goes back to the kernel");
            assert!(std::slice::from_raw_parts(second, 99_000).iter().all(|byte| *byte == 0));
            let larger = memory.realloc(second, layout(99_000), 110_000);
            assert_eq!(larger, first, "there is room");
            memory.dealloc(larger, layout(110_000));
        }
    }

    #[test]
    fn small_blocks_are_kept_as_well() {
        let memory = KeptMemory::new();
        // SAFETY: each block is freed once with its layout.
        unsafe {
            for size in [1, 16, 17, 48, 500, 5000] {
                let first = memory.alloc(layout(size));
                memory.dealloc(first, layout(size));
                let second = memory.alloc(layout(size));
                assert_eq!(second, first, "{size} bytes");
                memory.dealloc(second, layout(size));
            }
        }
    }

    #[test]
    fn threads_that_allocate_at_once_share_no_block() {
        static MEMORY: KeptMemory = KeptMemory::new();
        let rounds = if cfg!(miri) { 20 } else { 20_000 };
        let threads = (1..=3_u8).map(|mark| {
            std::thread::spawn(move || {
                for round in 0..rounds {
                    let size = 16 << (round % 4);
                    // SAFETY: the block is used within its size, and freed once with its layout.
                    unsafe {
                        let block = MEMORY.alloc(layout(size));
                        block.write_bytes(mark, size);
                        std::hint::black_box(block);
                        assert!(std::slice::from_raw_parts(block, size).iter().all(|byte| *byte == mark));
                        MEMORY.dealloc(block, layout(size));
                    }
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn kept_memory_is_bounded() {
        let memory = KeptMemory::new();
        // SAFETY: each block is freed once with its layout.
        unsafe {
            let blocks: Vec<*mut u8> = (0..10).map(|_| memory.alloc(layout(LARGEST))).collect();
            blocks.into_iter().for_each(|block| memory.dealloc(block, layout(LARGEST)));
        }
        assert_eq!(memory.bytes.load(Ordering::Relaxed), KEPT_MAX);
    }

    #[test]
    fn blocks_are_large_enough_and_hardly_larger() {
        let mut before = 0;
        for size in (1..LARGEST).step_by(97).chain([LARGEST]) {
            let class = class_of(layout(size)).unwrap();
            let room = size_of_class(class);
            assert!(class < CLASSES && class >= before && room >= size, "{size}: class {class} of {room}");
            assert!(room - size < SMALLEST || room * 4 <= size * 5, "{size}: {room}");
            before = class;
        }
        assert_eq!((class_of(layout(LARGEST + 1)), size_of_class(CLASSES - 1)), (None, LARGEST));
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
