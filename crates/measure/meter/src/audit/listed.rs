//! Things that several looks found. Where they are too many, the ones that matter and the ones of the last look stay.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Each with the number of the last look that found it.
pub struct Listed<T>(BTreeMap<T, u32>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Listed<T> {
    pub fn add(&mut self, look: u32, found: impl Iterator<Item = T>) {
        self.0.extend(found.map(|one| (one, look)));
    }

    pub fn keep(&mut self, most: usize, matters: fn(&T) -> bool) {
        if self.0.len() <= most {
            return;
        }
        let mut all: Vec<(T, u32)> = std::mem::take(&mut self.0).into_iter().collect();
        all.sort_by_key(|(one, look)| Reverse((matters(one), *look)));
        all.truncate(most);
        self.0.extend(all);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// In order.
    pub fn best(mut self, most: usize, matters: fn(&T) -> bool) -> Vec<T> {
        self.keep(most, matters);
        self.0.into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_last_look_and_what_matters_stay() {
        let mut listed = Listed::default();
        for look in 0..100 {
            // 1 matters, and was seen in the first look alone.
            let seen = (0..100).map(|at| 1000 * look + at).chain((look == 0).then_some(1));
            listed.add(look, seen);
            listed.keep(150, |number| *number == 1);
        }
        let kept = listed.best(101, |number| *number == 1);
        let expected: Vec<u32> = [1].into_iter().chain((0..100).map(|at| 99_000 + at)).collect();
        assert_eq!(kept, expected);
    }
}
