//! A real-time loop that waits each cycle for an answer from a chain of threads, each of which wakes the next, over a pipe, a
//! futex, a socket or an eventfd (`--kind`). Now and then one of them computes before it goes on.

use crate::cadence::{self, Cadence};
use crate::channel::Channel;
use crate::disturbance::{InLoop, Stretch};
use crate::kernel::{lock_memory_now, name, now_ns, pin, prioritise, spin_until};
use crate::terms::Terms;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::thread;

/// The state that all threads of a chain share.
#[derive(Default)]
struct Computation {
    /// Number of the thread that computes; -1: none.
    stage: AtomicI64,
    begin_ns: AtomicI64,
    end_ns: AtomicI64,
    /// Time of it that others had.
    others_ns: AtomicI64,
}

pub fn set_up(terms: &Terms) -> io::Result<InLoop> {
    lock_memory_now();
    let stages = terms.threads.saturating_sub(1).max(1);
    // One before each stage, and one behind the last.
    let channels = (0..=stages).map(|_| Channel::new(&terms.kind).map(Arc::new)).collect::<io::Result<Vec<_>>>()?;
    let computation = Arc::new(Computation { stage: AtomicI64::new(-1), ..Computation::default() });
    let length_ns = terms.length_ns;
    for stage in 0..stages {
        let (before, behind) = (Arc::clone(&channels[stage]), Arc::clone(&channels[stage + 1]));
        let (computation, cpu) = (Arc::clone(&computation), terms.cpu);
        thread::spawn(move || -> io::Result<()> {
            name(&format!("truth-stage-{stage}"));
            // Each on another CPU than the one before, where there are two.
            pin(if stage % 2 == 0 { cpu } else { usize::from(cpu == 0) }).or_else(|_| pin(cpu))?;
            prioritise(cadence::PRIORITY - 1)?;
            loop {
                before.receive()?;
                if computation.stage.load(SeqCst) == stage as i64 {
                    let begin_ns = now_ns();
                    let others_ns = spin_until(begin_ns + length_ns);
                    computation.others_ns.store(others_ns, SeqCst);
                    computation.begin_ns.store(begin_ns, SeqCst);
                    computation.end_ns.store(now_ns(), SeqCst);
                }
                behind.send()?;
            }
        });
    }
    let mut turn = 0;
    Ok(Box::new(move |cadence: &mut Cadence| {
        let mut ask = |stage: i64| -> io::Result<()> {
            cadence.next();
            computation.stage.store(stage, SeqCst);
            channels[0].send()?;
            channels[stages].receive()
        };
        ask(-1)?;
        // Every thread computes in its turn.
        turn = (turn + 1) % stages;
        ask(turn as i64)?;
        let [begin_ns, end_ns, others_ns] =
            [&computation.begin_ns, &computation.end_ns, &computation.others_ns].map(|ns| ns.load(SeqCst));
        Ok(vec![Stretch::shared(begin_ns, end_ns, others_ns)])
    }))
}
