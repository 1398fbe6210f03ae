//! Sorting and collecting for short lists, with little code: the meter is sent over slow lines.
//!
//! The standard library's sort is 4 kB of code for each type and key. It stays where thousands of items are sorted.

use std::cmp::Ordering;

/// As `slice::sort_by_key`.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// As `slice::sort_by`.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut sources: Vec<usize> = (0..items.len()).collect();
    sort_numbers(&mut sources, &|one, other| compare(&items[one], &items[other]));
    for start in 0..items.len() {
        let mut place = start;
        loop {
            let source = std::mem::replace(&mut sources[place], place);
            if source == start {
                break;
            }
            items.swap(place, source);
            place = source;
        }
    }
}

/// The one sort of the standard library that all types share.
#[inline(never)]
fn sort_numbers(numbers: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    numbers.sort_by(|one, other| compare(*one, *other));
}

/// As `collect` into a map or set of the standard library, which would sort the items first.
pub fn inserted<C: Default + Extend<T>, T>(items: impl IntoIterator<Item = T>) -> C {
    let mut collection = C::default();
    collection.extend(items);
    collection
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_the_standard_library(
            items in prop::collection::vec((0..9u8, any::<u16>()), 0..80),
        ) {
            let (mut one, mut other) = (items.clone(), items);
            sort_by_key(&mut one, |(key, _)| *key);
            other.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(one, other);
        }
    }
}
