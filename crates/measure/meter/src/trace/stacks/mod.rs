//! Stacks of watched threads around a spike: sampled all the time into memory that the kernel overwrites, copied at a spike alone.
//!
//! The meter neither unwinds nor names anything: the host does, from the copies and the files of the program.

mod addresses;
mod build_id;
mod generated;
mod jitdump;
mod kernel_functions;
mod mappings;

use crate::compact;
use crate::kernel::stack_ring::{Occasion, PERIOD_NS, StackRing};
use archive::stacks::{STACKS_BYTES_MAX, StackDescription, encode};
use ftrace::kernel_symbols::SymbolText;
use mappings::Mappings;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most threads that are sampled at a time; each has 1.3 MB of memory that the kernel keeps.
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
    running: StackRing,
    leaving: StackRing,
}

impl Ring {
    fn open(tid: i32, pid: i32) -> io::Result<Self> {
        let [running, leaving] = [Occasion::Running, Occasion::Leaving].map(|occasion| StackRing::open(tid, occasion));
        Ok(Self { pid, running: running?, leaving: leaving? })
    }
}

/// Records of a thread, as they were copied at a spike.
#[derive(Debug)]
pub struct StackRecords {
    pid: i32,
    tid: i32,
    running: Vec<u8>,
    leaving: Vec<u8>,
}

/// Samples of a thread with all that names them but the kernel's functions.
#[derive(Debug)]
pub struct StackCopy {
    description: StackDescription,
    /// The records of [`Occasion::Running`] come first.
    records: Vec<u8>,
}

impl StackCopy {
    /// Memory that the records take.
    pub fn bytes(&self) -> u64 {
        self.records.len() as u64
    }

    /// A file of the archive, with the names of the kernel's functions; `None` if it is too large.
    pub fn file(mut self, symbols: &SymbolText) -> Option<Vec<u8>> {
        let sampled = self.description.sampled_bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let (running, leaving) = sampled.and_then(|at| self.records.split_at_checked(at)).unwrap_or_default();
        self.description.kernel = kernel_functions::of(&[running, leaving], symbols);
        let file = encode(&self.description, &self.records);
        if file.len() as u64 <= STACKS_BYTES_MAX {
            return Some(file);
        }
        // Names of any length take the room.
        self.description.generated.clear();
        let file = encode(&self.description, &self.records);
        (file.len() as u64 <= STACKS_BYTES_MAX).then_some(file)
    }
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
            match Ring::open(tid, pid) {
                Ok(ring) => _ = inner.rings.insert(tid, ring),
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

    /// The records of a thread so far; `None` if it is not sampled. This is fast: the kernel overwrites them soon.
    ///
    /// # Errors
    /// If the kernel does not stop writing them.
    pub fn records(&self, tid: i32) -> io::Result<Option<StackRecords>> {
        match self.lock().rings.get(&tid) {
            Some(Ring { pid, running, leaving }) => {
                Ok(Some(StackRecords { pid: *pid, tid, running: running.copy()?, leaving: leaving.copy()? }))
            }
            None => Ok(None),
        }
    }

    /// Records with the mappings of their process.
    pub fn described(&self, StackRecords { pid, tid, running, leaving }: StackRecords) -> StackCopy {
        let sampled_bytes = running.len() as u64;
        let records = [running, leaving].concat();
        let mappings = self.mappings.lock().unwrap_or_else(PoisonError::into_inner).of(pid);
        let description = StackDescription {
            pid,
            tid,
            machine: std::env::consts::ARCH.into(),
            period_ns: PERIOD_NS,
            generated: generated::of(pid, &mappings, &records),
            mappings,
            kernel: Vec::new(),
            sampled_bytes: Some(sampled_bytes),
        };
        StackCopy { description, records }
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
        // Before the samples, or its own ones would take their place.
        let symbols = SymbolText::new(std::fs::read_to_string("/proc/kallsyms").unwrap());
        let sampling = StackSampling::default();
        sampling.add([(tid, pid), (i32::MAX, i32::MAX)].into_iter());
        assert!(sampling.take_refusal().is_none(), "a thread that has ended refuses nothing");
        std::thread::sleep(std::time::Duration::from_millis(1));
        let records = sampling.records(tid).unwrap().unwrap();
        let file = sampling.described(records).file(&symbols).unwrap();
        let (description, _) = decode(&file).unwrap();
        let this = std::env::current_exe().unwrap();
        let own = description.mappings.iter().find(|mapping| this.to_str() == Some(&mapping.path)).unwrap();
        let inside = a_copy_has_the_mappings_of_the_program_and_a_thread_that_is_gone_has_none as fn() as usize as u64;
        assert!((own.start..own.end).contains(&inside));
        let kernel: Vec<&str> = description.kernel.iter().map(|function| function.name.as_str()).collect();
        assert!(kernel.iter().any(|name| name.contains("nanosleep")), "{kernel:?}");
        assert!(description.kernel.is_sorted_by_key(|function| function.start));
        assert_eq!((description.tid, description.pid, description.period_ns), (tid, pid, PERIOD_NS));
        sampling.only(&[]);
        assert!(sampling.records(tid).unwrap().is_none());
    }

    #[test]
    fn more_threads_than_the_limit_are_counted() {
        prerequisites::require!(Root);
        let (tid, sampling) = (scheduling::thread_id(), StackSampling::default());
        sampling.add([(tid, tid)].into_iter());
        let ring = || Ring::open(tid, 1).unwrap();
        sampling.lock().rings.extend((1..THREADS_MAX as i32).map(|other| (-other, ring())));
        sampling.add([(7, 7), (7, 7)].into_iter());
        assert_eq!(sampling.left_out(), 1);
    }
}
