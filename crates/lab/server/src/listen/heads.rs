//! Connections whose client has not finished the head of its first request. Where places are short, the oldest of them is
//! closed: a client that is answered sends its head at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The unfinished heads, by age.
#[derive(Debug, Default)]
pub struct Heads(Mutex<Unfinished>);

#[derive(Debug, Default)]
struct Unfinished {
    next: u64,
    closing: BTreeMap<u64, Arc<Notify>>,
}

/// The head of one connection.
#[derive(Debug)]
pub struct Head {
    heads: Arc<Heads>,
    number: u64,
    closing: Arc<Notify>,
}

impl Heads {
    /// A connection that was just accepted.
    pub fn begin(self: &Arc<Self>) -> Arc<Head> {
        let closing = Arc::new(Notify::new());
        let mut heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = heads.next;
        heads.next += 1;
        heads.closing.insert(number, Arc::clone(&closing));
        drop(heads);
        Arc::new(Head { heads: Arc::clone(self), number, closing })
    }

    /// Closes the connection whose head is unfinished for the longest time.
    pub fn close_oldest(&self) {
        let oldest = self.0.lock().unwrap_or_else(PoisonError::into_inner).closing.pop_first();
        if let Some((_, closing)) = oldest {
            closing.notify_one();
        }
    }
}

impl Head {
    /// The head is complete: a client has the connection.
    pub fn finish(&self) {
        self.heads.0.lock().unwrap_or_else(PoisonError::into_inner).closing.remove(&self.number);
    }

    /// Until the connection has to make room.
    pub async fn closed(&self) {
        self.closing.notified().await;
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.finish();
    }
}
