//! One pass: queues messages about what changed, and sends those that are due.

use crate::message::Message;
use crate::settings::Settings;
use std::time::{Duration, Instant};
use store::alerts::{Attempt, Due, Receiver};
use store::changes::ChangeReport;
use store::{Store, StoreError};
use tokio::time::timeout;

/// Longest time of an attempt: a search for an earlier one, and the message.
const ATTEMPT_MAX: Duration = Duration::from_secs(60);
/// Another process tries after it. Longer than an attempt, so that a process that lives is alone.
const LEASE: Duration = Duration::from_secs(180);

/// The counts of a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    pub queued: u64,
    pub sent: u64,
    /// Each with the name of its destination, and why.
    pub failed: Vec<(String, String)>,
}

/// Queues and sends. A new destination gets changes that are found from now on.
///
/// # Errors
/// Errors of the database; a message whose delivery was not recorded is sent again.
pub async fn deliver(store: &Store, settings: &Settings, due: Due, now_unix_ns: i64) -> Result<Delivered, StoreError> {
    let start = Instant::now();
    let now = || now_unix_ns.saturating_add(i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX));
    let mut delivered = Delivered::default();
    let mut receivers = Vec::new();
    settings.announce(store, now_unix_ns).await?;
    for destination in &settings.destinations {
        let name = &destination.name;
        let from_the_start = destination.from_the_start;
        let wants = |report: &ChangeReport| {
            let was_reported = from_the_start && report.change.reported_unix_ns.is_some();
            !was_reported && settings.wants(name, report)
        };
        delivered.queued += store.queue_alerts(name, &wants, now()).await?;
        receivers.push(Receiver { destination: name, takes_several: destination.channel.takes_several() });
    }
    while let Some(claim) = store.claim_alert(&receivers, due, LEASE, now()).await? {
        let Some(to) = settings.destinations.iter().find(|to| to.name == claim.alert.destination) else { break };
        let report = claim.report.clone();
        let message = Message::of(&claim.alert.alert, report, claim.also.clone(), settings.link.as_deref());
        let since = (claim.alert.attempts > 1).then_some(claim.first_attempt_unix_ns);
        let sent = timeout(ATTEMPT_MAX, to.channel.send(&message, since)).await;
        let attempt = match sent {
            Ok(Ok(place)) => {
                delivered.sent += 1;
                Attempt::Sent(place)
            }
            Ok(Err(failure)) => Attempt::Failed { because: failure.because, pause: failure.pause },
            Err(_) => Attempt::Failed { because: format!("no end within {} s", ATTEMPT_MAX.as_secs()), pause: None },
        };
        if let Attempt::Failed { because, .. } = &attempt {
            delivered.failed.push((to.name.clone(), because.clone()));
        }
        store.end_alert(&claim, &attempt, now()).await?;
    }
    Ok(delivered)
}
