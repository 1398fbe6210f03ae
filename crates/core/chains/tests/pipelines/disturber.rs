//! Threads that disturb the stages on request: one of high priority on each CPU, one of middle priority, and one that holds a lock.

use crate::delay::{PLANTED_NS, work_for};
use crate::pipeline::{give_priority, pin};
use rustix::thread::gettid;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that executes orders.
pub struct Disturber<T> {
    orders: Sender<T>,
    pub tid: i32,
    thread: JoinHandle<()>,
}

impl<T: Send + 'static> Disturber<T> {
    fn start(name: &str, cpu: usize, priority: u8, mut obey: impl FnMut(T) + Send + 'static) -> Self {
        let (orders, received): (Sender<T>, Receiver<T>) = channel();
        let (report, reported) = channel();
        let body = move || {
            pin(cpu);
            give_priority(priority);
            report.send(gettid().as_raw_nonzero().get()).unwrap();
            received.into_iter().for_each(&mut obey);
        };
        let thread = thread::Builder::new().name(name.into()).spawn(body).unwrap();
        Self { orders, tid: reported.recv().unwrap(), thread }
    }

    pub fn order(&self, order: T) {
        self.orders.send(order).unwrap();
    }

    pub fn orders(&self) -> Sender<T> {
        self.orders.clone()
    }

    /// Ends the thread.
    pub fn end(self) {
        drop(self.orders);
        self.thread.join().unwrap();
    }
}

/// A thread that keeps its CPU for as long as each order says, in ns.
pub fn hog(name: &str, cpu: usize, priority: u8) -> Disturber<i64> {
    Disturber::start(name, cpu, priority, work_for)
}

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    Runs,
    Sleeps,
    /// A thread of middle priority preempts the holder.
    IsPreempted,
}

/// The lock, and whether its holder has it.
#[derive(Default)]
pub struct Shared {
    pub lock: Mutex<()>,
    pub is_held: AtomicBool,
}

/// A thread that takes the lock and holds it. `middle`: keeps the CPU of the locker for a time.
pub fn locker(cpu: usize, priority: u8, shared: Arc<Shared>, middle: Sender<i64>) -> Disturber<Holding> {
    Disturber::start("locker", cpu, priority, move |holding| {
        let held = shared.lock.lock().unwrap();
        shared.is_held.store(true, Ordering::SeqCst);
        match holding {
            Holding::Runs => work_for(PLANTED_NS),
            Holding::Sleeps => thread::sleep(Duration::from_nanos(PLANTED_NS as u64)),
            Holding::IsPreempted => {
                // The stage must be in its wait by then.
                work_for(200_000);
                middle.send(PLANTED_NS).unwrap();
            }
        }
        drop(held);
    })
}
