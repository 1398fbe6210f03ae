//! An urgent loop shares a lock with an unimportant task, while a third one in between wants the CPU.
//!
//! With a plain lock the third one runs although the most urgent one waits: priority inversion. With a lock that inherits
//! priorities (`--kind inherit`) the unimportant one gets on, and the loop waits for what it does under the lock.

use crate::cadence::Cadence;
use crate::disturbance::{InLoop, Stretch};
use crate::kernel::{Lock, name, now_ns, pin, prioritise, spin_until};
use crate::terms::Terms;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::thread::{self, Thread};

const MIDDLE: i32 = 50;
const UNIMPORTANT: i32 = 10;

/// The state that the three threads share.
#[derive(Default)]
struct Shared {
    lock: Lock,
    /// The unimportant one has the lock.
    taken: AtomicBool,
    /// Until when the one that is to hold the loop up computes; 0 while that is open.
    until_ns: AtomicI64,
    begin_ns: AtomicI64,
    end_ns: AtomicI64,
    /// Time of it that others had.
    others_ns: AtomicI64,
}

impl Shared {
    /// Computes for as long as was asked, and notes when.
    fn compute(&self) {
        self.begin_ns.store(now_ns(), SeqCst);
        self.others_ns.store(spin_until(self.until_ns.load(SeqCst)), SeqCst);
        self.end_ns.store(now_ns(), SeqCst);
    }
}

pub fn set_up(terms: &Terms) -> io::Result<InLoop> {
    let inherits = terms.kind == "inherit";
    let shared = Arc::new(Shared { lock: Lock::new(inherits), ..Shared::default() });
    let (cpu, theirs) = (terms.cpu, Arc::clone(&shared));
    let unimportant = begin("truth-low", cpu, UNIMPORTANT, move || {
        theirs.lock.take()?;
        theirs.taken.store(true, SeqCst);
        while theirs.until_ns.load(SeqCst) == 0 {
            std::hint::spin_loop();
        }
        if inherits {
            theirs.compute();
        }
        theirs.lock.give_back()
    });
    let theirs = Arc::clone(&shared);
    let middle = begin("truth-middle", cpu, MIDDLE, move || {
        theirs.compute();
        Ok(())
    });
    let length_ns = terms.length_ns;
    Ok(Box::new(move |cadence: &mut Cadence| {
        shared.taken.store(false, SeqCst);
        shared.until_ns.store(0, SeqCst);
        unimportant.unpark();
        while !shared.taken.load(SeqCst) {
            cadence.next();
        }
        if !inherits {
            middle.unpark();
        }
        shared.until_ns.store(now_ns() + length_ns, SeqCst);
        shared.lock.take()?;
        shared.lock.give_back()?;
        cadence.next();
        let [begin_ns, end_ns, others_ns] =
            [&shared.begin_ns, &shared.end_ns, &shared.others_ns].map(|ns| ns.load(SeqCst));
        Ok(vec![Stretch::shared(begin_ns, end_ns, others_ns)])
    }))
}

/// A thread that does something each time it is unparked.
fn begin(
    called: &'static str,
    cpu: usize,
    priority: i32,
    mut work: impl FnMut() -> io::Result<()> + Send + 'static,
) -> Thread {
    let ready = thread::spawn(move || -> io::Result<()> {
        name(called);
        pin(cpu)?;
        prioritise(priority)?;
        loop {
            thread::park();
            work()?;
        }
    });
    ready.thread().clone()
}
