//! Stacks, each kept once: a storm comes from few places.

use std::collections::HashSet;
use std::rc::Rc;

#[derive(Debug, Default)]
pub struct Stacks(HashSet<Rc<[u64]>>);

impl Stacks {
    /// The one copy of a stack, and the bytes that it takes if it is new.
    pub fn one(&mut self, frames: &[u64]) -> (Rc<[u64]>, usize) {
        if let Some(known) = self.0.get(frames) {
            return (known.clone(), 0);
        }
        let new: Rc<[u64]> = frames.into();
        self.0.insert(new.clone());
        (new, bytes_of(frames))
    }

    /// Drops stacks that no event has any more; returns the bytes of the rest.
    pub fn forget_unused(&mut self) -> usize {
        self.0.retain(|stack| Rc::strong_count(stack) > 1);
        self.0.iter().map(|stack| bytes_of(stack)).sum()
    }
}

/// With its two counters, its place in the set, and the spare room there.
fn bytes_of(frames: &[u64]) -> usize {
    size_of_val(frames) + 2 * size_of::<usize>() + 2 * size_of::<Rc<[u64]>>()
}
