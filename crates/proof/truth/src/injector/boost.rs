//! A task far below the measuring thread computes under a lock that inherits priorities, while one far above it waits for
//! that lock: it has the priority of that one meanwhile.

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{Lock, lock_memory, name, now_ns, pin, prioritise, spin_until};
use crate::terms::Terms;
use std::io;
use std::sync::Arc;
use std::thread;

const HOLDER: i32 = 10;
const WAITER: i32 = 95;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    lock_memory();
    let lock = Arc::new(Lock::new(true));
    let (cpu, theirs) = (terms.cpu, Arc::clone(&lock));
    let waiter = thread::spawn(move || -> io::Result<()> {
        name("truth-waiter");
        // Where there is another CPU it asks from there.
        pin(usize::from(cpu == 0)).or_else(|_| pin(cpu))?;
        prioritise(WAITER)?;
        loop {
            thread::park();
            theirs.take()?;
            theirs.give_back()?;
        }
    });
    name("truth-boosted");
    pin(cpu)?;
    prioritise(HOLDER)?;
    let length_ns = terms.length_ns;
    Ok(Box::new(move || {
        lock.take()?;
        waiter.thread().unpark();
        while !lock.is_waited_for() {
            if waiter.is_finished() {
                return Err(io::Error::other("the task that waits for the lock ended"));
            }
            std::hint::spin_loop();
        }
        let begin_ns = now_ns();
        let others_ns = spin_until(begin_ns + length_ns);
        let end_ns = now_ns();
        lock.give_back()?;
        Ok(vec![Stretch::shared(begin_ns, end_ns, others_ns)])
    }))
}
