//! Stacks of watched threads around a spike: sampled all the time into memory that the kernel overwrites, copied at a spike alone.
//!
//! The meter neither unwinds nor names anything: the host does, from the copies and the files of the program.

mod build_id;
mod generated;
mod mappings;

use crate::compact;
use crate::kernel::stack_ring::{PERIOD_NS, StackRing};
use archive::stacks::{STACKS_BYTES_MAX, StackDescription, encode};
use mappings::Mappings;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most threads that are sampled at a time; each has a MiB of memory that the kernel keeps.
pub const THREADS_MAX: usize = 64;

/// Samples of the watched threads. Threads of the meter share it.
#[derive(Debug, Default)]
pub struct StackSampling {
    inner: Mutex<Inner>,
    /// Apart, because reading files may take long.
    mappings: Mutex<Mappings>,
}

#[derive(Debug, Default)]
struct Inner {
    rings: BTreeMap<i32, Ring>,
    refused: Option<io::Error>,
    /// After a refusal no further thread is tried.
    has_refused: bool,
    left_out: BTreeSet<i32>,
}

#[derive(Debug)]
struct Ring {
    pid: i32,
    ring: StackRing,
}

impl StackSampling {
    /// Samples further threads, given as thread and process.
    pub fn add(&self, threads: impl Iterator<Item = (i32, i32)>) {
        let mut inner = self.lock();
        for (tid, pid) in threads {
            if inner.has_refused {
                return;
            }
            if inner.rings.contains_key(&tid) {
                continue;
            }
            if inner.rings.len() >= THREADS_MAX {
                inner.left_out.insert(tid);
                continue;
            }
            match StackRing::open(tid) {
                Ok(ring) => _ = inner.rings.insert(tid, Ring { pid, ring }),
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => (inner.refused, inner.has_refused) = (Some(error), true),
            }
        }
    }

    /// Ends the sampling of all other threads.
    pub fn only(&self, living: &[i32]) {
        let living: BTreeSet<i32> = compact::inserted(living.iter().copied());
        let mut inner = self.lock();
        inner.rings.retain(|tid, _| living.contains(tid));
        inner.left_out.retain(|tid| living.contains(tid));
    }

    /// Why threads are not sampled, once.
    pub fn take_refusal(&self) -> Option<io::Error> {
        self.lock().refused.take()
    }

    /// Number of threads that are not sampled because there are too many.
    pub fn left_out(&self) -> usize {
        self.lock().left_out.len()
    }

    /// The samples of a thread as a file of the archive; `None` if it is not sampled.
    ///
    /// # Errors
    /// If the kernel does not stop writing them.
    pub fn copy(&self, tid: i32) -> io::Result<Option<Vec<u8>>> {
        let (pid, records) = match self.lock().rings.get(&tid) {
            Some(Ring { pid, ring }) => (*pid, ring.copy()?),
            None => return Ok(None),
        };
        let mappings = self.mappings.lock().unwrap_or_else(PoisonError::into_inner).of(pid);
        let mut description = StackDescription {
            pid,
            tid,
            machine: std::env::consts::ARCH.into(),
            period_ns: PERIOD_NS,
            generated: generated::of(pid, &mappings, &records),
            mappings,
        };
        let file = encode(&description, &records);
        if file.len() as u64 <= STACKS_BYTES_MAX {
            return Ok(Some(file));
        }
        // Names of any length take the room.
        description.generated.clear();
        let file = encode(&description, &records);
        Ok((file.len() as u64 <= STACKS_BYTES_MAX).then_some(file))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::scheduling;
    use archive::stacks::decode;

    #[test]
    fn a_copy_has_the_mappings_of_the_program_and_a_thread_that_is_gone_has_none() {
        prerequisites::require!(Root);
        let (tid, pid) = (scheduling::thread_id(), std::process::id() as i32);
        let sampling = StackSampling::default();
        sampling.add([(tid, pid), (i32::MAX, i32::MAX)].into_iter());
        assert!(sampling.take_refusal().is_none(), "a thread that has ended refuses nothing");
        let file = sampling.copy(tid).unwrap().unwrap();
        let (description, _) = decode(&file).unwrap();
        let this = std::env::current_exe().unwrap();
        let own = description.mappings.iter().find(|mapping| this.to_str() == Some(&mapping.path)).unwrap();
        let inside = a_copy_has_the_mappings_of_the_program_and_a_thread_that_is_gone_has_none as fn() as usize as u64;
        assert!((own.start..own.end).contains(&inside));
        assert_eq!((description.tid, description.pid, description.period_ns), (tid, pid, PERIOD_NS));
        sampling.only(&[]);
        assert!(sampling.copy(tid).unwrap().is_none());
    }

    #[test]
    fn more_threads_than_the_limit_are_counted() {
        prerequisites::require!(Root);
        let (tid, sampling) = (scheduling::thread_id(), StackSampling::default());
        sampling.add([(tid, tid)].into_iter());
        let ring = || Ring { pid: 1, ring: StackRing::open(tid).unwrap() };
        sampling.lock().rings.extend((1..THREADS_MAX as i32).map(|other| (-other, ring())));
        sampling.add([(7, 7), (7, 7)].into_iter());
        assert_eq!(sampling.left_out(), 1);
    }
}
