//! Instruction cache misses: more small functions than the instruction cache and the instruction TLB hold, called in an
//! unpredictable order. Other code, including the kernel's, is evicted meanwhile.

use super::draws::Draws;
use super::kernel::code::returning_functions;
use super::workers::Workers;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// One cache line each, 2 MB in total.
const FUNCTIONS: usize = 32 << 10;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    let functions = returning_functions(FUNCTIONS)?;
    for number in 0..workers.count() {
        workers.fork("load-icache", |counter| work(&functions, Draws::of_worker(number), counter))?;
    }
    Ok(())
}

fn work(functions: &[extern "C" fn()], mut draws: Draws, counter: &AtomicU64) -> ! {
    let mut order: Vec<extern "C" fn()> = functions.to_vec();
    for last in (1..order.len()).rev() {
        order.swap(last, draws.between(0, last));
    }
    loop {
        order.iter().for_each(|function| function());
        counter.fetch_add(order.len() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_function_returns() {
        let functions = super::returning_functions(super::FUNCTIONS).expect("functions");
        assert_eq!(functions.len(), super::FUNCTIONS);
        functions.iter().for_each(|function| function());
    }
}
