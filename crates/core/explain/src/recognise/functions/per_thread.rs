//! A value per thread. Consecutive records of a CPU mostly belong to the same thread.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct PerThread<T> {
    places: HashMap<i32, usize>,
    /// Entries from `used` on are left over from before the last [`Self::clear`].
    values: Vec<T>,
    used: usize,
    last: Option<(i32, usize)>,
}

/// Can be emptied without freeing its memory.
pub trait Reset: Default {
    fn reset(&mut self);
}

impl<T: Reset> PerThread<T> {
    /// The value of a thread; a new one if it has none.
    #[inline]
    pub fn of(&mut self, tid: i32) -> &mut T {
        let place = match self.last {
            Some((last, place)) if last == tid => place,
            _ => {
                let place = *self.places.entry(tid).or_insert(self.used);
                if place == self.used {
                    match self.values.get_mut(place) {
                        Some(left) => left.reset(),
                        None => self.values.push(T::default()),
                    }
                    self.used += 1;
                }
                self.last = Some((tid, place));
                place
            }
        };
        &mut self.values[place]
    }

    #[inline]
    pub fn get(&self, tid: i32) -> Option<&T> {
        let place = match self.last {
            Some((last, place)) if last == tid => place,
            _ => *self.places.get(&tid)?,
        };
        self.values.get(place)
    }

    pub fn clear(&mut self) {
        self.places.clear();
        self.used = 0;
        self.last = None;
    }
}

impl<T> Reset for Vec<T> {
    fn reset(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_until_all_are_cleared() {
        let mut lists: PerThread<Vec<i32>> = PerThread::default();
        for tid in [7, 8, 7, 7, 9, 8] {
            lists.of(tid).push(tid);
        }
        assert_eq!((lists.get(7), lists.get(8)), (Some(&vec![7, 7, 7]), Some(&vec![8, 8])));
        lists.clear();
        assert_eq!(lists.get(8), None);
        assert!(lists.of(9).is_empty());
        assert_eq!((lists.get(9), lists.get(7)), (Some(&vec![]), None));
    }
}
