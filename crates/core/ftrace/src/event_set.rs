//! A set of events by their numbers, for readers that skip all others before they decode them.

const NUMBERS: usize = 1 << 16;
const BITS: usize = u64::BITS as usize;

/// Numbers of events, as in [`EventFormat::id`](crate::format::EventFormat::id).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EventSet {
    numbers: Numbers,
    /// An event of which only records of some threads are in the set, and the low bits of these threads.
    of_threads: Option<(u16, Numbers)>,
}

impl EventSet {
    #[inline]
    pub fn contains(&self, id: u16) -> bool {
        self.numbers.contains(id)
    }

    /// Whether a record of an event by a thread is in the set.
    #[inline]
    pub fn has(&self, id: u16, tid: i32) -> bool {
        let is_of_thread = |(of, threads): &(u16, Numbers)| *of != id || threads.contains(tid as u16);
        self.contains(id) && self.of_threads.as_ref().is_none_or(is_of_thread)
    }

    pub fn insert(&mut self, id: u16) {
        self.numbers.insert(id);
    }

    pub fn remove(&mut self, id: u16) {
        self.numbers.remove(id);
    }

    /// Leaves out records of one event by other threads, except by some whose numbers resemble the given ones.
    pub fn limit(&mut self, id: u16, tids: impl IntoIterator<Item = i32>) {
        let mut threads = Numbers::default();
        tids.into_iter().for_each(|tid| threads.insert(tid as u16));
        self.of_threads = Some((id, threads));
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Numbers(Box<[u64; NUMBERS / BITS]>);

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers(Box::new([0; NUMBERS / BITS]))
    }
}

impl Numbers {
    #[inline]
    fn contains(&self, number: u16) -> bool {
        self.0[usize::from(number) / BITS] >> (usize::from(number) % BITS) & 1 == 1
    }

    fn insert(&mut self, number: u16) {
        self.0[usize::from(number) / BITS] |= 1 << (usize::from(number) % BITS);
    }

    fn remove(&mut self, number: u16) {
        self.0[usize::from(number) / BITS] &= !(1 << (usize::from(number) % BITS));
    }
}

impl FromIterator<u16> for EventSet {
    fn from_iter<I: IntoIterator<Item = u16>>(ids: I) -> EventSet {
        let mut set = EventSet::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_inserted() {
        let mut set: EventSet = [0, 63, 64, u16::MAX].into_iter().collect();
        set.remove(64);
        let held: Vec<u16> = (0..=u16::MAX).filter(|id| set.contains(*id)).collect();
        assert_eq!(held, [0, 63, u16::MAX]);
    }

    #[test]
    fn an_event_may_be_limited_to_threads() {
        let mut set: EventSet = [5, 6].into_iter().collect();
        set.limit(5, [7, 1 << 20]);
        assert_eq!([(5, 7), (5, 1 << 20), (6, 8)].map(|(id, tid)| set.has(id, tid)), [true; 3]);
        assert_eq!([(5, 8), (7, 7)].map(|(id, tid)| set.has(id, tid)), [false; 2]);
    }
}
