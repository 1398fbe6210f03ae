//! Checks the claims of this crate on simulated machines whose truth is known: how often an experiment finds a
//! difference that does not exist, how often an interval contains the truth, and the power. It takes minutes, so only
//! `make simulate-judge` runs it; small versions of these tests are beside the code.

mod dependence;
mod experiments;
mod hidden_harm;
mod histories;
mod intervals;
mod machine;
mod spare;
mod tables;
mod tails;
mod tuning;

use std::sync::atomic::{AtomicUsize, Ordering};

/// Results of `repetitions` repetitions, run on all processors, in order.
pub fn repeated<T: Send>(repetitions: usize, repetition: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= repetitions {
                return done;
            }
            done.push((number, repetition(number)));
        }
    };
    let mut results: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a repetition panicked")).collect()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Largest share of errors that chance explains: two standard errors above the nominal share.
pub fn error_most(nominal: f64, repetitions: usize) -> f64 {
    nominal + 2.0 * standard_error(nominal, repetitions)
}

pub fn standard_error(nominal: f64, repetitions: usize) -> f64 {
    (nominal * (1.0 - nominal) / repetitions as f64).sqrt()
}

pub fn share(list: &[bool]) -> f64 {
    list.iter().filter(|yes| **yes).count() as f64 / list.len().max(1) as f64
}
