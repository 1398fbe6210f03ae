//! `message-queue`: from `mq_send` until the thread in `mq_receive` runs. pmqtest's method.

use super::error::MethodError;
use super::stimulus::{self, PartnerPlace, Post, Receive, Received, Requested};
use super::{MeasuringMethod, Site, Station};
use crate::journal::Journal;
use crate::kernel::message_queue::MessageQueue;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use std::path::Path;
use std::sync::Arc;

pub struct MessageQueues;

impl Post for MessageQueue {
    #[inline]
    fn post(&self) {
        self.send();
    }
}

impl Receive for Arc<MessageQueue> {
    #[inline]
    fn receive(&mut self) -> Received {
        if MessageQueue::receive(self) { Received::Stimulus } else { Received::Broken }
    }
}

impl MeasuringMethod for MessageQueues {
    fn obstacles(&self, root: &Path, _request: Option<&MethodRequest>) -> Vec<Obstacle> {
        if root.join("proc/sys/fs/mqueue").exists() {
            return Vec::new();
        }
        vec![Obstacle {
            kind: ObstacleKind::Kernel,
            text: "the kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE)".into(),
            fix: String::new(),
        }]
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let station = |cpu: &u32| {
            let refused =
                |source| MethodError::Refused { method: Method::MessageQueue, action: "make a message queue", source };
            let queue = Arc::new(MessageQueue::new(*cpu).map_err(refused)?);
            if stimulus::requests(site.request()) {
                let request = Arc::new(MessageQueue::new(*cpu).map_err(refused)?);
                return Ok(stimulus::requested_station(site, *cpu, Requested::by(queue, request)));
            }
            let place = PartnerPlace::of(site, *cpu);
            Ok(stimulus::station(*cpu, place, queue.clone(), queue))
        };
        site.measured.iter().map(station).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_message_queues_is_named() {
        let root = tempfile::tempdir().unwrap();
        assert!(MessageQueues.obstacles(root.path(), None)[0].text.contains("CONFIG_POSIX_MQUEUE"));
    }
}
