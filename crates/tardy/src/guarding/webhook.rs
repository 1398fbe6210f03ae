//! Accounts as POST requests, from a thread of its own: a receiver that hangs delays nothing.

use crate::exit::UsageError;
use alerts::{Webhook, WebhookChannel};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tls::Roots;

/// Accounts that wait; more are counted as undelivered.
const WAITING_MAX: usize = 32;
const ATTEMPTS: u32 = 3;
/// Before the second attempt, unless the receiver asks for another pause; twice that before the third.
const PAUSE: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// A running sender.
pub struct Sender {
    waiting: SyncSender<(u64, String)>,
    undelivered: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Sender {
    /// Reads the secrets and starts the thread.
    ///
    /// # Errors
    /// If the address or a secret cannot be used.
    pub fn start(webhook: Webhook, folder: &Path) -> anyhow::Result<Self> {
        let channel =
            webhook.open(folder, &Roots::from(None)).map_err(|error| UsageError(format!("[webhook]: {error}")))?;
        let (waiting, accounts) = sync_channel(WAITING_MAX);
        let undelivered = Arc::new(AtomicU64::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let lost = Arc::clone(&undelivered);
        let deliver = move || runtime.block_on(deliver(&channel, &accounts, &lost));
        let thread = thread::Builder::new().name("tardy:webhook".into()).spawn(deliver)?;
        Ok(Self { waiting, undelivered, thread })
    }

    /// Hands over an entry of the log.
    pub fn send(&self, number: u64, line: &str) {
        if self.waiting.try_send((number, line.trim_end().to_owned())).is_err() {
            self.undelivered.fetch_add(1, Relaxed);
        }
    }

    /// Accounts that were not taken.
    pub fn undelivered(&self) -> u64 {
        self.undelivered.load(Relaxed)
    }

    /// Ends the thread, which first tries what waits.
    pub fn end(self) {
        drop(self.waiting);
        let _ = self.thread.join();
    }
}

async fn deliver(channel: &WebhookChannel, accounts: &Receiver<(u64, String)>, undelivered: &AtomicU64) {
    while let Ok((number, line)) = accounts.recv() {
        let mut pause = PAUSE;
        for attempt in 1..=ATTEMPTS {
            let Err(failure) = channel.post(format!("guard-{number}"), line.clone()).await else { break };
            if attempt == ATTEMPTS {
                undelivered.fetch_add(1, Relaxed);
                complain!("tardy: the webhook did not take account {number}: {}", failure.because);
                break;
            }
            tokio::time::sleep(failure.pause.unwrap_or(pause).min(PAUSE_MAX)).await;
            pause *= 2;
        }
    }
}
