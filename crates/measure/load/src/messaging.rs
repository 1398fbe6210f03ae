//! Messages between many processes: many wake-ups, context switches and socket locks.
//!
//! In a group every sender writes to every receiver in turn, and each receiver has one socket that all senders share.

use super::workers::Workers;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

const SENDERS: usize = 20;
const RECEIVERS: usize = 20;
const MESSAGE_BYTES: usize = 100;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for _ in 0..workers.count() {
        let mut outlets = Vec::with_capacity(RECEIVERS);
        for _ in 0..RECEIVERS {
            let (inlet, outlet) = UnixStream::pair()?;
            workers.fork("messaging-recv", |counter| receive(inlet, counter))?;
            outlets.push(outlet);
        }
        for _ in 0..SENDERS {
            workers.fork("messaging-send", |_| send(&outlets))?;
        }
    }
    Ok(())
}

fn receive(mut inlet: UnixStream, counter: &AtomicU64) -> io::Error {
    let mut message = [0; MESSAGE_BYTES];
    loop {
        match inlet.read_exact(&mut message) {
            Ok(()) => counter.fetch_add(1, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

fn send(outlets: &[UnixStream]) -> io::Error {
    let message = [b'm'; MESSAGE_BYTES];
    loop {
        for mut outlet in outlets {
            if let Err(error) = outlet.write_all(&message) {
                return error;
            }
        }
    }
}
