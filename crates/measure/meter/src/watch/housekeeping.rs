//! The CPUs on which the meter works: those that no watched thread is bound to, if there are any.

use crate::kernel::scheduling;

/// Chosen again when threads come and go.
pub struct Housekeeping {
    usable: Vec<u32>,
    chosen: Vec<u32>,
}

impl Housekeeping {
    /// Chooses among the usable CPUs, beside these threads.
    pub fn beside(usable: Vec<u32>, tids: &[i32]) -> Self {
        let chosen = chosen(&usable, tids);
        Self { usable, chosen }
    }

    pub fn cpus(&self) -> &[u32] {
        &self.chosen
    }

    /// Moves every thread of this process if these threads leave other CPUs.
    pub fn keep_off(&mut self, tids: &[i32]) {
        let chosen = chosen(&self.usable, tids);
        if chosen != self.chosen {
            scheduling::bind_process(&chosen);
            self.chosen = chosen;
        }
    }
}

fn chosen(usable: &[u32], tids: &[i32]) -> Vec<u32> {
    let bound: Vec<u32> = tids
        .iter()
        .filter_map(|tid| scheduling::allowed_cpus(*tid).ok())
        .filter(|cpus| usable.iter().any(|cpu| !cpus.contains(cpu)))
        .flatten()
        .collect();
    let free: Vec<u32> = usable.iter().copied().filter(|cpu| !bound.contains(cpu)).collect();
    if free.is_empty() { usable.to_vec() } else { free }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_that_is_bound_leaves_the_others_to_the_meter() {
        let usable = scheduling::allowed_cpus(0).unwrap();
        let (first, others) = usable.split_first().unwrap();
        let first = *first;
        let beside = if others.is_empty() { usable.clone() } else { others.to_vec() };
        let (bound, tid) = channel();
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            scheduling::bind(&[first]).unwrap();
            bound.send(scheduling::thread_id()).unwrap();
            let _ = ended.recv();
        });
        let mut housekeeping = Housekeeping::beside(usable.clone(), &[]);
        assert_eq!(housekeeping.cpus(), usable);
        housekeeping.keep_off(&[tid.recv().unwrap()]);
        assert_eq!(housekeeping.cpus(), beside);
        assert_eq!(scheduling::allowed_cpus(0).unwrap(), housekeeping.cpus());
        housekeeping.keep_off(&[]);
        assert_eq!((housekeeping.cpus(), scheduling::allowed_cpus(0).unwrap()), (&usable[..], usable.clone()));
        drop(end);
        thread.join().unwrap();
    }
}
